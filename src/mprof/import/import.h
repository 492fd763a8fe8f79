/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * import.h - records of other tools as traces: their calls become the events of a trace, so
 * everything that reads traces reads them.
 *
 * The formats are rows of import.def; the first lines of a file show which one it has.  All are
 * text, plain, compressed by gzip, or the only file in a zip. Most have neither times nor threads,
 * none has call stacks or touched bytes, and usable sizes are the requested sizes.
 *
 * Invalid lines are counted and skipped; the first few are kept, with what was expected.  Memory
 * does not grow with lines.
 *
 * Errors: -ENOENT..., -EBADMSG for a file without one usable line, or whose compression is damaged
 * at the beginning; one that is damaged later ends there. Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../trace/trace.h"
#include "../util/error.h"

struct import_format {
	const char *name;  /* header.input of the playback file */
	const char *title; /* "glibc mtrace text" */
};

#define IMPORT_REMARKS 5u

struct import_report {
	uint64_t calls;
	uint64_t bad; /* lines that were skipped, or announced but missing */
	size_t remarks;
	char remark[IMPORT_REMARKS][256]; /* about the first of them: "line 12: '...' is ..." */
	bool cut;			  /* the last line is incomplete */
};

/*
 * Opens the files that trace_open opens, or another tool's record as a trace.  Otherwise the error
 * names the formats.
 */
int import_open(struct trace **out, const char *path, const char *kind_magic, struct error *err);
/* Returns the report of a record, complete after its last event, until the trace is rewound;
 * NULL for a trace. */
const struct import_report *import_report(const struct trace *t);
/* "glibc mtrace text"; NULL for a trace of mprof. */
const char *import_title(const struct trace *t);
