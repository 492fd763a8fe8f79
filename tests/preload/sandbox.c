/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * sandbox.c HOW - enters a seccomp sandbox, as programs do that read
 * hostile input, then continues to allocate.  No call of the recorder may kill it;
 * later calls may be missing from the trace.
 *
 *   strict   nothing but read, write, exit and sigreturn: all else is SIGKILL
 *   kill     a filter that kills       errno   a filter that answers EPERM
 *   syscall  as kill, by seccomp(2) and for every thread
 *   probe    only asks what the kernel knows, by calls that change nothing: all is recorded
 *   both     locks one thread in while another thread asks, again and again, in many children
 *   clock    forbids the clock after any number of calls, in many children
 */
#include "victim.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

enum { CHURN = 60000 };

static void churn(void)
{
	for (int i = 0; i < CHURN; i++)
		free(malloc(40));
}

#define ALLOW(name)                                             \
	BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), \
	    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)

static void filter(unsigned otherwise, int by_syscall)
{
	/* What malloc, threads and this program need, and not a call more. */
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(read),
		ALLOW(write),
		ALLOW(exit),
		ALLOW(exit_group),
		ALLOW(rt_sigreturn),
		ALLOW(rt_sigaction),
		ALLOW(sched_getaffinity),
		ALLOW(brk),
		ALLOW(mmap),
		ALLOW(munmap),
		ALLOW(mprotect),
		ALLOW(futex),
		ALLOW(clone),
		ALLOW(clone3),
		ALLOW(set_robust_list),
		ALLOW(rseq),
		ALLOW(rt_sigprocmask),
		ALLOW(madvise),
		BPF_STMT(BPF_RET | BPF_K, otherwise),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	if (by_syscall)
		must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC,
			     &program) == 0);
	else
		must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

/* What qemu, libseccomp and others do, and filters that the kernel refuses. */
static void probe(void)
{
	struct sock_filter wrong = BPF_STMT(0xffff, 0),
			   fine = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog no_code = { 1, NULL }, empty = { 0, &fine }, bad = { 1, &wrong };
	struct sock_fprog good = { 1, &fine };
	unsigned action = SECCOMP_RET_ALLOW;

	errno = 0;
	must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, NULL) == -1 &&
	     errno == EFAULT);
	must(syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0);
	must(syscall(SYS_seccomp, SECCOMP_SET_MODE_STRICT, 1, NULL) == -1 && errno == EINVAL);
	must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &no_code) == -1);
	must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &empty) == -1 && errno == EINVAL);
	must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &bad) == -1);
	must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0x80000000, &good) == -1 &&
	     errno == EINVAL);
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL) == -1 && errno == EFAULT);
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &bad) == -1);
	must(prctl(PR_SET_SECCOMP, 77, NULL) == -1 && errno == EINVAL);
	must(prctl(PR_SET_TSC, 77) == -1);
	churn();
	say("size 40 %d", 2 * CHURN);
	say("expect calls.malloc %d", 2 * CHURN);
	say("ends 0");
}

static volatile int asked;

/* Each question suspends recording and resumes it. */
static void *ask(void *arg)
{
	struct sock_filter wrong = BPF_STMT(0xffff, 0);
	struct sock_fprog bad = { 1, &wrong };

	for (;;) {
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &bad);
		asked = 1;
	}
	return arg;
}

/* The calls that the recorder makes when it meets a new caller are not among these. */
static void lock_in(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		ALLOW(write),
		ALLOW(exit_group),
		ALLOW(brk),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0);
	must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0);
}

static int compare(const void *a, const void *b)
{
	free(malloc(40));
	return *(const char *)a - *(const char *)b;
}

/* Allocates from new callers, in a thread that keeps allocating. */
static void both(int by_clock)
{
	char text[] = "allocate";
	pthread_t id;

	must(pthread_create(&id, NULL, ask, NULL) == 0);
	while (!asked)
		;
	if (by_clock)
		must(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
	else
		lock_in();
	for (int i = 0; i < 500; i++)
		qsort(text, sizeof(text) - 1, 1, compare);
	_exit(0);
}

/* Runs child(0), child(1) ..., each in a process of its own. */
static void in_children(int n, void (*child)(int))
{
	for (int i = 0; i < n; i++) {
		pid_t pid = fork();
		int status;

		must(pid >= 0);
		if (!pid)
			child(i);
		must(waitpid(pid, &status, 0) == pid);
		if (status)
			say("FAILED child %d: status %x", i, status);
	}
	say("lossy");
	say("ends 0");
}

static void both_ways(int i)
{
	both(i & 1);
}

/* A few calls in a thousand are timed: some of these children are about to time one. */
static void clock_after(int calls)
{
	for (int k = 0; k < calls; k++)
		free(malloc(40));
	must(prctl(PR_SET_TSC, PR_TSC_SIGSEGV) == 0);
	for (int k = 0; k < 20; k++)
		free(malloc(40));
	_exit(0);
}

static void *work(void *arg)
{
	churn();
	return arg;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "";
	int strict = strcmp(how, "strict") == 0;
	pthread_t id;

	churn();
	if (strcmp(how, "probe") == 0) {
		probe();
		return 0;
	}
	if (strcmp(how, "both") == 0) {
		in_children(60, both_ways);
		return 0;
	}
	if (strcmp(how, "clock") == 0) {
		in_children(500, clock_after);
		return 0;
	}
	if (strict)
		must(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0);
	else
		filter(strcmp(how, "errno") == 0 ? SECCOMP_RET_ERRNO | EPERM
						 : SECCOMP_RET_KILL_PROCESS,
		       strcmp(how, "syscall") == 0);
	churn();
	if (!strict) {
		must(pthread_create(&id, NULL, work, NULL) == 0);
		must(pthread_join(id, NULL) == 0);
	}
	say("lossy");
	say("atleast calls.malloc %d", CHURN);
	say("ends 7");
	if (strict)
		syscall(SYS_exit, 7);
	return 7;
}
