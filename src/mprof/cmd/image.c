/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * image.c - `mprof image`: the heap at one time, or over the whole run, as a picture; of a profile,
 * or of several dumps of it, its figures over time.
 */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../draw/charts.h"
#include "../draw/picture.h"
#include "../export/exports.h"
#include "../print/json_rows.h"
#include "../util/format.h"
#include "../util/alloc.h"
#include "cmd.h"
#include "films.h"
#include "running.h"
#include "usage.h"
#include "when.h"

#define SAMPLES 512 /* points of the curve of resident bytes */

struct options {
	struct arguments from;
	const char *log, *output; /* log: the first of them */
	struct when at;
	uint64_t op; /* calls before that moment */
	struct picture_options picture;
	struct films_cli films;
	struct profile_cli names;
	bool json;
};

/* ---- the command line ---- */

static int take_pixels(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	struct picture_options *o = to;
	int width, height, used = 0;

	if (arg[strspn(arg, "0123456789x")] ||
	    sscanf(arg, "%5dx%5d%n", &width, &height, &used) < 2 || arg[used] ||
	    width < PICTURE_LEAST || height < PICTURE_LEAST || width > CANVAS_MOST ||
	    height > CANVAS_MOST)
		return option_invalid(err, row, arg, "WIDTHxHEIGHT from %dx%d to %dx%d pixels",
				      PICTURE_LEAST, PICTURE_LEAST, CANVAS_MOST, CANVAS_MOST);
	o->width = width;
	o->height = height;
	return 0;
}

/* Returns the format by the suffix of the file; PNG without one. */
static int format_of(const char *path)
{
	return strchr(basename(path), '.') ? canvas_format_of(path) : CANVAS_PNG;
}

static int check(void *options, struct error *err)
{
	const struct options *o = options;
	bool time = o->picture.layout == LAYOUT_TIME, out = o->output && !strcmp(o->output, "-");

	if (time && o->at.text)
		return fail(err, -EINVAL,
			    "--at cannot be used with --layout time, which shows the whole run");
	if (time && o->picture.by != PICTURE_BY_OCCUPANCY)
		return fail(err, -EINVAL, "--layout time supports only --by occupancy, not %s",
			    picture_by_name(o->picture.by));
	if (o->output && format_of(o->output) < 0)
		return fail(err, -EINVAL,
			    "invalid --output '%s': expected a name that ends in .png, .svg or "
			    ".pdf; mprof movie writes .html, .apng and videos",
			    o->output);
	if (out && o->json)
		return fail(
		    err, -EINVAL,
		    "--json uses standard output; write the picture to a file with -o FILE");
	if (out && isatty(STDOUT_FILENO))
		return fail(err, -EINVAL, "a picture cannot be written to a terminal; use -o FILE");
	return 0;
}

static const struct option_type pixels_type = { "pixels", take_pixels, NULL, COMPLETE_NOTHING };

#define OPTIONS struct options
static const struct option_row options[] = {
	OPTION_FILE('o', "output", "FILE", output,
		    "Write a .png, .svg or .pdf file, or - for PNG on standard output [LOG.png]",
		    .dash = true),
	OPTION_WHEN(at, "Show the heap at this point: "),
	OPTION_WORD(0, "by", "WHAT", picture.by, words_PICTURE_BY,
		    "Colour pages by %s [occupancy]"),
	OPTION_WORD(0, "layout", OPTION_EITHER, picture.layout, words_LAYOUT,
		    "Draw rows of addresses, a Hilbert curve, or calls from left to right "
		    "[strips]"),
	OPTION_WORD(0, "theme", OPTION_EITHER, picture.theme, words_THEME,
		    "Draw on a light or a dark background [light]"),
	OPTION_CUSTOM(0, "size", "WxH", struct picture_options, picture, &pixels_type,
		      "Set the size in pixels, such as 1200x800", .example = "1200x800"),
	OPTION_FLAG('j', "json", json,
		    "Print what the picture shows, and where, as one JSON object"),
	OPTION_ROWS(option_films, films),
	OPTION_ROWS(option_names, names),
	OPTION_ROWS_ALONE(option_memory),
	OPTION_END,
};

static const struct usage usage = {
	.options = options,
	.args = "LOG\nPROFILE...",
	.doc = "Draws the address space of a heap: every page that ever contained a block, at one "
	       "point in time or over the whole run, as recorded or with other allocators. For a "
	       "profile, draws memory, calls and sizes over time; of several dumps of one "
	       "process, each is a point in time." RUNNING_HELP,
	.words = USAGE_FILES,
	.at = offsetof(struct options, from),
	.missing = "no trace given; for example: mprof image mprof.log",
	.check = check,
};

/* ---- which moment ---- */

/* Counts the calls before the moment; plan->at is the last of them. */
static int find_moment(struct options *o, struct films *f, struct place_plan *plan)
{
	struct walk_until until;
	struct error err;
	uint64_t ops = 0;
	int ret;

	if (o->at.kind == WHEN_PEAK)
		return STATUS_OK;
	if (o->at.kind == WHEN_TIME && f->trace && when_find(&o->at, f->trace, &until, &err) < 0)
		return cmd_error(STATUS_USAGE, "%s", err.text);
	if (o->at.kind == WHEN_END) {
		plan->frames = 1;
		o->op = UINT64_MAX;
		return STATUS_OK;
	}
	ret = films_calls(f, &ops, &err);
	if (!ret && o->at.kind == WHEN_TIME)
		ret = films_calls_at(f, o->at.ns, &o->op, &err);
	if (ret == -ERANGE)
		return cmd_error(STATUS_USAGE, "--at %s: %s", o->at.text, err.text);
	if (ret < 0)
		return cmd_error(STATUS_FILE, "%s", err.text);
	if (o->at.kind != WHEN_TIME)
		o->op = when_calls(&o->at, ops);
	if (o->op > ops && when_out_of(&o->at, ops, &err) < 0)
		return cmd_error(STATUS_USAGE, "%s", err.text);
	if (!o->op)
		o->op = 1;
	plan->at = o->op - 1;
	return STATUS_OK;
}

static size_t frame_of(const struct options *o, const struct film *f)
{
	if (o->at.kind == WHEN_PEAK)
		return f->peak == FILM_NOWHERE ? f->frames - 1 : f->peak;
	return film_frame_at(f, o->op);
}

/* ---- the films ---- */

struct work {
	struct options *o;
	const char *output; /* "-" = standard output */
	struct films films;
	struct place_plan plan;
	struct film **film;
	char (*name)[128];
	struct picture_panel *panel;
	size_t *frame;
	size_t panels;
};

static int take(void *context, size_t i, struct error *err)
{
	struct work *w = context;
	const struct film_options fo = { .channels = classes_channels(w->o->picture.by),
					 .units = film_units_for(w->films.count) };
	struct film *film = film_new(&fo);
	const struct place_sink sink = { &film_ops, film };
	int ret;

	ret = films_take(&w->films, i, &w->plan, &sink, err);
	if (!ret)
		ret = film_ready(film, err);
	if (ret < 0) {
		film_free(film);
		return ret;
	}
	films_name(&w->films, i, w->name[w->panels], sizeof(w->name[0]));
	w->film[w->panels] = film;
	w->frame[w->panels] = frame_of(w->o, film);
	w->panel[w->panels] = (struct picture_panel){ w->name[w->panels], film };
	w->panels++;
	return 0;
}

static int take_all(struct work *w)
{
	const size_t n = w->films.count;

	w->film = must_calloc(n, sizeof(struct film *));
	w->name = must_calloc(n, sizeof(*w->name));
	w->panel = must_calloc(n, sizeof(*w->panel));
	w->frame = must_calloc(n, sizeof(*w->frame));
	return films_each(&w->films, take, w);
}

static void release(struct work *w)
{
	size_t i;

	for (i = 0; i < w->panels; i++)
		film_free(w->film[i]);
	free(w->film);
	free(w->name);
	free(w->panel);
	free(w->frame);
	films_close(&w->films);
}

/* ---- the picture ---- */

static void describe(const struct work *w, char *text, size_t room)
{
	static const char *const when[] = {
		[WHEN_PEAK] = "the heap at the peak of live bytes",
		[WHEN_END] = "the heap after the last call",
		[WHEN_CALLS] = "the heap after %s",
		[WHEN_TIME] = "the heap after %s",
		[WHEN_PERCENT] = "the heap after %s of the calls",
	};
	static const char *const by[PICTURE_BY_COUNT] = {
		[PICTURE_BY_OCCUPANCY] = "",
		[PICTURE_BY_AGE] = ", by age",
		[PICTURE_BY_SIZE] = ", by size",
		[PICTURE_BY_THREAD] = ", by thread",
		[PICTURE_BY_SITE] = ", by allocating function",
		[PICTURE_BY_MODULE] = ", by allocating module",
	};
	bool time = w->o->picture.layout == LAYOUT_TIME;
	char moment[96];

	snprintf(moment, sizeof(moment), when[w->o->at.kind],
		 w->o->at.kind == WHEN_CALLS ? format_many(w->o->op, "call", "calls").s
					     : w->o->at.text);
	snprintf(text, room, "%s%s%s%s",
		 time ? "calls from left to right, addresses upward" : moment, by[w->o->picture.by],
		 *w->films.note ? "; " : "", w->films.note);
}

/* ---- as figures: where things are, and which colour is what ---- */

static struct text colour(enum theme theme, unsigned colour)
{
	const uint8_t *rgb = palette(theme)[colour];
	struct text t;

	snprintf(t.s, sizeof(t.s), "#%02x%02x%02x", rgb[0], rgb[1], rgb[2]);
	return t;
}

#include "../json/image.def"
#include "../json/charts.def"

/* Prints JSON on standard output after frame[i] of panel i was drawn; returns the exit status. */
static int print_json(struct picture *p, const struct picture_options *o, const size_t *frame,
		      size_t panels)
{
	json_print(stdout, JSON_NEW(image, p, o, frame, panels));
	return cmd_flush(STATUS_OK);
}

/* ---- as a picture ---- */

static int write_picture(const char *output, struct canvas *c)
{
	struct export_file file;
	struct error err;
	int ret;

	if (export_file_open(&file, strcmp(output, "-") ? output : NULL, &err) < 0)
		return cmd_error(STATUS_FOUND, "%s", err.text);
	ret = canvas_write(c, file.out, &err);
	if (export_file_done(&file, ret, &err) < 0)
		return cmd_error(STATUS_FOUND, "%s", err.text);
	if (strcmp(output, "-"))
		fprintf(stderr, "mprof: wrote %s\n", output);
	return STATUS_OK;
}

static enum canvas_format chosen_format(const struct options *o)
{
	return o->output ? (enum canvas_format)format_of(o->output) : CANVAS_PNG;
}

static int draw(struct work *w)
{
	struct picture_options po = w->o->picture;
	struct picture *p = NULL;
	struct error err;
	char note[320];
	int ret;

	describe(w, note, sizeof(note));
	po.format = chosen_format(w->o);
	po.title = w->films.title;
	po.note = note;
	po.threads = w->films.threads;
	if (classes_channels(po.by) == FILM_SITE) {
		ret = films_names(&w->films, &w->o->names.options, &po.names);
		if (ret)
			return ret;
	}
	ret = picture_new(&p, &po, w->panel, w->panels, w->frame, &err);
	if (!ret)
		ret = picture_draw(p, w->frame, &err);
	ret = ret < 0 ? cmd_error(STATUS_FOUND, "%s", err.text)
		      : write_picture(w->output, picture_canvas(p));
	if (!ret && w->o->json)
		ret = print_json(p, &w->o->picture, w->frame, w->panels);
	picture_free(p);
	return ret;
}

/* ---- a profile ---- */

/* Returns the first option that needs addresses or calls, or NULL. */
static const char *needs_addresses(const struct options *o)
{
	return o->films.allocators ? "--allocator"
	       : o->films.mode	   ? "--mode"
	       : o->films.touch	   ? "--touch"
	       : o->at.text	   ? "--at"
	       : o->picture.layout ? "--layout"
	       : o->picture.by	   ? "--by"
				   : NULL;
}

static int draw_charts(const struct options *o, const char *output, const struct timeline *l,
		       const char *title)
{
	const struct charts_options co = { .format = chosen_format(o),
					   .theme = o->picture.theme,
					   .width = o->picture.width,
					   .height = o->picture.height,
					   .title = title };
	struct charts *c;
	struct error err;
	int ret;

	if (charts_new(&c, &co, l, &err) < 0)
		return cmd_error(STATUS_FOUND, "%s", err.text);
	ret = write_picture(output, charts_canvas(c));
	if (!ret && o->json) {
		json_print(stdout, JSON_NEW(charts, c, l, co.theme));
		ret = cmd_flush(STATUS_OK);
	}
	charts_free(c);
	return ret;
}

/* t is NULL if the file is a table. */
static int run_timeline(const struct options *o, const char *output, const struct trace *t)
{
	struct timeline *l = must_malloc(sizeof(*l));
	char title[256];
	struct error err;
	int ret;

	if (t && o->from.count > 1) {
		films_title(t, title, sizeof(title));
		ret = timeline_of_dumps(l, o->from.item, o->from.count, o->films.process, &err);
	} else if (t) {
		films_title(t, title, sizeof(title));
		ret = timeline_of_profile(l, t, o->films.process, &err);
	} else {
		snprintf(title, sizeof(title), "%s", basename(o->log));
		ret = timeline_of_table(l, o->log, &err);
	}
	if (ret < 0)
		ret = cmd_error(ret == -ESRCH || ret == -EINVAL ? STATUS_USAGE : STATUS_FILE, "%s",
				err.text);
	else
		ret = draw_charts(o, output, l, title);
	free(l);
	return ret;
}

/* Draws a profile, or the table that --dump stat writes.  -1 if the file is neither. */
static int run_profile(const struct options *o, const char *output)
{
	const bool table = timeline_is_table(o->log);
	const char *option = needs_addresses(o);
	struct trace *t = NULL;
	struct error err;
	int ret;

	if (!table && trace_open(&t, o->log, MPROF_MAGIC_PROFILE, &err) < 0)
		return o->from.count == 1
			   ? -1
			   : cmd_error(STATUS_USAGE,
				       "%s; several files can only be dumps of one process",
				       err.text);
	if (table && o->from.count > 1)
		return cmd_error(STATUS_USAGE, "a table is drawn alone, not with '%s'",
				 o->from.item[1]);
	if (!option && table && o->films.process)
		option = "--process";
	if (option)
		ret = cmd_error(STATUS_USAGE, "%s: '%s' is a %s; %s", option, o->log,
				table ? "table of one process" : "profile",
				"it has totals over time, but no addresses and individual calls; "
				"those are in a trace of mprof record");
	else
		ret = run_timeline(o, output, t);
	if (t)
		trace_close(t);
	return ret;
}

static int run(struct options *o)
{
	struct work w = { .o = o, .plan = { .samples = SAMPLES, .at = PLACE_NOWHERE } };
	char name[4096];
	int ret;

	o->log = o->from.item[0];
	films_output(o->log, "png", name, sizeof(name));
	w.output = o->output ? o->output : name;
	ret = strcmp(w.output, "-") ? output_check(w.output, o->log, o->output) : STATUS_OK;
	if (ret)
		return ret;
	ret = run_profile(o, w.output);
	if (ret >= 0)
		return ret;
	ret = films_open(&w.films, &o->films, o->log);
	if (ret)
		return ret;
	if (o->picture.layout == LAYOUT_TIME)
		w.plan.frames = picture_columns(&o->picture, w.films.count);
	ret = find_moment(o, &w.films, &w.plan);
	if (!ret)
		ret = take_all(&w);
	if (!ret)
		ret = draw(&w);
	release(&w);
	return ret;
}

int cmd_image(int argc, char **argv)
{
	struct options o = { .at = { .kind = WHEN_PEAK } };
	int ret;

	profile_cli_init(&o.names);
	ret = usage_take(&usage, argc, argv, &o) ? STATUS_USAGE
						 : running_find(o.from.item, o.from.count);
	if (!ret)
		ret = run(&o);
	free((void *)o.films.allocators);
	profile_cli_release(&o.names);
	return ret;
}
