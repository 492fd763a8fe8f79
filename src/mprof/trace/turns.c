// SPDX-License-Identifier: LGPL-3.0-or-later
/* turns.c - where in each stream's events those of other streams come between. */
#include "turns.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compact.h"
#include "reader.h"

#define BATCH 256

static int make_room(struct turns_of *s, uint64_t events)
{
	size_t room = s->room ? s->room : 512;
	uint8_t *bigger;

	while (room < events / 8 + 1)
		room *= 2;
	if (room == s->room)
		return 0;
	bigger = realloc(s->bit, room);
	if (!bigger)
		return -ENOMEM;
	memset(bigger + s->room, 0, room - s->room);
	s->bit = bigger;
	s->room = room;
	return 0;
}

int turns_find(struct turns *turns, struct trace *t, const struct compact_options *o)
{
	struct event event[BATCH];
	uint32_t stream, last = UINT32_MAX;
	int ret = 0;

	turns->n = t->streams;
	turns->stream = calloc(t->streams + 1, sizeof(*turns->stream));
	if (!turns->stream)
		return -ENOMEM;
	while (t->heap_n && !ret) {
		size_t n = merge_run(t, event, BATCH, &stream);
		struct turns_of *s = &turns->stream[stream];

		if (o->events)
			o->events(o->context, event, n);
		if (o->stop && *o->stop)
			ret = -EINTR;
		else
			ret = make_room(s, s->events + n);
		if (n && !ret && stream != last) {
			s->bit[s->events / 8] |= (uint8_t)(1 << s->events % 8);
			last = stream;
		}
		s->events += n;
	}
	return ret;
}

void turns_free(struct turns *turns)
{
	for (size_t i = 0; i < turns->n && turns->stream; i++)
		free(turns->stream[i].bit);
	free(turns->stream);
	*turns = (struct turns){ 0 };
}
