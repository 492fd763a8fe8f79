// SPDX-License-Identifier: LGPL-3.0-or-later
/* path_numbers.c - see path_numbers.h. */
#include "path_numbers.h"

#include <stdlib.h>

#include "../util/alloc.h"

/* The key of no line, and what is known of a path beside its lines. */
enum { NOTHING = 4, TRUNCATED = 1, STOPPED = 2, FLAGS = 3 };

static void set_up(struct path_numbers *k, const struct stacks *s, bool scripts)
{
	for (int i = 0; i <= scripts; i++)
		k->key[i] = must_calloc(s->nodes, sizeof(*k->key[i]));
	k->line = must_calloc(s->frames + 1, sizeof(*k->line));
}

static uint32_t id_of(struct path_numbers *k, uint32_t frame, const struct sym_lines *lines,
		      size_t i)
{
	const struct sym_line *line = &lines->line[i];
	uint32_t id = k->line[frame];

	if (id)
		return id;
	id = line_interner_id(&k->lines, line);
	if (lines->count == 1 && !line->stop && !paths_begins(line))
		k->line[frame] = id;
	return id;
}

/* Returns the key of a path with one more line; the flags stay. */
static inline uint64_t with(uint64_t key, uint32_t line)
{
	uint64_t x = (key & ~(uint64_t)FLAGS) + line;

	x = (x ^ x >> 32) * 0x9e3779b97f4a7c15ull;
	x = (x ^ x >> 29) * 0xd6e8feb86659fd93ull;
	return ((x ^ x >> 32) & ~(uint64_t)FLAGS) | (key & FLAGS);
}

static inline bool has_lines(uint64_t key)
{
	return (key & ~(uint64_t)FLAGS) != NOTHING;
}

/* Adds the lines of a frame, from the outermost one up to line i; leaves out those that start a
 * program at the outer end. */
static uint64_t add_lines(struct path_numbers *k, struct profile_paths *t, uint64_t key,
			  uint32_t frame, size_t i)
{
	const struct sym_lines *lines = sym_frame(t->sym, frame);

	for (size_t n = lines->count; n-- > i && !(key & STOPPED);) {
		if (has_lines(key) || !paths_begins(&lines->line[n]))
			key = with(key, id_of(k, frame, lines, n));
		key |= lines->line[n].stop ? STOPPED : 0;
	}
	return key;
}

/* Returns the key up to a step from that of its caller. */
static uint64_t next(struct path_numbers *k, struct profile_paths *t,
		     const struct path_step_in *step, uint64_t outer)
{
	const uint32_t frame = t->stacks->node[step->node].frame;
	bool in_script = step->in_script;

	if (paths_is_mark(t->stacks, frame))
		return outer | TRUNCATED;
	if (outer & STOPPED || (t->scripts && paths_surrounds(t, frame, &in_script)))
		return outer;
	return add_lines(k, t, outer, frame, 0);
}

static inline struct path_step_in outward(struct profile_paths *t, struct path_step_in step)
{
	const struct stack_node *node = &t->stacks->node[step.node];

	if (t->scripts && !paths_is_mark(t->stacks, node->frame))
		paths_surrounds(t, node->frame, &step.in_script);
	step.node = node->parent;
	return step;
}

/* Returns the key up to a step. */
static uint64_t key_of(struct path_numbers *k, struct profile_paths *t, struct path_step_in step)
{
	const struct stacks *s = t->stacks;
	uint64_t key = 0;
	size_t n = 0;

	for (; step.node && step.node < s->nodes; step = outward(t, step)) {
		key = k->key[step.in_script][step.node];
		if (key)
			break;
		GROW(k->list, n + 1, k->room);
		k->list[n++] = step;
	}
	key = key ? key : NOTHING;
	while (n--) {
		const struct path_step_in *at = &k->list[n];
		const uint32_t line = k->line[s->node[at->node].frame];

		key =
		    line && !t->scripts && !(key & STOPPED) ? with(key, line) : next(k, t, at, key);
		k->key[at->in_script][at->node] = key;
	}
	return key;
}

/* ---- where a path ends ---- */

/* A line of a path. */
struct place {
	struct path_step_in step;
	uint32_t frame;
	const struct sym_lines *lines; /* NULL: beyond the outermost line */
	size_t i;
};

/* Skips what is not part of paths. */
static struct place place_at(struct profile_paths *t, struct path_step_in step)
{
	struct place p = { .step = step };

	for (; p.step.node && p.step.node < t->stacks->nodes; p.step = outward(t, p.step)) {
		bool in_script = p.step.in_script;

		p.frame = t->stacks->node[p.step.node].frame;
		if (paths_is_mark(t->stacks, p.frame) ||
		    (t->scripts && paths_surrounds(t, p.frame, &in_script)))
			continue;
		p.lines = sym_frame(t->sym, p.frame);
		break;
	}
	return p;
}

static struct place caller_of(struct profile_paths *t, struct place p)
{
	if (++p.i < p.lines->count)
		return p;
	return place_at(t, outward(t, p.step));
}

static enum paths_part part_of(struct profile_paths *t, const struct place *p)
{
	return paths_part_of(t, p->frame, &p->lines->line[p->i]);
}

/* As asked_of_libraries() in paths.c. */
static struct place shown_of_libraries(struct profile_paths *t, struct place inner)
{
	for (struct place at = inner; at.lines; at = caller_of(t, at))
		if (!paths_requests_for_others(t, at.frame, &at.lines->line[at.i]))
			return at;
	return inner;
}

/* Returns the innermost line that is shown, as paths_look() does. */
static struct place shown(struct profile_paths *t, uint32_t stack)
{
	const enum paths_called called = paths_called(t, stack);
	struct place at = place_at(t, (struct path_step_in){ .node = stack }), inner, outer, callee;

	while (at.lines && part_of(t, &at) == PATHS_WRAPPER) {
		outer = caller_of(t, at);
		if (!outer.lines)
			break;
		at = outer;
	}
	inner = callee = at;
	for (; at.lines && !t->options.library; callee = at, at = outer) {
		outer = caller_of(t, at);
		if (paths_is_asker(part_of(t, &at), &at.lines->line[at.i], called) &&
		    !paths_serves(t, &at.lines->line[at.i], outer.lines ? outer.frame : 0) &&
		    !paths_is_pth(&at.lines->line[at.i], called) &&
		    (!outer.lines || part_of(t, &outer) != PATHS_WRAPPER))
			return part_of(t, &callee) != PATHS_WRAPPER &&
				       paths_is_nameless(&at.lines->line[at.i])
				   ? callee
				   : at;
	}
	return t->options.library ? inner : shown_of_libraries(t, inner);
}

/* Returns the key of what is shown, or of the whole path: `all`; NOTHING if nothing is shown but
 * lines that start a program. */
static uint64_t find(struct path_numbers *k, struct profile_paths *t, uint32_t stack, uint64_t all,
		     bool whole)
{
	struct place end;
	uint64_t key;

	if (all & STOPPED || t->options.wrappers)
		return all;
	end = shown(t, stack);
	if (!end.lines)
		return NOTHING;
	key = end.i ? add_lines(k, t, key_of(k, t, outward(t, end.step)), end.frame, end.i)
		    : key_of(k, t, end.step);
	return whole && has_lines(key) ? all : key;
}

/* The last line that is shown counts, even if it only starts a program. */
static uint64_t find_start(struct path_numbers *k, struct profile_paths *t, uint32_t stack,
			   bool whole)
{
	const struct profile_path *path = paths_look(t, stack);
	const size_t n = whole ? path->all : path->count;
	uint64_t key = NOTHING;

	for (size_t i = paths_start_lines(path->line, path->count); i < n; i++)
		key = with(key, line_interner_id(&k->lines, path->line[i]));
	return key;
}

uint32_t path_number(struct path_numbers *k, struct profile_paths *t, uint32_t stack, bool whole)
{
	uint64_t all = NOTHING, key = NOTHING, *number;

	if (!k->line && t->stacks)
		set_up(k, t->stacks, t->scripts);
	if (t->stacks && stack && stack < t->stacks->nodes) {
		all = key_of(k, t, (struct path_step_in){ .node = stack });
		key = find(k, t, stack, all, whole);
		if (!has_lines(key))
			key = find_start(k, t, stack, whole);
	}
	number = hash_at(&k->number, (key & ~(uint64_t)FLAGS) | (all & TRUNCATED));
	if (!*number)
		*number = ++k->count;
	return (uint32_t)*number;
}

void path_numbers_release(struct path_numbers *k)
{
	line_interner_release(&k->lines);
	hash_release(&k->number);
	free(k->key[0]);
	free(k->key[1]);
	free(k->line);
	free(k->list);
	*k = (struct path_numbers)PATH_NUMBERS_EMPTY;
}
