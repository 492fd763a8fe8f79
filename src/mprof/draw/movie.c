/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * movie.c - the films of a movie, in turn.
 */
#include <errno.h>
#include <string.h>

#include "movie.h"

static const char *const by_name[MOVIE_BY_COUNT] = {
	[MOVIE_BY_OCCUPANCY] = "occupancy", [MOVIE_BY_AGE] = "age",   [MOVIE_BY_SIZE] = "size",
	[MOVIE_BY_THREAD] = "thread",	    [MOVIE_BY_SITE] = "site", [MOVIE_BY_MODULE] = "module",
};

const char *movie_by_name(enum movie_by by)
{
	return by_name[by];
}

int movie_by_find(const char *name, enum movie_by *by, struct error *err)
{
	unsigned i;

	for (i = 0; i < MOVIE_BY_COUNT; i++)
		if (!strcmp(name, by_name[i])) {
			*by = i;
			return 0;
		}
	return fail(err, -EINVAL,
		    "there is no colour '%s': occupancy, age, size, thread, site or module", name);
}

int movie_new(struct movie **out, const struct movie_options *o, struct error *err)
{
	(void)out, (void)o;
	return fail(err, -ENOTSUP, "movies are not supported");
}

void movie_free(struct movie *m)
{
	(void)m;
}

int movie_add(struct movie *m, const char *name, struct place_sink *sink, struct error *err)
{
	(void)m, (void)name, (void)sink;
	return fail(err, -ENOTSUP, "movies are not supported");
}

void movie_drop(struct movie *m)
{
	(void)m;
}

int movie_write_page(struct movie *m, FILE *out, struct error *err)
{
	(void)m, (void)out;
	return fail(err, -ENOTSUP, "movies are not supported");
}

int movie_write_player(FILE *out, struct error *err)
{
	(void)out;
	return fail(err, -ENOTSUP, "movies are not supported");
}

int movie_write_part(struct movie *m, FILE *out, struct error *err)
{
	(void)m, (void)out;
	return fail(err, -ENOTSUP, "movies are not supported");
}
