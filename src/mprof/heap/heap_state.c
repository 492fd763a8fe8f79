// SPDX-License-Identifier: LGPL-3.0-or-later
/* heap_state.c - see heap_state.h. */
#include "../util/alloc.h"
#include "heap_state.h"

#include <stdlib.h>
#include <string.h>

void state_put(struct byte_column *to, const void *bytes, size_t n)
{
	if (!n || !column_room(to, n))
		return;
	memcpy(to->byte + to->n, bytes, n);
	to->n += n;
}

void state_get(struct cursor *from, void *bytes, size_t n)
{
	const size_t there = (size_t)(from->end - from->p) < n ? (size_t)(from->end - from->p) : n;

	if (!n)
		return;
	memset(bytes, 0, n);
	if (there)
		memcpy(bytes, from->p, there);
	from->p += there;
}

/* Puts one number of up to STATE_ROWS rows: which rows differ from the row before, then how. */
static void put_numbers(struct byte_column *to, const uint64_t *row, size_t n, unsigned numbers)
{
	const size_t at = to->n;
	uint64_t differ = 0, before = 0;

	if (!column_room(to, sizeof(differ) + n * 10))
		return;
	to->n += sizeof(differ);
	for (size_t k = 0; k < n; k++, row += numbers) {
		if (*row == before)
			continue;
		differ |= 1ull << k;
		column_add_varint(to, zigzag(*row - before));
		before = *row;
	}
	memcpy(to->byte + at, &differ, sizeof(differ));
}

static void get_numbers(struct cursor *from, uint64_t *row, size_t n, unsigned numbers)
{
	uint64_t differ, before = 0;

	state_get(from, &differ, sizeof(differ));
	for (size_t k = 0; k < n; k++, row += numbers, differ >>= 1)
		*row = before += differ & 1 ? unzigzag(cursor_varint(from)) : 0;
}

static size_t rows_at_once(size_t left)
{
	return left < STATE_ROWS ? left : STATE_ROWS;
}

void state_put_rows(struct byte_column *to, const uint64_t *row, size_t n, unsigned numbers)
{
	for (size_t now; n; n -= now, row += now * numbers) {
		now = rows_at_once(n);
		for (unsigned i = 0; i < numbers; i++)
			put_numbers(to, row + i, now, numbers);
	}
}

void state_get_rows(struct cursor *from, uint64_t *row, size_t n, unsigned numbers)
{
	for (size_t now; n; n -= now, row += now * numbers) {
		now = rows_at_once(n);
		for (unsigned i = 0; i < numbers; i++)
			get_numbers(from, row + i, now, numbers);
	}
}

/* ---- blocks ---- */

#define NUMBERS 8u /* numbers that describe a block */

static void tell(const struct block *b, uint64_t number, uint64_t *row)
{
	row[0] = number;
	row[1] = b->addr;
	row[2] = b->size;
	row[3] = b->start;
	row[4] = b->slack;
	row[5] = b->owner;
	row[6] = b->stack;
	row[7] = (uint64_t)b->order << 8 | b->fn;
}

static struct block told(const uint64_t *row)
{
	return (struct block){
		.addr = row[1],
		.size = row[2],
		.start = row[3],
		.slack = (uint32_t)row[4],
		.owner = (uint32_t)row[5],
		.stack = (uint32_t)row[6],
		.fn = (uint8_t)row[7],
		.order = row[7] >> 8 & 0xffffff,
	};
}

/* Rows in transit: a table of all of them would take more memory than the heap. */
struct rows {
	uint64_t number[STATE_ROWS * NUMBERS];
	size_t n;
};

static void put_row(struct byte_column *to, struct rows *r, const struct block *b, uint64_t number)
{
	tell(b, number, r->number + NUMBERS * r->n++);
	if (r->n < STATE_ROWS)
		return;
	state_put_rows(to, r->number, r->n, NUMBERS);
	r->n = 0;
}

static void put_own(struct byte_column *to, const struct own_blocks *own)
{
	struct rows r = { .n = 0 };
	size_t n = 0;

	for (uint32_t i = 0; i < own->n; i++)
		n += own->block[i].addr != 0;
	column_varint(to, own->n);
	column_varint(to, n);
	for (uint32_t i = 0; i < own->n; i++) {
		const struct block b = own_block(own, &own->block[i]);

		if (b.addr)
			put_row(to, &r, &b, i + 1);
	}
	state_put_rows(to, r.number, r.n, NUMBERS);
}

static void put_others(struct byte_column *to, const struct blocks *others)
{
	const struct block *b = NULL;
	struct rows r = { .n = 0 };

	column_varint(to, others->used);
	while ((b = blocks_next(others, b)))
		put_row(to, &r, b, 0);
	state_put_rows(to, r.number, r.n, NUMBERS);
}

/* Returns the next row of `left`; r is empty at first. */
static const uint64_t *get_row(struct cursor *from, struct rows *r, size_t left)
{
	if (!(r->n % STATE_ROWS))
		state_get_rows(from, r->number, rows_at_once(left), NUMBERS);
	return r->number + NUMBERS * (r->n++ % STATE_ROWS);
}

static void get_own(struct cursor *from, struct own_blocks *own)
{
	const uint32_t numbers = (uint32_t)cursor_varint(from);
	struct rows r = { .n = 0 };

	if (numbers)
		own_place(own, numbers);
	for (uint64_t n = cursor_varint(from); n; n--) {
		const uint64_t *row = get_row(from, &r, n);
		const struct block b = told(row);

		own_put(own, &own->block[row[0] - 1], &b);
	}
}

static void get_others(struct cursor *from, struct blocks *others)
{
	struct rows r = { .n = 0 };

	for (uint64_t n = cursor_varint(from); n; n--) {
		const struct block b = told(get_row(from, &r, n));

		blocks_put(others, &b);
	}
}

/* ---- what is mapped ---- */

static void put_maps(struct byte_column *to, const struct map_set *s)
{
	column_varint(to, s->count);
	state_put(to, s->range, s->count * sizeof(*s->range));
	state_put(to, s->bytes, sizeof(s->bytes));
}

static void get_maps(struct cursor *from, struct map_set *s)
{
	s->count = s->room = cursor_varint(from);
	s->range = must_calloc(s->count, sizeof(*s->range));
	state_get(from, s->range, s->count * sizeof(*s->range));
	state_get(from, s->bytes, sizeof(s->bytes));
}

/* ---- processes and threads ---- */

static void put_process(struct byte_column *to, const struct heap_process *p)
{
	state_put(to, p, sizeof(*p)); /* its pointers are ignored when it is read */
	put_own(to, &p->own);
	put_others(to, &p->others);
	put_others(to, &p->forked);
	put_maps(to, &p->space.mapped);
	put_maps(to, &p->space.gone);
}

static void get_process(struct cursor *from, struct heap *h)
{
	struct heap_process saved, *p;
	uint32_t index;

	state_get(from, &saved, sizeof(saved));
	index = heap_process(h, saved.number); /* heap_process() may move them */
	p = h->process[index];
	p->parent = saved.parent;
	p->state = saved.state;
	p->fork_ticks = saved.fork_ticks;
	p->start_ticks = saved.start_ticks;
	p->forked_known = saved.forked_known;
	p->live = saved.live;
	p->live.pages = 0;
	p->most_bytes = saved.most_bytes;
	p->most_blocks = saved.most_blocks;
	p->left_bytes = saved.left_bytes;
	p->late = saved.late;
	p->inversions = saved.inversions;
	p->space.moved_break = saved.space.moved_break;
	get_own(from, &p->own);
	get_others(from, &p->others);
	get_others(from, &p->forked);
	get_maps(from, &p->space.mapped);
	get_maps(from, &p->space.gone);
}

/* ---- the whole ---- */

void heap_save(const struct heap *h, struct byte_column *to)
{
	state_put(to, &h->all, sizeof(h->all));
	column_varint(to, h->most_bytes);
	column_varint(to, h->most_blocks);
	column_varint(to, h->number);
	column_varint(to, h->older_frees);
	state_put(to, h->problems, sizeof(h->problems));
	column_varint(to, h->kept);
	state_put(to, h->problem, h->kept * sizeof(*h->problem));
	column_varint(to, h->processes);
	for (size_t i = 0; i < h->processes; i++)
		put_process(to, h->process[i]);
	column_varint(to, h->threads);
	state_put(to, h->thread, h->threads * sizeof(*h->thread));
}

void heap_load(struct heap *h, struct cursor *from)
{
	struct heap_thread thread;
	uint32_t index;
	uint64_t n;

	state_get(from, &h->all, sizeof(h->all));
	h->all.pages = 0;
	h->most_bytes = cursor_varint(from);
	h->most_blocks = cursor_varint(from);
	h->number = cursor_varint(from);
	h->older_frees = cursor_varint(from);
	state_get(from, h->problems, sizeof(h->problems));
	h->kept = cursor_varint(from);
	state_get(from, h->problem, h->kept * sizeof(*h->problem));
	for (n = cursor_varint(from); n; n--)
		get_process(from, h);
	for (n = cursor_varint(from); n; n--) {
		state_get(from, &thread, sizeof(thread));
		index = heap_thread(h, thread.number, thread.process);
		h->thread[index] = thread;
		h->reallocs += thread.pending;
	}
}
