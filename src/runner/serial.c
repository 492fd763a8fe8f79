/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * serial.c - one thread plays ORDER, several times with passes=.
 */
#include "order.h"
#include "stream.h"

#define ROOM 8192 /* words */

static uint64_t buffer[ROOM];

struct serial {
	struct player player;
	struct stream stream;
	struct stops *stops;
	order_play *play;
	struct played *played;
};

static void word_of_time(struct serial *s)
{
	uint64_t late = pace(*s->stream.at++ >> 4);

	if (late > s->played->late_ns)
		s->played->late_ns = late;
}

/* Plays a step; false after the last word. */
static bool step(struct serial *s)
{
	struct stream *in = &s->stream;
	const uint64_t *limit = stream_halt(in, s->stops);

	in->at = s->play(&s->player, in->at, limit);
	if (in->at >= limit)
		return stream_go_on(in, s->stops);
	word_of_time(s);
	return true;
}

static void play_once(struct serial *s, const struct order *order)
{
	stream_open(&s->stream, buffer, ROOM, playback.head.order.offset, order->words);
	while (step(s))
		;
}

void play_serial(const struct order *order, struct stops *stops, struct played *played)
{
	static struct notes notes;
	static struct stops none;
	static struct serial s;
	struct usage begin, end;

	s = (struct serial){ .play = order_choose(), .played = played };
	s.player = (struct player){ .table = live_table, .notes = &notes };
	s.player.ends = settings.speed ? 1u << MPROF_PLAY_TIME : 0;
	notes_start(&notes, 0);
	for (uint64_t i = 1; i <= settings.passes; i++) {
		usage_now(&begin);
		s.stops = i < settings.passes ? &none : stops; /* only the last pass is sampled */
		play_once(&s, order);
		usage_now(&end);
		usage_add(&played->used, &begin, &end);
		played->calls += order->calls;
		if (i < settings.passes)
			drain_table();
	}
	played->failed = s.player.failed;
	notes_add(played->latency, &notes);
	note_flush();
}
