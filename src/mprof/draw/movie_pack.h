/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * movie_pack.h - a film in the form that the player reads (src/web/README.md): streams of numbers,
 * each compressed separately.
 *
 * Errors: -errno with err filled; movie_packed_release() in any case.  Threads: one at a time.
 */
#pragma once

#include "../util/blob.h"
#include "film.h"

enum movie_stream {
	MOVIE_FRAME, /* figures of frames */
	MOVIE_POINT, /* of the curves */
	MOVIE_CHANGES,
	MOVIE_STATE,
	MOVIE_LIVE,
	/* Left out of a movie that would be too large: */
	MOVIE_BLOCKS,
	MOVIE_OWNER,
	MOVIE_SIZE,
	MOVIE_THREAD,
	MOVIE_SITE,
	MOVIE_STREAMS,
};
#define MOVIE_DETAIL MOVIE_BLOCKS

extern const char *const movie_stream_name[MOVIE_STREAMS];

struct movie_packed {
	struct blob stream[MOVIE_STREAMS]; /* compressed */
	size_t frames;
	uint64_t changed; /* pages, over all frames */
	bool residency;	  /* true if it was known in every frame */
};

/* Returns the player's number of a node of the trace's stacks; 0 if unknown. */
typedef uint32_t movie_site_fn(void *context, uint32_t node);

/* every: keeps only each n-th frame, the peak and the last one; 1 = all. */
int movie_pack(struct movie_packed *to, const struct film *f, unsigned every, movie_site_fn *site,
	       void *context, struct error *err);
void movie_packed_release(struct movie_packed *p);
