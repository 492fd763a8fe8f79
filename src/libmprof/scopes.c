// SPDX-License-Identifier: LGPL-3.0-or-later
/* scopes.c - see scopes.h. */
#include "scopes.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>

/* glibc 2.35 and later: takes no lock. */
extern int _dl_find_object(void *, struct dl_find_object *) __attribute__((weak));

static const void *scope_object(const void *caller)
{
	struct dl_find_object found;
	Dl_info info;

	if (_dl_find_object)
		return _dl_find_object((void *)caller, &found) ? NULL : found.dlfo_link_map;
	return dladdr(caller, &info) ? info.dli_fbase : NULL;
}

static void *scope_search(const char *name, const char *library, const void *caller)
{
	void *handle = NULL, *real = NULL;
	Dl_info info;

	if (dladdr(caller, &info))
		handle = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
	if (handle)
		real = dlsym(handle, name);
	if (!real && library) /* below its direct dependencies: look it up by name */
		handle = dlopen(library, RTLD_LAZY | RTLD_NOLOAD),
		real = handle ? dlsym(handle, name) : NULL;
	return real;
}

void *mp_scope_known(const struct mprof_scope *scope, const void *caller)
{
	const void *object = scope_object(caller);

	for (int i = 0; i < MPROF_SCOPES; i++)
		if (__atomic_load_n(&scope[i].object, __ATOMIC_ACQUIRE) == object && object)
			return scope[i].real;
	return NULL;
}

void *mp_scope_find(struct mprof_scope *scope, const char *name, const char *library,
		    const void *caller)
{
	const void *object = scope_object(caller);
	void *real = scope_search(name, library, caller);

	for (struct mprof_scope *s = scope; object && real && s < scope + MPROF_SCOPES; s++) {
		void *none = NULL;

		/* Two plugins' threads must not share an entry. */
		if (!__atomic_compare_exchange_n(&s->real, &none, real, 0, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED))
			continue;
		__atomic_store_n(&s->object, object, __ATOMIC_RELEASE);
		break;
	}
	return real;
}
