// SPDX-License-Identifier: LGPL-3.0-or-later
/* reachable.c - see reachable.h. */
#include "reachable.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/hash.h"

struct of_stack {
	struct mprof_reach_row sums; /* .root: that of `from` */
	const struct trace_reach *from;
	uint64_t held; /* bytes that depend on the root, at least */
};

struct reachable {
	const struct stacks *stacks;
	struct of_stack *stack;
	size_t n, room;
	struct hash by_node; /* node + 1 -> index + 1 */
	/* The variables of one object after the other, read when they are first needed. */
	struct sym_variables *variables; /* by object */
	bool *read;
	size_t objects;
	bool part;
};

static void add_row(struct reachable *r, const struct trace_reach *x, uint32_t node,
		    const struct mprof_reach_row *row)
{
	const uint64_t held = row->bytes - row->unreachable_bytes + 1;
	uint64_t *place = hash_at(&r->by_node, (uint64_t)node + 1);
	struct of_stack *s;

	if (!*place) {
		GROW_ONE(r->stack, r->n, r->room);
		*place = r->n;
	}
	s = &r->stack[*place - 1];
	s->sums.blocks += row->blocks;
	s->sums.bytes += row->bytes;
	s->sums.unreachable_blocks += row->unreachable_blocks;
	s->sums.unreachable_bytes += row->unreachable_bytes;
	s->sums.below_blocks += row->below_blocks;
	if (row->root && held > s->held) {
		s->held = held;
		s->sums.root = row->root;
		s->from = x;
	}
}

struct reachable *reachable_read(const struct trace *t, uint32_t process)
{
	const struct trace_reach *x;
	const size_t n = trace_reaches(t, &x);
	struct reachable *r;

	if (!n)
		return NULL;
	r = must_calloc(1, sizeof(*r));
	r->stacks = trace_stacks(t);
	for (size_t i = 0; i < n; i++) {
		if (process && x[i].process != process)
			continue;
		r->part |= x[i].head->left_out != 0;
		for (uint32_t k = 0; k < x[i].head->rows; k++)
			add_row(r, &x[i],
				trace_stack_node(t, x[i].process, x[i].image, x[i].row[k].stack),
				&x[i].row[k]);
	}
	return r;
}

void reachable_release(struct reachable *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->objects; i++)
		free(r->variables[i].of);
	free(r->variables);
	free(r->read);
	hash_release(&r->by_node);
	free(r->stack);
	free(r);
}

static const struct of_stack *of_stack(const struct reachable *r, uint32_t node)
{
	const uint64_t at = r ? hash_get(&r->by_node, (uint64_t)node + 1) : 0;

	return at ? &r->stack[at - 1] : NULL;
}

bool reachable_is_part(const struct reachable *r)
{
	return r && r->part;
}

void reachable_count(const struct reachable *r, struct site *site)
{
	const struct of_stack *s = of_stack(r, site->key);
	struct site_values *v = &site->v;

	if (!s)
		return;
	v->examined_calls = v->leaked_calls < s->sums.blocks ? v->leaked_calls : s->sums.blocks;
	v->held_stack = site->key;
	v->held_bytes = s->sums.bytes - s->sums.unreachable_bytes + !!s->sums.root;
	if (s->sums.unreachable_blocks == s->sums.blocks && !s->sums.below_blocks &&
	    v->leaked_calls < s->sums.blocks) {
		v->unreachable_calls = v->leaked_calls;
		v->unreachable_bytes = v->leaked_bytes;
	} else if (v->leaked_calls >= s->sums.blocks) {
		v->unreachable_calls = s->sums.unreachable_blocks;
		v->unreachable_bytes = s->sums.unreachable_bytes;
		v->below_calls = s->sums.below_blocks;
	}
}

/* ---- what holds the others ---- */

static const struct sym_variables *variables_of(struct reachable *r, struct sym *s, uint32_t object)
{
	if (!r->objects) {
		r->objects = r->stacks->objects;
		r->variables = must_calloc(r->objects, sizeof(*r->variables));
		r->read = must_calloc(r->objects, sizeof(*r->read));
	}
	if (!r->read[object])
		sym_variables(s, object, &r->variables[object]);
	r->read[object] = true;
	return &r->variables[object];
}

static const struct sym_variable *variable_at(struct reachable *r, struct sym *s, const char *path,
					      uint64_t address)
{
	const struct stacks *stacks = r->stacks;
	const struct sym_variables *v;
	uint32_t object = 1;

	while (object < stacks->objects && strcmp(stacks->object[object].path, path) != 0)
		object++;
	if (object >= stacks->objects)
		return NULL;
	v = variables_of(r, s, object);
	for (size_t i = 0; i < v->count; i++)
		if (!v->of[i].tls && address - v->of[i].address < v->of[i].size)
			return &v->of[i];
	return NULL;
}

static void put_variable(struct reachable_holder *to, const struct sym_variable *v,
			 const char *path)
{
	const size_t room = sizeof(to->text);

	if (!v || *v->name == '.') /* the object is stripped, but for its sections */
		snprintf(to->text, room, "a variable of %s", basename(path));
	else if (!*v->file)
		snprintf(to->text, room, "%s, a variable of %s", v->name, basename(path));
	else
		snprintf(to->text, room, "%s (%s:%" PRIu32 ")", v->name, basename(v->file),
			 v->line);
}

struct reachable_holder reachable_holder(struct reachable *r, struct sym *s,
					 const struct site_values *v)
{
	static const char *const kind[MPROF_REACH_BEHIND] = {
		[MPROF_REACH_THREAD] = "a thread-local variable",
		[MPROF_REACH_STACK] = "a local variable of a function that still ran",
		[MPROF_REACH_MAPPED] = "memory that the program mapped itself",
	};
	const struct of_stack *of = v->held_bytes ? of_stack(r, v->held_stack) : NULL;
	struct reachable_holder to = { .text = "" };
	const struct mprof_reach_root *root;
	const char *path;

	if (!of || !of->sums.root)
		return to;
	root = &of->from->root[of->sums.root - 1];
	path = of->from->text + root->path;
	if (root->kind == MPROF_REACH_VARIABLE)
		put_variable(&to, variable_at(r, s, path, root->address), path);
	else
		snprintf(to.text, sizeof(to.text), "%s", kind[root->kind]);
	return to;
}

/* ---- the trace ---- */

bool reachable_is_known(const struct trace *t)
{
	const struct trace_reach *x;

	return trace_reaches(t, &x) > 0;
}

bool reachable_was_requested(const struct trace *t)
{
	const struct trace_fact *fact;
	const size_t n = trace_facts(t, &fact);

	for (size_t i = 0; i < n; i++)
		if (strstr(fact[i].conf, "REACH=1"))
			return true;
	return false;
}

const char *reachable_why_not(const struct trace *t)
{
	const struct trace_fact *fact;
	const size_t n = trace_facts(t, &fact);

	for (size_t i = 0; i < n; i++)
		if (fact[i].fact->what == MPROF_FACT_UNEXAMINED)
			return fact[i].why;
	return "";
}

static bool was_examined(const struct trace *t, uint32_t process)
{
	const struct trace_reach *x;
	const size_t n = trace_reaches(t, &x);

	for (size_t i = 0; i < n; i++)
		if (x[i].process == process)
			return true;
	return false;
}

/* Did it leave its blocks by exec, for a program that is not recorded? */
static bool has_become(const struct tree *tree, const struct tree_process *p)
{
	for (size_t i = 0; i < tree->missing_count; i++)
		if (tree->missing[i].became && tree->missing[i].parent == p->number)
			return true;
	return p->end == TREE_BECAME;
}

const struct tree_process *reachable_missed(const struct trace *t, const struct tree *tree,
					    uint32_t only, size_t *n)
{
	const struct tree_process *first = NULL;

	*n = 0;
	for (size_t i = tree->processes; i-- > 0;) {
		const struct tree_process *p = &tree->process[i];

		if ((only && p->number != only) || has_become(tree, p) ||
		    was_examined(t, p->number))
			continue;
		first = p;
		++*n;
	}
	return first;
}
