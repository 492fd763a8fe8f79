// SPDX-License-Identifier: LGPL-3.0-or-later
/* stack_frames.c - finds the bytes of the functions on a stack. */
#include "stack_frames.h"

#include <stdlib.h>

#include "../pass/interner.h"
#include "../util/alloc.h"
#include "../util/order.h"

/* Returns how many frames the stack has. */
static uint32_t count_frames(const struct stacks *s, uint32_t node)
{
	uint32_t n = 0;

	for (; node && node < s->nodes; node = s->node[node].parent)
		n += !(s->frame[s->node[node].frame].flags &
		       (STACK_FRAME_TRUNCATED | STACK_FRAME_LOST_WAY));
	return n;
}

/* Divides the bytes of all frames, of which the stack has `known`, among the lines of its path. */
static void divide(struct stack_frames *f, const struct stack_of *s, uint32_t known,
		   const struct profile_path *path)
{
	uint32_t next = 0;
	uint64_t *to;

	while (next < s->frames - known)
		f->outer += s->size[next++];
	for (size_t i = 0; i < path->all && next < s->frames; i++) {
		if (path->line[i]->inlined)
			continue;
		to = &f->line[i < path->count ? i : path->count - 1];
		/* The outermost size reaches to the end of the stack. */
		*(!next && path->truncated ? &f->outer : to) += s->size[next];
		next++;
	}
	/* What a function called that --stop-at names. */
	while (next < s->frames)
		f->line[path->count - 1] += s->size[next++];
}

ORDER(by_bytes, struct stack_function, FALLING(bytes) ?: FALLING(frames))

static void add_functions(struct stack_frames *f, const struct profile_path *path)
{
	struct line_interner functions = { .same = LINE_FUNCTION };
	struct stack_function *to;

	f->of = must_calloc(path->count + 1, sizeof(*f->of));
	for (size_t i = path->count; i-- > 0;) {
		if (!f->line[i])
			continue;
		to = &f->of[line_interner_id(&functions, path->line[i]) - 1];
		to->line = to->line ? to->line : path->line[i];
		to->bytes += f->line[i];
		to->frames++;
	}
	f->count = functions.keys.count;
	line_interner_release(&functions);
	SORT(f->of, f->count, by_bytes);
}

bool stack_frames_find(struct stack_frames *f, const struct stack_of *s, struct profile *p)
{
	const struct profile_path *path = s->stack ? profile_path_once(p, s->stack) : NULL;
	const uint32_t known = path ? count_frames(p->stacks, s->stack) : 0;

	*f = (struct stack_frames){ .of = NULL };
	if (!path || !path->count || !s->frames || s->frames < known)
		return false;
	f->line = must_calloc(path->count, sizeof(*f->line));
	divide(f, s, known, path);
	add_functions(f, path);
	return true;
}

void stack_frames_release(struct stack_frames *f)
{
	free(f->of);
	free(f->line);
	*f = (struct stack_frames){ .of = NULL };
}
