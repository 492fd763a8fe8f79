// SPDX-License-Identifier: LGPL-3.0-or-later
/* compare.c - `mprof compare`: a recording on every allocator here, as a table and a page. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "../draw/movie_make.h"
#include "../draw/picture.h"
#include "../export/exports.h"
#include "../html/html_frame.h"
#include "../print/replay_html.h"
#include "../places/place_run.h"
#include "../util/blob.h"
#include "../util/alloc.h"
#include "cmd.h"
#include "films.h"
#include "replay_run.h"
#include "running.h"
#include "usage.h"

#define FRAMES 300u /* of the movie: as many as mprof movie has */

struct options {
	const char *path, *output;
	struct replay_cli cli;
	bool json;
};

#define OPTIONS struct options
static const struct option_row options[] = {
	OPTION_FILE('o', "output", "FILE", output,
		    "Write the page to FILE [the name of LOG, with .html]"),
	OPTION_JSON(json),
	OPTION_ROWS(option_replay, cli),
	OPTION_ROWS_ALONE(option_memory),
	OPTION_ROWS_ALONE(option_colour),
	OPTION_END,
};

static int check(void *options, struct error *err)
{
	return replay_cli_finish(&((struct options *)options)->cli, err);
}

static const struct usage usage = {
	.options = options,
	.args = "LOG",
	.doc = "Plays a trace on every installed allocator, says which is better, and writes a "
	       "page with tables, curves, pictures and a movie of the heaps." RUNNING_HELP,
	.words = USAGE_FILE,
	.at = offsetof(struct options, path),
	.missing = "no trace given; for example: mprof compare mprof.log",
	.check = check,
};

/* ---- films ---- */

static int film(struct movie *m, const struct replay_run *r, const struct runs_row *row,
		const struct replay_cli *cli, struct error *err)
{
	struct place_plan plan = replay_run_plan(r, cli);
	struct place_sink sink;
	int ret;

	movie_add(m, row->variant->name, &sink);
	plan.frames = FRAMES;
	plan.samples = 2 * FRAMES;
	ret = place_run(r->in.path, row->variant, &plan, &sink, err);
	if (ret < 0)
		movie_drop(m);
	return ret;
}

static void film_all(struct movie *m, const struct replay_run *r, const struct replay_cli *cli)
{
	const bool tell = isatty(STDERR_FILENO);
	struct error err;
	size_t i;

	for (i = 0; i < r->runs.n; i++) {
		if (r->runs.row[i].status)
			continue;
		if (tell)
			fprintf(stderr, "\r\033[Kmprof: drawing the heap of %s",
				r->runs.row[i].variant->name);
		if (film(m, r, &r->runs.row[i], cli, &err) < 0)
			cmd_warn("cannot draw %s: %s", r->runs.row[i].variant->name, err.text);
	}
	if (tell)
		fputs("\r\033[K", stderr);
}

/* ---- the page ---- */

#define PICTURE_PAGE 1060 /* pixels: the width of the page beside its list of pages */
#define PICTURE_ROW  560  /* height of a row of panels */

static int put_canvas(FILE *out, const char *class, struct canvas *c, struct error *err)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = must_memstream(&text, &size);
	const int ret = canvas_write(c, f, err);

	must_close(f, &text);
	if (!ret) {
		fprintf(out,
			"<div class=\"scroll %s\"><img alt=\"The heap of each allocator, time from "
			"left to right, addresses from the bottom up\" "
			"src=\"data:image/png;base64,",
			class);
		blob_base64(text, size, out);
		fprintf(out, "\" width=\"%d\" height=\"%d\"></div>\n", c->width, c->height);
	}
	free(text);
	return ret;
}

/*
 * Draws time from left to right, addresses upwards: the whole run in one picture, in the size of
 * the page, so that labels are not scaled.
 */
static int put_picture(struct movie *m, const char *title, enum theme theme, FILE *out,
		       struct error *err)
{
	const size_t n = movie_films(m);
	const int per_row = n > 1 ? 2 : 1, rows = (int)(n + 1) / per_row;
	const struct picture_options o = { .layout = LAYOUT_TIME,
					   .theme = theme,
					   .title = title,
					   .per_row = per_row,
					   .width = PICTURE_PAGE,
					   .height = (rows ? rows : 1) * PICTURE_ROW };
	struct picture_panel *panel = must_calloc(n + 1, sizeof(*panel));
	struct picture *p = NULL;
	size_t i;
	int ret;

	for (i = 0; i < n; i++)
		panel[i] = (struct picture_panel){ movie_film_name(m, i), movie_film(m, i) };
	ret = picture_new(&p, &o, panel, n, NULL, err);
	if (!ret)
		ret = picture_draw(p, NULL, err);
	if (!ret)
		ret = put_canvas(out, words_THEME[theme], picture_canvas(p), err);
	picture_free(p);
	free(panel);
	return ret;
}

static int put_movie(struct movie *m, const char *title, FILE *out, struct error *err)
{
	int ret;

	if (!movie_films(m))
		return 0;
	replay_html_part(out, "pictures", "The heap over time");
	ret = put_picture(m, title, THEME_LIGHT, out, err);
	if (!ret)
		ret = put_picture(m, title, THEME_DARK, out, err);
	replay_html_part_end(out);
	if (ret)
		return ret;
	replay_html_part(out, "heap", "Heap map");
	fputs("<noscript><p>JavaScript plays the movie of each heap.</p></noscript>\n"
	      "<script type=\"application/json\" id=\"mprof-heap\">",
	      out);
	ret = movie_write_data(m, out, err);
	fputs("</script>\n", out);
	replay_html_part_end(out);
	return ret;
}

static int put_page(const struct replay_run *r, const struct replay_cli *cli, FILE *out,
		    struct error *err)
{
	struct thread_titles threads = playback_input_threads(&r->in);
	const struct movie_options o = { .title = cli->plan.head->program,
					 .names = r->answer.heaps.names,
					 .threads = threads,
					 .units = film_units_for(2 * r->runs.n) };
	struct movie *m = movie_new(&o);
	int ret;

	film_all(m, r, cli);
	html_frame_begin(o.title, false, out);
	replay_html_begin(&r->answer, out);
	ret = put_movie(m, o.title, out, err);
	if (!ret) {
		replay_html_end(&r->answer, out);
		html_frame_end(out);
	}
	movie_free(m);
	thread_titles_release(&threads);
	return ret;
}

static int write_page(const struct replay_run *r, const struct options *o, struct export_file *page)
{
	struct error err = { "" };

	if (export_file_done(page, put_page(r, &o->cli, page->out, &err), &err))
		return cmd_error(STATUS_FOUND, "%s", err.text);
	fprintf(stderr, "mprof: wrote %s; open it in a browser\n", o->output);
	return STATUS_OK;
}

/* Opens the page first, so that an invalid name is not found after minutes of work. */
static int compare(struct options *o)
{
	struct export_file page;
	struct error err = { "" };
	struct replay_run run;
	bool chosen = o->output;
	char name[4096];
	int status;

	if (!chosen) {
		films_output(o->path, "html", name, sizeof(name));
		o->output = name;
	}
	status = output_check(o->output, o->path, chosen);
	if (status)
		return status;
	if (export_file_open(&page, o->output, &err) < 0)
		return cmd_error(STATUS_FOUND, "%s", err.text);
	status = replay_run_make(&run, o->path, &o->cli);
	if (!status)
		status = replay_run_print(&run, o->json, false, replay_brief);
	if (!status)
		status = write_page(&run, o, &page);
	else
		export_file_drop(&page);
	replay_run_release(&run);
	return status;
}

int cmd_compare(int argc, char **argv)
{
	struct options o = { .path = NULL };
	int status = STATUS_USAGE;

	replay_cli_init(&o.cli);
	if (!usage_take(&usage, argc, argv, &o))
		status = running_find((char **)&o.path, 1) ?: compare(&o);
	replay_cli_release(&o.cli);
	return status;
}
