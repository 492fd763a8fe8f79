// SPDX-License-Identifier: LGPL-3.0-or-later
/* recorded_movie.c - see recorded_movie.h. */
#include "recorded_movie.h"

#include "../draw/film.h"
#include "../draw/movie_make.h"
#include "../places/place_trace.h"

/* ---- only the planned frames ---- */

static void planned_start(void *self, const struct place_start *s)
{
	const struct place_sink *film = self;

	film->ops->start(film->self, s);
}

static void planned_begin(void *self, const struct place_block *b)
{
	const struct place_sink *film = self;

	film->ops->begin(film->self, b);
}

static void planned_end(void *self, const struct place_block *b, uint64_t op, uint64_t ns)
{
	const struct place_sink *film = self;

	film->ops->end(film->self, b, op, ns);
}

static void planned_sample(void *self, const struct place_sample *s)
{
	const struct place_sink *film = self;

	film->ops->sample(film->self, s);
}

static void planned_frame(void *self, const struct place_sample *s, const struct place_range *r,
			  size_t n)
{
	const struct place_sink *film = self;

	if (!n)
		film->ops->frame(film->self, s, r, n);
}

static void planned_finish(void *self)
{
	const struct place_sink *film = self;

	film->ops->finish(film->self);
}

static void planned_soon(void *self, uint32_t slot)
{
	const struct place_sink *film = self;

	film->ops->soon(film->self, slot);
}

static const struct place_ops planned = {
	planned_start, planned_begin,  planned_end,  planned_sample,
	planned_frame, planned_finish, planned_soon,
};

struct place_sink recorded_movie_sink(struct place_sink *film)
{
	return (struct place_sink){ .ops = &planned, .self = film };
}

/* ---- one film as data ---- */

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
	struct place_sink film, sink;
	struct movie *m = movie_new(&mo);
	int ret;

	plan.frames = o->frames;
	plan.samples = 2 * o->frames;
	plan.at = PLACE_NOWHERE;
	movie_add(m, "as recorded", &film);
	sink = recorded_movie_sink(&film);
	ret = o->of ? place_trace_program(t, o->of, &plan, &sink, 1, err)
		    : place_trace(t, o->process, &plan, &sink, 1, err);
	if (!ret)
		ret = movie_write_data(m, out, err);
	movie_free(m);
	return ret;
}
