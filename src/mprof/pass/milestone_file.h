/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * milestone_file.h - the file of milestones.h: a head, a row for each milestone, for the end, for
 * groups and for each pass, and their frames.  A frame is read when it is needed.
 *
 * Only milestones.c includes this.  Errors: a file that cannot be read or written, or is damaged,
 * is one without milestones.  Threads: one at a time.
 */
#pragma once

#include "walk_state.h"

#define MILESTONE_FORMAT   3
#define MILESTONE_MOST	   ((size_t)32 << 20)	 /* bytes for one trace, and of a frame */
#define MILESTONE_CACHE	   ((uint64_t)256 << 20) /* bytes of the directory */
#define MILESTONE_NAME	   64u
#define MILESTONE_BUILD_ID 20u
#define MILESTONE_ROWS	   4096u
#define MILESTONE_PASSES   16u

/* The content that a file describes, and who can read it. */
struct milestone_of {
	uint8_t run_id[16];
	uint8_t build_id[MILESTONE_BUILD_ID];
	uint32_t zero;
	uint64_t device, inode, bytes;
	int64_t changed_ns;
};

/* The results of walks besides milestones. */
struct milestone_known {
	/* 1 if a walk from the start to the end left them: they have the moments of the run, and
	 * there will be no more. */
	uint32_t whole;
	uint32_t end;	 /* 1 if one left the end */
	uint32_t passes; /* whose state at the end is known, beside sites */
	uint32_t zero;
};

struct milestone_row {
	struct trace_place place;
	uint64_t before;     /* number of the last event before it */
	uint64_t most_ticks; /* latest time at the end of a batch before it */
	uint64_t at, bytes;  /* offset and size of its frame in the file */
	uint64_t plain;
	uint64_t check;
	uint32_t pass;	   /* of a pass: a checksum of its name; 0 = free for another one */
	uint32_t no_pages; /* its walk counted none */
};

struct milestone {
	struct milestone_row row;
	struct state_frame frame; /* bytes NULL = it is still in the file */
	uint8_t *unpacked;	  /* of a pass, while the walk begins at the end */
};

struct milestone_file {
	struct trace *trace;
	struct milestone_of of;
	int directory, file; /* -1 if closed */
	char name[MILESTONE_NAME];
	struct milestone *item;
	size_t n, room;
	struct milestone end; /* sites before finish(); without bytes if it was too large */
	struct milestone pass[MILESTONE_PASSES]; /* likewise */
	struct milestone groups; /* maxima of groups of sites, and which groups they are */
	struct milestone_known known;
	size_t kept; /* bytes of the items' frames */
};

/* Reads the head of t's file, if it exists.  False if nothing can be kept for t: the trace cannot
 * be identified, or the cache directory cannot be made.  Close it in any case. */
bool milestone_file_open(struct milestone_file *f, struct trace *t);
void milestone_file_close(struct milestone_file *f);
/* Writes a file with all that f has. */
void milestone_file_write(struct milestone_file *f);

/* Returns the plain bytes of x, which the caller frees; NULL if it has none, or is damaged. */
uint8_t *milestone_unpack(struct milestone_file *f, struct milestone *x);
/* Frees what the item x has; the caller takes it out of the list. */
void milestone_drop(struct milestone_file *f, struct milestone *x);
/* Drops all items. */
void milestone_drop_all(struct milestone_file *f);
