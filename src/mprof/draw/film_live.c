/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* film_live.c - pages and their blocks while a source runs; see film_live.h. */
#include "film_live.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"

/* NULL: never met. */
static struct film_unit *unit_find(struct film_live *l, uint64_t key)
{
	uint64_t at;

	if (l->last < l->units && l->unit[l->last].key == key)
		return &l->unit[l->last];
	if (l->last + 1 < l->units && l->unit[l->last + 1].key == key) /* often met in order */
		return &l->unit[++l->last];
	at = hash_get(&l->known, key);
	if (!at)
		return NULL;
	l->last = (uint32_t)(at - 1);
	return &l->unit[l->last];
}

/* NULL: beyond the limit. */
static struct film_unit *unit_get(struct film_live *l, uint64_t key)
{
	struct film_unit *u = unit_find(l, key);

	if (u || l->units == l->units_most)
		return u;
	GROW(l->unit, l->units + 1, l->units_room);
	l->last = (uint32_t)l->units++;
	*hash_at(&l->known, key) = l->units;
	u = &l->unit[l->last];
	memset(u, 0, sizeof(*u));
	u->key = key;
	return u;
}

static void touch_page(struct film_live *l, struct film_unit *u, unsigned page)
{
	if (!u->dirty) {
		GROW(l->dirty, l->dirties + 1, l->dirty_room);
		l->dirty[l->dirties++] = (uint32_t)(u - l->unit);
	}
	u->dirty |= (uint16_t)(1u << page);
}

static bool pinned(uint32_t live)
{
	return live && live < FILM_PIN_BYTES;
}

static void page_set(struct film_live *l, struct film_unit *u, unsigned page, uint32_t live)
{
	struct film_frame *now = &l->now;
	uint32_t was = u->page[page].live;

	now->pinned_pages += pinned(live) - pinned(was);
	if (!was != !live) {
		now->live_units -= !!u->live_mask;
		u->live_mask ^= (uint16_t)(1u << page);
		now->live_units += !!u->live_mask;
		now->live_pages += live ? 1 : (uint64_t)-1;
	}
	u->page[page].live = live;
	touch_page(l, u, page);
}

/* The bytes of a block that are drawn: at least one. */
static uint64_t bytes_of(uint64_t addr, uint64_t size)
{
	uint64_t bytes = size ? size : 1;

	if (bytes > FILM_BLOCK_MOST)
		bytes = FILM_BLOCK_MOST;
	return addr + bytes < addr ? UINT64_MAX - addr : bytes;
}

/* A stretch of a block within one unit: live bytes more or less. */
static void stretch(struct film_live *l, struct film_unit *u, uint64_t addr, uint64_t bytes,
		    bool birth, uint32_t node)
{
	unsigned page = (unsigned)(addr / FILM_PAGE % FILM_UNIT_PAGES);
	uint32_t here, live;
	bool first = true;

	for (; bytes; bytes -= here, addr += here, page++, first = false) {
		here = FILM_PAGE - (uint32_t)(addr % FILM_PAGE);
		if (here > bytes)
			here = (uint32_t)bytes;
		live = u->page[page].live;
		if (birth)
			live += here;
		else
			live -= live < here ? live : here;
		page_set(l, u, page, live);
		if (!node)
			continue;
		if (birth && !(first && l->node[node].addr == addr))
			u->page[page].left = node;
		else if (!birth && u->page[page].left == node)
			u->page[page].left = 0;
	}
}

static void spread(struct film_live *l, const struct place_block *b, bool birth, uint32_t node)
{
	uint64_t addr = b->addr, left = bytes_of(b->addr, b->size), here;
	struct film_unit *u;

	if (birth && b->size > left)
		l->left_out += b->size - left;
	for (; left; left -= here, addr += here) {
		here = (1u << FILM_UNIT_SHIFT) - (addr & ((1u << FILM_UNIT_SHIFT) - 1));
		if (here > left)
			here = left;
		u = birth ? unit_get(l, addr >> FILM_UNIT_SHIFT)
			  : unit_find(l, addr >> FILM_UNIT_SHIFT);
		if (u)
			stretch(l, u, addr, here, birth, node);
		else if (birth)
			l->left_out += here;
	}
}

/* Links a node for the block; 0 without channels or without a unit for it. */
static uint32_t node_add(struct film_live *l, const struct place_block *b)
{
	struct film_unit *u;
	struct film_page *p;
	uint32_t n = l->free_node;

	if (!l->channels)
		return 0;
	u = unit_get(l, b->addr >> FILM_UNIT_SHIFT);
	if (!u)
		return 0;
	if (n) {
		l->free_node = l->node[n].next;
	} else {
		if (l->nodes == UINT32_MAX)
			return 0;
		GROW(l->node, l->nodes + 1, l->nodes_room);
		n = (uint32_t)l->nodes++;
	}
	p = &u->page[b->addr / FILM_PAGE % FILM_UNIT_PAGES];
	l->node[n] = (struct film_node){ b->addr, b->size, b->op, b->site, b->thread, p->head };
	p->head = n;
	return n;
}

/* Unlinks the block's node, youngest first; the caller puts it on the free list. */
static uint32_t node_take(struct film_live *l, const struct place_block *b)
{
	struct film_unit *u;
	uint32_t *link, n;

	if (!l->channels)
		return 0;
	u = unit_find(l, b->addr >> FILM_UNIT_SHIFT);
	if (!u)
		return 0;
	link = &u->page[b->addr / FILM_PAGE % FILM_UNIT_PAGES].head;
	while ((n = *link) && (l->node[n].addr != b->addr || l->node[n].born != b->op))
		link = &l->node[n].next;
	if (n)
		*link = l->node[n].next;
	return n;
}

void film_live_begin(struct film_live *l, const struct place_block *b)
{
	struct film_frame *now = &l->now;

	now->requested += b->size;
	now->usable += b->usable;
	now->blocks++;
	if (now->requested > l->most_requested)
		l->most_requested = now->requested;
	if (now->usable > l->most_usable)
		l->most_usable = now->usable;
	spread(l, b, true, node_add(l, b));
}

void film_live_end(struct film_live *l, const struct place_block *b)
{
	struct film_frame *now = &l->now;
	uint32_t n = node_take(l, b);

	now->requested -= b->size < now->requested ? b->size : now->requested;
	now->usable -= b->usable < now->usable ? b->usable : now->usable;
	now->blocks -= !!now->blocks;
	spread(l, b, false, n);
	if (n) {
		l->node[n].next = l->free_node;
		l->free_node = n;
	}
}

void film_live_free(struct film_live *l)
{
	if (!l)
		return;
	free(l->unit);
	hash_release(&l->known);
	free(l->dirty);
	free(l->node);
	free(l);
}

/* ---- residency ---- */

static void unit_residency(struct film_live *l, struct film_unit *u, uint16_t resident,
			   uint16_t mapped)
{
	uint16_t other = (uint16_t)((u->resident ^ resident) | (u->mapped ^ mapped));
	unsigned page;

	u->resident = resident;
	u->mapped = mapped;
	for (page = 0; other; page++, other >>= 1)
		if (other & 1)
			touch_page(l, u, page);
}

/* n of them, at most 16, from bit i on. */
static uint16_t bits_at(const uint8_t *bits, uint64_t i, unsigned n)
{
	unsigned shift = i % 8, k;
	uint32_t some = 0;

	for (k = 0; k * 8 < shift + n; k++)
		some |= (uint32_t)bits[i / 8 + k] << (8 * k);
	return (uint16_t)(some >> shift & ((1u << n) - 1));
}

/* The pages of a range within one unit; `from` is the first of them. */
static void range_unit(struct film_live *l, const struct place_range *r, uint64_t from,
		       unsigned pages)
{
	uint64_t key = (r->addr / FILM_PAGE + from) / FILM_UNIT_PAGES;
	unsigned first = (unsigned)((r->addr / FILM_PAGE + from) % FILM_UNIT_PAGES);
	uint16_t resident = (uint16_t)(bits_at(r->resident, from, pages) << first);
	uint16_t mapped = (uint16_t)(((1u << pages) - 1) << first);
	struct film_unit *u;

	u = resident ? unit_get(l, key) : unit_find(l, key);
	l->now.resident_pages += (unsigned)__builtin_popcount(resident);
	if (!u) {
		l->now.retained_pages += (unsigned)__builtin_popcount(resident);
		return;
	}
	l->now.retained_pages +=
	    (unsigned)__builtin_popcount((unsigned)resident & ~(unsigned)u->live_mask);
	if (u->stamp == l->stamp) { /* also of another range */
		resident |= u->resident;
		mapped |= u->mapped;
	}
	u->stamp = l->stamp;
	unit_residency(l, u, resident, mapped);
}

void film_live_residency(struct film_live *l, const struct place_range *r, size_t n)
{
	uint64_t at, here;
	size_t i;

	l->stamp++;
	l->now.resident_pages = l->now.retained_pages = 0;
	for (i = 0; i < n; i++)
		for (at = 0; at < r[i].pages; at += here) {
			here = FILM_UNIT_PAGES - (r[i].addr / FILM_PAGE + at) % FILM_UNIT_PAGES;
			if (here > r[i].pages - at)
				here = r[i].pages - at;
			range_unit(l, &r[i], at, (unsigned)here);
		}
	for (i = 0; i < l->units; i++)
		if (l->unit[i].stamp != l->stamp)
			unit_residency(l, &l->unit[i], 0, 0);
}

/* ---- what a page is ---- */

#define CLASSES 64 /* sites or threads of one page that are told apart */

struct class_sums {
	struct {
		uint32_t key, bytes;
		uint64_t born;
	} of[CLASSES];
	unsigned n;
};

static void class_add(struct class_sums *s, uint32_t key, uint32_t bytes, uint64_t born)
{
	unsigned i;

	for (i = 0; i < s->n && s->of[i].key != key; i++)
		;
	if (i == CLASSES)
		return;
	if (i == s->n) {
		s->n++;
		s->of[i].key = key;
		s->of[i].bytes = 0;
		s->of[i].born = born;
	}
	s->of[i].bytes += bytes;
	if (born < s->of[i].born)
		s->of[i].born = born;
}

static uint32_t class_most(const struct class_sums *s)
{
	unsigned i, best = 0;

	for (i = 1; i < s->n; i++)
		if (s->of[i].bytes > s->of[best].bytes ||
		    (s->of[i].bytes == s->of[best].bytes && s->of[i].born < s->of[best].born))
			best = i;
	return s->n ? s->of[best].key : 0;
}

struct summary {
	struct class_sums sites, threads;
	uint32_t most; /* bytes of the block in c */
};

static void add_node(const struct film_live *l, const struct film_node *n, uint64_t page,
		     struct summary *s, struct film_cell *c)
{
	uint64_t end = n->addr + bytes_of(n->addr, n->size);
	uint64_t from = n->addr > page ? n->addr : page;
	uint64_t to = end < page + FILM_PAGE ? end : page + FILM_PAGE;
	uint32_t bytes = to > from ? (uint32_t)(to - from) : 0;

	if (c->blocks < UINT16_MAX)
		c->blocks++;
	if (bytes > s->most || (bytes == s->most && n->born < c->born)) {
		s->most = bytes;
		c->size = n->size;
		c->born = n->born;
	}
	if (l->channels & FILM_SITE)
		class_add(&s->sites, n->site, bytes, n->born);
	if (l->channels & FILM_THREAD)
		class_add(&s->threads, n->thread, bytes, n->born);
}

void film_live_cell(const struct film_live *l, const struct film_unit *u, unsigned page,
		    struct film_cell *c)
{
	const struct film_page *p = &u->page[page];
	uint64_t addr = (u->key << FILM_UNIT_SHIFT) + page * FILM_PAGE;
	struct summary s;
	uint32_t n;

	memset(c, 0, sizeof(*c));
	c->live = (uint16_t)(p->live < FILM_PAGE ? p->live : FILM_PAGE);
	c->flags = (uint8_t)((u->resident >> page & 1 ? FILM_RESIDENT : 0) |
			     (u->mapped >> page & 1 ? FILM_MAPPED : 0));
	if (!p->live || !l->channels)
		return;
	s.sites.n = s.threads.n = s.most = 0;
	if (p->left)
		add_node(l, &l->node[p->left], addr, &s, c);
	for (n = p->head; n; n = l->node[n].next)
		add_node(l, &l->node[n], addr, &s, c);
	c->site = class_most(&s.sites);
	c->thread = class_most(&s.threads);
}
