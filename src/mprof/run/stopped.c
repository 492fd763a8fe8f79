// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * stopped.c - see stopped.h.
 *
 * PTRACE_SEIZE does not stop a thread, PTRACE_INTERRUPT does; threads that are created meanwhile
 * are found by reading the list again until it has no new ones.
 */
#include "stopped.h"

#include <dirent.h>
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/ucontext.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../util/alloc.h"
#include "../util/file_head.h"
#include "../util/now.h"
#include "process.h"

#define STOP_NS 500000000 /* until a thread has stopped, if it does */
#define ROUNDS	20u	  /* readings of the list of threads, at most */

#if defined(__x86_64__)

/* Is the thread about to run a handler?  Perhaps another one that does not block the signal. */
static bool has_signal(pid_t pid, pid_t tid)
{
	const uint64_t pending =
	    process_signals(pid, tid, "SigPnd:") | process_signals(pid, tid, "ShdPnd:");

	return (pending & ~process_signals(pid, tid, "SigBlk:") &
		process_signals(pid, tid, "SigCgt:")) != 0;
}

#define CALL_BYTES 2u /* of the instruction that makes a system call */

static void restart_call(pid_t pid, struct stopped_thread *t)
{
	struct user_regs_struct r;

	/* Such as epoll_wait(), which fails with EINTR as if a handler had run; close() has closed.
	 */
	if (t->signal || ptrace(PTRACE_GETREGS, t->tid, NULL, &r) || (int64_t)r.orig_rax < 0 ||
	    r.rax != (uint64_t)-EINTR || r.orig_rax == SYS_close || has_signal(pid, t->tid))
		return;
	r.rax = r.orig_rax;
	r.rip -= CALL_BYTES;
	t->restarts = !ptrace(PTRACE_SETREGS, t->tid, NULL, &r);
}

/* A handler that is to run now interrupts the call. */
static void interrupt_call(pid_t pid, struct stopped_thread *t)
{
	struct user_regs_struct r;

	if (!t->restarts || !has_signal(pid, t->tid) || ptrace(PTRACE_GETREGS, t->tid, NULL, &r))
		return;
	r.rax = (uint64_t)-EINTR;
	r.rip += CALL_BYTES;
	ptrace(PTRACE_SETREGS, t->tid, NULL, &r);
}

static void take_context(struct stopped_thread *t, const mcontext_t *m)
{
	t->words = REG_RIP + 1; /* the others are not general registers */
	memcpy(t->word, m->gregs, t->words * sizeof(t->word[0]));
	t->sp = (uint64_t)m->gregs[REG_RSP];
}

static void take_pointers(struct stopped_thread *t)
{
	const struct user_regs_struct *r = (const void *)t->word;

	t->sp = r->rsp;
	t->thread_pointer = r->fs_base;
}

#elif defined(__aarch64__)

static void restart_call(pid_t pid, struct stopped_thread *t)
{
	(void)pid, (void)t;
}

static void interrupt_call(pid_t pid, struct stopped_thread *t)
{
	(void)pid, (void)t;
}

static void take_context(struct stopped_thread *t, const mcontext_t *m)
{
	t->words = sizeof(m->regs) / sizeof(m->regs[0]);
	memcpy(t->word, m->regs, sizeof(m->regs));
	t->sp = m->sp;
}

static void take_pointers(struct stopped_thread *t)
{
	const struct user_regs_struct *r = (const void *)t->word;
	struct iovec io = { &t->thread_pointer, sizeof(t->thread_pointer) };

	t->sp = r->sp;
	if (ptrace(PTRACE_GETREGSET, t->tid, 0x401 /* NT_ARM_TLS */, &io))
		t->thread_pointer = 0;
}

#else

static void restart_call(pid_t pid, struct stopped_thread *t)
{
	(void)pid, (void)t;
}

static void interrupt_call(pid_t pid, struct stopped_thread *t)
{
	(void)pid, (void)t;
}

static void take_context(struct stopped_thread *t, const mcontext_t *m)
{
	(void)t, (void)m;
}

static void take_pointers(struct stopped_thread *t)
{
	t->sp = t->thread_pointer = 0;
}

#endif

static int read_registers(struct stopped_thread *t)
{
	struct iovec io = { t->word, sizeof(t->word) };

	if (ptrace(PTRACE_GETREGSET, t->tid, NT_PRSTATUS, &io))
		return -errno;
	t->words = io.iov_len / sizeof(t->word[0]);
	take_pointers(t);
	return 0;
}

/* -ETIMEDOUT: it does not stop yet; -ESRCH: it is gone. */
static int wait_stop(struct stopped_thread *t)
{
	const int64_t until = now_ns(CLOCK_MONOTONIC) + STOP_NS;
	int status;

	for (;;) {
		const pid_t got = waitpid(t->tid, &status, __WALL | WNOHANG);

		if (got < 0 || (got == t->tid && !WIFSTOPPED(status)))
			return -ESRCH;
		if (got == t->tid) {
			t->signal = status >> 16 ? 0 : WSTOPSIG(status);
			return 0;
		}
		if (now_ns(CLOCK_MONOTONIC) > until)
			return -ETIMEDOUT;
		usleep(50);
	}
}

static bool has(const struct stopped *s, pid_t tid)
{
	for (size_t i = 0; i < s->threads; i++)
		if (s->thread[i].tid == tid)
			return true;
	return false;
}

/* A main thread that called pthread_exit() is listed until the others end. */
static bool has_ended(const struct stopped *s, pid_t tid)
{
	char path[64], text[256];
	const char *end;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)s->pid, (int)tid);
	n = file_head(path, text, sizeof(text) - 1);
	text[n > 0 ? n : 0] = '\0';
	end = strrchr(text, ')');
	return !end || !strncmp(end, ") Z", 3) || !strncmp(end, ") X", 3);
}

/* 1: it is stopped; 0: it has ended; or -errno. */
static int stop_thread(struct stopped *s, pid_t tid)
{
	struct stopped_thread *t;
	int ret;

	if (ptrace(PTRACE_SEIZE, tid, NULL, NULL)) {
		ret = -errno;
		return has_ended(s, tid) ? 0 : ret;
	}
	t = GROW_ONE(s->thread, s->threads, s->room);
	t->tid = tid;
	ret = ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) ? -errno : wait_stop(t);
	if (!ret)
		ret = read_registers(t);
	/* Now, because mprof may be killed. */
	if (!ret)
		restart_call(s->pid, t);
	if (!ret)
		return 1;
	if (ret == -ETIMEDOUT)
		return ret;
	s->threads--;
	return 0;
}

/* Stops those that are new; returns how many, or -errno. */
static int stop_more(struct stopped *s)
{
	char path[64];
	struct dirent *e;
	int n = 0, ret = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)s->pid);
	dir = opendir(path);
	if (!dir)
		return -ESRCH;
	while (!ret && (e = readdir(dir))) {
		if (*e->d_name == '.' || has(s, atoi(e->d_name)))
			continue;
		ret = stop_thread(s, atoi(e->d_name));
		n += ret > 0;
		ret = ret < 0 ? ret : 0;
	}
	closedir(dir);
	return ret ? ret : n;
}

int stopped_begin(struct stopped *s, pid_t pid)
{
	int ret = 1;

	*s = (struct stopped){ .pid = pid };
	for (unsigned i = 0; i < ROUNDS && ret > 0; i++)
		ret = stop_more(s);
	if (!ret && s->threads) {
		s->memory = s->thread[0].tid;
		return 0;
	}
	stopped_end(s);
	return ret > 0 ? -ETIMEDOUT : ret ? ret : -ESRCH;
}

static void detach(pid_t pid, struct stopped_thread *t)
{
	interrupt_call(pid, t);
	ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(uintptr_t)t->signal);
}

void stopped_before_handler(struct stopped *s, pid_t tid, uint64_t context_at)
{
	mcontext_t m;

	if (stopped_read(s, context_at + offsetof(ucontext_t, uc_mcontext), &m, sizeof(m)) <
	    sizeof(m))
		return;
	for (size_t i = 0; i < s->threads; i++)
		if (s->thread[i].tid == tid)
			take_context(&s->thread[i], &m);
}

bool stopped_let_go(struct stopped *s, pid_t tid)
{
	for (size_t i = 0; i < s->threads; i++)
		if (s->thread[i].tid == tid) {
			detach(s->pid, &s->thread[i]);
			s->thread[i] = s->thread[--s->threads];
			return true;
		}
	return false;
}

void stopped_wait_end(struct stopped *s, int64_t ns)
{
	const int64_t until = now_ns(CLOCK_MONOTONIC) + ns;
	int status;

	while (s->threads && now_ns(CLOCK_MONOTONIC) < until) {
		const pid_t got = waitpid(s->thread[s->threads - 1].tid, &status, __WALL | WNOHANG);

		if (got < 0 || (got > 0 && !WIFSTOPPED(status)))
			s->threads--;
		else
			usleep(50);
	}
}

void stopped_end(struct stopped *s)
{
	for (size_t i = 0; i < s->threads; i++)
		detach(s->pid, &s->thread[i]);
	free(s->thread);
	*s = (struct stopped){ .pid = s->pid };
}

size_t stopped_read(const struct stopped *s, uint64_t at, void *to, size_t bytes)
{
	const struct iovec here = { to, bytes }, there = { (void *)(uintptr_t)at, bytes };
	const ssize_t n = process_vm_readv(s->memory, &here, 1, &there, 1, 0);

	return n > 0 ? (size_t)n : 0;
}
