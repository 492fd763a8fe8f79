// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * thread_names.c - the names that a program gives its threads.
 *
 * A new thread inherits its creator's name, and the first one has the program's, which is not kept.
 * The name is read when a thread begins and ends, and when it is set: a thread that waits in the
 * kernel until the process ends would not tell us later.
 */
#include "thread_names.h"

#include <mprof/module.h>

#include "config.h"
#include "core.h"
#include "local.h"
#include "real_libc.h"
#include "status.h"
#include "sys.h"

static char of_program[MPROF_THREAD_NAME];

static void name_of_self(char *to)
{
	if (mp_sys(SYS_prctl, PR_GET_NAME, (long)to, 0, 0, 0, 0) < 0)
		to[0] = 0;
	to[MPROF_THREAD_NAME - 1] = 0;
}

/* The first thread's name as the kernel shows it, without the end of the line. */
static void name_of_first(char *to)
{
	long n = mp_status_read("/proc/self/comm", to, MPROF_THREAD_NAME + 1);

	to[n > 0 ? n - 1 : 0] = 0;
}

void mp_thread_names_start(void)
{
	char name[MPROF_THREAD_NAME + 1];

	if (sys_gettid() == mp_local->pid)
		name_of_self(name);
	else
		name_of_first(name);
	__builtin_memcpy(of_program, name, sizeof(of_program));
}

void mp_thread_name_keep(char to[MPROF_THREAD_NAME], const char *name)
{
	char kept[MPROF_THREAD_NAME] = "";

	if (!mp_config.anonymous && __builtin_strcmp(name, of_program) != 0)
		for (unsigned i = 0; i < MPROF_THREAD_NAME - 1 && name[i]; i++)
			kept[i] = name[i];
	__builtin_memcpy(to, kept, sizeof(kept));
}

void mp_thread_name_read(char to[MPROF_THREAD_NAME])
{
	char name[MPROF_THREAD_NAME];

	name_of_self(name);
	mp_thread_name_keep(to, name);
}
