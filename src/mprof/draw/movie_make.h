/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * movie_make.h - the heap over time, under one allocator or several side by side: an HTML player
 * that contains its data (src/web), or the data alone.
 *
 *	m = movie_new(&options);
 *	for each allocator:
 *		movie_add(m, "jemalloc", &sink);
 *		place_run(..., &sink, ...) or place_trace(...)
 *		(movie_drop(m) if that failed)
 *	movie_write_page(m, out, err);
 *	movie_free(m);
 *
 * All films of a movie should have the same plan: the player goes by frame number.
 * Memory: the changes between frames, about 10 bytes per changed page, and the pages of one film at
 * a time.
 *
 * Errors: -errno with err filled.  Threads: one at a time.
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "../places/placement.h"
#include "../util/error.h"
#include "classes.h"

struct film;
struct movie;
struct profile;

#define MOVIE_LIMIT (18u << 20) /* bytes of HTML */

struct movie_options {
	const char *title;     /* the program's command line; may be NULL */
	const char *note;      /* one line on how it was made, mode and touch; may be NULL */
	enum theme theme;      /* of a video; a page has both */
	enum picture_by by;    /* what the player shows first; it can show all of them */
	double fps;	       /* frames a second at speed 1; 0 = 20 */
	struct profile *names; /* profile_names() or a whole profile; NULL = sites are numbers */
	struct thread_titles threads; /* by index; of further ones, the number is index + 1 */
	size_t units;	/* at most, for each film: see struct film_options; 0 = unlimited here */
	uint64_t limit; /* bytes; 0 = MOVIE_LIMIT.  A larger movie loses frames down to 100, then
			   all colours except occupancy, then more frames; it says so. */
	bool only_page; /* it is only written as a page, so frames that do not fit are skipped */
};

/* names, strings and arrays must outlive the movie. */
struct movie *movie_new(const struct movie_options *o);
void movie_free(struct movie *m);

/* Adds a film.  *sink is valid for one source, until the next movie_add or movie_free. */
void movie_add(struct movie *m, const char *name, struct place_sink *sink);
/* Removes the last film, because its source failed. */
void movie_drop(struct movie *m);

/* Returns its films, for other ways to show them. */
const struct movie_options *movie_options_of(const struct movie *m); /* fps and limit are set */
size_t movie_films(const struct movie *m);
const struct film *movie_film(const struct movie *m, size_t i);
const char *movie_film_name(const struct movie *m, size_t i);

/* Writes a complete page.  0, also if writing failed (ferror), or -errno and *err. */
int movie_write_page(struct movie *m, FILE *out, struct error *err);

/* Writes the data alone, as one JSON object, for a page with its own player. */
int movie_write_data(struct movie *m, FILE *out, struct error *err);
