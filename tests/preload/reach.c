// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * reach.c - blocks that pointers lead to in each way, and lost ones: `reach [HOW]`.
 *
 * Each function allocates the blocks of one row of a report.  HOW: return (the default) or exit
 * from main, exit from another thread when main's has ended (left), fork, killed, exec, pause, or
 * how a signal ends it: signal, default, restored, suspended, repeated (in two threads), pending
 * (repeated in one), handled (likewise, by a handler that exits), fault, faults (of
 * many threads), overflow, abort, sandbox.
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define APART __attribute__((noinline, noclone))

struct node {
	struct node *next;
	char rest[40];
};

static struct node *volatile list;
static void **volatile table;
static char *volatile inner;
static __thread void *volatile local_to_thread;
static struct {
	int number;
	void *volatile pointer;
} record;
static void *volatile taken; /* and forgotten */
static volatile uint64_t tagged;
static char *volatile behind;
static volatile int ready;

APART static void *block(size_t bytes)
{
	return memset(malloc(bytes), 0, bytes);
}

APART static void keep_list(void)
{
	for (int i = 0; i < 100; i++) {
		struct node *n = block(sizeof(*n));

		n->next = list;
		list = n;
	}
}

APART static void keep_table(void)
{
	void **all = block(50 * sizeof(*all));

	for (int i = 0; i < 50; i++)
		all[i] = (char *)block(64) + 63; /* to the last byte */
	table = all;
}

APART static void keep_inner(void)
{
	inner = (char *)block(500) + 250;
}

APART static void keep_in_record(void)
{
	record.pointer = block(222);
}

APART static void keep_in_thread(void)
{
	local_to_thread = block(333);
}

APART static void keep_in_mapping(void)
{
	void **page = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	page[700] = block(444);
}

APART static void keep_tagged(void)
{
	tagged = (uintptr_t)block(555) | 0xfff8000000000000ull;
}

APART static void lose_single(void)
{
	for (int i = 0; i < 10; i++)
		taken = block(1000);
	taken = NULL;
}

APART static void lose_list(void)
{
	struct node *first = NULL;

	for (int i = 0; i < 5; i++) {
		struct node *n = block(sizeof(*n));

		n->next = first;
		first = n;
	}
	taken = first;
	taken = NULL;
}

APART static void lose_ring(void)
{
	struct node *a = block(48), *b = block(48), *c = block(48);

	a->next = b;
	b->next = c;
	c->next = a;
	taken = a;
	taken = NULL;
}

APART static void lose_self(void)
{
	struct node *a = block(60);

	a->next = a;
	taken = a;
	taken = NULL;
}

/* A pointer behind the end is none. */
APART static void lose_behind(void)
{
	behind = (char *)block(72) + 72;
}

APART static void *thread(void *unused)
{
	char *volatile mine = block(666);

	(void)unused;
	ready = 1;
	pause();
	return mine;
}

static pthread_t main_thread;

APART static void *exit_alone(void *unused)
{
	(void)unused;
	pthread_join(main_thread, NULL);
	exit(0);
}

/* Frames of earlier calls are below the stack pointer now; overwrites what may be above it. */
APART static void overwrite(void)
{
	char room[16384];

	memset(room, 0, sizeof(room));
	taken = room;
	taken = NULL;
}

APART static void fork_and_lose(void)
{
	if (!fork()) {
		list = NULL;
		lose_single();
		overwrite();
		exit(0);
	}
	wait(NULL);
}

/* In a handler, as programs do that want to end by the signal that they caught. */
static void end_by_default(int number)
{
	signal(number, SIG_DFL);
	raise(number);
}

static void on_alternative_stack(void)
{
	const stack_t stack = { .ss_sp = block(65536), .ss_size = 65536 };

	sigaltstack(&stack, NULL);
}

APART static char overflow(const char *above)
{
	volatile char room[4096];

	room[0] = *above;
	return *above == 1 ? 0 : overflow((const char *)room) + room[0];
}

static void sees_defaults(void)
{
	struct sigaction a = { .sa_handler = SIG_IGN };

	if (sigaction(SIGTERM, NULL, &a) || a.sa_handler != SIG_DFL || a.sa_flags)
		puts("SIGTERM has a handler");
	if (signal(SIGTERM, SIG_IGN) != SIG_DFL || signal(SIGTERM, SIG_DFL) != SIG_IGN ||
	    signal(SIGTERM, end_by_default) != SIG_DFL)
		puts("signal() shows another handler");
	if (sigaction(SIGTERM, NULL, &a) || a.sa_handler != end_by_default)
		puts("the handler is not the program's");
}

/* The signal is only not blocked while the program waits for it. */
static void end_suspended(void)
{
	sigset_t all, none;

	sigfillset(&all);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &all, NULL);
	raise(SIGTERM);
	sigsuspend(&none);
}

static void change_mask(int how)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGTERM);
	sigprocmask(how, &set, NULL);
}

/* As timeout(1) does. */
static void end_twice(void)
{
	change_mask(SIG_BLOCK);
	raise(SIGTERM);
	kill(getpid(), SIGTERM);
	change_mask(SIG_UNBLOCK);
	pause();
}

static void leave(int number)
{
	(void)number;
	exit(0);
}

/* No more handlers may be installed. */
static void enter_sandbox(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_rt_sigaction, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(code) / sizeof(code[0]), code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program))
		exit(2);
}

/* A filter that the kernel refuses. */
static void try_sandbox(void)
{
	struct sock_filter code = BPF_STMT(0xffff, 0);
	struct sock_fprog program = { 1, &code };

	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

static void *fault(void *unused)
{
	*(volatile int *)8 = 0;
	return unused;
}

static void end_by_signal(const char *how)
{
	struct sigaction standard = { .sa_handler = SIG_DFL }, old;
	pthread_t id;

	for (int i = 0; i < 4 && !strcmp(how, "faults"); i++)
		pthread_create(&id, NULL, fault, NULL);

	if (!strcmp(how, "signal"))
		raise(SIGTERM);
	if (!strcmp(how, "default")) {
		sees_defaults();
		fflush(stdout);
		raise(SIGTERM);
	}
	if (!strcmp(how, "restored")) {
		sigaction(SIGTERM, &standard, &old);
		signal(SIGTERM, SIG_IGN);
		sigaction(SIGTERM, &old, NULL);
		raise(SIGTERM);
	}
	if (!strcmp(how, "suspended")) {
		try_sandbox();
		end_suspended();
	}
	if (!strcmp(how, "handled"))
		signal(SIGTERM, leave);
	if (!strcmp(how, "repeated") || !strcmp(how, "pending") || !strcmp(how, "handled"))
		end_twice();
	if (!strcmp(how, "sandbox"))
		enter_sandbox();
	if (!strncmp(how, "fault", 5) || !strcmp(how, "sandbox"))
		fault(NULL);
	if (!strcmp(how, "overflow")) {
		on_alternative_stack();
		overflow("");
	}
	if (!strcmp(how, "abort"))
		abort();
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "return";
	char *volatile of_main = block(777);
	pthread_t id;

	if (!strcmp(how, "pending") || !strcmp(how, "handled")) /* in all threads */
		change_mask(SIG_BLOCK);
	keep_list();
	keep_table();
	keep_inner();
	keep_in_record();
	keep_in_thread();
	keep_in_mapping();
	keep_tagged();
	if (!strcmp(how, "fork")) {
		fork_and_lose();
	} else {
		lose_single();
		lose_list();
		lose_ring();
		lose_self();
		lose_behind();
		pthread_create(&id, NULL, thread, NULL);
		while (!ready)
			usleep(1000);
	}
	overwrite();
	puts("done");
	fflush(stdout);
	if (!strcmp(how, "killed"))
		raise(SIGKILL);
	end_by_signal(how);
	if (!strcmp(how, "pause"))
		pause();
	if (!strcmp(how, "exec"))
		execlp("true", "true", (char *)NULL);
	if (!strcmp(how, "left")) {
		main_thread = pthread_self();
		pthread_create(&id, NULL, exit_alone, NULL);
		pthread_exit(NULL);
	}
	if (!strcmp(how, "exit"))
		exit(*of_main);
	return 0;
}
