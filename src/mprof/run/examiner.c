// SPDX-License-Identifier: LGPL-3.0-or-later
/* examiner.c - see examiner.h. */
#include "examiner.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../util/now.h"
#include "examine.h"

#define LOOK_NS 5000000 /* between looks at the child */

static void alive(void *context)
{
	struct mprof_file_header *h = context;

	__atomic_fetch_add(&h->examiner, 1, __ATOMIC_RELAXED);
}

/* A process that is not examined is named in the report. */
static void write_failure(struct append *file, const struct mprof_process_entry *e, const char *why)
{
	struct mprof_fact fact = { .what = MPROF_FACT_UNEXAMINED, .pid = e->pid };
	const char *text[1];
	char line[sizeof(((struct error *)0)->text) + 8];

	snprintf(line, sizeof(line), "why=%s", why);
	text[0] = line;
	append_fact(file, e->number, &fact, text, 1);
}

static void run_child(struct append *file, const char *path, uint32_t number)
{
	struct examine x = {
		.file = file,
		.path = path,
		.waiting = file->header->waiting_tid,
		.exit_at = file->header->waiting_exit,
		.alive = alive,
		.context = file->header,
	};
	struct error err;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (size_t i = 0; i < MPROF_PROCESS_TABLE && x.of.number != number; i++)
		x.of = append_process(file, i);
	if (x.of.number == number && examine_process(&x, &err))
		write_failure(file, &x.of, err.text);
	_exit(0);
}

/* Lets the process end. */
static void finish(struct examiner *x, struct mprof_file_header *h)
{
	uint32_t number = x->turn;

	__atomic_compare_exchange_n(&h->waiting, &number, 0, 0, __ATOMIC_RELEASE, __ATOMIC_RELAXED);
	syscall(SYS_futex, &h->waiting, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
	x->child = 0;
}

static void begin(struct examiner *x, struct append *file, const char *path, uint32_t number)
{
	x->turn = number;
	x->child = fork();
	if (!x->child)
		run_child(file, path, number);
	if (x->child < 0)
		finish(x, file->header);
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
	int64_t left;

	__atomic_store_n(&x->header, h, __ATOMIC_RELEASE);
	while ((left = until - now_ns(CLOCK_MONOTONIC)) > 0) {
		const uint32_t waiting = __atomic_load_n(&h->waiting, __ATOMIC_ACQUIRE);

		alive(h);
		if (x->child > 0 && waitpid(x->child, NULL, WNOHANG))
			finish(x, h);
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

void examiner_end(struct examiner *x)
{
	if (x->header)
		__atomic_store_n(&x->header->examiner, MPROF_EXAMINER_GONE, __ATOMIC_RELEASE);
}
