/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* compact_job.h - one compression at work; for compact.c and compact_group.c only. */
#ifndef MPROF_TRACE_COMPACT_JOB_H
#define MPROF_TRACE_COMPACT_JOB_H

#include "compact.h"
#include "group.h"
#include "pack.h"
#include "reader.h"
#include "stack_pack.h"
#include "turns.h"

struct index {
	struct mprof_index_entry *item;
	size_t n, room;
};

/* One compression at work; everything in it is released by job_release. */
struct job {
	struct trace *from;
	struct extents extents;
	bool *done; /* of each extent: it is in a group */
	struct packer *packer;
	struct group_packer *group;
	struct stack_packer *stacks;
	struct turns turns;
	uint32_t time_error; /* ticks */
	const struct compact_options *options;
	int fd;
	char *path, *temporary;
	uint64_t taken; /* bytes of the old file that are in the new one */
	uint64_t tail;	/* where the next extent of the new file goes */
	struct index index;
	uint64_t *words; /* payload of the extent in work */
	size_t words_room;
	unsigned char *out; /* the extent that takes its place */
	size_t out_room;
};

/* Makes room; what was in it is lost.  0 or -ENOMEM. */
int job_grow(void **buf, size_t *room, size_t bytes);
/* Writes out[], whose payload is `used` bytes long, under head as the next extent. */
int job_add_extent(struct job *j, struct mprof_extent head, size_t used);
int job_add_to_index(struct job *j, const struct mprof_extent *h);

/* -EINTR when the caller wants it to end; else tells how far it is and returns 0. */
int job_go_on(const struct job *j);

/* compact_group.c: chunks that follow each other, as one piece each.  0 or -errno. */
int job_add_groups(struct job *j);

#endif
