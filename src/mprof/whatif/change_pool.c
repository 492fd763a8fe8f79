// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * change_pool.c - blocks from chunks.
 *
 * Only the requests of a pool to its allocator matter, so a chunk only counts its blocks. Chunks
 * with space are in a list for each class, the last used first; a bump chunk is there while it is
 * the current one.
 */
#include "change_parts.h"

#include <string.h>

#include "../places/memory_use.h"

#define GRANULE 16u

static struct pool_chunk *chunk_at(const struct pools *p, uint64_t number)
{
	return (struct pool_chunk *)p->chunk.item + number;
}

/* Returns 0 for bump. */
static uint32_t class_of(const struct change_rule *rule, uint64_t size)
{
	return rule->free_list ? memory_class_of(size ? size : 1) : 0;
}

static uint64_t block_bytes(const struct change_rule *rule, uint64_t size)
{
	if (rule->free_list)
		return memory_class_most(class_of(rule, size));
	return (size + GRANULE - 1) / GRANULE * GRANULE + (size ? 0 : GRANULE);
}

/* ---- lists of chunks with room ---- */

static uint32_t *first_of(struct pools *p, const struct pool_chunk *c)
{
	return array_at(&p->pool[c->rule].open, c->class, sizeof(uint32_t));
}

static void put_in(struct pools *p, uint32_t number)
{
	struct pool_chunk *c = chunk_at(p, number);
	uint32_t *first = first_of(p, c);

	c->before = 0;
	c->next = *first;
	if (c->next)
		chunk_at(p, c->next - 1)->before = number + 1;
	*first = number + 1;
}

static void take_out(struct pools *p, uint32_t number)
{
	struct pool_chunk *c = chunk_at(p, number);
	uint32_t *first = first_of(p, c);

	if (c->before)
		chunk_at(p, c->before - 1)->next = c->next;
	else if (first && *first == number + 1)
		*first = c->next;
	if (c->next)
		chunk_at(p, c->next - 1)->before = c->before;
	c->next = c->before = 0;
}

/* ---- chunks ---- */

static bool has_room(const struct change_rule *rule, const struct pool_chunk *c, uint64_t bytes)
{
	return rule->free_list ? c->room != 0 : c->room >= bytes;
}

static struct pool_chunk *new_chunk(struct pools *p, struct change_rule *rule, uint32_t number,
				    uint64_t size, const struct compile_call *call,
				    struct compile *to)
{
	const uint64_t bytes = block_bytes(rule, size);
	struct compile_call made;
	struct pool_chunk *c;
	uint32_t at;

	if (p->unused_count)
		at = ((uint32_t *)p->unused.item)[--p->unused_count];
	else
		at = (uint32_t)p->chunk.count;
	c = array_at(&p->chunk, at, sizeof(*c));
	*c = (struct pool_chunk){
		.rule = number,
		.class = class_of(rule, size),
		.room = (uint32_t)(rule->free_list ? rule->chunk / bytes : rule->chunk),
		.process = call->process,
	};
	put_in(p, at);
	rule->chunks++;
	made = malloc_call(call, rule->chunk);
	c->block = compile_call(to, &made, COMPILE_NONE, true);
	return c;
}

static void drop_chunk(struct pools *p, uint32_t number, const struct compile_call *call,
		       struct compile *to)
{
	struct compile_call ended = free_call(call);
	uint32_t *unused = array_at(&p->unused, p->unused_count, sizeof(*unused));

	ended.process = chunk_at(p, number)->process;
	ended.has_touched = false; /* it belongs to one of its blocks */
	compile_call(to, &ended, chunk_at(p, number)->block, false);
	*unused = number;
	p->unused_count++;
}

/* Returns the first chunk of its class with space, or NULL.  Removes a bump chunk without space. */
static struct pool_chunk *open_chunk(struct pools *p, const struct change_rule *rule,
				     uint32_t number, uint64_t size)
{
	const struct pool_chunk like = { .rule = number, .class = class_of(rule, size) };
	uint32_t *first = first_of(p, &like);
	struct pool_chunk *c;

	if (!first || !*first)
		return NULL;
	c = chunk_at(p, *first - 1);
	if (has_room(rule, c, block_bytes(rule, size)))
		return c;
	take_out(p, *first - 1);
	return NULL;
}

bool pool_take(struct pools *p, struct change_rule *rule, uint32_t number,
	       const struct compile_call *call, uint64_t *tag, struct compile *to)
{
	const uint64_t bytes = call->size <= rule->chunk / 4 ? block_bytes(rule, call->size) : 0;
	struct pool_chunk *c;
	uint32_t at;

	if (!bytes || bytes > rule->chunk || call->align > GRANULE) {
		rule->refused++;
		rule->refused_bytes += call->size;
		if (call->size > rule->refused_most)
			rule->refused_most = call->size;
		return false;
	}
	c = open_chunk(p, rule, number, call->size);
	if (!c)
		c = new_chunk(p, rule, number, call->size, call, to);
	if (!c)
		return false;
	at = (uint32_t)(c - (struct pool_chunk *)p->chunk.item);
	c->live++;
	c->room -= rule->free_list ? 1 : (uint32_t)bytes;
	if (rule->free_list && !c->room)
		take_out(p, at);
	*tag = tag_of(FATE_POOLED, at);
	rule->blocks++;
	rule->bytes += call->size;
	return true;
}

void pool_give(struct pools *p, const struct change_rule *rule, uint64_t number,
	       const struct compile_call *call, struct compile *to)
{
	const uint32_t at = (uint32_t)number;
	struct pool_chunk *c = chunk_at(p, at);
	uint32_t *first = first_of(p, c);
	const bool current = first && *first == at + 1;

	if (rule->free_list && !c->room++)
		put_in(p, at);
	if (--c->live)
		return;
	/* The current chunk is kept when it becomes empty, and reused. */
	if (!rule->free_list && current) {
		c->room = (uint32_t)rule->chunk;
		return;
	}
	if (rule->free_list && !c->next && !c->before)
		return;
	if (rule->free_list)
		take_out(p, at);
	drop_chunk(p, at, call, to);
}

bool pool_fits(const struct pools *p, const struct change_rule *rule, uint32_t number,
	       uint64_t chunk, uint64_t size)
{
	const struct pool_chunk *c = chunk_at(p, chunk);

	return rule->free_list && c->rule == number && size <= rule->chunk / 4 &&
	       c->class == class_of(rule, size);
}

uint32_t pool_rule(const struct pools *p, uint64_t chunk)
{
	return chunk_at(p, chunk)->rule;
}

void pools_release(struct pools *p)
{
	size_t i;

	for (i = 0; i < CHANGE_RULES; i++)
		array_release(&p->pool[i].open);
	array_release(&p->chunk);
	array_release(&p->unused);
	memset(p, 0, sizeof(*p));
}
