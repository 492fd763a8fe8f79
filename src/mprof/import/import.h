/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * import.h - records that other tools made, compiled to playback files.
 *
 * The formats are rows of import.def; which one a file has is told by its first
 * lines.  All are text, plain, compressed by gzip, or the only file in a zip.
 * What they do not say stays unknown: most have neither times nor threads, none
 * has call stacks or touched bytes.
 *
 * A line that makes no sense is counted and left out; the first few are kept
 * with what would be right.  Memory grows with live blocks and threads, not
 * with lines.
 *
 * Errors: -ENOENT..., -EBADMSG for a file without one usable line, or whose
 * compression is broken from the start; broken later, it ends there.
 * Threads: one at a time.
 */
#ifndef MPROF_IMPORT_IMPORT_H
#define MPROF_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../util/error.h"
#include "../compile/compile.h"

struct import_format {
	const char *name;  /* header.input of the playback file */
	const char *title; /* "glibc mtrace text" */
	const char *lines; /* what its lines look like, in one sentence's part */
};

/* import.def, in its order; *n of them. */
const struct import_format *import_formats(size_t *n);

/*
 * The format of a file; NULL: none of these, or it cannot be read.  What is
 * compressed is never one of mprof's own, so it has a format in any case, and
 * import_compile says what is wrong with it.
 */
const struct import_format *import_recognise(const char *path);

#define IMPORT_REMARKS 5u

struct import_report {
	uint64_t lines, calls;
	uint64_t bad; /* lines left out, or said to be there and missing */
	size_t remarks;
	char remark[IMPORT_REMARKS][256]; /* of the first of them: "line 12: '...' is ..." */
	bool cut;			  /* it ended in the middle */
};

/*
 * Compiles path.  Of o, program, source and input are filled in here when NULL;
 * sites, touch and run_id are not looked at.  sum and report may be NULL.
 */
int import_compile(const char *path, const struct import_format *format,
		   const struct compile_options *o, struct import_report *report,
		   struct mprof_play_summary *sum, struct error *err);

#endif
