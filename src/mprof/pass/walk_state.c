// SPDX-License-Identifier: LGPL-3.0-or-later
/* walk_state.c - see walk_state.h. */
#include "../util/alloc.h"
#include "../util/memory.h"
#include "walk_state.h"

#include <stdlib.h>

/* ---- frames ---- */

struct piece {
	const void *bytes;
	size_t n;
};

static bool whole(void *from, size_t i, const void **data, size_t *bytes)
{
	const struct piece *p = from;

	*data = p->bytes;
	*bytes = p->n;
	return !i;
}

/* Always false. */
static bool drop_frame(struct state_frame *f)
{
	free(f->bytes);
	*f = (struct state_frame){ .bytes = NULL };
	return false;
}

bool state_frame_add(struct packer *packer, const void *bytes, size_t n, struct state_frame *f)
{
	struct piece piece = { bytes, n };
	size_t most, got = 0;
	uint8_t *more;

	f->plain += (size_t)pieces_bytes(whole, &piece, &most);
	more = realloc(f->bytes, f->count + most);
	if (more) {
		f->bytes = more;
		got = packer_frames(packer, whole, &piece, f->bytes + f->count, most);
	}
	if (!got)
		return drop_frame(f);
	f->count += got;
	more = realloc(f->bytes, f->count);
	f->bytes = more ? more : f->bytes;
	return true;
}

bool state_frame_put(struct packer *packer, struct byte_column *plain, struct state_frame *f)
{
	const bool sound =
	    plain->failed ? drop_frame(f) : state_frame_add(packer, plain->byte, plain->n, f);

	columns_clear(plain, 1);
	return sound;
}

uint8_t *state_frame_plain(const struct state_frame *f)
{
	struct unpacker *u = unpacker_new();
	uint8_t *plain = must_malloc(f->plain + 1);

	if (!u || !unpacker_frames(u, f->bytes, f->count, plain, f->plain)) {
		free(plain);
		plain = NULL;
	}
	unpacker_free(u);
	return plain;
}

/* ---- saving ---- */

/* Puts the addresses that the reader has and the heap does not. */
static void put_addresses(const struct walk *w, const struct trace *t, struct byte_column *to)
{
	for (size_t i = 0; i < w->heap.processes; i++) {
		const struct heap_process *p = w->heap.process[i];
		const uint32_t ahead = p->state == HEAP_ENDED ? 0 : WINDOW_BATCH;
		const uint32_t n = p->own.n + ahead; /* the reader may be ahead by this */

		for (uint32_t k = 1; k <= n; k++) {
			const struct own_block *b = own_find(&p->own, k);
			const uint64_t addr = trace_address(t, p->number, k);

			if (addr == (b ? b->addr : 0))
				continue;
			column_varint(to, k);
			column_varint(to, addr);
		}
		column_varint(to, 0);
	}
}

static void put_walk(const struct walk *w, size_t here, struct byte_column *to)
{
	column_varint(to, w->events);
	column_varint(to, w->first_ticks);
	column_varint(to, w->last_ticks);
	column_varint(to, w->next_boundary);
	column_varint(to, here);
	state_put(to, window_at((struct window *)&w->window, 0), here * sizeof(struct event));
	column_varint(to, w->window.befores);
	state_put(to, w->window.before, w->window.befores * sizeof(struct event));
}

void walk_state_put(const struct walk *w, const struct trace *t, size_t here,
		    struct byte_column *to)
{
	put_walk(w, here, to);
	heap_save(&w->heap, to);
	if (t)
		put_addresses(w, t, to);
}

/* ---- going on ---- */

static size_t get_walk(struct cursor *from, struct walk *w)
{
	size_t here, befores;

	w->events = cursor_varint(from);
	w->first_ticks = cursor_varint(from);
	w->last_ticks = cursor_varint(from);
	w->next_boundary = cursor_varint(from);
	here = cursor_varint(from);
	here = here < WINDOW_BATCH ? here : WINDOW_BATCH;
	state_get(from, w->window.event, here * sizeof(struct event));
	befores = cursor_varint(from);
	w->window.befores = befores < WINDOW_BEFORE ? befores : WINDOW_BEFORE;
	state_get(from, w->window.before, w->window.befores * sizeof(struct event));
	return here;
}

static void get_addresses(struct trace *t, const struct walk *w, struct cursor *from)
{
	bool sound = true;
	uint64_t number;

	for (size_t i = 0; i < w->heap.processes; i++) {
		const struct heap_process *p = w->heap.process[i];

		for (uint32_t k = 0; k < p->own.n; k++)
			if (p->own.block[k].addr)
				sound &=
				    trace_set_address(t, p->number, k + 1, p->own.block[k].addr);
		while ((number = cursor_varint(from)))
			sound &=
			    trace_set_address(t, p->number, (uint32_t)number, cursor_varint(from));
	}
	if (!sound)
		memory_out();
}

size_t walk_state_get(struct walk *w, struct trace *t, const struct trace_place *place,
		      struct cursor *from)
{
	const size_t here = get_walk(from, w);

	if (place)
		trace_go(t, place);
	heap_load(&w->heap, from);
	if (place)
		get_addresses(t, w, from);
	return here;
}
