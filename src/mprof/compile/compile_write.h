/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * compile_write.h - writes the playback file: ORDER as calls come, sites to an unnamed file, and
 * the rest at the end.
 *
 * Words are written once, except for reserved ones: TOUCH, and EXIT and GONE of threads that
 * continued. They are patched in the buffer or the file; a patched file is read again for its
 * checksum.
 *
 * Errors are kept in .error (the first one; an errno, negative) and returned by writer_finish(), so
 * the hot path does not check.  Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/playback.h>

#include "../util/error.h"
#include "../util/new_file.h"

#define WRITER_WORDS (128u << 10) /* of the buffer */
#define WRITER_SITES (64u << 10)
#define WRITER_ROOM  16u /* the most words that may follow one writer_room() */

struct writer {
	int fd, sites_fd; /* sites_fd is -1 without sites */
	int error;
	bool patched;
	char *path;	      /* NULL if writing to the caller's fd */
	struct new_file file; /* of that path */
	size_t first;	      /* of directories_make() */
	uint64_t *word;	      /* WRITER_WORDS */
	uint32_t *site;	      /* WRITER_SITES */
	size_t words, sites;  /* in the buffers */
	uint64_t flushed;     /* words that are already in the file */
	uint64_t sites_flushed;
	uint64_t check, sites_check; /* of the written parts, unless patched */
	uint64_t end;		     /* offset of the next section */
};

/* path NULL = write to fd.  0 or -errno with *err. */
int writer_open(struct writer *w, const char *path, int fd, bool sites, struct error *err);

void writer_flush(struct writer *w);
void writer_flush_sites(struct writer *w);

/* Call this before up to WRITER_ROOM words. */
static inline void writer_room(struct writer *w)
{
	if (__builtin_expect(w->words + WRITER_ROOM > WRITER_WORDS, 0))
		writer_flush(w);
}

static inline void writer_put(struct writer *w, uint64_t word)
{
	w->word[w->words++] = word;
}

/* Returns the position of the next word. */
static inline uint64_t writer_position(const struct writer *w)
{
	return w->flushed + w->words;
}

static inline void writer_site(struct writer *w, uint32_t site)
{
	if (w->sites_fd < 0)
		return;
	if (__builtin_expect(w->sites == WRITER_SITES, 0))
		writer_flush_sites(w);
	w->site[w->sites++] = site;
}

void writer_patch(struct writer *w, uint64_t position, uint64_t word);

/* Frees w; removes the file unless writer_finish() succeeded. */
void writer_release(struct writer *w);

/* ---- the rest of the file ---- */

/* An error is kept in w->error. */
void writer_pwrite(struct writer *w, const void *from, size_t bytes, uint64_t offset);
/* Reads exactly `bytes` from fd; a short read is -EIO. */
int writer_pread(struct writer *w, int fd, void *to, size_t bytes, uint64_t offset);

/* compile_streams.c: writes the THREAD streams, made from ORDER; fills in thread[].words and
 * offset. */
int streams_write(struct writer *w, struct mprof_playback_header *h,
		  struct mprof_play_thread *thread);

/* compile_finish.c: writes all that follows ORDER, fills in the sections of h and writes it.
 * *err says what failed. */
int writer_finish(struct writer *w, struct mprof_playback_header *h,
		  struct mprof_play_thread *thread, struct error *err);
