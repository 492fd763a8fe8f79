/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * counts_read.c - adds a counts file up, by thread and process.
 */
#include <stdlib.h>
#include <string.h>

#include "../run/process.h"
#include "../util/alloc.h"
#include "../util/order.h"
#include "counts.h"

static void sum_up(struct counts_sum *to, const struct mprof_counts_fn *fn)
{
	size_t i;

	for (i = 0; i < MPROF_FN_MAX; i++) {
		to->fn[i].calls += fn[i].calls;
		to->fn[i].bytes += fn[i].bytes;
		to->fn[i].failed += fn[i].failed;
		to->calls += fn[i].calls;
		to->bytes += fn[i].bytes;
		to->failed += fn[i].failed;
	}
}

static struct counts_process *process_of(struct counts *c, uint32_t number)
{
	size_t i;

	/* Threads are grouped by process, so search from the last one. */
	for (i = c->processes; i > 0; i--)
		if (c->process[i - 1].number == number)
			return &c->process[i - 1];
	GROW(c->process, c->processes + 1, c->room);
	c->process[c->processes] = (struct counts_process){ .number = number };
	return &c->process[c->processes++];
}

/* Returns the started command as one line: "cat Makefile". */
static char *command_of(const struct trace_fact *f)
{
	if (!f->argc)
		return must_strdup(f->exe);
	return WRITTEN(out, for (size_t i = 0; i < f->argc; i++) fprintf(
				out, "%s%s", i ? " " : "", *f->argv[i] ? f->argv[i] : "''"));
}

static void take_fact(struct counts *c, const struct trace_fact *f)
{
	const bool titled = f->fact->what == MPROF_FACT_END && f->argc; /* of a forked child */
	struct counts_process *p;

	if (f->fact->what != MPROF_FACT_START && f->fact->what != MPROF_FACT_EXEC && !titled)
		return;
	p = process_of(c, f->process);
	p->pid = f->fact->pid;
	p->parent_pid = f->fact->parent_pid;
	/* A forked child hardly allocates before it calls exec. */
	if (f->fact->what == MPROF_FACT_EXEC && !p->forked && !p->first)
		p->first = p->command;
	else
		free(p->command);
	p->forked = f->fact->fork_ticks != 0;
	p->command = command_of(f);
}

static void say_how(struct counts_process *p, const struct mprof_process_entry *e)
{
	const char *name = e->state == MPROF_PROCESS_KILLED ? strsignal(e->status) : "";

	p->pid = e->pid;
	if (e->state == MPROF_PROCESS_EXITED)
		snprintf(p->how, sizeof(p->how), "status %d", (int)e->status);
	else if (e->state == MPROF_PROCESS_KILLED)
		snprintf(p->how, sizeof(p->how), "signal %d (%s)", (int)e->status, name);
	else if (process_is_alive(e->pid, e->start_time))
		snprintf(p->how, sizeof(p->how), "still running");
}

static void take_header(struct counts *c, const struct mprof_file_header *h)
{
	for (size_t i = 0; i < MPROF_PROCESS_TABLE; i++)
		if (h->process[i].number)
			say_how(process_of(c, h->process[i].number), &h->process[i]);
}

static void take_threads(struct counts *c, const struct trace *t)
{
	const struct mprof_counts *record;
	struct counts_thread *row;
	struct counts_process *p;
	uint32_t process, thread;
	size_t i, n = 0;

	while (trace_counts(t, n, &process, &thread))
		n++;
	c->thread = must_calloc(n, sizeof(*c->thread));
	for (i = 0; i < n; i++) {
		record = trace_counts(t, i, &process, &thread);
		p = process_of(c, process);
		row = &c->thread[c->threads++];
		row->number = thread;
		row->process = process;
		row->tid = record->tid;
		snprintf(row->name, sizeof(row->name), "%s", trace_thread_name(t, thread));
		row->merged = record->merged;
		sum_up(&row->sum, record->fn);
		sum_up(&p->sum, record->fn);
		sum_up(&c->all, record->fn);
		p->threads += 1 + (uint32_t)record->merged;
		c->all_threads += 1 + record->merged;
	}
}

static void take_times(struct counts *c, const struct trace *t)
{
	struct alloc_times_calls *calls = must_calloc(c->threads + 1, sizeof(*calls));

	for (size_t i = 0; i < c->threads; i++) {
		calls[i].thread = c->thread[i].number;
		for (unsigned fn = 0; fn < MPROF_FN_MAX; fn++)
			calls[i].calls[fn] = c->thread[i].sum.fn[fn].calls;
	}
	alloc_times_find(&c->times, t, calls, c->threads);
	free(calls);
}

ORDER(by_process, struct counts_thread, RISING(process) ?: RISING(number))

ORDER(by_number, struct counts_process, RISING(number))

/*
 * A program that calls exec continues in the same thread, its process's first, under a new number.
 * Rows are sorted: the first of a process is that thread.
 */
static void join_execs(struct counts *c)
{
	struct counts_thread *row = c->thread, *first = NULL;
	size_t i, rows = 0;

	for (i = 0; i < c->threads; i++) {
		if (first && first->process == row[i].process && row[i].tid &&
		    first->tid == row[i].tid) {
			sum_up(&first->sum, row[i].sum.fn);
			memcpy(first->name, row[i].name, sizeof(first->name));
			process_of(c, row[i].process)->threads--;
			c->all_threads--;
			continue;
		}
		if (!first || first->process != row[i].process)
			first = &row[rows];
		row[rows++] = row[i];
	}
	c->threads = rows;
}

int counts_read(struct counts *c, const char *path, struct error *err)
{
	const struct trace_fact *fact;
	struct trace *t;
	size_t i, n;
	int code;

	memset(c, 0, sizeof(*c));
	code = trace_open(&t, path, MPROF_MAGIC_COUNTS, err);
	if (code)
		return code;
	n = trace_facts(t, &fact);
	for (i = 0; i < n; i++)
		take_fact(c, &fact[i]);
	event_count_own(&c->own, t);
	take_header(c, trace_header(t));
	take_threads(c, t);
	take_times(c, t);
	memcpy(c->lost, trace_damage(t)->lost, sizeof(c->lost));
	trace_close(t);
	SORT(c->thread, c->threads, by_process);
	join_execs(c);
	SORT(c->process, c->processes, by_number);
	return 0;
}

void counts_release(struct counts *c)
{
	size_t i;

	for (i = 0; i < c->processes; i++) {
		free(c->process[i].command);
		free(c->process[i].first);
	}
	free(c->process);
	free(c->thread);
	alloc_times_release(&c->times);
	memset(c, 0, sizeof(*c));
}
