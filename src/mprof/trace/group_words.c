// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * group_words.c - short words of a raw trace to the columns of a group.
 *
 * Nearly all of a trace are short words.  Decoding them to events and adding these would have the
 * same result, but reads and writes more.
 */
#include <errno.h>

#include "group_writer.h"
#include "reader.h"
#include "stack_map.h"

/* What a word tells about its event, by tag. */
struct tag {
	uint8_t kind, fn;
};
static const struct tag tags[16] = {
	[MPROF_TAG_MALLOC] = { EVENT_CALL, MPROF_FN_MALLOC },
	[MPROF_TAG_CALLOC] = { EVENT_CALL, MPROF_FN_CALLOC },
	[MPROF_TAG_REALLOC_END] = { EVENT_REALLOC_END, MPROF_FN_REALLOC },
	[MPROF_TAG_NEW] = { EVENT_CALL, MPROF_FN_NEW },
};

/* Ends a run of events that is not plain. */
static __attribute__((noinline)) void put_odd_time(struct group_writer *w, uint8_t **step,
						   uint64_t *start, uint64_t *count, uint64_t ticks)
{
	struct byte_column *c = &w->column[GROUP_STEP];

	c->n = (size_t)(*step - c->byte);
	w->bucket = *start >> w->shift;
	w->count = *count;
	group_put_time(w, ticks, false);
	*step = c->byte + c->n;
	*start = w->bucket << w->shift;
	*count = w->count;
}

/* Decodes an allocation, except for the number of elements. */
ALWAYS_INLINE void decode_birth(struct event *e, uint64_t word, uint64_t addr, uint64_t stack)
{
	const struct tag *tag = &tags[mprof_word_tag(word)];

	e->addr = addr;
	e->size = mprof_word_size(word);
	e->usable = e->size + mprof_word_slack(word);
	e->value = stack;
	e->arg = 0;
	e->kind = tag->kind;
	e->fn = tag->fn;
}

/*
 * Lists up to n events before `late`, a time, of short words that follow each other; behind those
 * that w->what has already.
 */
static void list(struct group_writer *w, const struct places *at, struct stream *s, size_t n,
		 uint64_t late)
{
	const struct places places = *at;
	const struct sorts sorts = *w->sorts;
	const uint64_t *pos = s->pos, *const end = s->end, span = 1ull << w->shift;
	struct coming *c = w->coming + w->births;
	struct going *d = w->going + w->ends;
	struct event *e = w->born + w->births;
	uint16_t *what = w->what + w->births + w->ends, *const stop = what + n;
	uint8_t *step = w->column[GROUP_STEP].byte + w->column[GROUP_STEP].n;
	uint64_t addr = s->addr, ticks = s->ticks, takes = s->alloc_stack;
	uint64_t start = w->bucket << w->shift, count = w->count;

	for (; pos < end && what < stop; pos++) {
		const uint64_t word = *pos, now = ticks + mprof_word_dt(word);
		const unsigned tag = mprof_word_tag(word);

		if (tag - MPROF_TAG_MALLOC <= MPROF_TAG_NEW - MPROF_TAG_MALLOC) {
			const uint64_t to = addr + mprof_word_delta(word);

			if (now >= late || !to)
				break;
			addr = to;
			decode_birth(e, word, addr, takes);
			if (tag == MPROF_TAG_CALLOC) {
				e->arg = s->count;
				s->count = 1;
			}
			c->e = e;
			c->hash = sort_hash(e);
			sorts_prefetch(&sorts, c->hash);
			c->region = places_first(&places, addr);
			__builtin_prefetch(c->region);
			c++;
			e++;
			*what++ = IS_BIRTH;
		} else if (tag - MPROF_TAG_FREE <= MPROF_TAG_REALLOC_BEGIN - MPROF_TAG_FREE) {
			if (now >= late)
				break;
			d->addr = mprof_word_addr(word);
			d->region = places_first(&places, d->addr);
			__builtin_prefetch(d->region);
			d++;
			*what++ = w->what_of_tag[tag];
		} else if ((word & 255) == MPROF_TAG_STACK && !(word >> 40)) {
			const uint32_t node = stack_map_node(s->map, (uint32_t)(word >> 8));

			if (node == STACK_UNDEFINED)
				break;
			takes = node;
			continue;
		} else if (tag == MPROF_TAG_COUNT && mprof_count_is_sound(word)) {
			s->count = word >> 4;
			continue;
		} else {
			break;
		}
		ticks = now;
		if (now - start < span) {
			count++;
		} else if (now - start < 2 * span && count < STEP_LONG) {
			*step++ = (uint8_t)count;
			count = 1;
			start += span;
		} else {
			put_odd_time(w, &step, &start, &count, now);
		}
	}
	w->column[GROUP_STEP].n = (size_t)(step - w->column[GROUP_STEP].byte);
	w->bucket = start >> w->shift;
	w->count = count;
	w->births = (size_t)(c - w->coming);
	w->ends = (size_t)(d - w->going);
	s->pos = pos;
	s->ticks = ticks;
	s->addr = addr;
	s->alloc_stack = (uint32_t)takes;
}

/* Returns the first time that is of another thread, or is exact. */
static uint64_t late_time(const struct group_writer *w, uint64_t limit)
{
	const uint64_t late = limit >> 2 < MPROF_TICKS_MASK ? limit >> 2 : MPROF_TICKS_MASK;

	return w->mark_at <= late >> w->shift ? w->mark_at << w->shift : late;
}

uint64_t group_asked(const struct group_writer *w)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < w->births; i++)
		bytes += w->born[i].size;
	return bytes;
}

int group_add_words(struct group_writer *w, struct stream *s, size_t n, uint64_t limit,
		    struct group_added *added)
{
	const uint32_t calls = w->calls;
	struct home *h = w->lane->home;

	*added = (struct group_added){ 0 };
	if (s->touched || w->lane->process != s->process || w->lane->thread != s->thread ||
	    w->lane->free_stack != s->free_stack)
		return 0;
	if (!group_ready(w, n) || !places_room(&h->places, n))
		return -ENOMEM;
	w->births = w->ends = w->mixed = 0;
	for (;;) {
		list(w, &h->places, s, n - added->events, late_time(w, limit));
		if (w->births + w->ends > added->events)
			added->last_ticks = s->ticks;
		added->events = w->births + w->ends;
		if (s->pos == s->end || mprof_word_tag(*s->pos) != MPROF_TAG_TIME)
			break;
		s->ticks = *s->pos++ >> 4;
	}
	w->events += (uint32_t)added->events;
	w->calls += (uint32_t)added->events;
	if (!group_put_listed(w, h, s->thread, NULL, added->events))
		return -ENOMEM;
	added->calls = w->calls - calls;
	return 0;
}
