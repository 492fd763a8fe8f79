/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * counts.c - `mprof counts`, which is also `mprof` without a command: shows
 * counts files; and the adding up of one, which `stat` and `test` use as well.
 */
#include "counts.h"

#include <glob.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "../print/json_rows.h"
#include "../run/process.h"
#include "../util/alloc.h"
#include "run_messages.h"
#include "cmd.h"
#include "usage.h"

static const char *const names[MPROF_FN_MAX] = {
#define MPROF_FUNCTION(id, code, name, class) [code] = name,
#include <mprof/functions.def>
#undef MPROF_FUNCTION
};

const char *counts_function(unsigned fn)
{
	return fn < MPROF_FN_MAX ? names[fn] : NULL;
}

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

	/* Threads come by process, so the last one is nearly always meant. */
	for (i = c->processes; i > 0; i--)
		if (c->process[i - 1].number == number)
			return &c->process[i - 1];
	GROW(c->process, c->processes + 1, c->room);
	c->process[c->processes] = (struct counts_process){ .number = number };
	return &c->process[c->processes++];
}

/* "cat Makefile": what was started, as one line. */
static char *command_of(const struct trace_fact *f)
{
	char *text = NULL;
	size_t size, i;
	FILE *out = must_memstream(&text, &size);

	for (i = 0; i < f->argc; i++)
		fprintf(out, "%s%s", i ? " " : "", f->argv[i]);
	if (!f->argc)
		fputs(f->exe, out);
	must_close(out);
	return text;
}

static void take_fact(struct counts *c, const struct trace_fact *f)
{
	struct counts_process *p;

	if (f->fact->what != MPROF_FACT_START && f->fact->what != MPROF_FACT_EXEC)
		return;
	p = process_of(c, f->process);
	p->pid = f->fact->pid;
	p->parent_pid = f->fact->parent_pid;
	free(p->command);
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
	struct counts_process *p;
	size_t i;

	for (i = 0; i < MPROF_PROCESS_TABLE; i++) {
		if (!h->process[i].number)
			continue;
		p = process_of(c, h->process[i].number);
		if (p)
			say_how(p, &h->process[i]);
	}
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
		row->merged = record->merged;
		sum_up(&row->sum, record->fn);
		sum_up(&p->sum, record->fn);
		sum_up(&c->all, record->fn);
		p->threads += 1 + (uint32_t)record->merged;
		c->all_threads += 1 + record->merged;
	}
}

static int by_process(const void *a, const void *b)
{
	const struct counts_thread *x = a, *y = b;

	if (x->process != y->process)
		return x->process < y->process ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static int by_number(const void *a, const void *b)
{
	const struct counts_process *x = a, *y = b;

	return x->number < y->number ? -1 : x->number > y->number;
}

/*
 * A program that calls exec goes on in the same thread, its process's first,
 * under a new number.  Rows are sorted: the first of a process is that thread.
 */
static void join_execs(struct counts *c)
{
	struct counts_thread *row = c->thread, *first = NULL;
	size_t i, rows = 0;

	for (i = 0; i < c->threads; i++) {
		if (first && first->process == row[i].process && row[i].tid &&
		    first->tid == row[i].tid) {
			sum_up(&first->sum, row[i].sum.fn);
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
	for (i = 0; i < n; i++) {
		take_fact(c, &fact[i]);
		event_count_own(&c->own, &fact[i]);
	}
	take_header(c, trace_header(t));
	take_threads(c, t);
	memcpy(c->lost, trace_damage(t)->lost, sizeof(c->lost));
	trace_close(t);
	qsort(c->thread, c->threads, sizeof(*c->thread), by_process);
	join_execs(c);
	if (c->processes)
		qsort(c->process, c->processes, sizeof(*c->process), by_number);
	return 0;
}

void counts_release(struct counts *c)
{
	size_t i;

	for (i = 0; i < c->processes; i++)
		free(c->process[i].command);
	free(c->process);
	free(c->thread);
	memset(c, 0, sizeof(*c));
}

struct options {
	const char *file;
	bool json;
};

#define OPTIONS struct options
static const struct option_row options[] = {
	OPTION_JSON(json),
	OPTION_ROWS_ALONE(option_memory),
	OPTION_ROWS_ALONE(option_terminal),
	OPTION_END,
};

static const struct usage usage = {
	.options = options,
	.args = "[COUNTS]",
	.doc = "Shows counts files, by process and thread. Without COUNTS: all files mprof.counts* "
	       "in this directory.",
	.words = USAGE_FILE,
	.at = offsetof(struct options, file),
};

static int show(const char *path, bool as_json)
{
	struct counts c;
	struct error err;
	unsigned i;

	if (counts_read(&c, path, &err))
		return cmd_error(STATUS_FILE, "%s", err.text);
	if (as_json) {
		json_print(stdout, JSON_NEW(counts, path, &c));
	} else {
		printf("%s\n", path);
		counts_print(stdout, &c, 0);
		fflush(stdout);
		for (i = 0; i < MPROF_LOST_REASONS; i++)
			run_messages_loss(i, c.lost[i]);
	}
	counts_release(&c);
	return STATUS_OK;
}

/* What an earlier run left is shown when it is named. */
static bool is_old(const char *path)
{
	size_t n = strlen(path);

	return n > 4 && !strcmp(path + n - 4, ".old");
}

bool counts_here(void)
{
	glob_t found = { .gl_pathc = 0 };
	bool here = false;
	size_t i;

	glob("mprof.counts*", 0, NULL, &found);
	for (i = 0; i < found.gl_pathc; i++)
		here |= !is_old(found.gl_pathv[i]);
	globfree(&found);
	return here;
}

/* Other files of that name (a JSON answer, say) are no reason to stop. */
static int show_all(bool json)
{
	int status = STATUS_OK, one;
	glob_t found = { .gl_pathc = 0 };
	size_t i, shown = 0;

	glob("mprof.counts*", 0, NULL, &found);
	for (i = 0; i < found.gl_pathc; i++) {
		if (is_old(found.gl_pathv[i]))
			continue;
		if (shown++ && !json)
			putchar('\n');
		one = show(found.gl_pathv[i], json);
		status = one ? one : status;
	}
	globfree(&found);
	if (!shown)
		return cmd_error(STATUS_FILE,
				 "no counts file mprof.counts* in this directory; make one"
				 " with: mprof -m Count PROGRAM; mprof --help lists all"
				 " commands");
	return status;
}

int cmd_counts(int argc, char **argv)
{
	struct options o = { 0 };

	if (usage_take(&usage, argc, argv, &o))
		return STATUS_USAGE;
	return o.file ? show(o.file, o.json) : show_all(o.json);
}
