// SPDX-License-Identifier: LGPL-3.0-or-later
/* stack_table.c - the unique objects, frames and nodes of a run. */
#include "stack_table.h"

#include <stdlib.h>
#include <string.h>

#include "../util/large.h"
#include "../util/alloc.h"

static uint64_t mix(uint64_t a, uint64_t b)
{
	__uint128_t m = (__uint128_t)(a ^ 0x9e3779b97f4a7c15ull) * (b ^ 0xd6e8feb86659fd93ull);

	return (uint64_t)m ^ (uint64_t)(m >> 64);
}

static uint32_t hash_node(uint32_t parent, uint32_t frame)
{
	return (uint32_t)mix((uint64_t)parent << 32 | frame, 1);
}

static uint32_t hash_frame(const struct stack_frame *f)
{
	return (uint32_t)mix(f->address, (uint64_t)f->object << 32 | f->flags);
}

static uint32_t hash_object(const struct stack_object *o)
{
	uint64_t h = o->build_id_bytes;

	for (const char *p = o->path; *p; p++)
		h = mix(h, (unsigned char)*p);
	for (size_t i = 0; i < o->build_id_bytes; i++)
		h = mix(h, o->build_id[i]);
	return (uint32_t)h;
}

/* Returns where a search for this hash begins. */
static inline size_t number_first(const struct number_table *n, uint32_t hash)
{
	return hash & (n->room - 1);
}

/*
 * Returns the next number with this hash, from the place *at on; STACK_NONE after the last one. The
 * hash is stored with the number, so that few others are compared.
 */
static inline uint32_t number_next(const struct number_table *n, uint32_t hash, size_t *at)
{
	uint64_t slot;

	while (n->room && (slot = n->slot[*at])) {
		*at = (*at + 1) & (n->room - 1);
		if (slot >> 32 == hash)
			return (uint32_t)slot - 1;
	}
	return STACK_NONE;
}

static void number_put(struct number_table *n, uint32_t hash, uint32_t number)
{
	size_t i = number_first(n, hash);

	while (n->slot[i])
		i = (i + 1) & (n->room - 1);
	n->slot[i] = (uint64_t)hash << 32 | (number + 1);
	n->n++;
}

/* Makes room for one more. */
static void number_room(struct number_table *n)
{
	struct number_table old = *n;

	if (2 * (old.n + 1) <= old.room)
		return;
	n->room = old.room ? 2 * old.room : 1024;
	n->slot = large_extend(NULL, 0, n->room * sizeof(*n->slot));
	n->n = 0;
	for (size_t i = 0; i < old.room; i++)
		if (old.slot[i])
			number_put(n, (uint32_t)(old.slot[i] >> 32), (uint32_t)old.slot[i] - 1);
	large_free(old.slot, old.room * sizeof(*old.slot));
}

/* Large pages move instead of being copied. */
static void more_families(struct stack_table *s)
{
	const size_t bytes = sizeof(*s->children), more = s->families ? 2 * s->families : 256;
	const size_t room = s->nodes_room, nodes = more * STACK_FAMILY;

	s->children = large_extend(s->children, s->families * bytes, more * bytes);
	s->node = large_realloc(s->node, room * sizeof(*s->node), nodes * sizeof(*s->node));
	s->depth = large_realloc(s->depth, room * sizeof(*s->depth), nodes * sizeof(*s->depth));
	s->families = more;
	s->nodes_room = nodes;
}

static uint32_t add_node(struct stack_table *s, uint32_t parent, uint32_t frame, uint32_t depth)
{
	const size_t n = s->nodes;

	if (n >= s->nodes_max)
		return STACK_NONE;
	if (n >= s->nodes_room)
		more_families(s);
	s->depth[n] = depth;
	s->node[n] = (struct stack_node){ parent, frame };
	s->nodes = n + 1;
	return (uint32_t)n;
}

static uint32_t new_node(struct stack_table *s, uint32_t parent, uint32_t frame)
{
	return add_node(s, parent, frame, s->depth[parent] + 4);
}

/* Finds children of a family that do not fit into its line. */
static __attribute__((noinline)) uint32_t other_child(struct stack_table *s, uint32_t parent,
						      uint32_t frame)
{
	uint32_t hash = hash_node(parent, frame), number;
	size_t at = number_first(&s->by_node, hash);

	while ((number = number_next(&s->by_node, hash, &at)) != STACK_NONE)
		if (s->node[number].parent == parent && s->node[number].frame == frame)
			return number;
	number_room(&s->by_node);
	number = new_node(s, parent, frame);
	if (number != STACK_NONE)
		number_put(&s->by_node, hash, number);
	return number;
}

uint32_t stack_table_node(struct stack_table *s, uint32_t parent, uint32_t frame)
{
	size_t family = parent / STACK_FAMILY;
	uint32_t number;

	for (unsigned i = 0; i < STACK_CHILDREN; i++) {
		uint64_t child = s->children[family][i];

		if (!child) {
			number = new_node(s, parent, frame);
			if (number != STACK_NONE)
				s->children[family][i] = (uint64_t)frame << 32 | number;
			return number;
		}
		if (child >> 32 == frame && s->node[(uint32_t)child].parent == parent)
			return (uint32_t)child;
	}
	return other_child(s, parent, frame);
}

/* Returns the first free place of a family, STACK_CHILDREN if it is full; it is most likely there
 * if the family has only children in order. */
static inline unsigned free_place(const uint64_t *children, unsigned likely)
{
	unsigned i = 0;

	if (!children[likely] && (!likely || children[likely - 1]))
		return likely;
	while (i < STACK_CHILDREN && children[i])
		i++;
	return i;
}

/* Makes room for n more nodes. */
static bool more_nodes(struct stack_table *s, uint32_t n)
{
	if (n > s->nodes_max - s->nodes)
		return false;
	while (s->nodes + n > s->nodes_room)
		more_families(s);
	return true;
}

/* Adds a chain to the newest node, which has no child.  Then no frame of it needs a search. */
static uint32_t add_chain(struct stack_table *s, const uint32_t *frame, uint32_t n)
{
	uint32_t parent = (uint32_t)s->nodes - 1, depth = s->depth[parent];

	if (!more_nodes(s, n))
		return STACK_NONE;
	for (uint32_t i = 0; i < n; i++, parent++) {
		uint64_t *children = s->children[parent / STACK_FAMILY];
		const unsigned at = free_place(children, parent % STACK_FAMILY);

		if (at < STACK_CHILDREN) {
			children[at] = (uint64_t)frame[i] << 32 | (parent + 1);
		} else {
			number_room(&s->by_node);
			number_put(&s->by_node, hash_node(parent, frame[i]), parent + 1);
		}
		s->node[parent + 1] = (struct stack_node){ parent, frame[i] };
		s->depth[parent + 1] = depth += 4;
	}
	s->nodes += n;
	return parent;
}

uint32_t stack_table_path(struct stack_table *s, uint32_t parent, const uint32_t *frame, uint32_t n)
{
	for (uint32_t i = 0; i < n && parent != STACK_NONE; i++) {
		const size_t known = s->nodes;

		parent = stack_table_node(s, parent, frame[i]);
		if (s->nodes > known)
			return i + 1 < n ? add_chain(s, frame + i + 1, n - i - 1) : parent;
	}
	return parent;
}

uint32_t stack_table_frame(struct stack_table *s, uint32_t object, uint64_t address, uint32_t flags)
{
	struct stack_frame wanted = { address, object, flags }, *frame;
	uint32_t hash = hash_frame(&wanted), number;
	struct number_table *n = &s->by_frame;
	size_t at = number_first(n, hash);

	while ((number = number_next(n, hash, &at)) != STACK_NONE) {
		frame = &s->frame[number];
		if (frame->address == address && frame->object == object && frame->flags == flags)
			return number;
	}
	if (s->frames >= s->nodes_max)
		return STACK_NONE;
	number_room(n);
	frame = GROW_ONE(s->frame, s->frames, s->frames_room);
	*frame = wanted;
	number_put(n, hash, (uint32_t)s->frames - 1);
	return (uint32_t)s->frames - 1;
}

static bool same_object(const struct stack_object *a, const struct stack_object *b)
{
	return a->build_id_bytes == b->build_id_bytes && !strcmp(a->path, b->path) &&
	       (!a->build_id_bytes || !memcmp(a->build_id, b->build_id, a->build_id_bytes));
}

/* Copies segments, build-id and path into one piece of memory, which `segment` points to. */
static void copy_parts(struct stack_object *o, size_t path_bytes)
{
	size_t segments = o->segments * sizeof(*o->segment);
	char *copy = must_malloc(segments + o->build_id_bytes + path_bytes + 1);

	if (segments)
		memcpy(copy, o->segment, segments);
	if (o->build_id_bytes)
		memcpy(copy + segments, o->build_id, o->build_id_bytes);
	memcpy(copy + segments + o->build_id_bytes, o->path, path_bytes + 1);
	o->segment = (const struct stack_segment *)copy;
	o->build_id = o->build_id_bytes ? (const uint8_t *)copy + segments : NULL;
	o->path = copy + segments + o->build_id_bytes;
}

uint32_t stack_table_object(struct stack_table *s, const struct stack_object *o, size_t path_bytes)
{
	uint32_t hash = hash_object(o), number;
	struct number_table *n = &s->by_object;
	struct stack_object copy = *o, *object;
	size_t at = number_first(n, hash);

	while ((number = number_next(n, hash, &at)) != STACK_NONE)
		if (same_object(&s->object[number], o))
			return number;
	if (s->objects >= s->nodes_max)
		return STACK_NONE;
	number_room(n);
	copy_parts(&copy, path_bytes);
	object = GROW_ONE(s->object, s->objects, s->objects_room);
	*object = copy;
	number_put(n, hash, (uint32_t)s->objects - 1);
	return (uint32_t)s->objects - 1;
}

uint32_t stack_table_outer(const struct stack_table *s, uint32_t node, uint32_t depth)
{
	while (s->depth[node] >> 2 > depth)
		node = s->node[node].parent;
	return node;
}

uint32_t stack_table_reroot(struct stack_table *s, uint32_t node, enum stack_root root)
{
	uint32_t n = stack_table_depth(s, node), i = n, to = s->marker[root];
	uint32_t *frame = must_malloc((n + 1) * sizeof(*frame));

	for (; i; node = s->node[node].parent)
		frame[--i] = s->node[node].frame;
	for (; i < n && to != STACK_NONE; i++)
		to = stack_table_node(s, to, frame[i]);
	free(frame);
	return to;
}

/* Makes node 0 and the two markers, which are not frames of a stack. */
static void make_roots(struct stack_table *s)
{
	static const uint32_t flags[] = { 0, STACK_FRAME_TRUNCATED, STACK_FRAME_LOST_WAY };

	for (uint32_t root = ROOT_WHOLE; root <= ROOT_LOST_WAY; root++) {
		const uint32_t frame = stack_table_frame(s, 0, 0, flags[root]);

		if (!root) {
			add_node(s, 0, frame, 0);
			continue;
		}
		s->marker[root] = stack_table_node(s, 0, frame);
		s->depth[s->marker[root]] = root;
	}
}

void stack_table_start(struct stack_table *s, size_t nodes_max)
{
	struct stack_object nothing = { .path = "" }, *none;

	*s = (struct stack_table){ .nodes_max = nodes_max < STACK_NONE ? nodes_max : STACK_NONE };
	none = GROW_ONE(s->object, s->objects, s->objects_room);
	copy_parts(&nothing, 0);
	*none = nothing;
	make_roots(s);
}

static void let_go(struct number_table *n)
{
	large_free(n->slot, n->room * sizeof(*n->slot));
	*n = (struct number_table){ 0 };
}

void stack_table_finish(struct stack_table *s)
{
	let_go(&s->by_object);
	let_go(&s->by_frame);
	let_go(&s->by_node);
	large_free(s->children, s->families * sizeof(*s->children));
	s->children = NULL;
	s->families = 0;
	large_free(s->depth, s->nodes_room * sizeof(*s->depth));
	s->depth = NULL;
}

void stack_table_free(struct stack_table *s)
{
	stack_table_finish(s);
	for (size_t i = 0; i < s->objects; i++)
		free((void *)s->object[i].segment);
	free(s->object);
	free(s->frame);
	large_free(s->node, s->nodes_room * sizeof(*s->node));
	*s = (struct stack_table){ 0 };
}
