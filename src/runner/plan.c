/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * plan.c - after which calls samples and frames are taken.
 */
#include "call.h"
#include "stream.h"

/* Returns the i-th of n equal distances, i from 1; UINT64_MAX after the last. */
static uint64_t mark(uint64_t i, uint64_t n, uint64_t calls)
{
	return i > n ? UINT64_MAX : (uint64_t)((unsigned __int128)calls * i / n);
}

static uint64_t next_asked(uint64_t from)
{
	uint64_t least = UINT64_MAX;

	for (uint64_t i = 0; i < settings.at.n; i++)
		if (settings.at.value[i] >= from && settings.at.value[i] < least)
			least = settings.at.value[i];
	return least;
}

static uint64_t least_of(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

void plan_make(struct stops *stops, uint64_t calls)
{
	uint64_t sample = 1, frame = 1, from = 0, op, asked;

	for (uint64_t i = 0; i < settings.at.n; i++)
		if (settings.at.value[i] > calls)
			die(STATUS_USAGE, "at=%u: there are only %u calls", settings.at.value[i],
			    calls);
	stops->at =
	    own_map((settings.samples + settings.frames + settings.at.n) * sizeof(*stops->at));
	stops->n = stops->told = 0;
	for (;;) {
		asked = next_asked(from);
		op = least_of(asked, least_of(mark(sample, settings.samples, calls),
					      mark(frame, settings.frames, calls)));
		if (op == UINT64_MAX)
			break;
		struct stop *s = &stops->at[stops->n++];
		*s = (struct stop){ .op = op, .frame = asked == op };
		for (; mark(sample, settings.samples, calls) == op; sample++)
			s->sample = true;
		for (; mark(frame, settings.frames, calls) == op; frame++)
			s->frame = true;
		from = op + 1;
	}
}

void stop_tell(const struct stop *stop)
{
	struct mprof_run_sample s;

	watch_moved();
	note_flush();
	if (stop->sample) {
		sample_now(&s, stop->op);
		record(MPROF_RUN_SAMPLE, &s, sizeof(s));
	}
	if (stop->frame)
		frame_tell(stop->op);
}

const uint64_t *stream_halt(const struct stream *in, const struct stops *stops)
{
	uint64_t words;

	if (stops->told == stops->n)
		return in->limit;
	words = stops->at[stops->told].word - in->first;
	return words < (uint64_t)(in->limit - in->buffer) ? in->buffer + words : in->limit;
}

bool stream_go_on(struct stream *in, struct stops *stops)
{
	if (stops->told == stops->n || stream_index(in, in->at) != stops->at[stops->told].word)
		return stream_more(in);
	stop_tell(&stops->at[stops->told++]);
	return true;
}
