// SPDX-License-Identifier: LGPL-3.0-or-later
/* examiner.c - see examiner.h. */
#include "examiner.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../util/memory.h"
#include "../util/now.h"
#include "examine.h"

#define LOOK_NS 5000000	   /* between looks at the child */
#define END_NS	2000000000 /* for it to end when the run does */

static void alive(void *context)
{
	struct append *file = context;

	__atomic_fetch_add(&file->header->examiner, 1, __ATOMIC_RELAXED);
}

static struct mprof_process_entry entry_of(const struct append *file, uint32_t number)
{
	struct mprof_process_entry e = { 0 };

	for (size_t i = 0; i < MPROF_PROCESS_TABLE && e.number != number; i++)
		e = append_process(file, i);
	return e;
}

/* A process that is not examined is named in the report. */
static void write_failure(struct append *file, uint32_t number, const char *why)
{
	struct mprof_fact fact = { .what = MPROF_FACT_UNEXAMINED,
				   .pid = entry_of(file, number).pid };
	const char *text[1];
	char line[sizeof(((struct error *)0)->text) + 8];

	snprintf(line, sizeof(line), "why=%s", why);
	text[0] = line;
	append_fact(file, number, &fact, text, 1);
}

/* Lets the process end. */
static void let_go(struct mprof_file_header *h, uint32_t number)
{
	__atomic_compare_exchange_n(&h->waiting, &number, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	syscall(SYS_futex, &h->waiting, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

/* ---- the child ---- */

static int found(void *context, const struct examine *x, const void *payload, size_t bytes)
{
	return append_extent(context, MPROF_EXTENT_REACH, x->of.number, payload, bytes);
}

static void examined(void *context, const struct examine *x)
{
	struct append *file = context;

	let_go(file->header, x->of.number);
}

/* A system without memory ends this process before any other, and its last words are a fact. */
static void give_way(void)
{
	const int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);

	memory_give_way();
	if (nothing >= 0)
		dup2(nothing, STDERR_FILENO);
}

static void run_child(struct append *file, const char *path, uint32_t number, pid_t parent)
{
	struct examine x = {
		.ticks = append_ticks(file),
		.waiting = file->header->waiting_tid,
		.exit_at = file->header->waiting_exit,
		.context_at = file->header->waiting_context,
		.alive = alive,
		.found = found,
		.examined = examined,
		.context = file,
	};
	struct error err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	give_way();
	x.of = entry_of(file, number);
	if (x.of.number == number && examine_process(&x, path, &err))
		write_failure(file, number, err.text);
	_exit(0);
}

/* ---- mprof ---- */

static void begin(struct examiner *x, struct append *file, const char *path, uint32_t number)
{
	const pid_t self = getpid();
	char why[128];

	x->turn = number;
	x->child = fork();
	if (!x->child)
		run_child(file, path, number, self);
	if (x->child > 0)
		return;
	snprintf(why, sizeof(why), "mprof could not start a process: %s", strerror(errno));
	write_failure(file, number, why);
	let_go(file->header, number);
	x->child = 0;
}

/* The child writes why it could not examine the process, unless it was killed.  It lets a process
 * go that it has examined. */
static void finish(struct examiner *x, struct append *file, int status)
{
	const bool waits = __atomic_load_n(&file->header->waiting, __ATOMIC_ACQUIRE) == x->turn;
	char why[128];

	if (waits && WIFSIGNALED(status)) {
		snprintf(why, sizeof(why), "the process of mprof that did it was killed: %s",
			 strsignal(WTERMSIG(status)));
		write_failure(file, x->turn, why);
	} else if (waits && WEXITSTATUS(status)) {
		write_failure(file, x->turn, "mprof had not enough memory");
	}
	let_go(file->header, x->turn);
	x->child = 0;
}

/* Waits for a change of header.waiting. */
static void look(const struct examiner *x, struct mprof_file_header *h, uint32_t waiting,
		 int64_t left)
{
	const int64_t most = x->child && left > LOOK_NS ? LOOK_NS : left;
	const struct timespec t = { most / 1000000000, most % 1000000000 };

	syscall(SYS_futex, &h->waiting, FUTEX_WAIT, waiting, &t, NULL, 0);
}

void examiner_wait(struct examiner *x, struct append *file, const char *path, int64_t until)
{
	struct mprof_file_header *h = file->header;
	int status = 0;
	int64_t left;

	__atomic_store_n(&x->header, h, __ATOMIC_RELEASE);
	while ((left = until - now_ns(CLOCK_MONOTONIC)) > 0) {
		const uint32_t waiting = __atomic_load_n(&h->waiting, __ATOMIC_ACQUIRE);

		alive(file);
		if (x->child > 0 && waitpid(x->child, &status, WNOHANG))
			finish(x, file, status);
		else if (!x->child && waiting && !(waiting & MPROF_WAITING_CLAIMED))
			begin(x, file, path, waiting);
		else if (!x->child && __atomic_load_n(&x->stop, __ATOMIC_RELAXED))
			return;
		else
			look(x, h, waiting, left);
	}
}

void examiner_stop(struct examiner *x)
{
	struct mprof_file_header *h = __atomic_load_n(&x->header, __ATOMIC_ACQUIRE);

	__atomic_store_n(&x->stop, 1, __ATOMIC_RELAXED);
	if (h)
		syscall(SYS_futex, &h->waiting, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

void examiner_end(struct examiner *x, struct append *file)
{
	int status = 0;
	pid_t ended = 0;

	if (!x->header)
		return;
	__atomic_store_n(&x->header->examiner, MPROF_EXAMINER_GONE, __ATOMIC_RELEASE);
	if (!x->child)
		return;
	/* It sees the program end just now, or examines a process that outlived it. */
	for (int64_t ns = 0; ns < END_NS && !ended; ns += LOOK_NS) {
		usleep(LOOK_NS / 1000);
		ended = waitpid(x->child, &status, WNOHANG);
	}
	if (!ended) {
		kill(x->child, SIGKILL);
		waitpid(x->child, &status, 0);
	}
	finish(x, file, status);
}
