// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * objects.c - dlopen, for what it may hide from us.
 *
 * RTLD_DEEPBIND binds an object's malloc and free to the libc in its own scope.
 * Nothing can be done about that without changing what the program asked for,
 * but the report can say why blocks come and go unseen.
 *
 * The real dlopen looks at its return address (for $ORIGIN and namespaces), so
 * it must be reached by a jump: the compiler makes one of a call in last place.
 */
#include <dlfcn.h>

#include "internal.h"
#include "next.h"

__attribute__((visibility("default"), optimize("O2"))) void *dlopen(const char *file, int flags)
{
	if (mprof_unlikely(flags & RTLD_DEEPBIND) && mp_recording() && mp_file.header)
		mp_fact_deepbind(file);
	return mp_next()->dlopen(file, flags);
}
