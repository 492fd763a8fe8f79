// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * extents.c - finding the extents of a file, including damaged ones.
 *
 * A sound file is tiled by extents, and only their headers are read.  Where a
 * header is missing or a size is impossible, we search for the next one at
 * every 64th byte: a header contains its own offset and run, so payload is not
 * mistaken for a header.
 *
 * Zeros in place of an extent are space that was taken and never written (its
 * owner was killed, or the disk was full); they are distinguished from invalid
 * bytes.
 */
#include "reader.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define WINDOW 4096u  /* one read serves the headers of several small extents */
#define SEARCH 65536u /* bytes read at a time while searching */
#define ALIGN  MPROF_EXTENT_ALIGN

#define PAGE_LEAST 4096u /* slots are mapped, so they begin at pages */

struct window {
	struct trace *t;
	uint64_t offset;
	size_t n;
	unsigned char buf[WINDOW];
};

static const void *window_get(struct window *w, uint64_t offset, size_t bytes)
{
	if (offset < w->offset || offset + bytes > w->offset + w->n) {
		w->offset = offset;
		w->n = trace_read(w->t, w->buf, WINDOW, offset);
		if (w->n < bytes)
			return NULL;
	}
	return w->buf + (offset - w->offset);
}

static bool head_is_valid(const struct trace *t, const struct mprof_extent *h, uint64_t offset)
{
	uint32_t run;

	memcpy(&run, t->header.run_id, sizeof(run));
	return h->magic == MPROF_EXTENT_MAGIC && h->offset == offset && h->run == run &&
	       h->kind >= MPROF_EXTENT_FREE && h->kind < MPROF_EXTENT_BEHIND && h->size >= ALIGN &&
	       h->size % ALIGN == 0 && h->size <= MPROF_EXTENT_MAX &&
	       h->used <= h->size - sizeof(*h);
}

/* Takes the header of a packed extent's original, which is first in its payload. */
static bool take_packed(struct window *w, struct extent *x)
{
	const struct mprof_packed *p = window_get(w, x->payload, sizeof(*p));
	struct mprof_extent o;

	if (!p || x->head.used < sizeof(*p) || p->frame_bytes > x->head.used - sizeof(*p))
		return false;
	o = p->original;
	if (o.kind != MPROF_EXTENT_STACKS && o.kind != MPROF_EXTENT_STACKS_SLOT)
		return false;
	x->head.image = o.image;
	x->chunks += p->packing >> 8;
	x->head.process = o.process;
	x->head.thread = o.thread;
	x->head.seq = o.seq;
	x->head.first_ticks = o.first_ticks;
	x->head.last_ticks = o.last_ticks;
	x->head.kind = o.kind;
	return true;
}

static bool used_is_all(uint16_t kind)
{
	return kind != MPROF_EXTENT_SLOT && kind != MPROF_EXTENT_STACKS_SLOT &&
	       kind != MPROF_EXTENT_COUNTS;
}

static bool extent_at(struct window *w, uint64_t offset, struct extent *x)
{
	const struct mprof_extent *h = window_get(w, offset, sizeof(*h));
	uint64_t want, there;

	if (!h || !head_is_valid(w->t, h, offset))
		return false;
	x->head = *h;
	x->kind = h->kind;
	x->chunks = 1;
	x->copy = NULL;
	x->payload = offset + sizeof(*h);
	want = used_is_all(x->kind) ? h->used : h->size - sizeof(*h);
	there = w->t->file_bytes > x->payload ? w->t->file_bytes - x->payload : 0;
	x->bytes = want < there ? want : there;
	return x->kind != MPROF_EXTENT_PACKED || take_packed(w, x);
}

/* Returns the next offset at or after this one where the file has data at all. */
static uint64_t skip_hole(const struct trace *t, uint64_t offset)
{
	off_t data = lseek(t->fd, (off_t)offset, SEEK_DATA);

	if (data < 0)
		return errno == ENXIO ? t->file_bytes : offset;
	return (uint64_t)data / ALIGN * ALIGN > offset ? (uint64_t)data / ALIGN * ALIGN : offset;
}

/* What a search skipped before it found something. */
struct gap {
	uint64_t junk, empty, first_junk;
};

static void gap_add(struct gap *g, const unsigned char *p, size_t bytes, uint64_t offset)
{
	if (bytes_are_zero(p, bytes)) {
		g->empty += bytes;
		return;
	}
	if (!g->junk)
		g->first_junk = offset;
	g->junk += bytes;
}

/* Searches one buffer; true if an extent is found, at *offset. */
static bool search_buffer(struct window *w, const unsigned char *buf, size_t n, uint64_t *offset,
			  struct gap *g)
{
	struct extent x;

	for (size_t i = 0; i < n; i += ALIGN) {
		size_t cell = n - i < ALIGN ? n - i : ALIGN;
		uint32_t magic = 0;

		memcpy(&magic, buf + i, cell < sizeof(magic) ? cell : sizeof(magic));
		if (magic == MPROF_EXTENT_MAGIC && extent_at(w, *offset + i, &x)) {
			*offset += i;
			return true;
		}
		gap_add(g, buf + i, cell, *offset + i);
	}
	*offset += n;
	return false;
}

/* Returns the offset of the next extent in [offset, end), or `end` or more. */
static uint64_t search(struct window *w, uint64_t offset, uint64_t end, struct gap *g)
{
	static _Thread_local unsigned char buf[SEARCH];

	while (offset < end) {
		uint64_t data = skip_hole(w->t, offset);
		size_t n;

		g->empty += data - offset;
		offset = data;
		n = trace_read(w->t, buf, sizeof(buf), offset);
		if (!n || search_buffer(w, buf, n, &offset, g))
			break;
	}
	return offset;
}

/* Truncates an extent that overlaps the beginning of another one. */
static void cut(struct trace *t, struct extent *x, uint64_t end)
{
	/* A process that drops chunks may be between two steps, or was killed there. */
	bool dropping = trace_has_dropped(t, x->head.offset);

	if (x->bytes > end - x->payload)
		x->bytes = end - x->payload;
	x->head.size = (uint32_t)(end - x->payload + sizeof(x->head));
	if (!dropping)
		trace_note_damage(t, &t->damage.sizes_bad, 1, x->head.offset);
}

/* Does another extent begin in the unused space after the payload of this one? */
static bool hides_next(struct window *w, const struct extent *x, uint64_t *at)
{
	uint64_t end = x->payload + (x->head.used + ALIGN - 1) / ALIGN * ALIGN;
	struct extent other;

	*at = end;
	return end < x->head.offset + x->head.size && extent_at(w, end, &other);
}

/*
 * Slots begin at pages, and the end of their words is unknown: does another
 * extent begin at a page inside this one? A free extent contains free ones
 * while slots are made of it.
 */
static bool hides_at_page(const struct trace *t, const struct extent *x, uint64_t *at)
{
	uint64_t page = t->header.page_size > PAGE_LEAST ? t->header.page_size : PAGE_LEAST;
	uint64_t end = x->head.offset + x->head.size, first;
	static _Thread_local unsigned char buf[SEARCH];
	struct mprof_extent other;
	size_t n;

	if (end > t->file_bytes)
		end = t->file_bytes;
	for (*at = (x->head.offset / page + 1) * page; *at < end;) {
		first = *at = (skip_hole(t, *at) + page - 1) / page * page;
		n = *at < end ? trace_read(t, buf, end - *at < SEARCH ? end - *at : SEARCH, *at)
			      : 0;
		for (; *at - first + sizeof(other) <= n; *at += page) {
			memcpy(&other, buf + (*at - first), sizeof(other));
			if (head_is_valid(t, &other, *at) &&
			    (other.kind != MPROF_EXTENT_FREE || x->kind != MPROF_EXTENT_FREE))
				return true;
		}
		*at += *at == first ? page : 0;
	}
	return false;
}

/* Reads a free extent again: slots may have been made of it since its header was read. */
static bool has_changed(struct window *w, struct extent *x)
{
	struct extent now;

	w->n = 0;
	if (x->kind != MPROF_EXTENT_FREE || !extent_at(w, x->head.offset, &now) ||
	    now.head.size == x->head.size)
		return false;
	*x = now;
	return true;
}

static bool hides_another(struct window *w, const struct extent *x, uint64_t *at)
{
	switch (x->kind) {
	case MPROF_EXTENT_COUNTS:
		return false;
	case MPROF_EXTENT_FREE:
	case MPROF_EXTENT_SLOT:
	case MPROF_EXTENT_STACKS_SLOT:
		return hides_at_page(w->t, x, at);
	default:
		return hides_next(w, x, at);
	}
}

/*
 * Continues after a place without an extent. last: the extent that ends there, or NULL; if another
 * extent begins inside it, its size was wrong.
 */
static uint64_t resync(struct window *w, uint64_t offset, struct extent *last)
{
	struct trace *t = w->t;
	struct gap g = { 0 };
	uint64_t found;

	if (last) {
		found = search(w, last->payload, offset, &g);
		if (found < offset) {
			cut(t, last, found);
			return found;
		}
		memset(&g, 0, sizeof(g));
	}
	found = search(w, offset, t->file_bytes, &g);
	if (trace_has_dropped(t, offset))
		return found;
	if (g.junk)
		trace_note_damage(t, &t->damage.bytes_skipped, g.junk, g.first_junk);
	if (offset < t->header.tail && g.empty) {
		if (!t->damage.bytes_empty)
			t->first_empty = offset;
		t->damage.bytes_empty += g.empty;
	}
	return found;
}

/* Returns where the extent after x is expected; truncates x if another one is found inside it. */
static uint64_t next_offset(struct window *w, struct extent *x)
{
	uint64_t at;

	if (!hides_another(w, x, &at) || has_changed(w, x))
		return x->head.offset + x->head.size;
	cut(w->t, x, at);
	return at;
}

/* Did a process fail to extend the file?  Then nothing was written after its end, and the last
 * extent may have been written in part: then the process did not count it as written. */
static bool could_not_grow(const struct mprof_file_header *h)
{
	uint64_t lost = h->lost[MPROF_LOST_SPACE];

	for (size_t i = 0; i < MPROF_PROCESS_TABLE; i++)
		lost += h->process[i].lost[MPROF_LOST_SPACE];
	return lost;
}

void extents_find(struct trace *t, struct extents *x)
{
	struct window w = { .t = t };
	const bool full = could_not_grow(&t->header);
	uint64_t offset = t->header_bytes;
	uint64_t end = full ? 0 : t->header.tail;
	struct extent e, *last = NULL;

	while (offset < t->file_bytes) {
		if (!extent_at(&w, offset, &e)) {
			offset = resync(&w, offset, last);
			last = NULL;
			continue;
		}
		last = GROW_ONE(x->item, x->n, x->room);
		*last = e;
		offset = next_offset(&w, last);
		if (offset > end && !full)
			end = offset;
	}
	if (full && last && offset > t->file_bytes)
		x->n--;
	if (end > t->file_bytes)
		trace_note_damage(t, &t->damage.bytes_missing, end - t->file_bytes, t->file_bytes);
}

void extents_find_again(struct trace *t, struct extents *x)
{
	const struct trace_damage before = t->damage, seen = t->damage_seen;

	extents_find(t, x);
	t->damage = before;
	t->damage_seen = seen;
}
