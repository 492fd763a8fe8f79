// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * movie.c - `mprof movie`: the heap as it lived, under several allocators.
 */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../draw/movie_make.h"
#include "../draw/movie_video.h"
#include "../export/exports.h"
#include "../util/ranges.h"
#include "argument.h"
#include "cmd.h"
#include "films.h"
#include "output.h"
#include "profile_options.h"
#include "usage.h"

#define FRAMES_MOST 100000

struct options {
	const char *log, *output;
	unsigned frames;
	enum picture_by by;
	double fps;
	uint64_t limit;
	struct films_cli films;
	struct profile_cli names;
};

enum { FRAMES = 256, BY, FPS, LIMIT };

static const struct argp_option options[] = {
	{ "output", 'o', "FILE", 0,
	  "Write a .html, .apng, .png, .mp4, .webm or .y4m file, or - for HTML on standard output "
	  "[LOG.movie.html]",
	  0 },
	{ "frames", FRAMES, "N", 0, "Show N frames, and one at the peak [300]", 0 },
	{ "by", BY, "WHAT", 0,
	  "Colour pages by occupancy, age, size, thread, site or module; a page can change it "
	  "[occupancy]",
	  0 },
	{ "fps", FPS, "N", 0, "Play N frames a second [20]", 0 },
	{ "limit", LIMIT, "SIZE", 0,
	  "Limit the size of a page: leave out frames, then colours [18M]", 1 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

/* ---- the command line ---- */

static double number(const char *arg, double least, double most, const char *what,
		     struct argp_state *state)
{
	char *end;
	double n = strtod(arg, &end);

	if (end == arg || *end || !(n >= least && n <= most))
		argp_error(state, "invalid number of %s '%s': expected %g to %g", what, arg, least,
			   most);
	return n;
}

static void finish_options(struct options *o, struct argp_state *state)
{
	if (o->output && strcmp(o->output, "-") && !movie_is_page(o->output) &&
	    !movie_is_video(o->output))
		argp_error(state,
			   "invalid -o '%s': expected a name that ends in .html, .apng, .png, "
			   ".mp4, .webm or .y4m",
			   o->output);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;
	struct error err;

	switch (key) {
	case 'o':
		o->output = arg;
		return 0;
	case FRAMES:
		o->frames = (unsigned)number(arg, 1, FRAMES_MOST, "frames", state);
		return 0;
	case BY:
		if (picture_by_find(arg, &o->by, &err) < 0)
			argp_error(state, "%s", err.text);
		return 0;
	case FPS:
		o->fps = number(arg, 0.1, 240, "frames a second", state);
		return 0;
	case LIMIT:
		if (parse_size(arg, &o->limit, &err) < 0)
			argp_error(state, "%s", err.text);
		if (!o->limit)
			argp_error(state, "invalid --limit: expected more than 0 bytes");
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->films;
		state->child_inputs[1] = &o->names;
		return 0;
	case ARGP_KEY_END:
		finish_options(o, state);
		return 0;
	default:
		return argument_file(key, arg, state, &o->log,
				     "which trace? for example: mprof movie mprof.log");
	}
}

static const struct argp_child children[] = {
	{ &films_argp, 0, NULL, 0 },
	{ &profile_names_argp, 0, NULL, 0 },
	{ &memory_argp, 0, NULL, 0 },
	{ NULL, 0, NULL, 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = children,
	.args_doc = "LOG|FILE",
	.doc = "Writes a movie of the heap: every page that the program, or an allocator that its "
	       "calls are played on, ever used, frame by frame.",
};

/* ---- films ---- */

struct work {
	const struct options *o;
	struct films films;
	char (*name)[128]; /* by film */
	char output[4096];
	struct movie *movie;
};

/*
 * The recorder looked now and then which pages are resident; a trace gives frames
 * of their own for that.  Between frames of which it is not known they would
 * flicker, so they are left out.
 */
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

static void planned_end(void *self, const struct place_block *b, uint64_t op)
{
	const struct place_sink *film = self;

	film->ops->end(film->self, b, op);
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

static const struct place_ops planned = {
	planned_start, planned_begin, planned_end, planned_sample, planned_frame, planned_finish,
};

static int film_one(struct work *w, size_t i, struct error *err)
{
	const struct place_plan plan = { .frames = w->o->frames,
					 .samples = w->o->frames * 2,
					 .at = PLACE_NOWHERE };
	struct place_sink film, sink = { .ops = &planned, .self = &film };
	int ret = movie_add(w->movie, w->name[i], &film, err);

	if (ret < 0)
		return ret;
	ret = films_take(&w->films, i, &plan, w->films.played ? &film : &sink, 1, err);
	if (ret < 0)
		movie_drop(w->movie);
	return ret;
}

/* One that fails does not cost the others. */
static int film_all(struct work *w)
{
	struct error err = { "" };
	size_t i;
	int ret;

	for (i = 0; i < w->films.count; i++) {
		ret = film_one(w, i, &err);
		if (ret < 0 && films_fault(&w->films, ret))
			return cmd_error(films_fault(&w->films, ret), "%s", err.text);
		if (ret < 0)
			cmd_warn("%s is not in the movie: %s", w->name[i], err.text);
	}
	if (!movie_films(w->movie))
		return cmd_error(STATUS_FOUND, "no allocator could be shown");
	return STATUS_OK;
}

/* ---- names ---- */

static int open_movie(struct work *w)
{
	struct movie_options o = {
		.title = w->films.title,
		.note = *w->films.note ? w->films.note : "as recorded; resident pages are unknown",
		.by = w->o->by,
		.fps = w->o->fps,
		.limit = w->o->limit,
		.thread = w->films.thread,
		.threads = w->films.threads,
		.units = film_units_for(2 * w->films.count),
	};
	struct error err = { "" };
	size_t i;
	int ret;

	w->name = calloc(w->films.count, sizeof(*w->name));
	if (!w->name)
		return cmd_error(STATUS_FOUND, "no memory for a movie");
	for (i = 0; i < w->films.count; i++)
		films_name(&w->films, i, w->name[i], sizeof(w->name[i]));
	ret = films_names(&w->films, &w->o->names.options, &o.names);
	if (!ret && movie_new(&w->movie, &o, &err) < 0)
		return cmd_error(STATUS_FOUND, "%s", err.text);
	return ret;
}

/* ---- the file ---- */

static const char *target_of(const struct work *w)
{
	return w->o->output ? w->o->output : w->output;
}

/* target NULL: a page on standard output. */
static int write_file(struct work *w, const char *target, struct error *err)
{
	struct export_file file;
	int ret = export_file_open(&file, target, err);

	if (ret < 0)
		return ret;
	ret = !target || movie_is_page(target) ? movie_write_page(w->movie, file.out, err)
					       : movie_write_video(w->movie, target, file.out, err);
	return export_file_done(&file, ret, err);
}

static int write_movie(struct work *w)
{
	const char *target = target_of(w);
	struct error err = { "" };

	if (write_file(w, strcmp(target, "-") ? target : NULL, &err) < 0)
		return cmd_error(STATUS_FOUND, "%s", err.text);
	if (strcmp(target, "-"))
		fprintf(stderr, "mprof: wrote %s\n", target);
	return STATUS_OK;
}

/* ---- */

/* Before the long work. */
static int check_output(const struct options *o, const char *target)
{
	struct error err = { "" };

	if (movie_is_video(target) && movie_video_check(target, &err) < 0)
		return cmd_error(STATUS_FOUND, "%s", err.text);
	return strcmp(target, "-") ? output_check(target, o->log, o->output) : STATUS_OK;
}

static int run(const struct options *o)
{
	struct work *w = calloc(1, sizeof(*w));
	int ret;

	if (!w)
		return cmd_error(STATUS_FOUND, "no memory for a movie");
	w->o = o;
	films_output(o->log, "movie.html", w->output, sizeof(w->output));
	ret = check_output(o, target_of(w));
	if (!ret)
		ret = films_open(&w->films, &o->films, o->log);
	if (!ret) {
		ret = open_movie(w);
		if (!ret)
			ret = film_all(w);
		if (!ret)
			ret = write_movie(w);
		movie_free(w->movie);
		films_close(&w->films);
	}
	free(w->name);
	free(w);
	return ret;
}

int cmd_movie(int argc, char **argv)
{
	struct options o = { .frames = 300, .fps = 20 };
	int ret;

	profile_cli_init(&o.names);
	if (usage_parse(&argp, argc, argv, 0, &o))
		ret = STATUS_USAGE;
	else
		ret = run(&o);
	free(o.films.lists.item);
	profile_cli_release(&o.names);
	return ret;
}
