// SPDX-License-Identifier: LGPL-3.0-or-later
/* reach.c - see reach.h. */
#include "reach.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util/alloc.h"
#include "../util/order.h"

#define ADDRESS	   0x0000ffffffffffffull /* upper bits may be a tag */
#define CHUNK	   (1u << 20)		 /* bytes read at once */
#define WINDOW	   16384u		 /* of the content of blocks, likewise ... */
#define WINDOWS	   65536u		 /* ... and kept, at most */
#define SPAN_GAP   (1u << 20)		 /* between blocks of two spans */
#define PAGE_SHIFT 12u
#define PRESENT	   (3ull << 62) /* of pagemap: in memory, or in swap */

/* Blocks that lie near each other, with an index of their pages. */
struct span {
	uint64_t start, end;
	uint32_t *first; /* by page: the first block that ends behind the page's beginning */
};

/* Who holds the words that are read. */
struct holder {
	uint32_t slot;	/* of a block: what its targets inherit; 0 in a root */
	uint32_t range; /* of a root */
	uint32_t block; /* index of the block; REACH_NONE in a root */
	bool exact;
};

/* A copy of the process's memory. */
struct kept_words {
	uint64_t number; /* address / WINDOW; 0: none */
	uint64_t *word;
};

struct marker {
	struct reach *r;
	const struct stopped *s;
	struct span *span;
	size_t spans, span_room, last;
	uint64_t low, high;
	uint32_t *todo; /* blocks whose content is to be read */
	size_t todos, todo_room;
	int pagemap;
	uint64_t *buf;		   /* CHUNK bytes */
	struct kept_words *window; /* by number % windows */
	size_t windows;
	/* Called for each pointer to a block. */
	void (*found)(struct marker *m, const struct holder *h, uint32_t block, uint64_t slot);
};

/* ---- blocks by address ---- */

ORDER(by_address, struct reach_block, RISING(addr) ?: FALLING(end))

static bool is_sorted(const struct reach_block *b, size_t n)
{
	for (size_t i = 1; i < n; i++)
		if (b[i].addr < b[i - 1].addr)
			return false;
	return true;
}

static void sort_blocks(struct reach *r, const struct last_blocks *b)
{
	size_t n = 0;

	r->block = must_calloc(b->blocks + 1, sizeof(*r->block));
	for (size_t i = 0; i < b->blocks; i++)
		r->block[i] =
		    (struct reach_block){ .addr = b->block[i].addr,
					  .end = b->block[i].addr + (b->block[i].size ?: 1),
					  .source = (uint32_t)i };
	if (!is_sorted(r->block, b->blocks))
		SORT(r->block, b->blocks, by_address);
	for (size_t i = 0; i < b->blocks; i++) /* a damaged trace may say anything */
		if (r->block[i].end > r->block[i].addr &&
		    (!n || r->block[i].addr >= r->block[n - 1].end))
			r->block[n++] = r->block[i];
	r->blocks = n;
}

static void end_span(struct marker *m, size_t from, size_t to)
{
	const struct reach_block *b = m->r->block;
	struct span *s = GROW_ONE(m->span, m->spans, m->span_room);
	size_t pages, at = from;

	s->start = b[from].addr >> PAGE_SHIFT << PAGE_SHIFT;
	s->end = b[to - 1].end;
	pages = ((s->end - s->start - 1) >> PAGE_SHIFT) + 1;
	s->first = must_malloc((pages + 1) * sizeof(*s->first));
	for (size_t i = 0; i <= pages; i++) {
		while (at < to && b[at].end <= s->start + (i << PAGE_SHIFT))
			at++;
		s->first[i] = (uint32_t)at;
	}
}

static void make_spans(struct marker *m)
{
	const struct reach *r = m->r;
	size_t from = 0;

	for (size_t i = 1; i <= r->blocks; i++)
		if (i == r->blocks || r->block[i].addr - r->block[i - 1].end > SPAN_GAP) {
			end_span(m, from, i);
			from = i;
		}
	for (size_t i = 0; i < m->spans; i++)
		m->windows += (m->span[i].end - m->span[i].start) / WINDOW + 2;
	m->windows = m->windows < WINDOWS ? m->windows : WINDOWS;
	m->window = must_calloc(m->windows + 1, sizeof(*m->window));
	if (r->blocks) {
		m->low = r->block[0].addr;
		m->high = r->block[r->blocks - 1].end;
	}
}

/* Returns the block that contains the address, or REACH_NONE. */
static uint32_t block_at(struct marker *m, uint64_t addr)
{
	const struct reach_block *b = m->r->block;
	const struct span *s = &m->span[m->last];
	size_t i, page;

	if (addr < s->start || addr >= s->end) {
		i = FIRST_WHERE(k, m->spans, m->span[k].end > addr);
		if (i == m->spans || addr < m->span[i].start)
			return REACH_NONE;
		m->last = i;
		s = &m->span[i];
	}
	page = (addr - s->start) >> PAGE_SHIFT;
	b += s->first[page];
	i = FIRST_WHERE(k, s->first[page + 1] - s->first[page], b[k].end > addr);
	i += s->first[page];
	return i < m->r->blocks && m->r->block[i].addr <= addr ? (uint32_t)i : REACH_NONE;
}

/* ---- words ---- */

static void read_words(struct marker *m, const struct holder *h, const uint64_t *word, size_t n,
		       uint64_t at)
{
	for (size_t i = 0; i < n; i++) {
		const uint64_t addr = word[i] & ADDRESS;
		uint32_t block;

		if (addr - m->low >= m->high - m->low)
			continue;
		block = block_at(m, addr);
		if (block != REACH_NONE && block != h->block &&
		    (!h->exact || m->r->block[block].addr == addr))
			m->found(m, h, block, at + 8 * i);
	}
}

/*
 * Reads memory of whole pages, at most CHUNK bytes; what is not in memory is zero.  Reading that
 * would make the process larger.  Returns false, perhaps without storing anything, if none of it
 * is.
 */
static bool read_present(const struct marker *m, uint64_t at, void *to, size_t bytes)
{
	uint64_t entry[CHUNK >> PAGE_SHIFT];
	const size_t n = bytes >> PAGE_SHIFT;
	bool any = false;

	if (m->pagemap < 0 ||
	    pread(m->pagemap, entry, n * 8, (off_t)(at >> PAGE_SHIFT) * 8) != (ssize_t)(n * 8))
		memset(entry, 0xff, n * 8);
	for (size_t i = 0, run; i < n; i += run) {
		const bool present = entry[i] & PRESENT;
		char *here = (char *)to + (i << PAGE_SHIFT);
		size_t got = 0;

		for (run = 1; i + run < n && !(entry[i + run] & PRESENT) == !present; run++)
			;
		if (!present && run == n)
			return false;
		if (present)
			got = stopped_read(m->s, at + (i << PAGE_SHIFT), here, run << PAGE_SHIFT);
		memset(here + got, 0, (run << PAGE_SHIFT) - got);
		any |= got > 0;
	}
	return any;
}

/* Returns the first page from `at` on that is in memory, or `end`: a program may map terabytes that
 * it never uses. */
static uint64_t skip_absent(const struct marker *m, uint64_t at, uint64_t end)
{
	static uint64_t entry[8192];
	const size_t most = sizeof(entry) / sizeof(*entry);
	uint64_t page = at >> PAGE_SHIFT;
	const uint64_t last = ((end - 1) >> PAGE_SHIFT) + 1;

	while (page < last) {
		const size_t n = last - page < most ? last - page : most;

		if (m->pagemap < 0 ||
		    pread(m->pagemap, entry, n * 8, (off_t)page * 8) != (ssize_t)(n * 8))
			break;
		for (size_t i = 0; i < n; i++)
			if (entry[i] & PRESENT)
				return (page + i) << PAGE_SHIFT;
		page += n;
		if (m->r->alive)
			m->r->alive(m->r->context);
	}
	return page < last ? page << PAGE_SHIFT : end;
}

static void read_range(struct marker *m, const struct holder *h, uint64_t at, uint64_t end)
{
	at = (at + 7) & -8ull;
	while (at < end) {
		const uint64_t from = at >> PAGE_SHIFT << PAGE_SHIFT;
		const uint64_t pages = ((end - 1) >> PAGE_SHIFT) - (from >> PAGE_SHIFT) + 1;
		const size_t bytes = pages < CHUNK >> PAGE_SHIFT ? pages << PAGE_SHIFT : CHUNK;
		uint64_t to = from + bytes < end ? from + bytes : end;

		if (m->r->alive)
			m->r->alive(m->r->context);
		if (read_present(m, from, m->buf, bytes))
			read_words(m, h, m->buf + (at - from) / 8, (to - at) / 8, at);
		else if (to < end)
			to = skip_absent(m, to, end);
		at = to;
	}
}

/* ---- the content of blocks ---- */

static void push(struct marker *m, uint32_t block)
{
	GROW(m->todo, m->todos + 1, m->todo_room);
	m->todo[m->todos++] = block;
}

/* Returns the words of a window, which stay until another one takes their place. */
static const uint64_t *window(struct marker *m, uint64_t number)
{
	struct kept_words *w = &m->window[number % m->windows];

	if (w->number != number) {
		if (!w->word)
			w->word = must_malloc(WINDOW);
		if (!read_present(m, number * WINDOW, w->word, WINDOW))
			memset(w->word, 0, WINDOW);
		w->number = number;
		if (m->r->alive)
			m->r->alive(m->r->context);
	}
	return w->word;
}

/* Small blocks that lie together are read together, once: a list leads from one to the next. */
static void read_block(struct marker *m, uint32_t block)
{
	const struct reach_block *b = &m->r->block[block];
	const struct holder h = { .slot = b->slot, .block = block };
	uint64_t at = (b->addr + 7) & -8ull, end = b->end & -8ull;

	if (b->end - b->addr >= CHUNK) {
		read_range(m, &h, at, end);
		return;
	}
	while (at < end) {
		const uint64_t number = at / WINDOW, from = at % WINDOW / 8;
		const uint64_t to = end / WINDOW == number ? end % WINDOW / 8 : WINDOW / 8;

		read_words(m, &h, window(m, number) + from, to - from, at);
		at = (number + 1) * WINDOW;
	}
}

/* First those that were found first, so that a block is held by the slot from which fewest others
 * lead to it. */
static void read_todo(struct marker *m)
{
	for (size_t i = 0; i < m->todos; i++)
		read_block(m, m->todo[i]);
	m->todos = 0;
}

/* ---- what roots lead to ---- */

static void reached(struct marker *m, const struct holder *h, uint32_t block, uint64_t at)
{
	struct reach *r = m->r;
	struct reach_block *b = &r->block[block];

	if (b->slot)
		return;
	b->slot = h->slot;
	if (!b->slot) {
		*GROW_ONE(r->slot, r->slots, r->room) =
		    (struct reach_slot){ .address = at, .range = h->range };
		b->slot = (uint32_t)r->slots;
	}
	push(m, block);
}

/* The thread that waits is in the library: only what that keeps for its callers is the program's.
 * A stack may lie in a block. */
static void read_registers(struct marker *m, size_t thread, pid_t waiting)
{
	const struct stopped_thread *t = &m->s->thread[thread];
	const struct holder h = { .range = REACH_NONE - (uint32_t)thread, .block = REACH_NONE };

	if (t->tid != waiting)
		read_words(m, &h, t->word, t->words, 0);
	else if (t->words >= STOPPED_KEPT_FIRST + STOPPED_KEPT)
		read_words(m, &h, t->word + STOPPED_KEPT_FIRST, STOPPED_KEPT, 0);
	read_words(m, &h, &t->sp, 1, 0);
}

static void mark_reachable(struct marker *m, const struct roots *roots, pid_t waiting)
{
	m->found = reached;
	for (size_t i = 0; i < roots->ranges; i++) {
		const struct root_range *x = &roots->range[i];
		const struct holder h = { .range = (uint32_t)i,
					  .block = REACH_NONE,
					  .exact = x->exact };

		read_range(m, &h, x->start, x->end);
		if (i + 1 == roots->ranges || roots->range[i + 1].kind != x->kind ||
		    roots->range[i + 1].late != x->late)
			read_todo(m);
	}
	for (size_t i = 0; i < m->s->threads; i++)
		read_registers(m, i, waiting);
	read_todo(m);
}

/* ---- unreachable blocks ---- */

static void is_below(struct marker *m, const struct holder *h, uint32_t block, uint64_t at)
{
	(void)h, (void)at;
	if (!m->r->block[block].slot)
		m->r->block[block].below = true;
}

static void followed(struct marker *m, const struct holder *h, uint32_t block, uint64_t at)
{
	struct reach_block *b = &m->r->block[block];

	(void)h, (void)at;
	if (b->slot || b->seen)
		return;
	b->seen = true;
	push(m, block);
}

static void follow(struct marker *m, uint32_t block)
{
	m->r->block[block].seen = true;
	push(m, block);
	read_todo(m);
}

static void mark_below(struct marker *m)
{
	struct reach *r = m->r;

	m->found = is_below;
	for (uint32_t i = 0; i < r->blocks; i++)
		if (!r->block[i].slot)
			push(m, i);
	read_todo(m);
	m->found = followed;
	for (uint32_t i = 0; i < r->blocks; i++)
		if (!r->block[i].slot && !r->block[i].below)
			follow(m, i);
	for (uint32_t i = 0; i < r->blocks; i++) /* what is left are rings */
		if (!r->block[i].slot && !r->block[i].seen) {
			r->block[i].below = false;
			follow(m, i);
		}
}

void reach_find(struct reach *r, const struct stopped *s, const struct roots *roots,
		const struct last_blocks *b, pid_t waiting)
{
	struct marker m = { .r = r, .s = s };
	char path[64];

	sort_blocks(r, b);
	if (!r->blocks)
		return;
	make_spans(&m);
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)s->memory);
	m.pagemap = open(path, O_RDONLY | O_CLOEXEC);
	m.buf = must_malloc(CHUNK);
	mark_reachable(&m, roots, waiting);
	mark_below(&m);
	if (m.pagemap >= 0)
		close(m.pagemap);
	for (size_t i = 0; i < m.spans; i++)
		free(m.span[i].first);
	free(m.span);
	for (size_t i = 0; i < m.windows; i++)
		free(m.window[i].word);
	free(m.window);
	free(m.todo);
	free(m.buf);
}

void reach_release(struct reach *r)
{
	free(r->block);
	free(r->slot);
	*r = (struct reach){ .blocks = 0 };
}
