/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* compact_job.h - a running compression; for compact*.c only. */
#pragma once

#include "../util/new_file.h"
#include "append.h"
#include "compact.h"
#include "pack.h"
#include "reader.h"

struct index {
	struct mprof_index_entry *item;
	size_t n, room;
};

/* compact.c releases everything in it. */
struct job {
	struct trace *from;
	struct extents extents;
	bool *done; /* by extent: it is in the new file */
	struct packer *packer;
	const struct compact_options *options;
	unsigned shift; /* times are in units of 2^shift ticks */
	uint64_t events;
	int fd;		      /* of `file`, or options->to */
	struct new_file file; /* that replaces the trace */
	uint64_t tail;	      /* where the next extent of the new file goes */
	struct index index;
	unsigned char *out; /* the next extent */
	size_t out_room;
	struct append *live; /* the run's file, while it goes on: new extents go there; else NULL */
	bool keeps_groups;   /* those that the trace has are copied, and `from` is the rest */
	uint64_t before;     /* events that were added earlier */
	struct events *events_of; /* they are continued; NULL: begun */
	size_t nodes;		  /* of stacks, with events_of */
};

/* Makes space for the payload of the next extent; discards its former content.  NULL without
 * memory. */
unsigned char *job_payload(struct job *j, size_t bytes);
/* Writes the next extent, with `used` bytes of payload.  0 or -errno. */
int job_add_extent(struct job *j, struct mprof_extent head, size_t used);
/* The same with a new header.  ticks: the first and the last; NULL if none. */
int job_add_own(struct job *j, enum mprof_extent_kind kind, size_t used, uint64_t seq,
		const uint64_t *ticks);
/* -EINTR if the caller wants it to end; otherwise reports progress and returns 0. */
int job_go_on(const struct job *j);

/* compact.c */
bool job_is_damaged(const struct job *j);
/* Returns the unit of time for j->from. */
unsigned job_shift(const struct job *j);
/* Writes a new file from j->from, and replaces `path` with it.  0, or -errno with *err. */
int job_replace(struct job *j, const char *path, struct error *err);
/* Closes j->from, too. */
void job_release(struct job *j);

/* compact_events.c: adds all events in groups, with their owners.  0 or -errno. */
int job_add_events(struct job *j);

/*
 * The same in parts, each from another j->from, whose stacks have the same nodes each time.  A part
 * ends with a whole group, and with all events if it is the last, or if there are too few for
 * another group.
 */
struct events *events_new(struct job *j); /* NULL without memory */
void events_free(struct events *w);
/* nodes: of all stacks so far.  0 or -errno. */
int events_add(struct events *w, size_t nodes, bool last);
/* The same for the last part, and adds who wrote them. */
int events_add_last(struct events *w, size_t nodes);
uint64_t events_groups(const struct events *w);
/* Frees what processes without further events need. */
void events_forget(struct events *w, bool (*is_over)(const void *context, uint32_t process),
		   const void *context);
/* compact_stacks.c: adds all stack records. */
int job_add_stacks(struct job *j);
