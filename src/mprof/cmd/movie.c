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
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "../draw/classes.h"
#include "../draw/movie.h"
#include "../draw/movie_video.h"
#include "../out/export.h"
#include "../pass/profile.h"
#include "../replay/place_run.h"
#include "../replay/place_trace.h"
#include "../replay/variant.h"
#include "../util/ranges.h"
#include "cmd.h"
#include "playback_input.h"
#include "profile_options.h"

#define FRAMES_MOST 100000

struct options {
	const char *log, *output;
	struct variants variants;
	struct place_plan plan;
	uint32_t process;
	enum picture_by by;
	double fps;
	uint64_t limit;
	struct profile_cli cli;
};

enum { ALLOCATOR = 256, FRAMES, BY, FPS, LIMIT, PROCESS, MODE, TOUCH };

static const struct argp_option options[] = {
	{ "allocator", ALLOCATOR, "LIST", 0,
	  "The allocators to show, as in mprof replay, or all [the recorded run; glibc for a "
	  "playback file]",
	  0 },
	{ "output", 'o', "FILE", 0,
	  "FILE.html, .apng, .png (also APNG), .mp4, .webm or .y4m; - for a page on standard "
	  "output [LOG's name.html]",
	  0 },
	{ "frames", FRAMES, "N", 0, "So many frames, besides that of the peak [300]", 0 },
	{ "by", BY, "WHAT", 0,
	  "Colours, of a page what is shown first: occupancy, age, size, thread, site, module "
	  "[occupancy]",
	  0 },
	{ "fps", FPS, "N", 0, "Frames a second [20]", 0 },
	{ "limit", LIMIT, "SIZE", 0,
	  "A page that would be larger goes without age, size, thread, site and module [18M]", 1 },
	{ "process", PROCESS, "N", 0, "The process with this number [the one with most calls]", 1 },
	{ "mode", MODE, "MODE", 0, "Of a replay: serial or ordered [serial]", 1 },
	{ "touch", TOUCH, "WHAT", 0,
	  "What a replay touches of a block: none, first, page, full, recorded [page]", 1 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

/* ---- the command line ---- */

static const char *one_of(const char *arg, const char *const *words, const char *what,
			  struct argp_state *state)
{
	size_t i;

	for (i = 0; words[i]; i++)
		if (!strcmp(arg, words[i]))
			return words[i];
	argp_error(state, "'%s' is no %s", arg, what);
	return NULL;
}

static double number(const char *arg, double least, double most, const char *what,
		     struct argp_state *state)
{
	char *end;
	double n = strtod(arg, &end);

	if (end == arg || *end || !(n >= least && n <= most))
		argp_error(state, "'%s' is no number of %s from %g to %g", arg, what, least, most);
	return n;
}

static void finish_options(struct options *o, struct argp_state *state)
{
	if (!o->log)
		argp_error(state, "which trace? for example: mprof movie mprof.log");
	if (o->output && strcmp(o->output, "-") && !movie_is_page(o->output) &&
	    !movie_is_video(o->output))
		argp_error(state,
			   "'%s': a movie is .html, .apng, .png, .mp4, .webm or .y4m by its name",
			   o->output);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	static const char *const modes[] = { "serial", "ordered", NULL };
	static const char *const touches[] = { "none", "first", "page", "full", "recorded", NULL };
	struct options *o = state->input;
	struct error err;

	switch (key) {
	case ALLOCATOR:
		if (variants_parse(&o->variants, arg, &err) < 0)
			argp_error(state, "%s", err.text);
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case FRAMES:
		o->plan.frames = (unsigned)number(arg, 1, FRAMES_MOST, "frames", state);
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
			argp_error(state, "a page has more than 0 bytes");
		return 0;
	case PROCESS:
		if (!playback_process(arg, &o->process) || o->process == COMPILE_ALL)
			argp_error(state, "'%s' is no number of a process", arg);
		return 0;
	case MODE:
		o->plan.mode = one_of(arg, modes, "mode; serial or ordered", state);
		return 0;
	case TOUCH:
		o->plan.touch =
		    one_of(arg, touches, "touch; none, first, page, full or recorded", state);
		return 0;
	case ARGP_KEY_ARG:
		if (o->log)
			argp_error(state, "one trace at a time: '%s'", arg);
		o->log = arg;
		return 0;
	case ARGP_KEY_END:
		finish_options(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "LOG|FILE",
	.doc = "Writes a movie of the heap: each page of memory that the program, or an allocator "
	       "that its calls are played on, ever used, frame by frame.",
};

/* ---- how far ---- */

struct told {
	const char *name;
	struct timespec start;
	bool shown;
};

static void tell(void *context, uint64_t op, uint64_t ops)
{
	struct told *t = context;
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	if (!t->shown && now.tv_sec - t->start.tv_sec + (now.tv_nsec > t->start.tv_nsec) < 2)
		return;
	t->shown = true;
	fprintf(stderr, "\rmprof: %s, %3.0f %% \033[K", t->name,
		ops ? 100.0 * (double)op / (double)ops : 100.0);
}

static void tell_start(struct told *t, struct place_plan *plan, const char *name)
{
	*t = (struct told){ .name = name };
	clock_gettime(CLOCK_MONOTONIC, &t->start);
	plan->progress = isatty(STDERR_FILENO) ? tell : NULL;
	plan->progress_context = t;
}

static void tell_end(const struct told *t)
{
	if (t->shown)
		fputs("\r\033[K", stderr);
}

/* ---- films ---- */

struct work {
	struct options *o;
	struct playback_input input;
	bool played;	     /* input is open */
	struct trace *trace; /* the input's, or our own */
	struct profile names;
	bool named;
	uint32_t *thread;
	size_t threads;
	char title[256], note[160], output[4096];
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

static int film_trace(struct work *w, struct error *err)
{
	struct place_plan plan = w->o->plan;
	struct place_sink film, sink = { .ops = &planned, .self = &film };
	struct told told;
	int ret = movie_add(w->movie, "recorded", &film, err);

	if (ret < 0)
		return ret;
	tell_start(&told, &plan, "recorded");
	ret = place_trace(w->trace, w->o->process, &plan, &sink, 1, err);
	tell_end(&told);
	return ret;
}

static int film_variant(struct work *w, const struct variant *v, struct error *err)
{
	struct place_plan plan = w->o->plan;
	struct place_sink sink;
	struct told told;
	int ret = movie_add(w->movie, v->name, &sink, err);

	if (ret < 0)
		return ret;
	tell_start(&told, &plan, v->name);
	ret = place_run(w->input.path, v, &plan, &sink, 1, NULL, err);
	tell_end(&told);
	return ret;
}

/* One that fails does not cost the others. */
static int film_all(struct work *w)
{
	struct error err = { "" };
	size_t i;

	if (!w->o->variants.n)
		return film_trace(w, &err) < 0 ? cmd_error(STATUS_FILE, "%s", err.text) : STATUS_OK;
	for (i = 0; i < w->o->variants.n; i++)
		if (film_variant(w, &w->o->variants.v[i], &err) < 0) {
			movie_drop(w->movie);
			cmd_warn("%s is not in the movie: %s", w->o->variants.v[i].name, err.text);
		}
	if (!movie_films(w->movie))
		return cmd_error(STATUS_FOUND, "no allocator could be shown");
	return STATUS_OK;
}

/* ---- names ---- */

static void name_threads(struct work *w)
{
	const struct mprof_play_thread *t = playfile_threads(w->input.file);
	size_t i, n = playfile_header(w->input.file)->threads;

	w->thread = malloc((n + 1) * sizeof(*w->thread));
	if (!w->thread)
		return;
	for (i = 0; i < n; i++)
		w->thread[i] = t[i].recorded;
	w->threads = n;
}

/* The command line of the first program that the process ran. */
static void name_command(struct work *w)
{
	const struct trace_fact *f;
	size_t n = trace_facts(w->trace, &f), used = 0, i, k;

	for (i = 0; i < n && !f[i].argc; i++)
		;
	for (k = 0; i < n && k < f[i].argc && used < sizeof(w->title); k++)
		used += (size_t)snprintf(w->title + used, sizeof(w->title) - used, "%s%s",
					 k ? " " : "", f[i].argv[k]);
}

static void name_program(struct work *w)
{
	const struct mprof_playback_header *h;
	const char *base = strrchr(w->o->log, '/');

	if (w->played) {
		h = playfile_header(w->input.file);
		snprintf(w->title, sizeof(w->title), "%s", h->program);
		snprintf(w->note, sizeof(w->note), "replayed %s, touching %s",
			 w->o->plan.mode ? w->o->plan.mode : "serial",
			 w->o->plan.touch ? w->o->plan.touch : "page");
	} else {
		snprintf(w->note, sizeof(w->note),
			 "as recorded; which pages were resident is "
			 "not known");
		name_command(w);
	}
	if (!*w->title)
		snprintf(w->title, sizeof(w->title), "%s", base ? base + 1 : w->o->log);
}

static int open_movie(struct work *w)
{
	struct movie_options o = { .title = w->title,
				   .note = w->note,
				   .by = w->o->by,
				   .fps = w->o->fps,
				   .limit = w->o->limit };
	struct error err = { "" };

	if (w->trace && profile_names(&w->names, w->trace, &w->o->cli.options, &err) < 0)
		return cmd_error(STATUS_FILE, "%s", err.text);
	w->named = w->trace;
	o.names = w->named ? &w->names : NULL;
	o.thread = w->thread;
	o.threads = w->threads;
	if (movie_new(&w->movie, &o, &err) < 0)
		return cmd_error(STATUS_FOUND, "%s", err.text);
	return STATUS_OK;
}

/* ---- the file ---- */

/* LOG's name with .html, in the current directory. */
static void name_output(struct work *w)
{
	const char *base = strrchr(w->o->log, '/');
	size_t n;

	base = base ? base + 1 : w->o->log;
	n = strlen(base);
	if (n > 4 && !strcmp(base + n - 4, ".log"))
		n -= 4;
	snprintf(w->output, sizeof(w->output), "%.*s.html", (int)n, base);
}

static int write_page(struct work *w, const char *target, struct error *err)
{
	struct export_file file;
	int ret = export_file_open(&file, target, err);

	if (ret < 0)
		return ret;
	ret = movie_write_page(w->movie, file.out, err);
	if (ret < 0)
		export_file_drop(&file);
	else
		ret = export_file_done(&file, err);
	return ret;
}

static int write_movie(struct work *w)
{
	const char *target = w->o->output ? w->o->output : w->output;
	struct error err = { "" };
	int ret;

	if (!strcmp(target, "-"))
		ret = write_page(w, NULL, &err);
	else if (movie_is_page(target))
		ret = write_page(w, target, &err);
	else
		ret = movie_write_video(w->movie, target, &err);
	if (ret < 0)
		return cmd_error(STATUS_FOUND, "%s", err.text);
	if (strcmp(target, "-"))
		fprintf(stderr, "mprof: wrote %s\n", target);
	return STATUS_OK;
}

/* ---- */

/* A recorded run is shown as it was; everything else is played. */
static int open_input(struct work *w)
{
	struct playback_options o = { .process = w->o->process };
	struct error err = { "" };
	int ret;

	/* Before the long work. */
	if (w->o->output && movie_is_video(w->o->output) &&
	    movie_video_check(w->o->output, &err) < 0)
		return cmd_error(STATUS_FOUND, "%s", err.text);

	if (!w->o->variants.n && !playfile_is(w->o->log) &&
	    trace_open(&w->trace, w->o->log, MPROF_MAGIC_TRACE, &err) == 0)
		return STATUS_OK;
	if (!w->o->variants.n && variants_parse(&w->o->variants, "glibc", &err) < 0)
		return cmd_error(STATUS_FOUND, "%s", err.text);
	ret = playback_input_open(&w->input, w->o->log, &o);
	if (ret)
		return ret;
	w->played = true;
	w->trace = w->input.trace;
	name_threads(w);
	return STATUS_OK;
}

static int run(struct options *o)
{
	struct work *w = calloc(1, sizeof(*w));
	int ret;

	if (!w)
		return cmd_error(STATUS_FOUND, "no memory for a movie");
	w->o = o;
	name_output(w);
	ret = open_input(w);
	if (!ret)
		name_program(w);
	if (!ret)
		ret = open_movie(w);
	if (!ret)
		ret = film_all(w);
	if (!ret)
		ret = write_movie(w);
	movie_free(w->movie);
	if (w->named)
		profile_release(&w->names);
	if (w->played)
		playback_input_close(&w->input);
	else
		trace_close(w->trace);
	free(w->thread);
	free(w);
	return ret;
}

int cmd_movie(int argc, char **argv)
{
	struct options o = {
		.plan = { .frames = 300, .samples = 600, .at = PLACE_NOWHERE },
		.fps = 20,
	};
	int ret;

	profile_cli_init(&o.cli);
	if (argp_parse(&argp, argc, argv, 0, NULL, &o))
		ret = STATUS_USAGE;
	else
		ret = run(&o);
	variants_release(&o.variants);
	profile_cli_release(&o.cli);
	return ret;
}
