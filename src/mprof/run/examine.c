// SPDX-License-Identifier: LGPL-3.0-or-later
/* examine.c - see examine.h. */
#include "examine.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../pass/last_blocks.h"
#include "../trace/stack_map.h"
#include "../util/alloc.h"
#include "../util/hash.h"
#include "../util/order.h"
#include "process.h"
#include "reach.h"
#include "roots.h"

#define END_NS 1000000000 /* for the process to end, while its other threads are stopped */

/* A stack whose blocks were examined, and the slot that most of them depend on, by the weighted
 * majority of Boyer and Moore: if one slot leads to more than half of the bytes, it is that one. */
struct row {
	struct mprof_reach_row sums;
	uint32_t slot; /* index + 1 in reach.slot */
	uint64_t weight;
};

struct rows {
	struct row *row;
	size_t n, room;
	struct hash by_node; /* node + 1 -> index + 1 */
};

/* ---- which processes the blocks come from ---- */

static uint32_t parent_of(const struct trace *t, uint32_t process)
{
	const struct trace_fact *fact;
	const size_t n = trace_facts(t, &fact);

	for (size_t i = 0; i < n; i++)
		if (fact[i].fact->what == MPROF_FACT_START && fact[i].process == process)
			return fact[i].fact->fork_ticks ? fact[i].fact->parent : 0;
	return 0;
}

/* The process and its ancestors by fork; the caller frees the list. */
static uint32_t *lineage(const struct trace *t, uint32_t process, size_t *n)
{
	uint32_t *list = NULL;
	size_t room = 0;

	for (*n = 0; process && *n < MPROF_PROCESS_TABLE; process = parent_of(t, process)) {
		GROW(list, *n + 1, room);
		list[(*n)++] = process;
	}
	return list;
}

/* Does glibc's malloc serve the program? */
static bool has_glibc(const struct trace *t, const struct mprof_process_entry *of)
{
	const struct trace_fact *fact;
	const char *allocator = "";

	for (size_t i = 0, n = trace_facts(t, &fact); i < n; i++)
		if (fact[i].process == of->number && *fact[i].allocator)
			allocator = fact[i].allocator;
	return strstr(allocator, "libc.so") || strstr(allocator, "libc-2.");
}

/* ---- the figures of each stack ---- */

static void add_block(struct rows *rows, const struct reach_block *b, const struct last_block *of)
{
	uint64_t *place = hash_at(&rows->by_node, (uint64_t)of->stack + 1);
	struct row *r;

	if (!*place) {
		GROW_ONE(rows->row, rows->n, rows->room)->sums.stack = of->stack;
		*place = rows->n;
	}
	r = &rows->row[*place - 1];
	r->sums.blocks++;
	r->sums.bytes += of->size;
	if (!b->slot) {
		r->sums.unreachable_blocks++;
		r->sums.unreachable_bytes += of->size;
		r->sums.below_blocks += b->below;
		r->sums.below_bytes += b->below ? of->size : 0;
	} else if (r->slot == b->slot) {
		r->weight += of->size + 1;
	} else if (r->weight <= of->size) {
		r->slot = b->slot;
		r->weight = of->size + 1 - r->weight;
	} else {
		r->weight -= of->size + 1;
	}
}

static void add_blocks(struct rows *rows, const struct reach *reach, const struct last_blocks *b)
{
	for (size_t i = 0; i < reach->blocks; i++) {
		const struct last_block *of = &b->block[reach->block[i].source];

		if (of->own)
			add_block(rows, &reach->block[i], of);
	}
}

/* Replaces nodes of the trace's tree by the numbers that the process gave to its stacks. */
static void number_stacks(struct rows *rows, const struct trace *t,
			  const struct mprof_process_entry *e)
{
	const struct stack_map *m = stack_map_find(t, e->number, e->image);
	const uint32_t last = m ? m->base + m->nodes : 0;

	for (size_t i = 0; i < rows->n; i++)
		rows->row[i].sums.stack = 0;
	for (uint32_t id = 1; id <= last; id++) {
		const uint64_t at = hash_get(&rows->by_node, (uint64_t)stack_map_node(m, id) + 1);

		if (at && !rows->row[at - 1].sums.stack)
			rows->row[at - 1].sums.stack = id;
	}
}

/* ---- the extent ---- */

/* Returns the path by which the trace's stacks know a file, or NULL. */
static const char *path_in_stacks(const struct stacks *s, const char *path)
{
	const char *other = NULL;
	char real[PATH_MAX];

	for (size_t i = 1; i < s->objects; i++) {
		if (!strcmp(s->object[i].path, path))
			return s->object[i].path;
		if (!other && realpath(s->object[i].path, real) && !strcmp(real, path))
			other = s->object[i].path; /* a link, by which the program was called */
	}
	return other;
}

static void name_files(struct roots *roots, const struct trace *t)
{
	for (size_t i = 0; i < roots->files; i++) {
		const char *path = roots->file[i].object
				       ? path_in_stacks(trace_stacks(t), roots->file[i].path)
				       : NULL;

		if (!path)
			continue;
		free(roots->file[i].path);
		roots->file[i].path = must_strdup(path);
	}
}

ORDER(by_bytes, struct row,
      FALLING(sums.unreachable_bytes) ?: FALLING(sums.bytes) ?: RISING(sums.stack))

/* Returns how many blocks the rows have that are left out. */
static uint64_t keep_most(struct rows *rows)
{
	uint64_t blocks = 0;

	SORT(rows->row, rows->n, by_bytes);
	for (; rows->n > MPROF_REACH_ROWS; rows->n--)
		blocks += rows->row[rows->n - 1].sums.blocks;
	return blocks;
}

static struct mprof_reach_root root_of(const struct reach *reach, const struct roots *roots,
				       const struct stopped *s, uint32_t slot)
{
	const struct reach_slot *from = &reach->slot[slot - 1];
	struct mprof_reach_root root = { .address = from->address };
	const struct root_range *range;

	if (from->range >= roots->ranges) {
		root.kind = MPROF_REACH_STACK;
		root.tid = s->thread[REACH_NONE - from->range].tid;
		return root;
	}
	range = &roots->range[from->range];
	root.kind = range->kind;
	root.tid = range->tid;
	if (range->kind == MPROF_REACH_VARIABLE) {
		root.address -= roots->file[range->file].bias;
		for (uint32_t i = 0; i < range->file; i++)
			root.path += (uint32_t)strlen(roots->file[i].path) + 1;
	}
	return root;
}

static int write_rows(const struct examine *x, struct rows *rows, const struct reach *reach,
		      const struct last_blocks *b, const struct roots *roots,
		      const struct stopped *s)
{
	const uint64_t left_out = keep_most(rows);
	struct mprof_reach head = { .ticks = x->ticks,
				    .rows = (uint32_t)rows->n,
				    .blocks = reach->blocks,
				    .image = x->of.image,
				    .left_out = left_out };
	char *roots_at, *text_at, *all_at;
	size_t root_bytes, text_bytes, all_bytes;
	FILE *root = must_memstream(&roots_at, &root_bytes),
	     *text = must_memstream(&text_at, &text_bytes),
	     *all = must_memstream(&all_at, &all_bytes);
	int ret;

	for (size_t i = 0; i < reach->blocks; i++)
		head.bytes += b->block[reach->block[i].source].size;
	for (size_t i = 0; i < rows->n; i++) {
		struct row *r = &rows->row[i];
		struct mprof_reach_root to;

		if (!r->slot)
			continue;
		to = root_of(reach, roots, s, r->slot);
		fwrite(&to, sizeof(to), 1, root);
		r->sums.root = ++head.roots;
	}
	for (size_t i = 0; i < roots->files; i++)
		fwrite(roots->file[i].path, strlen(roots->file[i].path) + 1, 1, text);
	must_close(root, &roots_at);
	must_close(text, &text_at);
	head.text = (uint32_t)text_bytes;
	fwrite(&head, sizeof(head), 1, all);
	for (size_t i = 0; i < rows->n; i++)
		fwrite(&rows->row[i].sums, sizeof(rows->row[i].sums), 1, all);
	fwrite(roots_at, 1, root_bytes, all);
	fwrite(text_at, 1, text_bytes, all);
	must_close(all, &all_at);
	ret = x->found(x->context, x, all_at, all_bytes);
	free(all_at);
	free(roots_at);
	free(text_at);
	return ret;
}

/* ---- the whole ---- */

static void tell(void *context, const struct walk *w)
{
	const struct examine *x = context;

	(void)w;
	if (x->alive)
		x->alive(x->context);
}

static int examine_blocks(const struct examine *x, const struct trace *t,
			  const struct last_blocks *b, const struct stopped *s)
{
	struct reach reach = { .alive = x->alive, .context = x->context };
	struct rows rows = { .n = 0 };
	struct roots roots;
	const pid_t leaves = x->context_at ? 0 : x->waiting;
	int ret = roots_find(&roots, s, b, leaves, x->exit_at, has_glibc(t, &x->of));

	if (!ret) {
		reach_find(&reach, s, &roots, b, leaves);
		add_blocks(&rows, &reach, b);
		number_stacks(&rows, t, &x->of);
		name_files(&roots, t);
		ret = write_rows(x, &rows, &reach, b, &roots, s);
	}
	roots_release(&roots);
	reach_release(&reach);
	hash_release(&rows.by_node);
	free(rows.row);
	return ret;
}

int examine_stopped(const struct examine *x, struct trace *t, const struct stopped *s,
		    struct error *err)
{
	struct last_blocks b = {
		.process = x->of.number,
		.shift = (unsigned)__builtin_ctz(trace_header(t)->page_size),
	};
	const struct walk_pass pass = { &last_blocks_pass, &b };
	size_t n;
	uint32_t *list = lineage(t, x->of.number, &n);
	int ret;

	trace_choose_processes(t, list, n);
	ret = walk_trace(t, &pass, tell, (void *)x, err);
	if (!ret) {
		ret = examine_blocks(x, t, &b, s);
		if (ret)
			fail(err, ret, "cannot read its memory: %s", error_of_process(-ret));
	}
	pass_release(&last_blocks_pass, &b);
	trace_choose_processes(t, NULL, 0);
	free(list);
	return ret;
}

int examine_stop(const struct examine *x, struct stopped *s, struct error *err)
{
	struct process_memory m;
	int ret = process_memory(x->of.pid, &m);

	if (ret || m.start_time != x->of.start_time)
		return fail(err, -ESRCH,
			    "it had ended, or it runs in another PID namespace, as in a container");
	ret = stopped_begin(s, x->of.pid);
	if (ret == -EPERM)
		return fail(
		    err, ret,
		    "mprof may not stop it: a debugger traces it, or it has other privileges");
	if (ret == -ESRCH)
		return fail(err, ret, "it had ended");
	if (ret == -ETIMEDOUT)
		return fail(err, ret,
			    "one of its threads did not stop, as while it waits for a disk");
	if (ret)
		return fail(err, ret, "it cannot be stopped: %s", strerror(-ret));
	if (x->context_at)
		stopped_before_handler(s, x->waiting, x->context_at);
	return 0;
}

int examine_process(const struct examine *x, const char *path, struct error *err)
{
	struct stopped s;
	struct trace *t;
	int ret = examine_stop(x, &s, err);

	if (ret)
		return ret;
	ret = trace_open(&t, path, MPROF_MAGIC_TRACE, err);
	if (!ret) {
		ret = examine_stopped(x, t, &s, err);
		trace_close(t);
	}
	if (!ret && x->examined && stopped_let_go(&s, x->waiting)) {
		x->examined(x->context, x);
		stopped_wait_end(&s, END_NS);
	}
	stopped_end(&s);
	return ret;
}
