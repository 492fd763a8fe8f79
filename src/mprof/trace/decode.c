// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * decode.c - event words to events.
 *
 * The loop in stream_decode is the price of every command: about 3 ns an event.
 * It keeps the decoding state in locals, writes into the caller's array before
 * it knows whether the event's turn has come, and undoes it by not advancing.
 * Everything but a one-word malloc or free is out of line.
 *
 * The key of an event is its time; at equal times, frees come before
 * allocations: a free is stamped before it happens and an allocation after, so
 * this is the only possible order.
 */
#include "reader.h"

#include <stdlib.h>
#include <string.h>

#include "stack_map.h"

enum rank { RANK_GIVES = 0, RANK_OTHER = 1, RANK_TAKES = 2 };

static uint64_t event_key(uint64_t ticks, enum rank rank)
{
	return ticks << 2 | rank;
}

/* Returns the first ticks whose key is not below the limit. */
static uint64_t first_late(uint64_t limit, enum rank rank)
{
	return (limit >> 2) + ((limit & 3) > rank);
}

/* The last eight bytes of an event that do not come from the word, by tag. */
struct tail {
	uint16_t error;
	uint8_t kind, fn, control, factors, pad[2];
};
_Static_assert(sizeof(struct tail) == 8 && offsetof(struct event, error) == 56, "copied whole");

static const struct tail tails[16] = {
	[MPROF_TAG_MALLOC] = { .kind = EVENT_CALL, .fn = MPROF_FN_MALLOC },
	[MPROF_TAG_CALLOC] = { .kind = EVENT_CALL, .fn = MPROF_FN_CALLOC },
	[MPROF_TAG_REALLOC_END] = { .kind = EVENT_REALLOC_END, .fn = MPROF_FN_REALLOC },
	[MPROF_TAG_NEW] = { .kind = EVENT_CALL, .fn = MPROF_FN_NEW },
	[MPROF_TAG_FREE] = { .kind = EVENT_CALL, .fn = MPROF_FN_FREE },
	[MPROF_TAG_DELETE] = { .kind = EVENT_CALL, .fn = MPROF_FN_DELETE },
	[MPROF_TAG_REALLOC_BEGIN] = { .kind = EVENT_REALLOC_BEGIN, .fn = MPROF_FN_REALLOC },
};

static const uint8_t classes[MPROF_FN_MAX] = {
#define MPROF_FUNCTION(id, code, name, class) [code] = MPROF_CLASS_##class,
#include <mprof/functions.def>
#undef MPROF_FUNCTION
};

static void put_tail(struct event *e, const struct tail *tail)
{
	memcpy((char *)e + offsetof(struct event, error), tail, sizeof(*tail));
}

static enum rank class_of_rank(unsigned fn, unsigned class, bool begin)
{
	if (class == MPROF_CLASS_FREE || begin || fn == MPROF_FN_MUNMAP)
		return RANK_GIVES;
	return class == MPROF_CLASS_MAP ? RANK_OTHER : RANK_TAKES;
}

/* size, usable and arg are as in the record: bytes of one element and number of elements. */
static void multiply(struct event *e)
{
	uint64_t element = e->size;

	if (__builtin_mul_overflow(element, e->arg, &e->size)) {
		e->size = UINT64_MAX;
		e->factors = e->addr ? FACTORS_LOST : FACTORS_OVERFLOW;
		if (!e->addr)
			e->usable = element;
	} else if (!e->arg) {
		e->factors = FACTORS_NO_COUNT;
		e->arg = element;
	}
}

/* Sets the four values by class; FORMAT.md 5.3.  s->addr moves when the event is taken. */
static void long_values(struct event *e, unsigned class, const uint64_t *v)
{
	e->addr = v[0];
	e->size = v[1];
	e->usable = v[2];
	e->arg = v[3];
	if (class == MPROF_CLASS_FREE) {
		e->arg = v[2];
	} else if (e->fn == MPROF_FN_CALLOC || e->fn == MPROF_FN_REALLOCARRAY) {
		if (e->kind != EVENT_REALLOC_BEGIN)
			multiply(e);
	}
}

/* Returns the record's number of words, 0 if it is bad or truncated; *rank orders it. */
static size_t decode_long(const struct stream *s, struct event *e, enum rank *rank)
{
	const uint64_t *pos = s->pos, *end = s->end;
	unsigned fn = mprof_word_fn(*pos), class = fn < MPROF_FN_MAX ? classes[fn] : 0;
	bool begin = mprof_word_flags(*pos) & MPROF_LONG_BEGIN;

	if (!class || end - pos < (ptrdiff_t)MPROF_LONG_WORDS ||
	    (begin && class != MPROF_CLASS_REALLOC))
		return 0;
	e->fn = (uint8_t)fn;
	e->kind = class != MPROF_CLASS_REALLOC ? EVENT_CALL
		  : begin		       ? EVENT_REALLOC_BEGIN
					       : EVENT_REALLOC_END;
	e->error = (uint16_t)mprof_word_error(*pos);
	e->value = class == MPROF_CLASS_FREE || begin ? s->free_stack : s->alloc_stack;
	long_values(e, class, pos + 1);
	if (class == MPROF_CLASS_FREE || begin)
		e->usable = s->touched;
	*rank = class_of_rank(fn, class, begin);
	return MPROF_LONG_WORDS;
}

static bool moves_addr(const struct event *e)
{
	return e->addr && e->kind != EVENT_REALLOC_BEGIN && e->fn &&
	       (classes[e->fn] == MPROF_CLASS_ALLOC || classes[e->fn] == MPROF_CLASS_REALLOC);
}

static bool frees_block(const struct event *e)
{
	return e->kind == EVENT_REALLOC_BEGIN ||
	       (e->kind == EVENT_CALL && classes[e->fn] == MPROF_CLASS_FREE);
}

static size_t decode_control(uint64_t word, struct event *e, enum rank *rank)
{
	unsigned what = mprof_word_fn(word);

	if (what < MPROF_CONTROL_THREAD_CREATE || what > MPROF_CONTROL_EXEC)
		return 0;
	e->kind = EVENT_CONTROL;
	e->control = (uint8_t)what;
	e->value = word >> 24;
	/* Creating a thread comes before its start, and its end before all events of the thread
	 * that joins it. */
	*rank = what == MPROF_CONTROL_THREAD_START || what == MPROF_CONTROL_FORKED ? RANK_OTHER
										   : RANK_GIVES;
	return 1;
}

static size_t decode_lost(uint64_t word, struct event *e, enum rank *rank)
{
	unsigned reason = word >> 4 & 255;

	if (reason >= MPROF_LOST_REASONS)
		return 0;
	e->kind = EVENT_LOST;
	e->control = (uint8_t)reason;
	e->value = word >> 12;
	*rank = RANK_OTHER;
	return 1;
}

enum rare { RARE_EVENT, RARE_STATE, RARE_STOP };

static bool stack_word_is_sound(uint64_t word)
{
	return !(word >> 40) && (word >> 4 & 15) <= MPROF_STACK_OF_FREES;
}

static void decode_stack(struct trace *t, struct stream *s, uint64_t word)
{
	uint32_t node = stack_map_node(s->map, (uint32_t)(word >> 8));

	if (node == STACK_UNDEFINED) {
		/* In a live trace the stack may belong to an event that is not shown. */
		if (!t->until_ticks)
			trace_note_damage(t, &t->damage.stacks_missing, 1,
					  chunk_offset(&t->chunk[s->next - 1]));
		node = 0;
	}
	if (word >> 4 & MPROF_STACK_OF_FREES)
		s->free_stack = node;
	else
		s->alloc_stack = node;
}

static bool is_count(uint64_t word)
{
	return mprof_word_tag(word) == MPROF_TAG_COUNT && mprof_count_is_sound(word);
}

static bool is_touched(uint64_t word)
{
	return mprof_word_tag(word) == MPROF_TAG_TOUCHED && !(word >> 52);
}

/* Skips the rest of the chunk. */
static enum rare stop(struct stream *s)
{
	s->taken = (size_t)(s->pos - s->buf);
	s->pos = s->end;
	return RARE_STOP;
}

/* State words take effect when they are read; they are not ordered by time. */
static enum rare state_word(struct trace *t, struct stream *s, uint64_t word)
{
	if (is_touched(word)) {
		s->touched = (word >> 4) + 1;
		s->pos++;
		return RARE_STATE;
	}
	if (is_count(word)) {
		s->count = word >> 4;
		s->pos++;
		return RARE_STATE;
	}
	if (mprof_word_tag(word) == MPROF_TAG_TIME) {
		s->ticks = word >> 4;
		s->pos++;
		return RARE_STATE;
	}
	if (mprof_word_tag(word) == MPROF_TAG_STACK && stack_word_is_sound(word)) {
		decode_stack(t, s, word);
		s->pos++;
		return RARE_STATE;
	}
	if (mprof_word_tag(word) == MPROF_TAG_THREAD && word >> 4 && !(word >> 36)) {
		s->thread = (uint32_t)(word >> 4);
		s->pos++;
		return RARE_STATE;
	}
	if (word)
		trace_note_damage(t, &t->damage.words_bad, 1, chunk_offset(&t->chunk[s->next - 1]));
	return stop(s);
}

/*
 * Decodes everything except short words. RARE_EVENT: e is complete except for its owner, *words
 * long, with its key; the stream has not advanced.
 */
static __attribute__((noinline)) enum rare
decode_rare(struct trace *t, struct stream *s, struct event *e, size_t *words, uint64_t *key)
{
	uint64_t word = *s->pos;
	enum rank rank = RANK_OTHER;

	*e = (struct event){ .ticks = s->ticks };
	*words = 0;
	switch (mprof_word_tag(word)) {
	case MPROF_TAG_LONG:
		e->ticks += mprof_word_dt(word);
		*words = decode_long(s, e, &rank);
		break;
	case MPROF_TAG_CONTROL:
		e->ticks += mprof_word_dt(word);
		*words = decode_control(word, e, &rank);
		break;
	case MPROF_TAG_LOST:
		*words = decode_lost(word, e, &rank);
		break;
	case MPROF_TAG_TIME:
	case MPROF_TAG_THREAD:
	case MPROF_TAG_STACK:
	case MPROF_TAG_TOUCHED:
	case MPROF_TAG_COUNT:
		return state_word(t, s, word);
	}
	if (!*words) {
		if (word || !t->chunk[s->next - 1].slot)
			trace_note_damage(t, &t->damage.words_bad, 1,
					  chunk_offset(&t->chunk[s->next - 1]));
		return stop(s);
	}
	e->ticks &= MPROF_TICKS_MASK;
	*key = event_key(e->ticks, rank);
	return RARE_EVENT;
}

static bool is_alloc_tag(unsigned tag)
{
	return tag - MPROF_TAG_MALLOC <= MPROF_TAG_NEW - MPROF_TAG_MALLOC;
}
static bool is_free_tag(unsigned tag)
{
	return tag - MPROF_TAG_FREE <= MPROF_TAG_REALLOC_BEGIN - MPROF_TAG_FREE;
}

/* Is it the usual kind of STACK word? */
static bool is_stack_of_takes(uint64_t word)
{
	return (word & 0xff) == MPROF_TAG_STACK && !(word >> 40);
}

/*
 * Decodes consecutive short words of one chunk. Returns the number of events; *key is the key of
 * the event at s->pos if it stopped the loop.
 */
static size_t decode_short(struct stream *s, struct event *events, size_t n, uint64_t limit,
			   uint64_t *key)
{
	const uint64_t *pos = s->pos, *end = s->end;
	const uint64_t late_take = first_late(limit, RANK_TAKES);
	const uint64_t late_give = first_late(limit, RANK_GIVES);
	uint64_t ticks = s->ticks, addr = s->addr, touched = s->touched, count = s->count;
	const uint32_t process = s->process, thread = s->thread;
	const uint64_t gives = s->free_stack;
	uint64_t takes = s->alloc_stack;
	struct event *e = events, *stop = events + n;

	while (pos < end && e < stop) {
		uint64_t word = *pos, now = (ticks + mprof_word_dt(word)) & MPROF_TICKS_MASK;
		unsigned tag = mprof_word_tag(word);

		if (is_alloc_tag(tag)) {
			if (now >= late_take) {
				*key = event_key(now, RANK_TAKES);
				break;
			}
			addr += mprof_word_delta(word);
			e->addr = addr;
			e->size = mprof_word_size(word);
			e->usable = e->size + mprof_word_slack(word);
			e->value = takes;
			e->arg = 0;
			if (tag == MPROF_TAG_CALLOC) {
				e->arg = count;
				count = 1;
			}
		} else if (is_free_tag(tag)) {
			if (now >= late_give) {
				*key = event_key(now, RANK_GIVES);
				break;
			}
			e->addr = mprof_word_addr(word);
			e->size = 0;
			e->usable = touched;
			e->value = gives;
			e->arg = 0;
			touched = 0;
		} else if (is_stack_of_takes(word)) {
			uint32_t node = stack_map_node(s->map, (uint32_t)(word >> 8));

			if (node == STACK_UNDEFINED)
				break;
			takes = node;
			pos++;
			continue;
		} else if (is_count(word)) {
			count = word >> 4;
			pos++;
			continue;
		} else {
			break;
		}
		e->ticks = ticks = now;
		e->process = process;
		e->thread = thread;
		put_tail(e, &tails[tag]);
		pos++;
		e++;
	}
	s->pos = pos;
	s->ticks = ticks;
	s->addr = addr;
	s->touched = touched;
	s->count = count;
	s->alloc_stack = (uint32_t)takes;
	return (size_t)(e - events);
}

/*
 * Decodes events of the words that are loaded, to events[*got] and behind.  False if there are n,
 * or if *key, that of the event at s->pos, reaches the limit.
 */
static inline bool decode_some(struct trace *t, struct stream *s, struct event *events, size_t n,
			       uint64_t limit, size_t *got, uint64_t *key)
{
	size_t words;

	*key = 0;
	*got += decode_short(s, events + *got, n - *got, limit, key);
	if (*key >= limit || *got == n)
		return false;
	if (s->pos == s->end || decode_rare(t, s, &events[*got], &words, key) != RARE_EVENT)
		return true;
	if (*key >= limit)
		return false;
	events[*got].process = s->process;
	events[*got].thread = s->thread;
	s->ticks = events[*got].ticks;
	if (moves_addr(&events[*got]))
		s->addr = events[*got].addr;
	if (frees_block(&events[*got]))
		s->touched = 0;
	s->pos += words;
	++*got;
	return true;
}

/* Decodes what groups have of the chunk: later words depend on it. */
static void skip_taken(struct trace *t, struct stream *s, size_t words)
{
	const uint64_t *end = s->end;
	struct event unused[64];
	uint64_t key;
	size_t got;

	s->end = s->pos + (s->skip < words ? s->skip : words);
	while (s->pos != s->end) {
		got = 0;
		decode_some(t, s, unused, sizeof(unused) / sizeof(unused[0]), KEY_END, &got, &key);
	}
	s->end = end;
}

static bool stream_load(struct trace *t, struct stream *s)
{
	while (s->next < s->last) {
		const struct chunk *c = &t->chunk[s->next++];
		size_t words = c->used || c->slot ? chunk_load(t, c, &s->buf, &s->room) : 0;

		s->taken = words;
		if (chunk_is_cut(t, c) || (!words && (c->used || c->slot) && !chunk_is_gone(t, c)))
			trace_note_damage(t, &t->damage.chunks_bad, 1, chunk_offset(c));
		if (!words)
			continue;
		s->pos = s->buf;
		s->end = s->buf + words;
		s->ticks = c->first_ticks & MPROF_TICKS_MASK;
		s->addr = 0;
		s->alloc_stack = s->free_stack = 0;
		s->touched = 0;
		s->count = 1;
		s->map = stack_map_find(t, c->process, c->image);
		s->process = c->process;
		s->thread = c->thread;
		if (s->skip && s->next == s->first + 1)
			skip_taken(t, s, words);
		if (s->pos != s->end)
			return true;
	}
	free(s->buf);
	s->buf = NULL;
	s->room = 0;
	s->pos = s->end = NULL;
	return false;
}

size_t stream_decode(struct trace *t, struct stream *s, struct event *events, size_t n,
		     uint64_t limit, uint64_t *key)
{
	size_t got = 0;

	do
		if (s->pos == s->end && !stream_load(t, s)) {
			*key = KEY_END;
			return got;
		}
	while (decode_some(t, s, events, n, limit, &got, key));
	if (*key < limit)
		*key = event_key(s->ticks, RANK_GIVES);
	return got;
}
