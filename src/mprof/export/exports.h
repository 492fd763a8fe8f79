/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * exports.h - a trace in the formats of other tools.
 *
 * To add a format: a function in this directory, a row in exports.def, a paragraph in
 * the section FORMATS of man/mprof-export.1.in, a test in tests/exports that opens the file with
 * its tool.
 *
 * An exporter keeps only sites, names, live blocks and points in time in memory. The sums of what
 * it writes are the totals of the profile: figures that it leaves out are added up in a
 * separate line.
 *
 * The trace is read once.  A format that contains single blocks or times (EXPORT_WALKS) makes the
 * profile itself, with another pass beside the pass of sites: flow.h, or profile_with().  How it
 * does so depends on which figures the file begins with, because some are known only at the end:
 * - heaptrack and chrome need none of these, and are written while the trace is read;
 * - massif keeps its points in time, firefox its cells (cells.h), and dhat how long the blocks of
 *   a stack lived that were never freed, until figures and peak are known;
 * - --events of jsonl and sqlite refers to sites by their rank, and massif's points in bytes or
 * events are equally spaced up to an end that is known only after the last event: these read the
 * trace twice (flow_ops.later).
 *
 * Exporters return 0, or -errno with err filled.  The caller checks for write errors when it closes
 * `out`.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "../profile/profile.h"
#include "../util/new_file.h"

enum export_flags {
	EXPORT_BINARY = 1,    /* refused on a terminal */
	EXPORT_WALKS = 2,     /* makes `profile`, which is empty at first, while it writes */
	EXPORT_PATH = 4,      /* opens `path` itself: `out` is NULL, and -o is required */
	EXPORT_ONE_VALUE = 8, /* one value per file */
	EXPORT_SMALL = 16,    /* accepts --stack-min-size */
	EXPORT_SPLIT = 32,    /* accepts --split */
	EXPORT_SINGLY = 64,   /* accepts --events */
	EXPORT_POINTS = 128,  /* accepts --points */
	EXPORT_TREES = 256,   /* accepts --detailed and --time-unit */
	EXPORT_GRAPH = 512,   /* accepts --symbols */
	EXPORT_FIXED = 1024,  /* always has the same values: no --value */
	EXPORT_RUN = 2048,    /* covers the whole run: no --at */
	EXPORT_SERIES = 4096, /* figures over time: needs events, which a profile does not have */
};

/* The unit of time, in formats with a choice. */
enum export_time { EXPORT_TIME_MS, EXPORT_TIME_BYTES, EXPORT_TIME_CALLS };

struct export_options {
	unsigned values;	 /* 1 << enum profile_value of each --value; 0 if none was given */
	double min_percent;	 /* of a graph: smaller nodes are left out */
	uint64_t stack_min_size; /* smaller blocks are one site, EXPORT_SMALL; else 0 */
	uint64_t stack_max_size; /* larger blocks are another one; else UINT64_MAX */
	bool symbols;		 /* of a graph: show names of the symbol table, too */
	bool split;		 /* writes files that Pyroscope accepts, EXPORT_SPLIT */
	bool events;		 /* with single blocks, EXPORT_SINGLY */
	unsigned points;	 /* EXPORT_POINTS; 0 = the format's default */
	unsigned detailed;	 /* every n-th point has a tree, EXPORT_TREES; 0 = only the peak */
	enum export_time time;	 /* EXPORT_TREES */
	const struct profile_options *profile; /* options for `profile` */
};

struct exporter;

struct export
{
	const struct exporter *exporter;
	const struct export_options *options;
	struct trace *trace;
	struct profile *profile;
	/* Blocks beyond the limits of stack_*_size, which are not in the sites of `profile`; may
	 * be NULL. */
	const struct profile *small, *large;
	enum profile_value value; /* the value of this file, EXPORT_ONE_VALUE */
	FILE *out;
	/* With EXPORT_PATH, a new empty file; it is renamed to `target` when it is complete. */
	const char *path;
	const char *target; /* that name; NULL = standard output */
};

struct exporter {
	const char *name;
	int (*write)(struct export *x, struct error *err);
	const char *extension; /* without the dot */
	unsigned flags;
	const char *help;
};

/* The table; ends with a row whose name is NULL. */
extern const struct exporter export_table[];

/* Returns NULL for an unknown name. */
const struct exporter *export_find(const char *name);
/* Their names, ending with NULL. */
extern const char *const export_names[];

/* Was this value requested, or no value at all? */
static inline bool export_wants(const struct export *x, enum profile_value value)
{
	return !x->options->values || x->options->values >> value & 1;
}

/* A figure of a site: a column of csv, tsv, sqlite and jsonl. */
struct export_column {
	const char *name, *unit, *help;
	size_t offset; /* in struct site_values, of an uint64_t */
};
extern const struct export_column export_columns[]; /* the last one has no name */

static inline uint64_t export_figure(const struct export_column *c, const struct site_values *v)
{
	return *(const uint64_t *)((const char *)v + c->offset);
}

/* Returns which calls of the run the figures are of: "every call", "the calls of the last 2 s". */
struct long_text export_calls(const struct profile *p);
/* Does the profile have a figure, by its offset?  Totals lack some, and samples more: these are
 * empty, or null, because 0 would be a wrong figure. */
bool export_knows(const struct profile *p, size_t offset);

/*
 * Writes a name as text of a line-oriented format: bytes of `bad` become `instead`, control
 * characters blanks, and invalid UTF-8 U+FFFD.
 */
void export_name(FILE *out, const char *name, const char *bad, char instead);

#define EXPORT(name, function, extension, flags, help) \
	int function(struct export *x, struct error *err);
#include "exports.def"
#undef EXPORT

/*
 * A file that appears under its name only when it is complete (new_file.h).  A device, a FIFO, or a
 * descriptor such as /dev/fd/3 or /dev/stdout is written directly; a recording (trace, counts file)
 * is refused.
 */
struct export_file {
	char *target;	      /* NULL = standard output */
	struct new_file file; /* not open if it is written directly */
	size_t first;	      /* of directories_make() */
	FILE *out;
};

/* May a file be written there?  0 for a new file; 1 for an existing one that is written
 * directly; -errno with err filled. */
int export_file_look(const char *target, struct error *err);
/* Checks it before long work starts, and leaves nothing behind.  0, or -errno with err filled. */
int export_file_try(const char *target, struct error *err);
/* target NULL = standard output.  0, or -errno with err filled. */
int export_file_open(struct export_file *f, const char *target, struct error *err);
/* The same for a recording, which only its owner may read, and which replaces no file. */
int export_file_open_recording(struct export_file *f, const char *target, struct error *err);
/*
 * Ends writing; ret is its result (negative after an error, with err filled). Closes and renames
 * the file; on an error, removes it. Returns ret, or the error of closing.
 */
int export_file_done(struct export_file *f, int ret, struct error *err);
/* Closes and removes the file, and the directories that were made for it. */
void export_file_drop(struct export_file *f);
