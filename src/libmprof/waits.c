// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * waits.c - a child that ended without a fact: by a signal, or by a raw system call.
 *
 * Only its parent learns how it ended. `mprof` is the parent of the first process; the parents of
 * all others are processes of the run, whose wait we interpose.  May be called from a signal
 * handler: nothing here takes a lock.
 */
#include <errno.h>
#include <mprof/module.h>
#include <sys/wait.h>

#include "core.h"
#include "facts.h"
#include "file.h"
#include "local.h"
#include "real_libc.h"
#include "sys.h"

/* Finds a child's latest entry, if the child did not record its end itself. */
static struct mprof_process_entry *waits_silent_entry(pid_t pid)
{
	uint32_t n = __atomic_load_n(&mp_file.header->processes, __ATOMIC_ACQUIRE);

	for (uint32_t i = n < MPROF_PROCESS_TABLE ? n : MPROF_PROCESS_TABLE; i-- > 0;) {
		struct mprof_process_entry *e = &mp_file.header->process[i];
		uint16_t state = __atomic_load_n(&e->state, __ATOMIC_ACQUIRE);

		if (e->pid == pid && e->number &&
		    (state == MPROF_PROCESS_RUNNING || state == MPROF_PROCESS_EXECING))
			return e;
	}
	return NULL;
}

static void waits_child_ended(pid_t pid, int signal, int status, const struct rusage *usage)
{
	struct mprof_process_entry *e;

	if (!mp_recording() || !mp_file.header || mp_file.broken || !mp_local->alive ||
	    mp_local->pid != sys_getpid())
		return;
	e = waits_silent_entry(pid);
	if (!e)
		return;
	mp_fact_waited(e, signal, status, usage);
	e->status = signal ? signal : status;
	__atomic_store_n(&e->state, signal ? MPROF_PROCESS_KILLED : MPROF_PROCESS_EXITED,
			 __ATOMIC_RELEASE);
}

/* Decodes the system's status word. */
static pid_t waits_told(pid_t pid, int status, const struct rusage *usage)
{
	if (pid > 0 && WIFSIGNALED(status))
		waits_child_ended(pid, WTERMSIG(status), 0, usage);
	else if (pid > 0 && WIFEXITED(status))
		waits_child_ended(pid, 0, WEXITSTATUS(status), usage);
	return pid;
}

EXPORT pid_t wait(int *status)
{
	int own = 0, *to = status ? status : &own;
	pid_t pid = mp_next()->wait(to);

	return waits_told(pid, pid > 0 ? *to : 0, NULL);
}

EXPORT pid_t waitpid(pid_t which, int *status, int options)
{
	int own = 0, *to = status ? status : &own;
	pid_t pid = mp_next()->waitpid(which, to, options);

	return waits_told(pid, pid > 0 ? *to : 0, NULL);
}

EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
	int own = 0, *to = status ? status : &own;
	pid_t pid = mp_next()->wait3(to, options, usage);

	return waits_told(pid, pid > 0 ? *to : 0, usage);
}

EXPORT pid_t wait4(pid_t which, int *status, int options, struct rusage *usage)
{
	int own = 0, *to = status ? status : &own;
	pid_t pid = mp_next()->wait4(which, to, options, usage);

	return waits_told(pid, pid > 0 ? *to : 0, usage);
}

EXPORT int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	int ret = mp_next()->waitid(type, id, info, options);

	if (ret || !info || options & WNOWAIT || info->si_pid <= 0)
		return ret;
	if (info->si_code == CLD_EXITED)
		waits_child_ended(info->si_pid, 0, info->si_status, NULL);
	else if (info->si_code == CLD_KILLED || info->si_code == CLD_DUMPED)
		waits_child_ended(info->si_pid, info->si_status, 0, NULL);
	return ret;
}
