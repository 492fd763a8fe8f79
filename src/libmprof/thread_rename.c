// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * thread_rename.c - pthread_setname_np: a thread's record has its new name at once, because a
 * thread that waits until the process ends could not tell us later.
 */
#include <errno.h>
#include <mprof/module.h>

#include "core.h"
#include "real_libc.h"
#include "slots.h"
#include "stack_use.h"
#include "thread_names.h"

EXPORT int pthread_setname_np(pthread_t thread, const char *name)
{
	const int ret =
	    mp_next()->pthread_setname_np ? mp_next()->pthread_setname_np(thread, name) : ENOSYS;
	const pthread_t self = pthread_self();
	/* The thread pointer is as far from the handle in every thread. */
	const uintptr_t pointer =
	    (uintptr_t)__builtin_thread_pointer() - (uintptr_t)self + (uintptr_t)thread;
	char kept[MPROF_THREAD_NAME];

	if (ret == 0 && thread == self) {
		mp_stack_use_renamed();
		mp_counts_renamed(0);
	} else if (ret == 0) {
		mp_thread_name_keep(kept, name);
		mp_stack_use_name(pointer, kept);
		mp_counts_name(pointer, kept);
	}
	return ret;
}
