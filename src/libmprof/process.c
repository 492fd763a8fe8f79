// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * process.c - joining the run, and the calls that create, replace and end processes.
 *
 * A child of fork joins at once; a child of a raw clone joins at its first event.  A new image
 * after exec finds its old entry in the header by pid and start time and continues as the same
 * process.  Calls that end the process write what its thread still holds; after any other end,
 * readers find the events in the slots.
 *
 * A vfork child runs in its parent's memory and must not change the parent's state, so everything
 * compares the pid first.
 */
#include <alloca.h>
#include <errno.h>
#include <mprof/module.h>
#include <stdarg.h>

#include "config.h"
#include "core.h"
#include "facts.h"
#include "file.h"
#include "foreign.h"
#include "lineage.h"
#include "local.h"
#include "peak.h"
#include "process.h"
#include "real_libc.h"
#include "stack_use.h"
#include "stacks.h"
#include "status.h"
#include "stop.h"
#include "sys.h"
#include "text.h"
#include "thread.h"
#include "times.h"

/* Numbers of this process; in a child that has not joined the run yet, still its parent's. */
static uint32_t last_number, last_image;

/* The latest entry of a pid in one of two states; start_time 0 = any. */
static struct mprof_process_entry *process_find_entry(int pid, uint64_t start_time, unsigned state)
{
	uint32_t n = __atomic_load_n(&mp_file.header->processes, __ATOMIC_ACQUIRE);

	for (uint32_t i = n < MPROF_PROCESS_TABLE ? n : MPROF_PROCESS_TABLE; i-- > 0;) {
		struct mprof_process_entry *e = &mp_file.header->process[i];

		if (e->pid == pid && (!start_time || e->start_time == start_time) &&
		    e->state == state)
			return e;
	}
	return NULL;
}

/* The entry of this process before an exec, which was announced or made by a raw system call.  Its
 * start is unknown without /proc, as in a jail: then only an announcement tells. */
static struct mprof_process_entry *process_find_before_exec(int pid, uint64_t start_time)
{
	struct mprof_process_entry *e = process_find_entry(pid, start_time, MPROF_PROCESS_EXECING);

	return e || !start_time ? e : process_find_entry(pid, start_time, MPROF_PROCESS_RUNNING);
}

/*
 * Takes an entry for a new process: an unused one or, if the table is full, one whose process has
 * ended (its facts stay; its losses are added to the run's).
 */
static uint32_t process_take_entry(uint32_t number)
{
	struct mprof_file_header *h = mp_file.header;

	if (number <= MPROF_PROCESS_TABLE)
		return number;
	for (uint32_t i = 0; i < MPROF_PROCESS_TABLE; i++) {
		struct mprof_process_entry *e = &h->process[i];
		uint16_t state = MPROF_PROCESS_EXITED;

		if (!__atomic_compare_exchange_n(&e->state, &state, MPROF_PROCESS_NONE, 0,
						 __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			continue;
		for (int k = 0; k < MPROF_LOST_REASONS; k++)
			__atomic_fetch_add(&h->lost[k],
					   __atomic_exchange_n(&e->lost[k], 0, __ATOMIC_RELAXED),
					   __ATOMIC_RELAXED);
		return i + 1;
	}
	return 0;
}

int mp_process_join(uint64_t fork_ticks, uint32_t parent, int parent_pid)
{
	struct mprof_process_entry *e, *p;
	const struct mp_inherited inherited = { mp_stacks_count(), last_image };
	uint64_t start_time = mp_start_time();
	unsigned what = MPROF_FACT_EXEC;

	e = fork_ticks ? NULL : process_find_before_exec(mp_local->pid, start_time);
	if (e) {
		mp_local->process = e->number;
		mp_local->image = ++e->image;
		mp_local->entry = (uint32_t)(e - mp_file.header->process) + 1;
	} else {
		what = MPROF_FACT_START;
		mp_local->process =
		    __atomic_add_fetch(&mp_file.header->processes, 1, __ATOMIC_RELAXED);
		mp_local->entry = process_take_entry(mp_local->process);
		e = mp_entry();
		if (e)
			e->image = 0;
	}
	if (!parent && parent_pid) {
		p = process_find_entry(parent_pid, 0, MPROF_PROCESS_RUNNING);
		parent = p ? p->number : 0;
	}
	if (e) {
		e->number = mp_local->process;
		e->start_time = start_time;
		e->pid = mp_local->pid;
		e->self_bytes = mp_local->self_bytes;
		__atomic_store_n(&e->state, MPROF_PROCESS_RUNNING, __ATOMIC_RELEASE);
	}
	mp_fact_start(what, fork_ticks, parent, parent_pid, fork_ticks ? &inherited : NULL);
	if (fork_ticks)
		mp_lineage_forked((struct mp_ancestor){ parent, inherited.image, inherited.count });
	if (!fork_ticks)
		mp_settings_note();
	mp_peak_begin(fork_ticks != 0);
	last_number = mp_local->process;
	last_image = mp_local->image;
	return mp_file.broken ? -EIO : 0;
}

/* When this thread began to fork. */
static __thread uint64_t fork_ticks;

static int process_join_as_child(uint64_t when)
{
	int ret = 0;

	if (!mp_config.children)
		return -ECANCELED;
	mp_status_forked();
	mp_threads_forked();
	mp_suspend_forked();
	mp_rules_forked();
	mp_dumps_forked();
	if (mp_mode->forked)
		mp_mode->forked();
	mp_local->how = when ? MPROF_CHILD_FORK : 0;
	if (mp_file.broken)
		ret = -EIO;
	else if (mp_file.header)
		ret = mp_process_join(when ? when : mprof_ticks(), last_number, sys_getppid());
	return ret < 0 ? -ECHILD : 0;
}

/*
 * With signals blocked: mp_local is marked alive at the beginning, so a handler's call would be
 * recorded for a process without a number, and a jump out would leave it without one.
 */
int mp_process_forked(uint64_t when)
{
	uint64_t signals;
	int ret;

	mp_signals_block(&signals);
	ret = process_join_as_child(when ? when : fork_ticks);
	mp_signals_restore(&signals);
	return ret;
}

int mp_process_is_self(void)
{
	return mp_recording() && mp_local->alive && mp_local->pid == sys_getpid();
}

void mp_process_flush(void)
{
	struct mprof_thread *t = mprof_self;

	if (mp_process_is_self() && t->number && mp_mode->flush && !t->busy) {
		t->busy = mprof_stack(); /* a call in a signal handler must not see half a chunk */
		mp_mode->flush(t);
		t->busy = 0;
	}
}

static void process_ending(int status)
{
	struct mprof_process_entry *e;

	if (!mp_process_is_self() || !mp_file.header)
		return;
	e = mp_entry();
	if (e && e->state == MPROF_PROCESS_EXITED)
		return;
	if (e) {
		e->status = status;
		__atomic_store_n(&e->state, MPROF_PROCESS_EXITED, __ATOMIC_RELEASE);
	}
	if (*mp_config.at_exit) {
		mp_process_flush(); /* so that the END fact contains the peak */
		mp_summary_write(mp_config.at_exit, 0, NULL);
	}
	if (*mp_config.dump_signal)
		mp_dumps_end();
	mp_failed(mp_stacks_flush());
	mp_stack_use_look();
	mp_times_look();
	mp_variables_look();
	mp_fact_end(status);
	mp_examined_wait();
}

void mp_process_detached(void)
{
	mp_process_flush();
	mp_failed(mp_stacks_flush());
	mp_peak_last();
	if (mp_recording_end())
		mp_fact_mark(MPROF_FACT_DETACHED);
	mp_publish_pass();
	mp_file_close();
}

static void process_on_exit(int status, void *unused)
{
	(void)unused;
	process_ending(status & 255);
}

/*
 * Through pthread_atfork, so that forks inside libc (daemon, forkpty) are noticed at the right
 * time, too.
 */

static void process_before_fork(void)
{
	if (!mp_recording())
		return;
	mp_table()->note_control(MPROF_CONTROL_FORK, 0);
	fork_ticks = mprof_ticks();
}

static void process_in_parent(void)
{
	fork_ticks = 0;
	if (mp_recording())
		mp_local->forked = 1;
}

/* Another library's handler may have run first and caused an event. */
static void process_in_child(void)
{
	if (mp_recording() && !(mp_local->alive && mp_local->pid == sys_getpid()))
		mp_failed(mp_process_forked(fork_ticks));
	fork_ticks = 0;
}

/* Called as early as possible: then our handlers run last before a fork and first in the child. */
void mp_process_forks(void)
{
	pthread_atfork(process_before_fork, process_in_parent, process_in_child);
}

void mp_process_watch(void)
{
	/* Registered before main, so that it runs after the handlers that main registers;
	 * on_exit also passes the status. */
	on_exit(process_on_exit, NULL);
}

EXPORT pid_t fork(void)
{
	pid_t pid = mp_next()->fork();

	if (pid > 0)
		mp_table()->note_control(MPROF_CONTROL_FORKED, (uint64_t)pid);
	return pid;
}

/* libc runs no handlers here: the child notices the fork here or at its first event. */
EXPORT pid_t _Fork(void)
{
	uint64_t before = mp_recording() ? mprof_ticks() : 0;
	pid_t pid = mp_next()->_Fork();

	if (pid == 0 && mp_recording())
		mp_failed(mp_process_forked(before));
	return pid;
}

/* exec returns EFAULT for an invalid pointer. */
static int process_are_readable(const char *path, char *const envp[])
{
	if (!sys_readable(path) || !envp)
		return sys_readable(path);
	for (; sys_readable(envp); envp++) {
		if (!*envp)
			return 1;
		if (!sys_readable(*envp))
			return 0;
	}
	return 0;
}

/* Would the program not run with the library that this environment preloads?  Returns why: an enum
 * mprof_exec_how. */
static int process_foreign(const char *path, int search, char *const envp[])
{
	if (mp_is_silent() || !process_are_readable(path, envp) || !mp_preloads_us(envp))
		return 0;
	return mp_is_foreign(path, search) ?: mp_lacks_us(envp) ? MPROF_EXEC_OUT_OF_REACH : 0;
}

/* Called before exec: writes what this thread holds, and marks the entry. */
static void process_exec_begins(const char *path, char *const envp[], int foreign)
{
	struct mprof_process_entry *e;
	int pid = sys_getpid();

	if (!mp_recording() || !mp_file.header || !process_are_readable(path, envp))
		return;
	if (!mp_local->alive && mp_failed(mp_process_forked(0)) < 0)
		return;
	if (mp_local->pid != pid) { /* a vfork child */
		mp_fact_exec(pid, path, envp, foreign);
		return;
	}
	mp_peak_last();
	mp_stack_use_look();
	mp_times_look();
	mp_variables_look();
	mp_table()->note_control(MPROF_CONTROL_EXEC, 0);
	mp_fact_exec(0, path, envp, foreign);
	mp_process_flush();
	mp_failed(mp_stacks_flush());
	e = mp_entry();
	if (e)
		__atomic_store_n(&e->state, MPROF_PROCESS_EXECING, __ATOMIC_RELEASE);
}

/* Called when exec returned, so it failed. */
static int process_exec_failed(int ret)
{
	struct mprof_process_entry *e;
	int pid;

	if (!mp_recording() || !mp_local->alive || !mp_file.header)
		return ret;
	pid = sys_getpid();
	if (mp_local->pid != pid) { /* a vfork child */
		mp_fact_returned(pid);
		return ret;
	}
	e = mp_entry();
	if (e)
		__atomic_store_n(&e->state, MPROF_PROCESS_RUNNING, __ATOMIC_RELEASE);
	return ret;
}

/* A program that would not run with the library gets an environment without it, on the caller's
 * stack. */
#define FIT(envp, foreign) \
	if (foreign)       \
	envp = mp_without_us(envp, alloca(mp_without_us_bytes(envp)))

EXPORT int execve(const char *path, char *const argv[], char *const envp[])
{
	const int foreign = process_foreign(path, 0, envp);

	process_exec_begins(path, envp, foreign);
	FIT(envp, foreign);
	return process_exec_failed(mp_next()->execve(path, argv, envp));
}

EXPORT int execv(const char *path, char *const argv[])
{
	return execve(path, argv, environ);
}

EXPORT int execvpe(const char *file, char *const argv[], char *const envp[])
{
	const int foreign = process_foreign(file, 1, envp);

	process_exec_begins(file, envp, foreign);
	FIT(envp, foreign);
	return process_exec_failed(mp_next()->execvpe(file, argv, envp));
}

EXPORT int execvp(const char *file, char *const argv[])
{
	return execvpe(file, argv, environ);
}

EXPORT int fexecve(int fd, char *const argv[], char *const envp[])
{
	char path[40];
	struct text t = text_on(path, sizeof(path));
	int foreign;

	text_string(&t, "/proc/self/fd/");
	text_number(&t, (uint64_t)(unsigned)fd);
	foreign = process_foreign(path, 0, envp);
	process_exec_begins("(descriptor)", envp, foreign);
	FIT(envp, foreign);
	return process_exec_failed(mp_next()->fexecve(fd, argv, envp));
}

/* Gathers variadic arguments into an array on the stack, because allocating may be impossible
 * before exec. */
#define GATHER(first, last, argv, after)                \
	size_t n = 1;                                   \
	va_list args;                                   \
	va_start(args, last);                           \
	while (va_arg(args, char *))                    \
		n++;                                    \
	va_end(args);                                   \
	char **argv = alloca((n + 1) * sizeof(char *)); \
	argv[0] = (char *)first;                        \
	va_start(args, last);                           \
	for (size_t i = 1; i <= n; i++)                 \
		argv[i] = va_arg(args, char *);         \
	after;                                          \
	va_end(args)

EXPORT int execl(const char *path, const char *arg, ...)
{
	GATHER(arg, arg, argv, (void)0);
	return execv(path, argv);
}

EXPORT int execlp(const char *file, const char *arg, ...)
{
	GATHER(arg, arg, argv, (void)0);
	return execvp(file, argv);
}

EXPORT int execle(const char *path, const char *arg, ...)
{
	char *const *envp;

	GATHER(arg, arg, argv, envp = va_arg(args, char *const *));
	return execve(path, argv, envp);
}

/* The end of posix_spawn(): ret is its result. */
static int spawned(int ret, pid_t *pid, pid_t child, const char *path, char *const envp[])
{
	if (ret == 0 && pid)
		*pid = child;
	if (ret == 0 && mp_process_is_self() && mp_file.header)
		mp_fact_spawned(child, path, mp_preloads_us(envp));
	return ret;
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
		       const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	char *const *fit = envp;
	pid_t child = 0;
	int ret;

	FIT(fit, process_foreign(path, 0, envp));
	ret = mp_next()->posix_spawn(&child, path, actions, attr, argv, fit);
	return spawned(ret, pid, child, path, envp);
}

EXPORT int posix_spawnp(pid_t *pid, const char *file, const posix_spawn_file_actions_t *actions,
			const posix_spawnattr_t *attr, char *const argv[], char *const envp[])
{
	char *const *fit = envp;
	pid_t child = 0;
	int ret;

	FIT(fit, process_foreign(file, 1, envp));
	ret = mp_next()->posix_spawnp(&child, file, actions, attr, argv, fit);
	return spawned(ret, pid, child, file, envp);
}

EXPORT void _exit(int status)
{
	process_ending(status & 255);
	mp_process_flush();
	for (;;)
		mp_sys(SYS_exit_group, status, 0, 0, 0, 0, 0);
}

EXPORT void _Exit(int status)
{
	_exit(status);
}

EXPORT void quick_exit(int status)
{
	process_ending(status & 255);
	mp_process_flush();
	mp_next()->quick_exit(status);
	__builtin_unreachable();
}
