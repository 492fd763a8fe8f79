// SPDX-License-Identifier: LGPL-3.0-or-later
/* runs_args.c - the runner's arguments for each kind of run. */
#include "runs_args.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void put(struct runs_args *a, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void put(struct runs_args *a, const char *format, ...)
{
	va_list args;

	if (a->n == RUNS_ARGS) {
		a->failed = true;
		return;
	}
	va_start(args, format);
	if (vasprintf(&a->text[a->n], format, args) < 0) {
		a->text[a->n] = NULL;
		a->failed = true;
	} else {
		a->n++;
	}
	va_end(args);
}

void runs_args_free(struct runs_args *a)
{
	while (a->n)
		free(a->text[--a->n]);
}

/* What every run is told. */
static void common(struct runs_args *a, const struct runs_plan *p, const char *mode)
{
	*a = (struct runs_args){ .n = 0 };
	put(a, "in=%s", p->playback);
	put(a, "mode=%s", mode);
	put(a, "thp=%d", !p->no_huge);
	/* Whoever waits for a time to come moves nothing meanwhile. */
	put(a, "stall=%d", p->speed ? 0 : RUNS_STALL_S);
}

static void paced(struct runs_args *a, const struct runs_plan *p, enum runs_mode mode)
{
	if (p->speed && mode != RUNS_ORDERED)
		put(a, "speed=%u", p->speed);
}

void runs_args_startup(struct runs_args *a, const struct runs_plan *p)
{
	common(a, p, "startup");
}

void runs_args_memory(struct runs_args *a, const struct runs_plan *p, const struct runs *r)
{
	char drain[MPROF_RUN_DRAINS * 12] = "";
	unsigned i;
	int n = 0;

	common(a, p, runs_mode_name(r->memory_mode));
	put(a, "touch=%s", r->touch);
	put(a, "samples=%d", RUNS_SAMPLES);
	put(a, "keep=%d", p->keep);
	for (i = 0; i < p->drains; i++)
		n += snprintf(drain + n, sizeof(drain) - (size_t)n, "%s%u", i ? "," : "",
			      p->drain_ms[i]);
	if (n && !p->keep)
		put(a, "drain=%s", drain);
	paced(a, p, r->memory_mode);
}

/* Only one thread can be held to one processor. */
static void pinned(struct runs_args *a, const struct runs_plan *p, enum runs_mode mode)
{
	if (p->cpu >= 0 && mode == RUNS_SERIAL)
		put(a, "cpu=%d", p->cpu);
}

void runs_args_time(struct runs_args *a, const struct runs_plan *p, const struct runs *r, bool null)
{
	common(a, p, runs_mode_name(r->time_mode));
	put(a, "null=%d", null);
	put(a, "touch=%s", r->touch);
	pinned(a, p, r->time_mode);
	if (r->passes > 1)
		put(a, "passes=%u", r->passes);
	if (!null)
		paced(a, p, r->time_mode);
}

void runs_args_latency(struct runs_args *a, const struct runs_plan *p, const struct runs *r)
{
	const uint64_t calls = p->head->sum.calls;
	uint64_t each = calls / RUNS_LATENCIES;

	each = each < 16 ? 16 : each > 1024 ? 1024 : each;
	common(a, p, runs_mode_name(r->time_mode));
	put(a, "touch=%s", r->touch);
	pinned(a, p, r->time_mode);
	put(a, "latency=%u", (unsigned)each);
	paced(a, p, r->time_mode);
}
