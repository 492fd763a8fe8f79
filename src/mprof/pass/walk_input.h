/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* walk_input.h - what a walk reads: events, facts and samples. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../trace/trace.h"

/* The source of events and facts: a trace, or arrays in a test. */
struct walk_input {
	void *context;
	size_t (*next)(void *context, struct event *events, size_t n);
	bool names_blocks; /* events have event.block; otherwise the walk fills it in */
	int64_t (*ns)(void *context, uint64_t ticks); /* since the start of the run */
	const struct trace_fact *facts;
	size_t fact_count;
	const struct trace_thread *threads;
	size_t thread_count;
	const struct trace_residency *residencies;
	size_t residency_count;
	/* As trace_thread_name() and trace_chooses(); may be NULL. */
	const char *(*thread_name)(const void *context, uint32_t number);
	bool (*chooses)(const void *context, const struct thread_choice *c, uint32_t number);
	/* Returns the samples of memory of a process; may be NULL. */
	size_t (*samples)(void *context, uint32_t process, const struct mprof_sample **samples);
	/* Returns the most that a profile saw resident of a process, 0 if unknown; may be NULL. */
	uint64_t (*seen_resident)(void *context, uint32_t process);
	const struct mprof_system *system; /* the memory of the machine, in the order of time */
	size_t system_count;
	const struct trace_peak *peaks;
	size_t peak_count;
	const struct mprof_file_header *header;
	uint64_t log_end;    /* when the run stopped keeping events, in ticks; 0 = never */
	uint64_t totals_end; /* the latest time in a profile, which has no events; else 0 */
	const struct trace_reduced *reduced; /* by node: stacks without some of their events */
	size_t reduced_count;
	const struct stacks *stacks; /* NULL until a pass requests them */
};

/* Returns the name that the program gave a thread, or "". */
static inline const char *walk_thread_name(const struct walk_input *in, uint32_t number)
{
	return in->thread_name ? in->thread_name(in->context, number) : "";
}

static inline bool walk_chooses(const struct walk_input *in, const struct thread_choice *c,
				uint32_t number)
{
	return in->chooses ? in->chooses(in->context, c, number)
			   : !c->number || c->number == number;
}
