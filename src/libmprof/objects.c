// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * objects.c - dlopen and dlmopen, which may hide calls from us, and dlclose, which removes code.
 *
 * RTLD_DEEPBIND binds an object's malloc and free to the libc in its own scope, and another
 * namespace has a libc of its own and no preloaded library. Preventing that would change what the
 * program requested, but the report can explain why blocks appear and disappear unseen.
 *
 * The real functions use their return address (for $ORIGIN and namespaces), so they must be reached
 * by a jump: the compiler turns a call in tail position into one.
 */
#include <dlfcn.h>
#include <link.h>
#include <mprof/module.h>

#include "core.h"
#include "facts.h"
#include "file.h"
#include "real_libc.h"
#include "scopes.h"
#include "stacks.h"
#include "sys.h"

/* Can the call load the file?  Whether it did is not known, because it is a jump.  Programs ask for
 * plugins that do not exist, and whether one is loaded. */
static int objects_loads(const char *file, int flags)
{
	struct stat st;

	if (!file || !*file || flags & RTLD_NOLOAD)
		return 0;
	return !__builtin_strchr(file, '/') || !sys_stat(file, &st, 0);
}

static MPROF_COLD void objects_bypass(const char *file, int flags, enum mprof_bypass how)
{
	if (mp_recording() && mp_file.header && objects_loads(file, flags))
		mp_fact_bypass(file, how);
}

EXPORT __attribute__((optimize("O2"))) void *dlopen(const char *file, int flags)
{
	if (mprof_unlikely(flags & RTLD_DEEPBIND))
		objects_bypass(file, flags, MPROF_BYPASS_DEEPBIND);
	return mp_next()->dlopen(file, flags);
}

EXPORT __attribute__((optimize("O2"))) void *dlmopen(Lmid_t space, const char *file, int flags)
{
	if (space != LM_ID_BASE || flags & RTLD_DEEPBIND)
		objects_bypass(file, flags,
			       space != LM_ID_BASE ? MPROF_BYPASS_NAMESPACE
						   : MPROF_BYPASS_DEEPBIND);
	return mp_next()->dlmopen(space, file, flags);
}

static int objects_see_unloaded(struct dl_phdr_info *info, size_t size, void *out)
{
	(void)size;
	*(unsigned long long *)out = info->dlpi_subs;
	return 1; /* each entry has the same count */
}

/* Returns how many objects the loader has unloaded so far. */
static unsigned long long objects_unloaded(void)
{
	unsigned long long n = 0;

	dl_iterate_phdr(objects_see_unloaded, &n);
	return n;
}

EXPORT int dlclose(void *handle)
{
	const unsigned long long before = mprof_core.capture ? objects_unloaded() : 0;
	int ret = mp_next()->dlclose(handle);

	mp_scopes_forget();
	if (mprof_core.capture && objects_unloaded() != before)
		mp_rules_forget();
	return ret;
}
