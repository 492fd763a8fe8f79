// SPDX-License-Identifier: LGPL-3.0-or-later
/* compile_trace.c - chooses the program of a trace, and fills in its header. */
#include <stdlib.h>
#include <string.h>

#include "compile_feed.h"

static void join_arguments(const struct trace_fact *f, char *to, size_t room)
{
	size_t used = 0, i, n;

	to[0] = '\0';
	for (i = 0; f && i < f->argc && used + 1 < room; i++) {
		if (i)
			to[used++] = ' ';
		n = strnlen(f->argv[i], room - 1 - used);
		memcpy(to + used, f->argv[i], n);
		used += n;
		to[used] = '\0';
	}
}

const struct trace_fact *compile_fact_of(const struct trace *t, const char *program)
{
	char its[sizeof(((struct mprof_playback_header *)NULL)->program)];
	const struct trace_fact *f;
	size_t n;

	for (n = trace_facts(t, &f); n; n--, f++) {
		if (f->fact->what > MPROF_FACT_EXEC || !f->argc)
			continue;
		join_arguments(f, its, sizeof(its));
		if (!strcmp(its, program))
			return f;
	}
	return NULL;
}

static bool may_have_touched(const struct trace *t)
{
	return trace_header(t)->flags & MPROF_FILE_TOUCHED;
}

/* Did the program load libstdc++?  It allocates its pool for exceptions itself, so it is in the
 * stacks of each such trace. */
static bool had_libstdcxx(const struct trace *t)
{
	static const char prefix[] = "libstdc++.so.";
	const struct stacks *s = trace_stacks(t);
	size_t i;

	for (i = 1; i < s->objects; i++) {
		if (!strncmp(basename(s->object[i].path), prefix, sizeof(prefix) - 1))
			return true;
	}
	return false;
}

/* Chooses the program to compile, and the fact with its arguments. */
static int choose(struct trace *t, struct compile_options *o, uint32_t *image,
		  const struct trace_fact **fact, struct error *err)
{
	struct trace_program only;
	const int ret = o->only ? 0 : programs_pick(t, o->process, &only, err);

	if (ret)
		return ret;
	if (o->only)
		only = *o->only;
	*fact = only.fact;
	*image = only.image;
	if (o->process != COMPILE_ALL)
		o->process = only.number;
	return 0;
}

/* Takes the only program.  False if it is not the requested one, or unknown. */
static bool take_single(struct trace *t, struct compile_options *o, const struct trace_fact **fact)
{
	const struct trace_thread *thread;
	const struct trace_fact *f;
	size_t n = trace_threads(t, &thread);
	const uint32_t number = n ? thread[0].process : 1;

	if ((!n && !trace_source(t)) ||
	    (o->process && o->process != COMPILE_ALL && o->process != number))
		return false;
	o->process = number;
	for (n = trace_facts(t, &f); n && !*fact; n--, f++)
		if (f->fact->what == MPROF_FACT_START && f->process == number && f->argc)
			*fact = f;
	return *fact || trace_source(t);
}

int compile_trace(struct trace *t, const struct compile_options *options,
		  struct mprof_play_summary *sum, struct error *err)
{
	struct compile_options o = *options;
	const struct trace_fact *fact = NULL;
	char program[256], *source = realpath(trace_path(t), NULL);
	struct walk_input in;
	uint32_t image = 0;
	int ret = 0;

	if (o.only || programs_many(t) || !take_single(t, &o, &fact))
		ret = choose(t, &o, &image, &fact, err);
	join_arguments(fact, program, sizeof(program));
	o.program = o.program ? o.program : program;
	o.source = o.source ? o.source : source;
	o.input = o.input ? o.input : trace_source(t) ? trace_source(t)->format : "mprof";
	o.untimed |= trace_source(t) && !trace_source(t)->timed;
	o.run_id = o.run_id ? o.run_id : trace_header(t)->run_id;
	o.sites |= trace_stacks(t)->definitions > 0;
	o.touch |= may_have_touched(t);
	o.flags |= had_libstdcxx(t) ? MPROF_PLAY_LIBSTDCXX : 0;
	trace_rewind(t);
	walk_input_from_trace(&in, t);
	if (!ret)
		ret = compile_feed(&in, &o, image, trace_damage(t), sum, err);
	trace_rewind(t);
	free(source);
	return ret;
}
