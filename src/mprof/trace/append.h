/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * append.h - adding extents to a file of a run that is still going on.
 *
 * Space is taken as the library takes it, by one atomic addition to the tail
 * in the mapped header; nothing that another process wrote is ever touched.
 * The descriptor stays open, so that a file whose path was deleted during the
 * run can be put back.
 *
 * Threads: one at a time, and only one file can be open.
 */
#ifndef MPROF_TRACE_APPEND_H
#define MPROF_TRACE_APPEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/format.h>

#include "../util/error.h"

struct append {
	int fd;				  /* -1: not open */
	struct mprof_file_header *header; /* shared and live */
	char *path;			  /* owned */
	uint64_t most;			  /* bytes that the file has had */
	uint64_t cut_to;		  /* what somebody left of them; see append_is_cut */
};

/*
 * Opens the file of the run whose id is given.  0; -ENOENT when it is not
 * there yet; -EAGAIN when it is, but not of this run or not complete;
 * another -errno when it cannot be opened.
 */
int append_open(struct append *a, const char *path, const uint8_t run_id[16]);
void append_close(struct append *a);

/* Now, by the run's clock. */
uint64_t append_ticks(const struct append *a);

/*
 * Writes one extent.  0 or -errno; after an error (a full disk) there may be
 * a hole, which readers skip.
 */
int append_extent(struct append *a, enum mprof_extent_kind kind, uint32_t process,
		  const void *payload, size_t size);

/* A fact; text are n strings "key=value".  Fills in ticks and times. */
int append_fact(struct append *a, uint32_t process, struct mprof_fact *fact,
		const char *const *text, size_t n);

/* A copy of a live entry of the table; number 0: unused. */
struct mprof_process_entry append_process(const struct append *a, size_t i);

/*
 * Did somebody cut the file since it was opened?  Nothing is appended from then on: that
 * would only make zeros of what is gone.  most and cut_to say what was lost.
 */
bool append_is_cut(struct append *a);
/* The file at the path is no longer the one that was opened. */
bool append_is_displaced(const struct append *a);
/* Copies the open file to a path where nothing is.  0 or -errno, -EEXIST. */
int append_restore(const struct append *a, const char *path);

#endif
