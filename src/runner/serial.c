/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * serial.c - one thread plays ORDER; also so often, for time.
 */
#include "order.h"
#include "stream.h"

#define ROOM 8192 /* words */

static uint64_t buffer[ROOM];

struct serial {
	struct player player;
	struct stream stream;
	const struct stops *stops;
	size_t stop;
	order_play *play;
	struct played *played;
};

/* Up to where no stop is in the way. */
static const uint64_t *limit_of(const struct serial *s)
{
	const struct stream *in = &s->stream;
	uint64_t words;

	if (s->stop == s->stops->n)
		return in->limit;
	words = s->stops->at[s->stop].word - in->first;
	return words < (uint64_t)(in->limit - in->buffer) ? in->buffer + words : in->limit;
}

static void word_of_time(struct serial *s)
{
	uint64_t late = pace(*s->stream.at++ >> 4);

	if (late > s->played->late_ns)
		s->played->late_ns = late;
}

/* One step; false after the last word. */
static bool step(struct serial *s)
{
	struct stream *in = &s->stream;
	const uint64_t *limit = limit_of(s);

	in->at = s->play(&s->player, in->at, limit);
	if (in->at < limit)
		word_of_time(s);
	else if (s->stop < s->stops->n && stream_index(in, in->at) == s->stops->at[s->stop].word)
		stop_tell(&s->stops->at[s->stop++]);
	else
		return stream_more(in);
	return true;
}

static void play_once(struct serial *s, const struct order *order, bool last)
{
	static const struct stops none;
	static struct stops all;

	all = *s->stops;
	if (!last)
		s->stops = &none; /* only the last pass is looked at */
	stream_open(&s->stream, buffer, ROOM, file.head.order.offset, order->words);
	while (step(s))
		;
	s->stops = &all;
}

void play_serial(const struct order *order, const struct stops *stops, struct played *played)
{
	static struct notes notes;
	static struct serial s;
	struct usage begin, end;

	s = (struct serial){ .stops = stops, .play = order_choose(), .played = played };
	s.player = (struct player){ .table = table, .notes = &notes };
	s.player.ends = set.speed ? 1u << MPROF_PLAY_TIME : 0;
	notes_start(&notes, 0);
	for (uint64_t i = 1; i <= set.passes; i++) {
		usage_now(&begin);
		play_once(&s, order, i == set.passes);
		usage_now(&end);
		usage_add(&played->used, &begin, &end);
		played->calls += order->calls;
		if (i < set.passes)
			drain_table();
	}
	played->failed = s.player.failed;
	notes_add(played->latency, &notes);
	note_flush();
}
