// SPDX-License-Identifier: LGPL-3.0-or-later
/* recorded_movie.c - see recorded_movie.h. */
#include "recorded_movie.h"

#include "../draw/film.h"
#include "../draw/movie_make.h"
#include "../places/place_trace.h"

int recorded_movie_write(const struct recorded_movie *o, struct trace *t, FILE *out,
			 struct error *err)
{
	const struct movie_options mo = { .title = o->title,
					  .note = RECORDED_MOVIE_NOTE,
					  .names = o->names,
					  .limit = o->limit,
					  .only_page = true,
					  .units = film_units_for(2) };
	struct place_plan plan = o->plan;
	struct place_sink sink;
	struct movie *m = movie_new(&mo);
	int ret;

	plan.frames = o->frames;
	plan.samples = 2 * o->frames;
	plan.at = PLACE_NOWHERE;
	plan.only_planned = true;
	movie_add(m, "as recorded", &sink);
	ret = o->of ? place_trace_program(t, o->of, &plan, &sink, err)
		    : place_trace(t, o->process, &plan, &sink, err);
	if (!ret)
		ret = movie_write_data(m, out, err);
	movie_free(m);
	return ret;
}
