// SPDX-License-Identifier: LGPL-3.0-or-later
/* playback_input.c - from any record to a playback file. */
#include "playback_input.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util/format.h"
#include "../import/import.h"
#include "../run/library.h"
#include "../util/alloc.h"
#include "../util/ranges.h"
#include "../util/outputs.h"
#include "cmd.h"
#include "missing.h"
#include "progress.h"

static int take_process(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	uint64_t n = COMPILE_ALL;

	if (strcmp(arg, "all") && parse_whole(arg, 1, COMPILE_ALL - 1, &n))
		return option_invalid(err, row, arg, "the number of a process in the run, or all");
	*(uint32_t *)to = (uint32_t)n;
	return 0;
}

static const char *const all[] = { "all", NULL };
const struct option_type option_process_or_all = { "process", take_process, all, COMPLETE_NOTHING };

/* ---- what is said about it ---- */

static void told(uint64_t n, const char *one, const char *many, const char *what)
{
	if (n)
		cmd_warn("%s %s", format_many(n, one, many).s, what);
}

/* Unreadable lines of another tool's record were reported one by one. */
static void tell_mended(const struct mprof_play_summary *s, bool of_trace)
{
	told(s->unknown_frees, "free", "frees",
	     "of blocks whose allocation was not recorded: left out");
	told(s->inherited_frees, "free", "frees", "of blocks from before the first call: left out");
	told(s->double_allocations, "block", "blocks",
	     "allocated at an address still in use: a free was inserted");
	told(s->inversions, "call", "calls", "in the wrong order, repaired");
	told(s->lost, "call", "calls", "lost while recording");
	told(of_trace ? s->damaged : 0, "place", "places",
	     "in the file cannot be read: what follows is missing");
}

static void tell_choice(const struct playback_source *s)
{
	char *text = program_choice_text(&s->choice);

	if (text)
		fprintf(stderr, "mprof: %s\n", text);
	free(text);
}

/* ---- compiling ---- */

/* A number that the trace does not have is a usage error. */
static int status_of(int ret)
{
	return ret == -ESRCH ? STATUS_USAGE : ret == -EINVAL ? STATUS_FILE : STATUS_FOUND;
}

static int compile_log(struct playback_source *s, const char *out, int fd,
		       const struct playback_options *o, struct mprof_play_summary *sum)
{
	struct compile_options options = {
		.path = out,
		.fd = fd,
		.change = o->change,
		.process = o->process,
		.only = s->choice.chosen,
	};
	struct progress progress;
	struct error err;
	int ret;

	options.progress = progress_start(&progress);
	options.progress_context = &progress;
	ret = compile_trace(s->trace, &options, sum, &err);
	progress_done(&progress);
	return ret ? cmd_error(status_of(ret), "%s", err.text) : STATUS_OK;
}

static int choose(struct playback_source *s, const struct playback_options *o)
{
	struct error err;
	int ret;

	if (!programs_many(s->trace))
		return STATUS_OK;
	ret = programs_find(s->trace, &s->program, &s->choice.n, &err);
	s->choice.list = s->program;
	if (!ret && o->process != COMPILE_ALL)
		ret = programs_choose(s->trace, s->program, s->choice.n, o->process,
				      &s->choice.chosen, &err);
	return ret ? cmd_error(status_of(ret), "%s", err.text) : STATUS_OK;
}

static int open_and_compile(struct playback_source *s, const char *path, const char *out, int fd,
			    const struct playback_options *o, struct mprof_play_summary *sum)
{
	struct error err;
	int status;

	if (import_open(&s->trace, path, MPROF_MAGIC_TRACE, &err))
		return cmd_error(STATUS_FILE, "%s", err.text);
	if (import_title(s->trace) && o->process && o->process != COMPILE_ALL)
		return cmd_error(STATUS_USAGE, "'%s' is %s, which does not number processes", path,
				 import_title(s->trace));
	status = choose(s, o);
	if (!status && !o->quiet)
		tell_choice(s);
	return status ? status : compile_log(s, out, fd, o, sum);
}

int playback_compile(const char *path, const char *out, int fd, const struct playback_options *o,
		     struct playback_source *source, struct mprof_play_summary *sum)
{
	/* A limit on the size of files is an error of write() then, like a full disk. */
	void (*limit)(int) = signal(SIGXFSZ, SIG_IGN);
	int status;

	*source = (struct playback_source){ .trace = NULL };
	status = open_and_compile(source, path, out, fd, o, sum);
	signal(SIGXFSZ, limit);
	if (!status && !o->change)
		missing_of_playback(source->trace);
	if (status)
		playback_source_release(source);
	else if (!o->quiet)
		tell_mended(sum, !missing_lines(source->trace));
	return status;
}

void playback_source_release(struct playback_source *s)
{
	trace_close(s->trace);
	free(s->program);
	*s = (struct playback_source){ .trace = NULL };
}

/* ---- for players ---- */

/* Returns the trace that the file names, for names of sites, if that is unchanged. */
static struct trace *source_of(const struct playfile *p)
{
	const struct mprof_playback_header *h = playfile_header(p);
	struct trace *t = NULL;

	if (!(h->flags & MPROF_PLAY_HAS_SITES) || !*h->source)
		return NULL;
	if (trace_open(&t, h->source, MPROF_MAGIC_TRACE, NULL))
		return NULL;
	if (!memcmp(trace_header(t)->run_id, h->run_id, sizeof(h->run_id)))
		return t;
	trace_close(t);
	return NULL;
}

static int open_compiled(struct playback_input *in, const char *path,
			 const struct playback_options *o)
{
	struct playback_source source;
	struct mprof_play_summary sum;
	int status;

	in->fd = temporary_file(NULL);
	if (in->fd < 0)
		return cmd_error(
		    STATUS_FOUND,
		    "cannot create a temporary file: %s; set TMPDIR to another directory",
		    strerror(-in->fd));
	status = playback_compile(path, NULL, in->fd, o, &source, &sum);
	if (status)
		return status;
	if (!import_title(source.trace)) {
		in->trace = source.trace;
		source.trace = NULL;
		in->program = source.program;
		source.program = NULL;
		in->choice = source.choice;
	}
	playback_source_release(&source);
	/* Another process of ours can open it by this name while we have it open. */
	snprintf(in->text, sizeof(in->text), "/proc/%d/fd/%d", (int)getpid(), in->fd);
	in->path = in->text;
	return STATUS_OK;
}

int playback_input_open(struct playback_input *in, const char *path,
			const struct playback_options *o)
{
	struct error err;
	int status = STATUS_OK;

	*in = (struct playback_input){ .path = path, .fd = -1 };
	if (!playfile_is(path))
		status = open_compiled(in, path, o);
	else if (o->process)
		status = cmd_error(STATUS_USAGE,
				   "'%s' is a playback file: --process needs the trace", path);
	else if (o->change)
		status = cmd_error(STATUS_USAGE, "'%s' is a playback file: changes need the trace",
				   path);
	if (!status && playfile_open(&in->file, in->path, &err))
		status = cmd_error(STATUS_FILE, "%s", err.text);
	if (status)
		playback_input_close(in);
	else if (in->fd < 0)
		in->trace = source_of(in->file);
	return status;
}

void playback_input_close(struct playback_input *in)
{
	playfile_close(in->file);
	trace_close(in->trace);
	free(in->program);
	if (in->fd >= 0)
		close(in->fd);
	*in = (struct playback_input){ .fd = -1 };
}

static const struct trace_fact *program_of(const struct playback_input *in)
{
	return in->trace ? compile_fact_of(in->trace, playfile_header(in->file)->program) : NULL;
}

const char *playback_allocator(const struct playback_input *in)
{
	const struct trace_fact *f = program_of(in);

	return f && *f->allocator ? f->allocator : NULL;
}

static bool is_allocator(const struct variant *v, const char *used)
{
	const char *name = allocator_name(used), *its = *v->so ? allocator_name(v->so) : "glibc";

	return name ? its && !strcmp(its, name) : !strcmp(v->so, used);
}

/* Is it a setting of the allocator of this program?  Most tunables are the loader's. */
static bool is_setting(const struct trace_fact *f, const struct trace_fact *program)
{
	return f->fact->what == MPROF_FACT_SET && f->process == program->process &&
	       f->image == program->image &&
	       (strncmp(f->set, "GLIBC_TUNABLES=", 15) || strstr(f->set, "malloc."));
}

struct thread_titles playback_input_threads(const struct playback_input *in)
{
	uint32_t *number = playfile_thread_numbers(in->file);
	struct thread_titles titles =
	    thread_titles_make(in->trace, number, playfile_header(in->file)->threads);

	free(number);
	return titles;
}

size_t playback_configure(const struct playback_input *in, struct variants *vs,
			  const char ***settings)
{
	const struct trace_fact *program = program_of(in), *f;
	const char **list = NULL;
	size_t n, i, count = 0, room = 0;
	bool added;

	/* The last call counts. */
	for (n = program && *program->allocator ? trace_facts(in->trace, &f) : 0; n--;) {
		added = false;
		for (i = 0; i < vs->n && is_setting(&f[n], program); i++)
			if (is_allocator(&vs->v[i], program->allocator))
				added |= variant_add(&vs->v[i], f[n].set);
		if (!added)
			continue;
		GROW(list, count + 1, room);
		list[count++] = f[n].set;
	}
	if (settings)
		*settings = list;
	else
		free(list);
	return count;
}
