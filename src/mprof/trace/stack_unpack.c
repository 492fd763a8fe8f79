// SPDX-License-Identifier: LGPL-3.0-or-later
/* stack_unpack.c - columns back into stack records; nothing in them is trusted. */
#include <mprof/format.h>

#include "stack_pack.h"

struct stack_unpacker {
	struct stacks_model model;
	struct cursor column[STACKS_COLUMNS];
	uint32_t addresses; /* number of possible addresses */
	uint64_t *word, *end;
};

/* Returns the number of a frame that was not guessed first; 0 if it is invalid. */
static uint32_t get_number(struct stack_unpacker *u, uint32_t caller, unsigned hit)
{
	struct stacks_model *m = &u->model;
	uint32_t number;

	if (hit < 3)
		return m->after[caller][hit];
	if (hit == 4) {
		if (m->addresses >= u->addresses)
			return 0;
		number = ++m->addresses;
		m->last += unzigzag(cursor_varint(&u->column[STACKS_ADDRESS]));
		m->address[number] = m->last;
		return number;
	}
	number = (uint32_t)cursor_wide(&u->column[STACKS_NUMBER], 3);
	return number <= m->addresses ? number : 0;
}

static bool get_frames(struct stack_unpacker *u, uint32_t caller, uint32_t frames)
{
	struct stacks_model *m = &u->model;
	struct cursor hits = u->column[STACKS_HIT];
	uint32_t *const number = m->frame + m->frames;
	uint64_t *const word = u->word;

	for (uint32_t i = 0; i < frames; i++) {
		const unsigned hit = (unsigned)cursor_get(&hits);
		const uint32_t next = hit ? get_number(u, caller, hit) : m->after[caller][0];

		if (!next)
			return false;
		if (hit)
			stacks_model_learn(m, caller, next);
		caller = number[i] = next;
		word[i] = m->address[next];
	}
	u->column[STACKS_HIT] = hits;
	m->frames += frames;
	u->word += frames;
	return true;
}

static bool get_stack(struct stack_unpacker *u, bool next, const struct stacks_head *h)
{
	struct stacks_model *m = &u->model;
	uint32_t id = next ? m->id + 1 : (uint32_t)cursor_varint(&u->column[STACKS_ID]);
	uint64_t flags = next ? 0 : cursor_get(&u->column[STACKS_FLAGS]) & 15;
	uint64_t code = cursor_varint(&u->column[STACKS_JOINED]);
	uint32_t joined = code ? (uint32_t)(id - unzigzag(code - 1)) : 0, depth, at = m->frames;
	const struct packed_stack *base = stacks_model_get(m, joined);
	uint64_t frames;

	depth = (uint32_t)((base ? base->own - 1 + base->n : 0) -
			   unzigzag(cursor_varint(&u->column[STACKS_DEPTH])));
	frames = cursor_varint(&u->column[STACKS_FRAMES]);
	if (frames > 0xffffff || frames > h->frames - m->frames ||
	    (uint64_t)(u->end - u->word) < 2 + frames)
		return false;
	*u->word++ = MPROF_RECORD_STACK | flags << 4 | frames << 8 | (uint64_t)id << 32;
	*u->word++ = joined | (uint64_t)depth << 32;
	if (!get_frames(u, stacks_model_caller(m, joined, depth), (uint32_t)frames))
		return false;
	m->id = id;
	if (id - m->first < m->stacks && depth < UINT32_MAX)
		m->stack[id - m->first] =
		    (struct packed_stack){ depth + 1, joined, at, (uint32_t)frames };
	return true;
}

static bool get_raw(struct stack_unpacker *u)
{
	uint64_t words = cursor_varint(&u->column[STACKS_WORDS]);

	if (words > (uint64_t)(u->end - u->word))
		return false;
	while (words--) {
		uint64_t word = 0;

		for (unsigned i = 0; i < 8; i++)
			word |= cursor_get(&u->column[STACKS_WORD]) << 8 * i;
		*u->word++ = word;
	}
	return true;
}

static bool unpack(struct stack_unpacker *u, const struct stacks_head *h)
{
	for (uint32_t i = 0; i < h->records; i++) {
		unsigned record = (unsigned)cursor_get(&u->column[STACKS_RECORD]);

		if (record > STACKS_RAW)
			return false;
		if (record == STACKS_RAW ? !get_raw(u) : !get_stack(u, record == STACKS_NEXT, h))
			return false;
	}
	return u->word == u->end;
}

bool stack_unpack(const uint8_t *plain, size_t bytes, uint64_t *words, size_t n)
{
	struct stack_unpacker u = { .word = words, .end = words + n };
	struct stacks_head h;
	bool sound;

	if (bytes < sizeof(h))
		return false;
	memcpy(&h, plain, sizeof(h));
	if (h.records > n || h.stacks > h.records || h.frames > n || h.addresses > h.frames ||
	    !cursors_find(u.column, STACKS_COLUMNS, plain + sizeof(h), bytes - sizeof(h)))
		return false;
	u.addresses = h.addresses;
	sound = !stacks_model_start(&u.model, &h) && unpack(&u, &h);
	stacks_model_free(&u.model);
	return sound;
}
