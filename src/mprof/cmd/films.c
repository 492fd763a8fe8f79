/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* films.c - the sources of pictures; see films.h. */
#include "films.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../print/text.h"
#include "../util/format.h"
#include "../places/place_run.h"
#include "../places/place_trace.h"
#include "cmd.h"
#include "missing.h"
#include "progress.h"
#include "running.h"

#define OPTIONS struct films_cli
const struct option_row option_films[] = {
	OPTION_TITLE("What to play:"),
	OPTION_LIST('a', "allocator", "LIST", allocators, &option_allocators,
		    "Play the calls on these allocators (see mprof replay), or on all [the "
		    "recorded run]"),
	OPTION_NUMBER(0, "process", "NUMBER", process, 1, UINT32_MAX - 1,
		      "Show the process with this number in the run [the one with most calls]"),
	OPTION_WORD_TEXT(
	    0, "mode", OPTION_EITHER, mode, words_FILM_MODE,
	    "Play with one thread, or with all threads in the recorded order [serial]"),
	OPTION_WORD_TEXT(0, "touch", "WHAT", touch, words_TOUCH,
			 "Write to %s bytes of blocks [page]"),
	OPTION_END,
};

/* ---- opening ---- */

void films_title(const struct trace *t, char *text, size_t room)
{
	const struct trace_fact *fact;
	size_t n = trace_facts(t, &fact), i;

	for (i = 0; i < n && !fact[i].argc; i++)
		;
	snprintf(text, room, "%s",
		 i < n ? text_command(&fact[i], (unsigned)room).s : basename(trace_path(t)));
}

static int open_recorded(struct films *f, const char *path)
{
	struct error err;

	if (playfile_is(path))
		return cmd_error(
		    STATUS_USAGE,
		    "'%s' is a playback file, which has no addresses; use --allocator to play it",
		    path);
	if (import_open(&f->trace, path, MPROF_MAGIC_TRACE, &err) < 0)
		return cmd_error(STATUS_FILE, "%s", err.text);
	f->count = 1;
	f->threads = thread_titles_of(f->trace);
	films_title(f->trace, f->title, sizeof(f->title));
	return STATUS_OK;
}

static void note_playing(struct films *f)
{
	static const struct {
		const char *touch, *text;
	} row[] = {
		{ "none", "touching no block" },
		{ "first", "touching the first bytes of a block" },
		{ "page", "touching each page of a block" },
		{ "full", "writing all of a block" },
		{ "recorded", "touching what the program had touched" },
	};
	const char *touch = f->cli->touch ? f->cli->touch : "page";
	bool ordered = f->cli->mode && !strcmp(f->cli->mode, "ordered");
	size_t i = 0;

	while (strcmp(row[i].touch, touch))
		i++;
	snprintf(f->note, sizeof(f->note), "played by %s, %s",
		 ordered ? "all threads in the recorded order" : "one thread", row[i].text);
}

static int open_played(struct films *f, const char *path)
{
	struct playback_options o = { .process = f->cli->process };
	struct error err;
	size_t i;
	int ret;

	for (i = 0; f->cli->allocators[i]; i++)
		if (variants_parse(&f->variants, f->cli->allocators[i], &err) < 0)
			return cmd_error(STATUS_USAGE, "%s", err.text);
	ret = playback_input_open(&f->input, path, &o);
	if (ret)
		return ret;
	playback_configure(&f->input, &f->variants, NULL);
	f->played = true;
	f->trace = f->input.trace;
	f->count = f->variants.n;
	snprintf(f->title, sizeof(f->title), "%s", playfile_header(f->input.file)->program);
	note_playing(f);
	f->threads = playback_input_threads(&f->input);
	return STATUS_OK;
}

int films_open(struct films *f, const struct films_cli *cli, const char *path)
{
	int ret;

	memset(f, 0, sizeof(*f));
	f->cli = cli;
	ret = cli->allocators ? open_played(f, path) : open_recorded(f, path);
	if (ret) {
		films_close(f);
		return ret;
	}
	if (!*f->title)
		snprintf(f->title, sizeof(f->title), "%s", basename(path));
	return STATUS_OK;
}

void films_close(struct films *f)
{
	if (f->named)
		profile_release(&f->profile);
	if (f->played)
		playback_input_close(&f->input);
	else if (f->trace) {
		missing_parts(f->trace, "drawn");
		missing_of_playback(f->trace);
		trace_close(f->trace);
	}
	variants_release(&f->variants);
	thread_titles_release(&f->threads);
	memset(f, 0, sizeof(*f));
}

void films_name(const struct films *f, size_t i, char *text, size_t room)
{
	const struct variant *v = f->variants.v;

	if (!f->played)
		snprintf(text, room, "as recorded");
	else
		snprintf(text, room, "%s%s%s", v[i].name, v[i].version ? "  " : "",
			 v[i].version ? v[i].version : "");
}

int films_names(struct films *f, const struct profile_options *o, struct profile **names)
{
	struct error err;

	*names = NULL;
	if (!f->trace)
		return STATUS_OK;
	if (profile_names(&f->profile, f->trace, o, &err) < 0)
		return cmd_error(STATUS_FILE, "%s", err.text);
	f->named = true;
	*names = &f->profile;
	return STATUS_OK;
}

/* ---- running ---- */

struct told {
	char name[64];
	struct progress progress;
};

static void tell(void *context, uint64_t op, uint64_t ops)
{
	struct told *t = context;

	if (progress_due(&t->progress))
		fprintf(stderr, "\rmprof: %s, %3.0f %%\033[K", t->name,
			ops ? 100.0 * (double)op / (double)ops : 100.0);
}

static int run_source(struct films *f, size_t i, const struct place_plan *plan,
		      const struct place_sink *sink, struct error *err)
{
	if (f->played)
		return place_run(f->input.path, &f->variants.v[i], plan, sink, err);
	return place_trace(f->trace, f->cli->process, plan, sink, err);
}

int films_take(struct films *f, size_t i, const struct place_plan *plan,
	       const struct place_sink *sink, struct error *err)
{
	struct place_plan p = *plan;
	struct told told;
	int ret;

	p.mode = f->cli->mode;
	p.touch = f->cli->touch;
	p.progress = progress_begin(&told.progress) ? tell : NULL;
	p.progress_context = &told;
	snprintf(told.name, sizeof(told.name), "%s", f->played ? f->variants.v[i].name : "reading");
	ret = run_source(f, i, &p, sink, err);
	progress_done(&told.progress);
	return ret;
}

/* Returns the exit status for a result of films_take, or 0 if another allocator may succeed. */
static int fault(const struct films *f, int ret)
{
	if (ret == -ESRCH)
		return STATUS_USAGE;
	if (!f->played || ret == -EBADMSG)
		return STATUS_FILE;
	return place_run_is_common(ret) || f->count == 1 ? STATUS_FOUND : STATUS_OK;
}

int films_each(struct films *f, int (*one)(void *context, size_t i, struct error *err),
	       void *context)
{
	struct error err = { "" };
	char name[128];
	size_t shown = 0;
	int ret;

	for (size_t i = 0; i < f->count; i++) {
		ret = one(context, i, &err);
		if (ret < 0 && fault(f, ret))
			return cmd_error(fault(f, ret), "%s", err.text);
		if (ret < 0) {
			films_name(f, i, name, sizeof(name));
			cmd_warn("cannot draw %s: %s", name, err.text);
		}
		shown += ret >= 0;
	}
	return shown ? STATUS_OK : cmd_error(STATUS_FOUND, "no allocator could be shown");
}

/* ---- times ---- */

struct count {
	uint64_t ops, ns, op;
	uint64_t begin_ns; /* of the first call; ns counts from the start of the run */
	uint64_t last_ns;  /* of the last one, from the first on; 0 if unknown */
	bool found;
};

static void count_start(void *self, const struct place_start *s)
{
	struct count *c = self;

	c->ops = s->ops;
	c->last_ns = s->ns;
	c->begin_ns = s->begin_ns > 0 ? (uint64_t)s->begin_ns : 0;
}

/* Is this call the first one at or after the time? */
static void count_look(struct count *c, uint64_t op, uint64_t ns)
{
	if (!c->found && c->begin_ns + ns >= c->ns) {
		c->found = true;
		c->op = op;
	}
}

static void count_begin(void *self, const struct place_block *b)
{
	count_look(self, b->op, b->ns);
}

static void count_end(void *self, const struct place_block *b, uint64_t op, uint64_t ns)
{
	(void)b;
	count_look(self, op, ns);
}

static const struct place_ops count_ops = { .start = count_start,
					    .begin = count_begin,
					    .end = count_end };

/* Counts the calls of a trace, which needs a walk. */
static int count_recorded(struct films *f, struct count *c, struct error *err)
{
	const struct place_plan plan = { .at = PLACE_NOWHERE };
	const struct place_sink sink = { &count_ops, c };

	return films_take(f, 0, &plan, &sink, err);
}

int films_calls(struct films *f, uint64_t *ops, struct error *err)
{
	struct count c = { .ns = UINT64_MAX };
	int ret = 0;

	if (f->played)
		c.ops = playfile_header(f->input.file)->sum.calls;
	else
		ret = count_recorded(f, &c, err);
	*ops = c.ops;
	return ret;
}

int films_calls_at(struct films *f, uint64_t ns, uint64_t *op, struct error *err)
{
	struct count c = { .ns = ns };
	struct playfile_cursor cursor;
	struct playfile_op at;
	int ret = 0;

	if (f->played) {
		c.ops = playfile_header(f->input.file)->sum.calls;
		c.last_ns = playfile_header(f->input.file)->sum.recorded_ns;
		playfile_start(&cursor, f->input.file);
		while (!c.found && playfile_next(&cursor, &at))
			if (at.ns >= ns) {
				c.found = true;
				c.op = at.op;
			}
	} else {
		ret = count_recorded(f, &c, err);
	}
	*op = c.found ? c.op : c.ops;
	if (!ret && !f->trace && c.last_ns && ns > c.begin_ns + c.last_ns)
		ret = fail(err, -ERANGE, "the last call was made after %s",
			   format_ns(c.begin_ns + c.last_ns).s);
	return ret;
}

void films_output(const char *log, const char *extension, char *text, size_t room)
{
	const char *base = basename(running_name(log));
	size_t n;

	n = strlen(base);
	if (n > 4 && !strcmp(base + n - 4, ".log"))
		n -= 4;
	snprintf(text, room, "%.*s.%s", (int)n, base, extension);
}
