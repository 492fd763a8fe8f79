/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * playback_input.h - the input of `mprof sort`, `replay`, `image`, `movie` and `compare`: a trace,
 * a playback file, or another tool's record, recognised by its content. Anything but a playback
 * file is compiled, except in `sort` to a temporary file, which has no name and so disappears with
 * this process, however it ends.
 *
 * Errors are printed; the return value is the exit status.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <mprof/playback.h>

#include "../compile/compile.h"
#include "../pass/thread_title.h"
#include "../play/playfile.h"
#include "../play/variant.h"
#include "../print/print_choice.h"
#include "../trace/trace.h"
#include "option.h"

struct playback_options {
	uint32_t process; /* number, COMPILE_ALL, or 0 = the one with most calls */
	const struct compile_change *change; /* not for a file that is already compiled */
	bool quiet;			     /* do not report what was left out or repaired */
};

/* A process by its number in the run, or "all": a uint32_t, COMPILE_ALL for all. */
extern const struct option_type option_process_or_all;

struct playback_input {
	const char *path; /* of the playback file, for a runner; valid until close */
	struct playfile *file;
	struct trace *trace; /* the trace that it was made from, for names of sites, or NULL */
	struct program_choice choice; /* of the programs of `trace`, if it was compiled now */
	/* private */
	struct trace_program *program;
	char text[64];
	int fd;
};

/* After an error there is nothing to close. */
int playback_input_open(struct playback_input *in, const char *path,
			const struct playback_options *o);
void playback_input_close(struct playback_input *in);

/* Returns the allocator of the recording, which only the trace knows; NULL if unknown. */
const char *playback_allocator(const struct playback_input *in);
/*
 * Configures this allocator among vs as the program did.  Returns the number of settings
 * that were not there yet, and lists them in *settings, which the caller frees (may be NULL).
 */
size_t playback_configure(const struct playback_input *in, struct variants *vs,
			  const char ***settings);
/* Returns the titles of the recorded threads, by index; the caller releases them. */
struct thread_titles playback_input_threads(const struct playback_input *in);

/* ---- for `mprof sort` ---- */

/* The input of the compiler. */
struct playback_source {
	struct trace *trace;	       /* NULL for another tool's record */
	struct trace_program *program; /* of a trace with several programs; else NULL */
	struct program_choice choice;  /* of them */
};

/* Compiles path to out or, if that is NULL, to fd; releases the source on errors. */
int playback_compile(const char *path, const char *out, int fd, const struct playback_options *o,
		     struct playback_source *source, struct mprof_play_summary *sum);
void playback_source_release(struct playback_source *s);
