/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * append.h - adding extents to the file of a run that still continues.
 *
 * Space is taken as the library takes it, by one atomic addition to the tail
 * in the mapped header; data of other processes is never changed. The
 * descriptor stays open, so that a file deleted during the run can be restored.
 *
 * Threads: one at a time, and only one file can be open.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/format.h>

struct append {
	int fd;				  /* -1 if not open */
	struct mprof_file_header *header; /* shared and live */
	char *path;			  /* owned */
	uint64_t most;			  /* most bytes that the file has had */
	uint64_t cut_to;		  /* bytes left after truncation; see append_is_cut */
};

/*
 * Opens the file of the run whose id is given.  0; -ENOENT if it does not exist
 * yet; -EAGAIN if it belongs to another run or is incomplete; another -errno if
 * it cannot be opened.
 */
int append_open(struct append *a, const char *path, const uint8_t run_id[16]);
/* The same of a link in /proc/PID/fd, which leads to the file wherever it is now. */
int append_open_link(struct append *a, const char *link, const uint8_t run_id[16]);
void append_close(struct append *a);

/* Returns the current time by the run's clock. */
uint64_t append_ticks(const struct append *a);

/*
 * Writes one extent.  0 or -errno; an error (a full disk) may leave a hole, which readers skip.
 */
int append_extent(struct append *a, enum mprof_extent_kind kind, uint32_t process,
		  const void *payload, size_t size);

/* Writes a fact; text are n strings "key=value".  Fills in ticks and times. */
int append_fact(struct append *a, uint32_t process, struct mprof_fact *fact,
		const char *const *text, size_t n);

/* Copies a live entry of the table; number 0 = unused. */
struct mprof_process_entry append_process(const struct append *a, size_t i);

/*
 * Was the file truncated since it was opened? Then nothing is appended any
 * more: that would only turn the lost part into zeros. most and cut_to give the
 * extent of the loss.
 */
bool append_is_cut(struct append *a);
/* Is the file at the path no longer the one that was opened? */
bool append_is_displaced(const struct append *a);
/* Copies the open file to a path that does not exist.  0 or -errno, -EEXIST. */
int append_restore(const struct append *a, const char *path);
