/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * missing.h - messages about what a trace lacks: in the record of another tool, in a damaged
 * file, and in a run that did not keep every call (--budget, --overhead).
 */
#pragma once

#include <stdbool.h>

#include "../import/import.h"
#include "../profile/profile.h"

/* After a record was read, prints on stderr what was left out.  False if t is a trace of mprof. */
bool missing_lines(const struct trace *t);
/* The same for commands that print times: also warns if the record has none. */
void missing_times(const struct trace *t);
/* Call it after reading the events: warns of unreadable parts of the file.  done: "printed", ... */
void missing_parts(const struct trace *t, const char *done);

/* Before profile_make: if the trace lacks calls of some stacks and its totals have all that o
 * selects, t shows these from now on, and a line on stderr says so. */
void missing_choose(struct trace *t, const struct profile_options *o);
/* The same for commands that judge the whole run: also if the trace has the calls of a part of it.
 */
void missing_choose_whole(struct trace *t, const struct profile_options *o);
/* After it: says on stderr which calls of the run the figures lack.  of_events: they need events,
 * so --totals does not help. */
void missing_calls(const struct profile *p, bool of_events);
/* Says on stderr that threads may be missing among those that were chosen by their names. */
void missing_names(const struct trace *t, const struct thread_choice *choice);
/* Says on stderr that a playback or a picture has fewer calls than the program made. */
void missing_of_playback(const struct trace *t);
