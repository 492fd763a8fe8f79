/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * summary.h - what a process writes about its own profile without the mprof program: folded stacks,
 * a short text, callgrind's format or JSON, at exit and on request.
 *
 * All is read back from the run's file, which has cells, sites and stack records at any time
 * (FORMAT.md 6 and 10).  So nothing is kept for it while the program runs, no thread is stopped,
 * and it may run in a signal handler.  Its memory is mapped for each summary and unmapped at its
 * end.
 */
#pragma once

#include <mprof/format.h>
#include <stddef.h>
#include <stdint.h>

#include "lineage.h"
#include "text.h"

#define SUMMARY_MAPS  32u
#define SUMMARY_CHAIN (1 + MP_ANCESTORS)
#define SUMMARY_OUT   32768u
/* How files begin, by which they are recognised. */
#define SUMMARY_CALLGRIND "# callgrind format\nversion: 1\ncreator: mprof-"
#define SUMMARY_JSON	  "{\"program\": "
#define SUMMARY_NAMING	  2000000000u /* ns, after which addresses are printed instead of names */

/* Figures of a stack, or of a node without its descendants. */
struct summary_values {
	int64_t calls, bytes, live_calls, live_bytes, peak_bytes;
	int64_t local_bytes; /* of stacks, the most bytes live at once */
	int64_t elapsed;     /* in ticks, of samples */
};

struct summary_object {
	const char *path, *build_id; /* not terminated */
	uint32_t path_bytes, id_bytes, gone;
	uint64_t bias, first, end;
};

/* One frame of a record, in the order of the file. */
struct summary_frame {
	uint64_t address;
	uint32_t object; /* index + 1; 0 = in no object */
	uint32_t name;
};

struct summary_name {
	const char *s;
	uint32_t n;
};

/* A path of names; [0] is the root. */
struct summary_node {
	uint32_t parent, name, depth, next; /* next: the next node with this hash */
	struct summary_values v;
};

/* An image of a process whose stacks this one may refer to, up to number `most`. */
struct summary_source {
	uint32_t process, image, most;
};

/* A copied part of the file, and a place in a part. */
struct summary_part {
	uint64_t offset, bytes;
	char *at;
};
struct summary_at {
	uint32_t part;
	uint64_t at;
};

struct summary {
	struct {
		void *at;
		size_t bytes;
	} map[SUMMARY_MAPS];
	unsigned maps;
	int failed; /* 1 without memory: the other fields are undefined */
	struct summary_part *part;
	uint32_t parts;
	struct summary_source chain[SUMMARY_CHAIN];
	unsigned links;
	const struct mprof_extent **chunk; /* chunks of their stack records */
	uint32_t chunks;
	struct summary_object *object;
	uint32_t objects, first_object; /* of the current stream, from first_object on */
	struct summary_frame *frame;
	uint32_t frames;
	uint32_t *node_of; /* by number of the stack */
	uint32_t stacks;   /* highest number */
	struct summary_name *name;
	uint32_t names, *name_hash, name_mask;
	struct summary_node *node;
	uint32_t nodes, *node_hash, node_mask;
	char *text; /* text of generated names */
	size_t text_used, text_bytes;
	struct mprof_heap_totals heap;
	uint64_t sizes[MPROF_SIZE_BINS], freed_sizes[MPROF_SIZE_BINS];
	struct summary_values total;
	int estimated;
	int sums_only; /* made by summary_sums(): only `total` is filled */
	uint64_t began_ns;
	/* Used while writing. */
	int fd;
	long error;
	size_t used;
	char out[SUMMARY_OUT];
	char path[4096], other[4160];
	uint32_t line[65536 + 8]; /* nodes of a stack */
};

/* summary_file.c: copies parts of the file; 0 or -1. */
int summary_read_file(struct summary *s);
/* Returns the next extent at or after *at, and moves *at past it; NULL at the end. */
const struct mprof_extent *summary_next(const struct summary *s, struct summary_at *at);
int summary_is_stacks(const struct mprof_extent *x);
/* Returns memory that is zeroed and lasts until summary_end(); without memory NULL, and
 * s->failed is set. */
void *summary_memory(struct summary *s, size_t bytes);
uint32_t summary_name(struct summary *s, const char *name, size_t bytes);

/* summary_read.c: reads this process's part of the run's file; NULL without a file. */
struct summary *summary_begin(void);
/* Reads sums only, without stacks. */
struct summary *summary_sums(void);
void summary_end(struct summary *s);

/* summary_names.c: finds the names of all frames. */
void summary_names(struct summary *s);

/* summary_out.c: write to s->fd, through a buffer; a failure sets s->error. */
void summary_put(struct summary *s, const char *at, size_t n);
void summary_say(struct summary *s, const char *text);
void summary_number(struct summary *s, uint64_t n);
void summary_flush(struct summary *s);

/* summary_callgrind.c: number: of the dump, 0 at exit; why may be NULL.  Without memory, writes
 * nothing and sets s->error. */
void summary_callgrind(struct summary *s, int number, const char *why);

/* summary_json.c: the same arguments. */
void summary_json(struct summary *s, int number, const char *why);
