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
		u->live_mask ^= (uint16_t)(1u << page);
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

/* A stretch of a block within one unit: live bytes more or less. begins: it is the block's first;
 * block: its slot + 1, or 0 without channels. */
static void stretch(struct film_live *l, struct film_unit *u, uint64_t addr, uint64_t bytes,
		    bool birth, bool begins, uint32_t block)
{
	unsigned page = (unsigned)(addr / FILM_PAGE % FILM_UNIT_PAGES);
	uint32_t here, live;

	for (; bytes; bytes -= here, addr += here, page++, begins = false) {
		here = FILM_PAGE - (uint32_t)(addr % FILM_PAGE);
		if (here > bytes)
			here = (uint32_t)bytes;
		live = u->page[page].live;
		if (birth)
			live += here;
		else
			live -= live < here ? live : here;
		page_set(l, u, page, live);
		if (!block || begins)
			continue;
		if (birth)
			u->page[page].left = block;
		else if (u->page[page].left == block)
			u->page[page].left = 0;
	}
}

/* The bytes from addr on that are in its unit. */
static uint64_t in_unit(uint64_t addr, uint64_t bytes)
{
	const uint64_t here = (1u << FILM_UNIT_SHIFT) - (addr & ((1u << FILM_UNIT_SHIFT) - 1));

	return here < bytes ? here : bytes;
}

/* Gives a block its units, in which it is drawn if a frame sees it. */
static void meet(struct film_live *l, uint64_t addr, uint64_t size)
{
	uint64_t left = bytes_of(addr, size), here;

	if (size > left)
		l->left_out += size - left;
	for (; left; left -= here, addr += here) {
		here = in_unit(addr, left);
		if (!unit_get(l, addr >> FILM_UNIT_SHIFT))
			l->left_out += here;
	}
}

static void spread(struct film_live *l, uint64_t addr, uint64_t size, bool birth, uint32_t slot)
{
	const uint64_t all = bytes_of(addr, size);
	uint64_t left, here;
	struct film_unit *u;

	for (left = all; left; left -= here, addr += here) {
		here = in_unit(addr, left);
		u = unit_find(l, addr >> FILM_UNIT_SHIFT);
		if (u)
			stretch(l, u, addr, here, birth, left == all, l->channels ? slot + 1 : 0);
	}
}

/* ---- calls ---- */

#define ENDED_MOST (1u << 20) /* limits the memory of ended blocks */

static struct film_block *block_at(const struct film_live *l, uint32_t slot)
{
	return (struct film_block *)l->block.item + slot;
}

static void ends(struct film_live *l, uint32_t slot)
{
	struct film_block *b = large_known(&l->block, slot, sizeof(*b));

	if (!b || !b->live)
		return;
	b->live = false;
	if (b->listed == l->settles)
		return;
	GROW(l->ended, l->endeds + 1, l->ended_room);
	l->ended[l->endeds++] = (struct film_ended){ b->addr, b->size, slot };
	if (l->endeds == ENDED_MOST)
		film_live_settle(l);
}

void film_live_begin(struct film_live *l, const struct place_block *b)
{
	struct film_frame *now = &l->now;
	struct film_block *to;

	now->requested += b->size;
	now->usable += b->usable;
	now->blocks++;
	if (now->requested > l->most_requested)
		l->most_requested = now->requested;
	if (now->usable > l->most_usable)
		l->most_usable = now->usable;
	ends(l, b->slot);
	meet(l, b->addr, b->size);
	to = large_at(&l->block, b->slot, sizeof(*to));
	if (to->listed != l->settles) {
		GROW(l->fresh, l->freshes + 1, l->fresh_room);
		l->fresh[l->freshes++] = b->slot;
	}
	*to = (struct film_block){ b->addr, b->size, b->op, b->site, b->thread, l->settles, true };
}

void film_live_end(struct film_live *l, const struct place_block *b)
{
	struct film_frame *now = &l->now;

	now->requested -= b->size < now->requested ? b->size : now->requested;
	now->usable -= b->usable < now->usable ? b->usable : now->usable;
	now->blocks -= !!now->blocks;
	ends(l, b->slot);
}

/* ---- pages of a frame ---- */

#define AHEAD 32u /* blocks that are fetched before the first of them is needed */

static struct film_node *node_at(const struct film_live *l, uint32_t number)
{
	return (struct film_node *)l->node.item + (number - 1);
}

/* Returns a node of a list with its blocks, which it prefetches; NULL: no more. */
static struct film_node *take_node(const struct film_live *l, uint32_t *list)
{
	struct film_node *node;

	if (!*list)
		return NULL;
	node = node_at(l, *list);
	*list = node->next;
	if (*list)
		__builtin_prefetch(node_at(l, *list));
	for (unsigned i = 0; i < FILM_NODE && node->slot[i]; i++)
		__builtin_prefetch(block_at(l, node->slot[i] - 1));
	return node;
}

static struct film_node *new_node(struct film_live *l, uint32_t *number)
{
	struct film_node *node;

	*number = l->unused_node ? l->unused_node : ++l->nodes;
	node = large_at(&l->node, *number - 1ul, sizeof(*node));
	if (l->unused_node)
		l->unused_node = node->next;
	return node;
}

static void add_to_list(struct film_live *l, struct film_page *page, uint32_t slot)
{
	struct film_node *node = page->head ? node_at(l, page->head) : NULL;
	const uint32_t next = page->head;
	unsigned i = 0;

	while (node && i < FILM_NODE && node->slot[i])
		i++;
	if (!node || i == FILM_NODE) {
		node = new_node(l, &page->head);
		*node = (struct film_node){ .next = next };
		i = 0;
	}
	node->slot[i] = slot + 1;
}

/* Removes ended blocks from the list of a page. */
static void sweep(struct film_live *l, struct film_page *page)
{
	uint32_t list = page->head, number;
	const struct film_block *b;
	struct film_node *node;
	size_t n = 0;

	for (number = list; (node = take_node(l, &list)); number = list) {
		GROW(l->kept, n + FILM_NODE, l->kept_room);
		for (unsigned i = FILM_NODE; i--;) {
			b = block_at(l, node->slot[i] - 1ul);
			if (node->slot[i] && b->live && b->listed != l->settles)
				l->kept[n++] = node->slot[i] - 1;
		}
		node->next = l->unused_node;
		l->unused_node = number;
	}
	page->head = 0;
	while (n)
		add_to_list(l, page, l->kept[--n]);
}

static void settle_ended(struct film_live *l)
{
	size_t i;

	for (i = 0; i < l->endeds; i++)
		spread(l, l->ended[i].addr, l->ended[i].size, false, l->ended[i].slot);
	/* The page where each began is dirty now. */
	for (i = 0; i < l->dirties && l->endeds; i++) {
		struct film_unit *u = &l->unit[l->dirty[i]];

		if (i + 1 < l->dirties)
			film_live_cells_soon(l, &l->unit[l->dirty[i + 1]]);
		for (unsigned page = 0; page < FILM_UNIT_PAGES; page++)
			if (u->dirty >> page & 1)
				sweep(l, &u->page[page]);
	}
	l->endeds = 0;
}

static void settle_fresh(struct film_live *l)
{
	struct film_unit *u;

	for (size_t i = 0; i < l->freshes; i++) {
		const uint32_t slot = l->fresh[i];
		const struct film_block *b = block_at(l, slot);

		if (i + AHEAD < l->freshes)
			__builtin_prefetch(block_at(l, l->fresh[i + AHEAD]));
		if (!b->live)
			continue;
		spread(l, b->addr, b->size, true, slot);
		u = l->channels ? unit_find(l, b->addr >> FILM_UNIT_SHIFT) : NULL;
		if (u)
			add_to_list(l, &u->page[b->addr / FILM_PAGE % FILM_UNIT_PAGES], slot);
	}
	l->freshes = 0;
}

void film_live_settle(struct film_live *l)
{
	settle_ended(l);
	settle_fresh(l);
	l->settles++;
}

void film_live_free(struct film_live *l)
{
	if (!l)
		return;
	free(l->unit);
	hash_release(&l->known);
	free(l->dirty);
	large_release(&l->block);
	large_release(&l->node);
	free(l->kept);
	free(l->fresh);
	free(l->ended);
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

static void add_block(const struct film_live *l, const struct film_block *b, uint64_t page,
		      struct summary *s, struct film_cell *c)
{
	uint64_t end = b->addr + bytes_of(b->addr, b->size);
	uint64_t from = b->addr > page ? b->addr : page;
	uint64_t to = end < page + FILM_PAGE ? end : page + FILM_PAGE;
	uint32_t bytes = to > from ? (uint32_t)(to - from) : 0;

	if (c->blocks < UINT16_MAX)
		c->blocks++;
	if (bytes > s->most || (bytes == s->most && b->born < c->born)) {
		s->most = bytes;
		c->size = b->size;
		c->born = b->born;
	}
	if (l->channels & FILM_SITE)
		class_add(&s->sites, b->site, bytes, b->born);
	if (l->channels & FILM_THREAD)
		class_add(&s->threads, b->thread, bytes, b->born);
}

void film_live_cell(const struct film_live *l, const struct film_unit *u, unsigned page,
		    struct film_cell *c)
{
	const struct film_page *p = &u->page[page];
	uint64_t addr = (u->key << FILM_UNIT_SHIFT) + page * FILM_PAGE;
	const struct film_node *node;
	uint32_t list = p->head;
	struct summary s;

	memset(c, 0, sizeof(*c));
	c->live = (uint16_t)(p->live < FILM_PAGE ? p->live : FILM_PAGE);
	c->flags = (uint8_t)((u->resident >> page & 1 ? FILM_RESIDENT : 0) |
			     (u->mapped >> page & 1 ? FILM_MAPPED : 0));
	if (!p->live || !l->channels)
		return;
	s.sites.n = s.threads.n = s.most = 0;
	if (p->left)
		add_block(l, block_at(l, p->left - 1), addr, &s, c);
	while ((node = take_node(l, &list)))
		for (unsigned i = FILM_NODE; i--;)
			if (node->slot[i])
				add_block(l, block_at(l, node->slot[i] - 1), addr, &s, c);
	c->site = class_most(&s.sites);
	c->thread = class_most(&s.threads);
}
