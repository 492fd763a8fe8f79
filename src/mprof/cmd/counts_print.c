/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * counts_print.c - added-up counts as a table, and as JSON.
 *
 * A column for each function that was called at all, in the order of
 * functions.def; names and documented members of the JSON are stable.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../util/format.h"
#include "counts.h"

struct columns {
	unsigned fn[MPROF_FN_MAX];
	int width[MPROF_FN_MAX];
	size_t n;
	int total; /* width of the last one */
};

static int digits(uint64_t n)
{
	return (int)strlen(text_count(n).s);
}

static int wider(int a, int b)
{
	return a > b ? a : b;
}

static void find_columns(struct columns *c, const struct counts_sum *all)
{
	unsigned i;

	c->n = 0;
	for (i = 0; i < MPROF_FN_MAX; i++) {
		if (!all->fn[i].calls || !counts_function(i))
			continue;
		c->fn[c->n] = i;
		c->width[c->n++] = wider((int)strlen(counts_function(i)), digits(all->fn[i].calls));
	}
	c->total = wider(5, digits(all->calls));
}

static void print_head(FILE *out, const struct columns *c)
{
	size_t i;

	fprintf(out, "  %-24s", "");
	for (i = 0; i < c->n; i++)
		fprintf(out, "  %*s", c->width[i], counts_function(c->fn[i]));
	fprintf(out, "  %*s\n", c->total, "Total");
}

static void print_row(FILE *out, const struct columns *c, const char *what,
		      const struct counts_sum *sum)
{
	size_t i;

	fprintf(out, "  %-24s", what);
	for (i = 0; i < c->n; i++)
		fprintf(out, "  %*s", c->width[i], text_count(sum->fn[c->fn[i]].calls).s);
	fprintf(out, "  %*s\n", c->total, text_count(sum->calls).s);
}

static void print_thread(FILE *out, const struct columns *c, const struct counts_thread *t)
{
	char what[80];

	if (t->merged)
		snprintf(what, sizeof(what), "  threads %" PRIu32 " and %" PRIu64 " more",
			 t->number, t->merged);
	else if (t->tid)
		snprintf(what, sizeof(what), "  thread %" PRIu32 " (%" PRIu64 ")", t->number,
			 t->tid);
	else
		snprintf(what, sizeof(what), "  thread %" PRIu32, t->number);
	print_row(out, c, what, &t->sum);
}

static void print_process(FILE *out, const struct columns *columns, const struct counts *c,
			  const struct counts_process *p, size_t *next, size_t rows)
{
	char what[64];
	size_t shown = 0, left = 0;

	snprintf(what, sizeof(what), "process %" PRIu32 " (%" PRId32 ")", p->number, p->pid);
	fprintf(out, "%s: %s%s%s\n", what, p->command ? p->command : "?", *p->how ? ", " : "",
		p->how);
	for (; *next < c->threads && c->thread[*next].process <= p->number; ++*next) {
		if (rows && shown == rows) {
			left++;
			continue;
		}
		print_thread(out, columns, &c->thread[*next]);
		shown++;
	}
	if (left)
		fprintf(out, "    and %zu more threads\n", left);
	print_row(out, columns, "process", &p->sum);
}

void counts_print(FILE *out, const struct counts *c, size_t rows)
{
	struct columns columns;
	size_t i, next = 0;

	if (!c->threads) {
		fputs("  no call was counted\n", out);
		return;
	}
	find_columns(&columns, &c->all);
	print_head(out, &columns);
	for (i = 0; i < c->processes; i++)
		print_process(out, &columns, c, &c->process[i], &next, rows);
	fputs("all\n", out);
	print_row(out, &columns, "Total", &c->all);
}

enum field { CALLS, BYTES, FAILED };

/* Every function of functions.def, called or not, so that readers need no test. */
static struct json_object *functions(const struct counts_sum *sum, enum field field)
{
	struct json_object *o = json_object_new_object();
	unsigned i;

	for (i = 0; i < MPROF_FN_MAX; i++) {
		const struct mprof_counts_fn *fn = &sum->fn[i];

		if (counts_function(i))
			json_object_object_add(o, counts_function(i),
					       json_object_new_uint64(field == CALLS ? fn->calls
								      : field == BYTES
									  ? fn->bytes
									  : fn->failed));
	}
	return o;
}

static void put_number(struct json_object *o, const char *name, uint64_t n)
{
	json_object_object_add(o, name, json_object_new_uint64(n));
}

static struct json_object *thread_json(const struct counts_thread *t)
{
	struct json_object *o = json_object_new_object();

	put_number(o, "thread", t->number);
	put_number(o, "process", t->process);
	put_number(o, "tid", t->tid);
	put_number(o, "merged", t->merged);
	put_number(o, "total_calls", t->sum.calls);
	json_object_object_add(o, "calls", functions(&t->sum, CALLS));
	return o;
}

static struct json_object *process_json(const struct counts_process *p)
{
	struct json_object *o = json_object_new_object();

	put_number(o, "process", p->number);
	json_object_object_add(o, "pid", json_object_new_int(p->pid));
	json_object_object_add(o, "parent_pid", json_object_new_int(p->parent_pid));
	json_object_object_add(o, "command", json_object_new_string(p->command ? p->command : ""));
	json_object_object_add(o, "ended", json_object_new_string(p->how));
	put_number(o, "threads", p->threads);
	put_number(o, "total_calls", p->sum.calls);
	put_number(o, "total_bytes", p->sum.bytes);
	json_object_object_add(o, "calls", functions(&p->sum, CALLS));
	return o;
}

void counts_json(struct json_object *to, const struct counts *c)
{
	struct json_object *threads = json_object_new_array();
	struct json_object *processes = json_object_new_array();
	uint64_t lost = 0;
	size_t i;

	for (i = 0; i < c->threads; i++)
		json_object_array_add(threads, thread_json(&c->thread[i]));
	for (i = 0; i < c->processes; i++)
		json_object_array_add(processes, process_json(&c->process[i]));
	for (i = 0; i < MPROF_LOST_REASONS; i++)
		lost += c->lost[i];
	json_object_object_add(to, "calls", functions(&c->all, CALLS));
	json_object_object_add(to, "bytes", functions(&c->all, BYTES));
	json_object_object_add(to, "failed", functions(&c->all, FAILED));
	put_number(to, "total_calls", c->all.calls);
	put_number(to, "total_bytes", c->all.bytes);
	put_number(to, "total_failed", c->all.failed);
	put_number(to, "lost", lost);
	json_object_object_add(to, "processes", processes);
	json_object_object_add(to, "threads", threads);
}
