/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * file.h - the run's file: its parts and its descriptor.
 *
 * All processes and threads of a run write to it.  Offsets and sizes are in bytes.  Errors: -errno
 * or offset 0; once mp_file.broken is set, everything fails.
 */
#pragma once

#include <mprof/module.h>
#include <stdint.h>

/*
 * file.c: the run's file.  Only fd, users and broken change after the file is open: fd atomically,
 * broken once, from 0.  A forked child inherits it.
 */
struct mp_file {
	int fd;		/* -1 if closed */
	uint32_t users; /* writers between the check of fd and the end of their write */
	uint64_t dev, ino;
	uint32_t broken;  /* enum mprof_lost + 1 once the file is unusable */
	uint32_t crowded; /* its disk has too little room for more events */
	struct mprof_file_header *header;
	char path[4096];
};
extern struct mp_file mp_file;
/* Creates or joins the file of the run.  0 or -errno, with a note to the user. */
int mp_file_open(const char *magic, const char *path);
/* Ends the use of the file by this process, when nothing records any more. */
void mp_file_close(void);
const char *mp_file_reason(int error); /* why a file cannot be opened (-errno), in words */
int mp_file_is_profile(void);
const uint32_t *mp_file_paused(void);  /* module.h */
const uint64_t *mp_file_log_end(void); /* see module.h */
/* Takes `bytes` (a multiple of 64) of the file, aligned to 64 or the page size.  Returns the
 * offset; 0 if the file is full. */
uint64_t mp_extent_take(uint64_t bytes, uint64_t align);
/* Writes at offset, after checking that fd still refers to our file.  0 or -errno. */
int mp_file_write(uint64_t offset, const void *data, size_t bytes);
/* Reserves disk blocks for a range, so that a store to its mapping cannot fail later. */
int mp_file_reserve(uint64_t offset, uint64_t bytes);
#define MP_EXTENT_PAYLOAD 1792u /* it must fit the stack of a program's thread */
/* Writes an extent at once: header and payload of two parts, at most MP_EXTENT_PAYLOAD bytes.
 * If the file cannot be written, it is missing there. */
void mp_extent_write(unsigned kind, const void *a, size_t an, const void *b, size_t bn);
/* Writes a fact about another process of the run. */
void mp_fact_write_of(const struct mprof_process_entry *of, const struct mprof_fact *f);
void mp_extent_fill(struct mprof_extent *x, unsigned kind, uint64_t offset, uint32_t size,
		    uint32_t thread);
/* Counts lost events of this process by enum mprof_lost.  Never fails. */
void mp_lost(unsigned reason, uint64_t events);
struct mprof_process_entry *mp_entry(void); /* ours, or NULL */
/*
 * Moves our descriptor fd to a high number, out of the program's way; mp_fd_high_first() does so
 * before the program has threads.  Closes fd, and returns the new descriptor or -errno.
 */
int mp_fd_high(int fd);
int mp_fd_high_first(int fd);

/* descriptors.c: guards our descriptor, and watches those of the program that we write to. */
int mp_fd_open(int fd);
int mp_fd_write(int fd, const void *data, size_t bytes);
/* Returns our descriptor, after checking that it still refers to our file, or -errno; release
 * ends its use. */
int mp_fd_hold(void);
void mp_fd_release(void);

/* sigbus.c: survives truncation of the file under our mappings. */
void mp_sigbus_guard(void);
/* A part of the file has been mapped there; it will be unmapped. */
void mp_sigbus_cover(void *at, size_t bytes);
void mp_sigbus_uncover(void *at);
