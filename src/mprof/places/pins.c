// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * pins.c - what pins pages.
 *
 * Only the first or last bytes of a block can be on a pinned page: the pages between are full. So
 * each block has at most two parts; sorted by page, they give the owners.
 */
#include "pins.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/order.h"

struct part {
	uint64_t page;
	uint32_t site, bytes;
	bool counts; /* true for the first part of a block */
};

struct parts {
	struct part *part;
	size_t n, room;
};

static void add_part(struct parts *p, const struct part *part)
{
	GROW(p->part, p->n + 1, p->room);
	p->part[p->n++] = *part;
}

static bool is_pinned(const struct page_use *use, uint64_t page)
{
	const uint32_t live = page_use_at(use, page << 12);

	return live && live < PAGE_PINNED;
}

static void add_block(struct parts *p, const struct page_use *use, const struct pin_block *b)
{
	const uint64_t end = b->addr + (b->size ? b->size : 1);
	const uint64_t first = b->addr >> 12, last = (end - 1) >> 12;
	const uint64_t head = first == last ? end : (first + 1) << 12;
	bool counted = false;

	if (end < b->addr)
		return;
	if (head - b->addr < PAGE_PINNED && is_pinned(use, first)) {
		add_part(p, &(struct part){ first, b->site, (uint32_t)(head - b->addr), true });
		counted = true;
	}
	if (first != last && end - (last << 12) < PAGE_PINNED && is_pinned(use, last))
		add_part(p,
			 &(struct part){ last, b->site, (uint32_t)(end - (last << 12)), !counted });
}

ORDER(by_page, struct part, RISING(page) ?: RISING(site))

ORDER(by_site, struct pin_site, RISING(site))

ORDER(by_pages, struct pin_site, FALLING(pages) ?: FALLING(bytes) ?: RISING(site))

/*
 * Turns the parts of one page into rows in to[], one per site; the site with the most bytes gets
 * the page. Returns the number of these parts, and in *rows the number of rows.
 */
static size_t take_page(const struct part *part, size_t n, struct pin_site *to, size_t *rows)
{
	struct pin_site *most = to;
	size_t i;

	*rows = 0;
	for (i = 0; i < n && part[i].page == part[0].page; i++) {
		if (!*rows || to[*rows - 1].site != part[i].site)
			to[(*rows)++] = (struct pin_site){ .site = part[i].site };
		to[*rows - 1].bytes += part[i].bytes;
		to[*rows - 1].blocks += part[i].counts;
	}
	for (n = 1; n < *rows; n++)
		if (to[n].bytes > most->bytes)
			most = &to[n];
	most->pages = 1;
	return i;
}

/* Combines rows of the same site. */
static void add_up(struct pins *p)
{
	size_t from, to = 0;

	SORT(p->site, p->sites, by_site);
	for (from = 0; from < p->sites; from++) {
		p->pages += p->site[from].pages;
		if (to && p->site[to - 1].site == p->site[from].site) {
			p->site[to - 1].pages += p->site[from].pages;
			p->site[to - 1].bytes += p->site[from].bytes;
			p->site[to - 1].blocks += p->site[from].blocks;
		} else {
			p->site[to++] = p->site[from];
		}
	}
	p->sites = to;
	SORT(p->site, p->sites, by_pages);
}

void pins_make(struct pins *p, const struct page_use *use, const struct pin_block *block, size_t n)
{
	struct parts parts = { .n = 0 };
	size_t i, rows;

	pins_release(p);
	for (i = 0; i < n; i++)
		if (block[i].addr)
			add_block(&parts, use, &block[i]);
	if (parts.n) {
		SORT(parts.part, parts.n, by_page);
		p->site = must_calloc(parts.n, sizeof(*p->site));
	}
	for (i = 0; i < parts.n; p->sites += rows)
		i += take_page(&parts.part[i], parts.n - i, &p->site[p->sites], &rows);
	free(parts.part);
	if (p->sites)
		add_up(p);
}

void pins_release(struct pins *p)
{
	free(p->site);
	memset(p, 0, sizeof(*p));
}
