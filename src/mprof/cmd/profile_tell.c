// SPDX-License-Identifier: LGPL-3.0-or-later
/* profile_tell.c - see profile_tell.h. */
#include "profile_tell.h"

#include <stdio.h>

#include "../pass/site_totals.h"
#include "../util/format.h"
#include "cmd.h"
#include "run_messages.h"

static void tell_own(const struct trace *t, const struct run_result *r)
{
	struct event_count_own own = { .count = 0 };

	event_count_own(&own, t);
	run_messages_own(&own, r);
}

void profile_tell(const char *path, const struct run_result *r)
{
	struct site_lanes lanes;
	struct trace *t;
	struct error err;
	uint32_t processes;

	if (trace_open(&t, path, MPROF_MAGIC_PROFILE, &err)) {
		cmd_warn("%s", err.text);
		return;
	}
	if (r)
		tell_own(t, r);
	site_lanes_read(&lanes, t);
	processes = trace_header(t)->processes;
	fprintf(stderr, "mprof: %s of %s%s%s, %s; ",
		trace_is_sampled(t) ? "samples" : format_many(lanes.calls, "call", "calls").s,
		format_many(lanes.threads, "thread", "threads").s, processes > 1 ? " in " : "",
		processes > 1 ? format_many(processes, "process", "processes").s : "",
		format_bytes(trace_bytes(t)).s);
	cmd_next(path);
	trace_close(t);
}
