// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * stack_records.c - the records of one process's image, in their order.
 *
 * Functions that take one record return its number of words, 0 if that is
 * unknown.
 */
#include "stack_records.h"

#include <stdlib.h>
#include <string.h>

#include <mprof/format.h>

#include "../util/alloc.h"

#define DEPTH_MAX    65536u /* frames of one stack */
#define NUMBERS_LEAD 65536u /* numbers may exceed four times the count of defined ones by this */
#define SEGMENTS_MAX 256u
#define BUILD_ID_MAX 64u
#define PATH_MAX_OK  65536u

static void bad(struct stack_records *r)
{
	r->bad++;
}

static void map_reach(struct stack_records *r, uint32_t index)
{
	struct stack_map *m = r->map;
	size_t room = r->map_room ? r->map_room : 256;

	while (room <= index)
		room *= 2;
	if (room > r->map_room) {
		m->node = must_reallocarray(m->node, room, sizeof(*m->node));
		r->map_room = room;
	}
	while (m->nodes <= index)
		m->node[m->nodes++] = STACK_UNDEFINED;
}

/* From here on, `id` means this node. */
static void define(struct stack_records *r, uint32_t id, uint32_t node)
{
	struct stack_map *m = r->map;
	uint64_t index = (uint64_t)id - m->base - 1;

	if (id <= m->base || index > 4 * r->defined + NUMBERS_LEAD) {
		bad(r);
		return;
	}
	map_reach(r, (uint32_t)index);
	if (m->node[index] != STACK_UNDEFINED) {
		r->bad += m->node[index] != node;
		return;
	}
	m->node[index] = node;
	r->defined++;
}

static uint32_t find_frame(struct stack_records *r, uint64_t word)
{
	uint64_t address = word & ~MPROF_FRAME_EXACT;
	bool exact = word & MPROF_FRAME_EXACT;
	/* A call that never returns may be the last instruction of its object. */
	const struct loaded *l = loaded_find(&r->ranges, exact ? address : address - 1);

	return stack_table_frame(r->table, l ? l->object : 0, l ? address - l->bias : address,
				 exact ? STACK_FRAME_EXACT : 0);
}

/* Most words are among the latest thousand. */
static inline uint32_t frame_of(struct stack_records *r, uint64_t word)
{
	struct recent_frame *recent =
	    &r->recent[word * 0x9e3779b97f4a7c15ull >> (64 - RECENT_SHIFT)];

	if (recent->word != word || recent->loading != r->loading + 1)
		*recent = (struct recent_frame){ word, find_frame(r, word), r->loading + 1 };
	return recent->frame;
}

/* Returns the node that the new frames of a stack are joined to; STACK_NONE if no number is
 * left. */
static uint32_t joint(struct stack_records *r, uint32_t joined, uint32_t depth, unsigned flags)
{
	enum stack_root root = flags & MPROF_STACK_TRUNCATED  ? ROOT_TRUNCATED
			       : flags & MPROF_STACK_LOST_WAY ? ROOT_LOST_WAY
							      : ROOT_WHOLE;
	uint32_t node = depth ? stack_table_outer(r->table, joined, depth) : 0;

	if (!root || stack_table_root(r->table, node))
		return node;
	return depth ? stack_table_reroot(r->table, node, root) : r->table->marker[root];
}

static void take_stack(struct stack_records *r, const uint64_t *w, uint32_t frames)
{
	uint32_t joined = stack_map_node(r->map, (uint32_t)w[1]), depth = w[1] >> 32, node;
	uint32_t frame[MPROF_STACK_FRAMES];

	if (joined == STACK_UNDEFINED || depth > stack_table_depth(r->table, joined) ||
	    depth + frames > DEPTH_MAX) {
		bad(r);
		return;
	}
	for (uint32_t i = 0; i < frames; i++) {
		frame[i] = frame_of(r, w[2 + i]);
		if (frame[i] == STACK_NONE) {
			bad(r);
			return;
		}
	}
	node = joint(r, joined, depth, w[0] >> 4 & 15);
	if (node != STACK_NONE)
		node = stack_table_path(r->table, node, frame, frames);
	if (node == STACK_NONE)
		bad(r);
	else
		define(r, w[0] >> 32, node);
}

static size_t stack_record(struct stack_records *r, const uint64_t *w, size_t n)
{
	uint32_t frames = w[0] >> 8 & 0xffffff;

	if (frames > MPROF_STACK_FRAMES || n < 2 + frames)
		return 0;
	take_stack(r, w, frames);
	return 2 + frames;
}

static size_t words_of(uint64_t bytes)
{
	return (bytes + 7) / 8;
}

/* The parts of an OBJECT record after its fixed words. */
struct object_parts {
	uint32_t segments, build_id_bytes, path_bytes;
};

static bool object_is_possible(const uint64_t *w, size_t words, struct object_parts *p)
{
	p->segments = (uint32_t)w[5];
	p->build_id_bytes = w[5] >> 32;
	p->path_bytes = w[0] >> 32;
	return p->segments <= SEGMENTS_MAX && p->build_id_bytes <= BUILD_ID_MAX &&
	       p->path_bytes <= PATH_MAX_OK && w[3] < w[4] &&
	       MPROF_OBJECT_WORDS + 3 * p->segments + words_of(p->build_id_bytes) +
		       words_of(p->path_bytes) <=
		   words;
}

static void get_segments(struct stack_segment *s, const uint64_t *w, const struct object_parts *p,
			 uint64_t bias)
{
	for (uint32_t i = 0; i < p->segments; i++)
		s[i] = (struct stack_segment){ .address = w[3 * i] - bias,
					       .bytes = w[3 * i + 1],
					       .offset = w[3 * i + 2] & ((1ull << 60) - 1),
					       .flags = w[3 * i + 2] >> 60 };
}

/* Returns the number of the object in the run, or STACK_NONE. */
static uint32_t intern_object(struct stack_records *r, const uint64_t *w,
			      const struct object_parts *p)
{
	struct stack_segment segment[SEGMENTS_MAX];
	const uint64_t *build_id = w + 1 + MPROF_OBJECT_WORDS + 3 * p->segments;
	struct stack_object o = { .build_id = (const uint8_t *)build_id,
				  .build_id_bytes = p->build_id_bytes,
				  .segment = segment,
				  .segments = p->segments,
				  .bias = w[2],
				  .first_process = r->map->process };
	char *path =
	    must_strndup((const char *)(build_id + words_of(p->build_id_bytes)), p->path_bytes);
	uint32_t number;

	get_segments(segment, w + 1 + MPROF_OBJECT_WORDS, p, o.bias);
	o.path = path;
	number = stack_table_object(r->table, &o, strlen(path));
	free(path);
	return number;
}

static void take_object(struct stack_records *r, const uint64_t *w, size_t words)
{
	struct object_parts parts;
	struct loaded *l = GROW_ONE(r->list.item, r->list.n, r->list.room);

	if (!object_is_possible(w, words, &parts)) {
		bad(r); /* it has a number all the same */
		return;
	}
	*l = (struct loaded){ .ticks = w[1],
			      .bias = w[2],
			      .first = w[3],
			      .end = w[4],
			      .gone = UINT64_MAX,
			      .object = intern_object(r, w, &parts) };
	if (l->object == STACK_NONE) {
		l->first = l->end = 0;
		bad(r);
		return;
	}
	r->loading++;
	if (!loaded_add(&r->ranges, l))
		bad(r);
}

static size_t object_record(struct stack_records *r, const uint64_t *w, size_t n)
{
	size_t words = w[0] >> 4 & 0xfffffff;

	if (words < MPROF_OBJECT_WORDS || n < 1 + words)
		return 0;
	take_object(r, w, words);
	return 1 + words;
}

static size_t gone_record(struct stack_records *r, const uint64_t *w, size_t n)
{
	uint32_t number = w[0] >> 32;
	struct loaded *l;
	const struct loaded *now;

	if (n < 2)
		return 0;
	if (r->gap)
		return 2;
	l = number && number <= r->list.n ? &r->list.item[number - 1] : NULL;
	if (!l || l->gone != UINT64_MAX) {
		bad(r);
		return 2;
	}
	l->gone = w[1];
	/* Another one may have replaced it before. */
	now = l->first < l->end ? loaded_find(&r->ranges, l->first) : NULL;
	if (now && now->first == l->first && now->ticks == l->ticks) {
		r->loading++;
		loaded_remove(&r->ranges, l->first, l->end);
	}
	return 2;
}

/* Skips a record whose writer was killed, or jumped out of a signal handler. */
static size_t gap_record(const uint64_t *w, size_t n)
{
	size_t words = w[0] >> 4;

	return words <= n ? words : 0;
}

void stack_records_take(struct stack_records *r, const uint64_t *w, size_t n)
{
	size_t got;

	for (size_t i = 0; i < n && w[i]; i += got) {
		switch (w[i] & 15) {
		case MPROF_RECORD_STACK:
			got = stack_record(r, w + i, n - i);
			break;
		case MPROF_RECORD_OBJECT:
			got = object_record(r, w + i, n - i);
			break;
		case MPROF_RECORD_GONE:
			got = gone_record(r, w + i, n - i);
			break;
		case MPROF_RECORD_GAP:
			got = gap_record(w + i, n - i);
			break;
		default:
			got = 0;
		}
		if (!got) {
			r->gap = true;
			bad(r);
			return;
		}
	}
}

void stack_records_free(struct stack_records *r)
{
	free(r->list.item);
	free(r->ranges.item);
}
