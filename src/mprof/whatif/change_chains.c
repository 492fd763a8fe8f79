// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * change_chains.c - blocks that grow: found in one walk, reserved in the next.
 *
 * While collecting, a block's tag is its birth number times two or, once it has been resized, its
 * chain's number times two plus one.  A copy becomes known only when the old block is freed, after
 * the new one was born: so the new one's birth is noted in a table, which is searched when that
 * block ends.
 */
#include "change_parts.h"

#include <stdlib.h>
#include <string.h>

#include "../util/order.h"
#include "../pass/growth.h"

#define NONE UINT32_MAX

/* The last call of a thread. */
struct handed_out {
	uint64_t birth, size;
	uint32_t site;
	bool valid;
};

static struct chain *chain_at(const struct chains *c, uint32_t i)
{
	return (struct chain *)c->chain.item + i;
}

/* ---- blocks that were copied to ---- */

static void add_link(struct chains *c, uint64_t birth, uint32_t chain, bool root)
{
	const struct chain_link link = { birth, chain, root };
	struct chain_link *kept = array_at(&c->link, c->link.count, sizeof(*kept));

	*kept = link;
	if (!root)
		*hash_at(&c->copied, birth) = (uint64_t)chain + 1;
}

/* ---- collecting ---- */

/* Returns the chain of a block with this tag. */
static uint32_t chain_of(const struct chains *c, uint64_t tag)
{
	if (tag & 1)
		return (uint32_t)(tag >> 1);
	return (uint32_t)hash_get(&c->copied, tag >> 1) - 1; /* NONE if absent */
}

/* Makes a chain: the block of this birth is resized for the first time. */
static uint32_t new_chain(struct chains *c, uint64_t birth, uint64_t size, int rule)
{
	const uint32_t i = (uint32_t)c->chain.count;
	struct chain *chain = array_at(&c->chain, i, sizeof(*chain));

	*chain = (struct chain){ .first = size, .rule = (uint32_t)rule };
	add_link(c, birth, i, true);
	return i;
}

/* Gives the block of `old` `size` bytes.  Returns its chain, or NONE. */
static uint32_t step(struct chains *c, const struct compile_old *old, uint64_t size, bool copy,
		     int rule)
{
	uint32_t i = chain_of(c, old->tag);
	struct chain *chain;

	if (i == NONE && size > old->size && rule >= 0)
		i = new_chain(c, old->tag >> 1, old->size, rule);
	if (i == NONE)
		return NONE;
	chain = chain_at(c, i);
	chain->copies += copy;
	chain->reallocs += !copy;
	chain->greatest = size > chain->greatest ? size : chain->greatest;
	return i;
}

void chains_collect(struct chains *c, const struct compile_call *call,
		    const struct compile_old *old, bool begins, uint64_t *tag)
{
	struct handed_out *last = array_at(&c->last, call->thread, sizeof(*last));
	uint32_t i;

	if (!old) {
		*last = (struct handed_out){ c->births, call->size, call->site, true };
		*tag = c->births++ << 1;
		return;
	}
	if (begins) {
		i = step(c, old, call->size, false, c->match(c->context, call->site));
		*tag = i == NONE ? old->tag : (uint64_t)i << 1 | 1;
	} else if (last->valid &&
		   growth_is_copy(c->stacks, old->size, old->site, last->size, last->site)) {
		i = step(c, old, last->size, true, c->match(c->context, last->site));
		if (i != NONE)
			add_link(c, last->birth, i, false);
	}
	last->valid = false;
}

/* Copies alone are a chain only if they are many and grow far, because a few may be chance. */
static bool is_chain(const struct chain *c)
{
	return c->reallocs || (c->copies >= GROWTH_COPIES && c->greatest >= 2 * c->first);
}

ORDER(by_birth, struct chain_link, RISING(birth))

void chains_sort(struct chains *c)
{
	struct chain_link *link = c->link.item;
	size_t from, to = 0;

	for (from = 0; from < c->link.count; from++)
		if (is_chain(chain_at(c, link[from].chain)))
			link[to++] = link[from];
	c->link.count = to;
	SORT(link, to, by_birth);
	c->births = 0;
	c->next = 0;
}

/* ---- applying ---- */

static bool apply_birth(struct chains *c, struct change_rule *rule, const struct compile_call *call,
			uint64_t *tag, struct compile *to)
{
	const struct chain_link *link = (const struct chain_link *)c->link.item + c->next;
	struct compile_call larger = *call;
	struct chain *chain;

	if (c->next == c->link.count || link->birth != c->births++)
		return false;
	c->next++;
	chain = chain_at(c, link->chain);
	*tag = tag_of(FATE_CHAINED, link->chain);
	chain->live++;
	rule += chain->rule;
	if (!link->root) {
		rule->steps++;
		return true;
	}
	rule->blocks++;
	rule->bytes += call->size;
	larger.size = chain->greatest > chain->first ? chain->greatest : chain->first;
	chain->block = compile_call(to, &larger, COMPILE_NONE, true);
	return true;
}

bool chains_apply(struct chains *c, struct change_rule *rule, const struct compile_call *call,
		  const struct compile_old *old, bool begins, uint64_t *tag, struct compile *to)
{
	struct compile_call last;
	struct chain *chain;

	if (!old)
		return apply_birth(c, rule, call, tag, to);
	if (tag_fate(old->tag) != FATE_CHAINED)
		return false;
	chain = chain_at(c, (uint32_t)tag_number(old->tag));
	rule += chain->rule;
	if (begins) {
		rule->steps++;
		rule->copied += call->copied ? old->size : 0;
		*tag = old->tag;
		return true;
	}
	if (--chain->live) {
		rule->copied += old->size;
		return true;
	}
	last = free_call(call);
	compile_call(to, &last, chain->block, false);
	return true;
}

void chains_left(const struct chains *c, uint64_t tag, uint64_t bytes, struct compile *to)
{
	compile_left(to, chain_at(c, (uint32_t)tag_number(tag))->block, bytes);
}

void chains_release(struct chains *c)
{
	array_release(&c->chain);
	array_release(&c->link);
	array_release(&c->last);
	hash_release(&c->copied);
	memset(c, 0, sizeof(*c));
}
