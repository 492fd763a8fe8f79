// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * fuzz_pack.c - a libFuzzer target: any events, packed and unpacked, are the same events
 * of the same blocks, and any stack records the same words.
 *
 * A badly read chunk of the file would fail its checksum; one that was packed wrongly would be lost
 * for good, so this must never be.  The input is taken for packed bytes as well.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <mprof/encode.h>

#include "trace/group.h"
#include "trace/block_numbers.h"
#include "trace/pack.h"
#include "trace/stack_pack.h"

#define WORDS_MAX  8192
#define EVENTS_MAX 4096
#define NODES	   8

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(int what)
{
	if (!what)
		abort();
}

/* All pieces in one, the caller's. */
static uint8_t *plain_of(pack_piece *piece, void *from, size_t *bytes)
{
	uint8_t *plain = malloc(1);
	const void *data;
	size_t n;

	*bytes = 0;
	for (size_t i = 0; piece(from, i, &data, &n); i++) {
		plain = realloc(plain, *bytes + n + 1);
		must(plain != NULL);
		if (n)
			memcpy(plain + *bytes, data, n);
		*bytes += n;
	}
	return plain;
}

/* ---- events ---- */

static uint8_t kind_of(unsigned fn, unsigned which)
{
	unsigned class = function_class[fn];

	if (class == MPROF_CLASS_REALLOC)
		return which & 1 ? EVENT_REALLOC_BEGIN : EVENT_REALLOC_END;
	return EVENT_CALL;
}

/* Eight bytes: a few threads, addresses and sizes, so that they meet; now and then any. */
static struct event event_of(const uint8_t *d, uint64_t *ticks)
{
	struct event e = { .process = 1 + (d[0] & 1), .thread = 1 + (d[0] >> 1 & 3) };
	uint64_t wide;

	memcpy(&wide, d, sizeof(wide));
	*ticks += d[7] & 128 ? wide >> 40 : d[1] & 63;
	*ticks &= MPROF_TICKS_MASK >> 1;
	e.ticks = *ticks;
	if ((d[0] & 0xf8) == 0xf8) {
		e.kind = d[2] & 1 ? EVENT_CONTROL : EVENT_LOST;
		e.control = (uint8_t)(1 + d[3] % 6);
		e.value = wide >> 24;
		return e;
	}
	e.fn = (uint8_t)(1 + (d[2] & 31) % 22);
	e.kind = kind_of(e.fn, d[1] >> 6);
	e.addr = d[3] & 64 ? wide : 0x1000 + 24u * (d[3] & 63) * (d[3] & 63);
	e.addr = d[3] & 128 ? 0 : e.addr;
	e.size = d[4] & 128 ? wide >> 8 : d[4];
	e.usable = sorts_is_end(e.kind, e.fn) ? (d[5] & 192 ? 0 : d[5]) : e.size + (d[5] & 31);
	e.arg = d[6] & 64 ? d[6] : 0;
	e.stack = d[6] & (NODES - 1);
	e.error = d[6] & 32 ? 12 : 0;
	e.factors = d[6] & 128 ? d[6] >> 3 & 3 : 0;
	return e;
}

static void expect(struct sorts *s, const struct mprof_group *head, uint8_t *const *plain,
		   const struct event *e, size_t n, bool exact)
{
	struct group_reader *r = group_reader_new(s);
	struct event back[64];
	size_t got;

	must(r && group_open(r, head, e->ticks, plain));
	for (size_t i = 0; i < n; i += got) {
		got = group_read(r, back, 64);
		must(got > 0);
		for (size_t k = 0; k < got; k++) {
			must(back[k].ticks - e[i + k].ticks + 256 <= 512 && !exact ||
			     back[k].ticks == e[i + k].ticks);
			back[k].ticks = e[i + k].ticks;
			must(!memcmp(&back[k], &e[i + k], sizeof(*e)));
		}
	}
	group_reader_free(r);
}

/* The definitions, written and read; stacks are the same nodes. */
static void retell(struct sorts *from, struct sorts *to)
{
	struct mprof_sorts head;
	uint8_t *plain;
	size_t bytes;

	must(!sorts_tell(from, &head));
	plain = plain_of(sorts_piece, from, &bytes);
	head.plain_bytes = (uint32_t)bytes;
	must(!sorts_start(to, 0) && sorts_take(to, &head, plain));
	must(to->n == from->n && to->stacks == from->stacks);
	for (size_t i = 0; i < to->stacks; i++)
		to->stack[i].node = from->stack[i].node;
	for (size_t i = 1; i < to->n; i++)
		to->sort[i].stack = to->stack[to->sort[i].stack].node;
	free(plain);
}

static void events(const uint8_t *data, size_t size, bool exact)
{
	static struct event e[EVENTS_MAX];
	struct group_frame frame[MPROF_GROUP_FRAMES];
	uint8_t *plain[MPROF_GROUP_FRAMES];
	struct group_writer *w;
	struct names *names;
	struct sorts sorts, back;
	struct mprof_group head;
	uint64_t ticks = 1000;
	size_t n = 0, bytes;

	for (; n < EVENTS_MAX && 8 * (n + 1) <= size; n++)
		e[n] = event_of(data + 8 * n, &ticks);
	names = names_new();
	must(names && !names_give(names, e, n));
	names_free(names);
	must(!sorts_start(&sorts, NODES));
	w = group_writer_new(&sorts);
	must(w != NULL);
	group_begin(w, 8, exact);
	for (size_t i = 0; i < n; i += GROUP_BATCH)
		must(!group_add(w, e + i, n - i < GROUP_BATCH ? n - i : GROUP_BATCH));
	must(!group_end(w, &head));
	head.first_event = 1;
	for (unsigned i = 0; i < MPROF_GROUP_FRAMES; i++) {
		frame[i] = (struct group_frame){ w, i };
		plain[i] = plain_of(group_piece, &frame[i], &bytes);
		must(bytes == head.plain_bytes[i]);
	}
	retell(&sorts, &back);
	expect(&back, &head, plain, e, n, exact);
	for (unsigned i = 0; i < MPROF_GROUP_FRAMES; i++)
		free(plain[i]);
	group_writer_free(w);
	sorts_free(&sorts);
	sorts_free(&back);
}

/* ---- stack records ---- */

static void stacks(const uint64_t *words, size_t n)
{
	static struct stack_packer *packer;
	uint64_t *out;
	uint8_t *plain;
	size_t bytes;

	if (!packer)
		packer = stack_packer_new();
	must(packer != NULL);
	if (stack_pack(packer, words, n))
		return;
	plain = plain_of(stack_piece, packer, &bytes);
	out = malloc(8 * n);
	must(stack_unpack(plain, bytes, out, n) && !memcmp(out, words, 8 * n));
	free(plain);
	free(out);
}

/* ---- anything ---- */

static void hostile(const uint8_t *data, size_t size)
{
	static uint64_t out[WORDS_MAX];
	struct mprof_group head = { .events = 10000, .first_event = 1, .shift = 8 };
	struct mprof_sorts defined = { .first_sort = 1, .first_stack = 1 };
	struct group_reader *r;
	struct sorts sorts;
	struct event e[64];
	uint8_t *plain[MPROF_GROUP_FRAMES];
	size_t part = size / 4;

	stack_unpack(data, size, out, WORDS_MAX);
	must(!sorts_start(&sorts, 0));
	defined.sorts = data[0];
	defined.stacks = data[1 % size];
	defined.plain_bytes = (uint32_t)part;
	sorts_take(&sorts, &defined, data);
	for (size_t i = 0; i < sorts.n; i++)
		sorts.sort[i].stack = 0;
	r = group_reader_new(&sorts);
	must(r != NULL);
	head.homes = 1 + data[2 % size] % 3;
	head.lanes = 1 + data[3 % size] % 5;
	head.exact = data[4 % size] & 1;
	for (unsigned i = 0; i < MPROF_GROUP_FRAMES; i++) {
		plain[i] = malloc(part + 1);
		memcpy(plain[i], data + (i + 1) * part, part);
		head.plain_bytes[i] = (uint32_t)part;
	}
	if (group_open(r, &head, 1000, plain))
		while (group_read(r, e, 64))
			;
	for (unsigned i = 0; i < MPROF_GROUP_FRAMES; i++)
		free(plain[i]);
	group_reader_free(r);
	sorts_free(&sorts);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static uint64_t words[WORDS_MAX];
	size_t n = size / 8;

	if (!n || n > WORDS_MAX)
		return -1;
	memcpy(words, data, 8 * n);
	events(data, size, data[0] & 1);
	stacks(words, n);
	hostile(data, size);
	return 0;
}
