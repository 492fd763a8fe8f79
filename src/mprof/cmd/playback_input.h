/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * playback_input.h - what `mprof replay`, `image`, `movie` and `compare` are
 * given: a trace, a playback file, or another tool's record, told apart by
 * their content.  What is not a playback file is compiled to a temporary one,
 * which has no name and so goes away with this process, however it ends.
 *
 * Errors are printed; the return value is the exit status.
 */
#ifndef MPROF_CMD_PLAYBACK_INPUT_H
#define MPROF_CMD_PLAYBACK_INPUT_H

#include <mprof/playback.h>

#include "../replay/compile.h"
#include "../replay/playfile.h"
#include "../trace/trace.h"

struct playback_input {
	const char *path; /* of the playback file, for a runner; valid until close */
	struct playfile *file;
	struct trace *trace; /* what it was made from, for names of sites; NULL: not there */
	/* private */
	char text[64];
	int fd;
};

struct playback_options {
	uint32_t process; /* number, COMPILE_ALL, or 0: the one with most calls */
	const struct compile_change *change; /* needs a trace or another tool's record */
	bool quiet;			     /* do not say what was left out or mended */
};

/* "all", or a number; false when it is neither. */
bool playback_process(const char *arg, uint32_t *process);

int playback_input_open(struct playback_input *in, const char *path,
			const struct playback_options *o);
void playback_input_close(struct playback_input *in);

#endif
