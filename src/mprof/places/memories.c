// SPDX-License-Identifier: LGPL-3.0-or-later
/* memories.c - block placement in the recorded run and on each allocator. */
#include "memories.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "place_run.h"
#include "place_trace.h"
#include "../util/alloc.h"

/* Notes the status of a source. */
static void settle(struct memories_row *row, int status)
{
	row->status = status;
	if (row->status)
		memory_release(&row->memory);
}

static void look_at_recorded(struct memories *m, const struct memories_plan *plan,
			     const struct place_plan *places)
{
	struct memories_row *row = &m->recorded;
	const struct place_sink sink = { &memory_ops, &row->memory };

	memory_init(&row->memory);
	settle(row, place_trace(plan->trace, plan->process, places, &sink, &row->why));
}

static void look_at(struct memories_row *row, const struct memories_plan *plan,
		    const struct place_plan *places, const struct variant *v)
{
	const struct place_sink sink = { &memory_ops, &row->memory };

	memory_init(&row->memory);
	settle(row, place_run(plan->playback, v, places, &sink, &row->why));
}

void memories_make(struct memories *m, const struct memories_plan *plan, const struct variants *vs)
{
	const size_t runs = vs->n + (plan->trace != NULL);
	struct place_plan places = plan->plan;
	size_t i, done = 0;

	memset(m, 0, sizeof(*m));
	m->recorded.status = -ENOENT;
	m->row = must_calloc(vs->n + 1, sizeof(*m->row));
	m->n = vs->n;
	places.frames = places.frames ? places.frames : MEMORIES_FRAMES;
	places.samples = places.samples ? places.samples : MEMORIES_SAMPLES;
	if (plan->trace) {
		if (plan->progress)
			plan->progress(plan->context, "recorded", done, runs);
		done++;
		look_at_recorded(m, plan, &places);
	}
	for (i = 0; i < vs->n; i++) {
		if (plan->progress)
			plan->progress(plan->context, vs->v[i].name, done, runs);
		done++;
		look_at(&m->row[i], plan, &places, &vs->v[i]);
	}
}

void memories_release(struct memories *m)
{
	size_t i;

	memory_release(&m->recorded.memory);
	for (i = 0; i < m->n; i++)
		memory_release(&m->row[i].memory);
	free(m->row);
	memset(m, 0, sizeof(*m));
}
