// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * movie.c - `mprof movie`: the heap over time, under several allocators.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../draw/movie_make.h"
#include "../draw/movie_video.h"
#include "../export/exports.h"
#include "../util/alloc.h"
#include "cmd.h"
#include "films.h"
#include "profile_options.h"
#include "recorded_movie.h"
#include "running.h"
#include "usage.h"

#define FRAMES_MOST 100000

struct options {
	const char *log, *output;
	unsigned frames;
	enum picture_by by;
	enum theme theme;
	double fps;
	uint64_t limit;
	struct films_cli films;
	struct profile_cli names;
};

#define OPTIONS struct options
static const struct option_row options[] = {
	OPTION_FILE('o', "output", "FILE", output,
		    "Write a .html, .apng, .png, .mp4, .webm or .y4m file, or - for HTML on "
		    "standard output [LOG.movie.html]",
		    .dash = true),
	OPTION_NUMBER(0, "frames", "N", frames, 1, FRAMES_MOST,
		      "Show N frames, and one at the peak [300]", .example = "300"),
	OPTION_WORD(0, "by", "WHAT", by, words_PICTURE_BY,
		    "Colour pages by %s; the HTML page can switch [occupancy]"),
	OPTION_WORD(0, "theme", OPTION_EITHER, theme, words_THEME,
		    "Draw videos on a light or a dark background; the HTML page has both [light]"),
	OPTION_REAL(0, "fps", "N", fps, 0.1, 240, "Play N frames a second [20]", .example = "20"),
	OPTION_SIZE_FROM(
	    0, "limit", "SIZE", limit, 1,
	    "Limit the size of the HTML page by leaving out frames, then colours [18M]"),
	OPTION_ROWS(option_films, films),
	OPTION_ROWS(option_names, names),
	OPTION_ROWS_ALONE(option_memory),
	OPTION_END,
};

static int check(void *options, struct error *err)
{
	const struct options *o = options;

	if (o->theme != THEME_LIGHT && (!o->output || !movie_is_video(o->output)))
		return fail(err, -EINVAL,
			    "--theme applies to videos only; readers of a page choose light or "
			    "dark themselves");

	if (o->output && strcmp(o->output, "-") && !movie_is_page(o->output) &&
	    !movie_is_video(o->output))
		return fail(err, -EINVAL,
			    "invalid --output '%s': expected a name that ends in .html, .apng, "
			    ".png, .mp4, .webm or .y4m",
			    o->output);
	return 0;
}

static const struct usage usage = {
	.options = options,
	.args = "LOG",
	.doc = "Writes a movie of the heap, as recorded or with other allocators: what every page "
	       "contains, frame by frame." RUNNING_HELP,
	.words = USAGE_FILE,
	.at = offsetof(struct options, log),
	.missing = "no trace given; for example: mprof movie mprof.log",
	.check = check,
};

/* ---- films ---- */

struct work {
	const struct options *o;
	struct films films;
	char (*name)[128]; /* by film */
	char output[4096];
	struct movie *movie;
};

static int film_one(void *context, size_t i, struct error *err)
{
	struct work *w = context;
	const struct place_plan plan = { .frames = w->o->frames,
					 .samples = w->o->frames * 2,
					 .at = PLACE_NOWHERE,
					 .only_planned = true };
	struct place_sink sink;
	int ret;

	movie_add(w->movie, w->name[i], &sink);
	ret = films_take(&w->films, i, &plan, &sink, err);
	if (ret < 0)
		movie_drop(w->movie);
	return ret;
}

static const char *target_of(const struct work *w)
{
	return w->o->output ? w->o->output : w->output;
}

/* ---- names ---- */

static int open_movie(struct work *w)
{
	struct movie_options o = {
		.title = w->films.title,
		.note = *w->films.note ? w->films.note : RECORDED_MOVIE_NOTE,
		.by = w->o->by,
		.theme = w->o->theme,
		.fps = w->o->fps,
		.limit = w->o->limit,
		.threads = w->films.threads,
		.units = film_units_for(2 * w->films.count),
		.only_page = !movie_is_video(target_of(w)),
	};
	size_t i;
	int ret;

	w->name = must_calloc(w->films.count, sizeof(*w->name));
	for (i = 0; i < w->films.count; i++)
		films_name(&w->films, i, w->name[i], sizeof(w->name[i]));
	ret = films_names(&w->films, &w->o->names.options, &o.names);
	if (!ret)
		w->movie = movie_new(&o);
	return ret;
}

/* ---- the file ---- */

/* target NULL = a page on standard output. */
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

/* Checks the output before the long work. */
static int check_output(const struct options *o, const char *target)
{
	struct error err = { "" };

	if (movie_is_video(target) && movie_video_check(target, &err) < 0)
		return cmd_error(STATUS_FOUND, "%s", err.text);
	return strcmp(target, "-") ? output_check(target, o->log, o->output) : STATUS_OK;
}

static int run(const struct options *o)
{
	struct work *w = must_calloc(1, sizeof(*w));
	int ret;

	w->o = o;
	films_output(o->log, "movie.html", w->output, sizeof(w->output));
	ret = check_output(o, target_of(w));
	if (!ret)
		ret = films_open(&w->films, &o->films, o->log);
	if (!ret) {
		ret = open_movie(w);
		if (!ret)
			ret = films_each(&w->films, film_one, w);
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
	if (usage_take(&usage, argc, argv, &o))
		ret = STATUS_USAGE;
	else
		ret = running_find((char **)&o.log, 1) ?: run(&o);
	free((void *)o.films.allocators);
	profile_cli_release(&o.names);
	return ret;
}
