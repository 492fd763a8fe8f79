// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * change.c - what if: which rule changes a call, and how.
 */
#include "change.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/ranges.h"
#include "change_parts.h"

/* The rules that match a site. */
struct site_rules {
	bool known;
	int8_t birth, reserve; /* index of a rule, or -1 */
};

struct change {
	struct change_plan plan;
	struct array site; /* struct site_rules */
	struct pools pools;
	struct chains chains;
	bool began; /* while collecting: a call was passed on */
	bool collected;
};

/* ---- rules as a user writes them ---- */

static const char *const kind_names[CHANGE_KINDS] = {
	[CHANGE_DROP] = "drop",
	[CHANGE_POOL] = "pool",
	[CHANGE_RESERVE] = "reserve",
	[CHANGE_RESIZE] = "resize",
};

const char *change_kind_name(enum change_kind kind)
{
	return kind_names[kind];
}

/* Parses "64k": at least a page, or blocks could not share it. */
static int parse_chunk(struct change_rule *r, const char *text, struct error *err)
{
	if (parse_size(text, &r->chunk) || r->chunk < 256 || r->chunk > CHANGE_CHUNK_MOST)
		return fail(err, -EINVAL, "a chunk of 256 bytes to 1 GiB, not '%s'", text);
	return 0;
}

/*
 * Parses ",chunk=64k,free-list" at the end of `text`, and removes it. Other commas belong to the
 * name (C++).
 */
static int parse_pool(struct change_rule *r, char *text, struct error *err)
{
	char *comma;
	int ret = 0;

	r->chunk = CHANGE_CHUNK;
	while (!ret && (comma = strrchr(text, ','))) {
		if (!strcmp(comma, ",free-list"))
			r->free_list = true;
		else if (!strncmp(comma, ",chunk=", 7))
			ret = parse_chunk(r, comma + 7, err);
		else
			break;
		*comma = '\0';
	}
	return ret;
}

static int parse_resize(struct change_rule *r, char *text, struct error *err)
{
	char *equals = strrchr(text, '=');
	bool wrong = !equals;

	if (equals)
		*equals++ = '\0';
	if (equals && *equals == 'x') {
		wrong = parse_fraction(equals + 1, "", &r->factor) || !(r->factor > 0) ||
			r->factor > 1e6;
	} else if (equals) {
		wrong = parse_size(equals, &r->size);
	}
	return wrong ? fail(err, -EINVAL,
			    "SITE=SIZE or SITE=xFACTOR, such as parse*=64 or "
			    "parse*=x0.5")
		     : 0;
}

/* Parses "F:29": digits after a single colon; after two, they belong to the name. */
static int parse_line(struct change_rule *r, const char *text, struct error *err)
{
	char *colon;
	uint64_t line;

	r->function = must_strdup(text);
	colon = strrchr(r->function, ':');
	if (!colon || colon == r->function || colon[-1] == ':' || !colon[1] ||
	    colon[1 + strspn(colon + 1, "0123456789")])
		return 0;
	if (parse_whole(colon + 1, 1, UINT32_MAX, &line))
		return fail(err, -EINVAL, "a line number from 1 after the colon");
	*colon = '\0';
	r->line = (uint32_t)line;
	return 0;
}

static int parse_site(struct change_rule *r, struct error *err)
{
	uint64_t stack;

	if (!*r->site)
		return fail(err, -EINVAL,
			    "a function (parse), a line (parse:29) or a stack (stack:17)");
	if (strncmp(r->site, "stack:", 6))
		return parse_line(r, r->site, err);
	if (parse_whole(r->site + 6, 1, UINT32_MAX, &stack))
		return fail(err, -EINVAL, "stack:N with a number from a view of mprof report");
	r->stack = (uint32_t)stack;
	return 0;
}

int change_parse(struct change_rule *rule, enum change_kind kind, const char *text,
		 struct error *err)
{
	int ret = 0;

	*rule = (struct change_rule){ .kind = kind, .site = must_strdup(text) };
	if (kind == CHANGE_POOL)
		ret = parse_pool(rule, rule->site, err);
	else if (kind == CHANGE_RESIZE)
		ret = parse_resize(rule, rule->site, err);
	return ret ? ret : parse_site(rule, err);
}

void change_rule_release(struct change_rule *rule)
{
	free(rule->site);
	free(rule->function);
	rule->site = rule->function = NULL;
}

/* ---- which rule ---- */

static int find_rule(const struct change *c, uint32_t site, bool reserve)
{
	size_t i;

	for (i = 0; i < c->plan.rules; i++)
		if ((c->plan.rule[i].kind == CHANGE_RESERVE) == reserve &&
		    c->plan.matches(c->plan.context, &c->plan.rule[i], site))
			return (int)i;
	return -1;
}

static struct site_rules rules_of(struct change *c, uint32_t site)
{
	struct site_rules *s = array_at(&c->site, site, sizeof(*s));

	if (!s->known) {
		s->known = true;
		s->birth = (int8_t)find_rule(c, site, false);
		s->reserve = (int8_t)find_rule(c, site, true);
	}
	return *s;
}

static int reserve_of(void *context, uint32_t site)
{
	return rules_of(context, site).reserve;
}

/* ---- what becomes of a block ---- */

/* Frees the old block, wherever it is. */
static void end_old(struct change *c, const struct compile_call *call,
		    const struct compile_old *old, struct compile *to)
{
	struct compile_call ended;

	switch (tag_fate(old->tag)) {
	case FATE_POOLED:
		pool_give(&c->pools, &c->plan.rule[pool_rule(&c->pools, tag_number(old->tag))],
			  tag_number(old->tag), call, to);
		break;
	case FATE_ITSELF:
		ended = free_call(call);
		compile_call(to, &ended, (uint32_t)tag_number(old->tag), false);
		break;
	case FATE_DROPPED:
	case FATE_CHAINED:
		break;
	}
}

/* Emits an allocation of `size` bytes; the block that it resized may not exist. */
static void emit_birth(struct change *c, const struct compile_call *call,
		       const struct compile_old *old, uint64_t size, uint64_t *tag,
		       struct compile *to)
{
	struct compile_call changed = *call;
	uint32_t block = COMPILE_NONE;

	if (old && tag_fate(old->tag) != FATE_ITSELF) {
		end_old(c, call, old, to);
		changed = malloc_call(call, size);
	} else if (old) {
		block = (uint32_t)tag_number(old->tag);
	}
	changed.size = size;
	*tag = tag_of(FATE_ITSELF, compile_call(to, &changed, block, true));
}

static uint64_t resized(struct change_rule *r, uint64_t size)
{
	double more;

	r->blocks++;
	r->bytes += size;
	if (!(r->factor > 0))
		return r->size;
	more = (double)size * r->factor;
	return more < 0x1p62 ? (uint64_t)more : UINT64_C(1) << 62;
}

static void drop(struct change *c, struct change_rule *r, const struct compile_call *call,
		 const struct compile_old *old, uint64_t *tag, struct compile *to)
{
	r->blocks++;
	r->bytes += call->size;
	if (old)
		end_old(c, call, old, to);
	*tag = tag_of(FATE_DROPPED, 0);
}

/* Returns false if the block does not fit into the pool. */
static bool move_to_pool(struct change *c, uint32_t number, const struct compile_call *call,
			 const struct compile_old *old, uint64_t *tag, struct compile *to)
{
	struct change_rule *r = &c->plan.rule[number];

	if (old && tag_fate(old->tag) == FATE_POOLED &&
	    pool_fits(&c->pools, r, number, tag_number(old->tag), call->size)) {
		*tag = old->tag;
		return true;
	}
	if (!pool_take(&c->pools, r, number, call, tag, to))
		return false;
	if (old)
		end_old(c, call, old, to);
	return true;
}

static void birth(struct change *c, const struct compile_call *call, const struct compile_old *old,
		  uint64_t *tag, struct compile *to)
{
	const int number = rules_of(c, call->site).birth;
	struct change_rule *r = number < 0 ? NULL : &c->plan.rule[number];

	if (r && r->kind == CHANGE_DROP)
		drop(c, r, call, old, tag, to);
	else if (!r || r->kind != CHANGE_POOL ||
		 !move_to_pool(c, (uint32_t)number, call, old, tag, to))
		emit_birth(c, call, old,
			   r && r->kind == CHANGE_RESIZE ? resized(r, call->size) : call->size, tag,
			   to);
}

static void apply(void *self, const struct compile_call *call, const struct compile_old *old,
		  bool begins, uint64_t *tag, struct compile *to)
{
	struct change *c = self;

	if (c->collected && chains_apply(&c->chains, c->plan.rule, call, old, begins, tag, to))
		return;
	if (begins)
		birth(c, call, old, tag, to);
	else
		end_old(c, call, old, to);
}

static void left(void *self, uint64_t tag, uint64_t bytes, struct compile *to)
{
	const struct change *c = self;

	if (tag_fate(tag) == FATE_ITSELF)
		compile_left(to, (uint32_t)tag_number(tag), bytes);
	else if (tag_fate(tag) == FATE_CHAINED)
		chains_left(&c->chains, tag, bytes, to);
}

static void collect(void *self, const struct compile_call *call, const struct compile_old *old,
		    bool begins, uint64_t *tag, struct compile *to)
{
	struct change *c = self;

	/* A file without calls is refused, and this one is discarded anyway, so it gets one. */
	if (!c->began && begins) {
		compile_call(to, call, COMPILE_NONE, true);
		c->began = true;
	}
	chains_collect(&c->chains, call, old, begins, tag);
}

/* ---- the whole ---- */

struct change *change_new(const struct change_plan *plan)
{
	struct change *c = must_calloc(1, sizeof(*c));

	c->plan = *plan;
	c->chains.match = reserve_of;
	c->chains.context = c;
	c->chains.stacks = plan->stacks;
	return c;
}

bool change_needs_collect(const struct change *c)
{
	size_t i;

	for (i = 0; i < c->plan.rules; i++)
		if (c->plan.rule[i].kind == CHANGE_RESERVE)
			return true;
	return false;
}

struct compile_change change_collect(struct change *c)
{
	c->collected = true;
	return (struct compile_change){ .self = c, .call = collect };
}

struct compile_change change_apply(struct change *c)
{
	chains_sort(&c->chains);
	return (struct compile_change){ .self = c, .call = apply, .left = left };
}

void change_free(struct change *c)
{
	if (!c)
		return;
	pools_release(&c->pools);
	chains_release(&c->chains);
	array_release(&c->site);
	free(c);
}
