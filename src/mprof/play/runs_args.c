// SPDX-License-Identifier: LGPL-3.0-or-later
/* runs_args.c - the runner's arguments for each kind of run. */
#include "runs_args.h"

#include <stdio.h>
#include <stdlib.h>

/* What every run is told. */
static void common(struct play_args *a, const struct runs_plan *p, const char *mode)
{
	*a = (struct play_args){ .n = 0 };
	play_args_put(a, "in=%s", p->playback);
	play_args_put(a, "mode=%s", mode);
	play_args_put(a, "thp=%d", !p->no_huge);
	/* Whoever waits for a time to come moves nothing meanwhile. */
	play_args_put(a, "stall=%d", p->speed ? 0 : RUNS_STALL_S);
}

static void paced(struct play_args *a, const struct runs_plan *p, enum runs_mode mode)
{
	if (p->speed && mode != RUNS_ORDERED)
		play_args_put(a, "speed=%u", p->speed);
}

void runs_args_startup(struct play_args *a, const struct runs_plan *p)
{
	common(a, p, "startup");
}

void runs_args_memory(struct play_args *a, const struct runs_plan *p, const struct runs *r)
{
	char drain[MPROF_RUN_DRAINS * 12] = "";
	unsigned i;
	int n = 0;

	common(a, p, runs_mode_name(r->memory_mode));
	play_args_put(a, "touch=%s", r->touch);
	play_args_put(a, "samples=%d", RUNS_SAMPLES);
	play_args_put(a, "keep=%d", p->keep);
	for (i = 0; i < p->drains; i++)
		n += snprintf(drain + n, sizeof(drain) - (size_t)n, "%s%u", i ? "," : "",
			      p->drain_ms[i]);
	if (n && !p->keep)
		play_args_put(a, "drain=%s", drain);
	paced(a, p, r->memory_mode);
}

/* Only one thread can be held to one processor. */
static void pinned(struct play_args *a, const struct runs_plan *p, enum runs_mode mode)
{
	if (p->cpu >= 0 && mode == RUNS_SERIAL)
		play_args_put(a, "cpu=%d", p->cpu);
}

void runs_args_time(struct play_args *a, const struct runs_plan *p, const struct runs *r, bool null)
{
	common(a, p, runs_mode_name(r->time_mode));
	play_args_put(a, "null=%d", null);
	play_args_put(a, "touch=%s", r->touch);
	pinned(a, p, r->time_mode);
	if (r->passes > 1)
		play_args_put(a, "passes=%u", r->passes);
	if (!null)
		paced(a, p, r->time_mode);
}

void runs_args_latency(struct play_args *a, const struct runs_plan *p, const struct runs *r)
{
	const uint64_t calls = p->head->sum.calls;
	uint64_t each = calls / RUNS_LATENCIES;

	each = each < 16 ? 16 : each > 1024 ? 1024 : each;
	common(a, p, runs_mode_name(r->time_mode));
	play_args_put(a, "touch=%s", r->touch);
	pinned(a, p, r->time_mode);
	play_args_put(a, "latency=%u", (unsigned)each);
	paced(a, p, r->time_mode);
}
