// SPDX-License-Identifier: LGPL-3.0-or-later
/* filters.c - explains why nothing passes. */
#include "filters.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../util/nearest.h"
#include "paths.h"

/* The names that a pattern is compared with. */
enum kind { FUNCTION, SOURCE_FILE, MODULE, KINDS };

static const struct {
	const char *option, *what;
} kinds[KINDS] = {
	[FUNCTION] = { "--function", "function" },
	[SOURCE_FILE] = { "--file", "source file" },
	[MODULE] = { "--module", "program or library" },
};

static const char *name_of(const struct sym_line *line, enum kind kind)
{
	return kind == FUNCTION	     ? line->function
	       : kind == SOURCE_FILE ? basename(line->file)
				     : line->module;
}

static bool matches(const struct sym_line *line, enum kind kind, const char *pattern)
{
	return kind == FUNCTION	     ? paths_is_function(pattern, line)
	       : kind == SOURCE_FILE ? paths_is_file(pattern, line->file)
				     : paths_is_file(pattern, line->module);
}

bool profile_is_function(const struct sym_line *line, const char *pattern)
{
	return paths_is_function(pattern, line);
}

/* ---- the nearest name ---- */

struct nearest {
	char word[256]; /* the requested name, without characters of patterns */
	unsigned limit;
	const struct sym_line *line;
	unsigned distance;
	bool ours;
	size_t length;
};

static void nearest_begin(struct nearest *n, const char *pattern)
{
	size_t i = 0;

	for (; *pattern && i + 1 < sizeof(n->word); pattern++)
		if (!strchr("*?[]\\", *pattern))
			n->word[i++] = *pattern;
	n->word[i] = '\0';
	n->limit = nearest_limit(n->word);
	n->line = NULL;
}

static bool is_better(const struct nearest *n, unsigned distance, bool ours, size_t length)
{
	if (!n->line || distance != n->distance)
		return !n->line || distance < n->distance;
	if (ours != n->ours)
		return ours;
	return length < n->length;
}

/* Copies the part of a name that a reader would type: without parameters, namespaces and
 * classes. */
static void bare(const char *name, char *to, size_t room)
{
	size_t n = strcspn(name, "(<");
	const char *colon = memrchr(name, ':', n);

	if (!n)
		n = strlen(name);
	if (colon) {
		n -= (size_t)(colon + 1 - name);
		name = colon + 1;
	}
	snprintf(to, room, "%.*s", (int)n, name);
}

static void nearest_offer(struct nearest *n, const struct sym_line *line, enum kind kind)
{
	const char *name = name_of(line, kind);
	unsigned distance, other;
	char text[256];

	if (!*n->word || !*name || (kind == FUNCTION && !line->known))
		return;
	distance = strcasestr(name, n->word) ? 0 : nearest_distance(n->word, name);
	if (kind == FUNCTION && distance) {
		bare(name, text, sizeof(text));
		other = nearest_distance(n->word, text);
		distance = other < distance ? other : distance;
	}
	if (distance >= n->limit)
		return;
	if (is_better(n, distance, paths_part(line) == PATHS_PROGRAM, strlen(name))) {
		n->line = line;
		n->distance = distance;
		n->ours = paths_part(line) == PATHS_PROGRAM;
		n->length = strlen(name);
	}
}

/* Does the trace have such a line?  If not, finds the nearest. */
static bool look_for(struct profile *p, enum kind kind, const char *pattern, struct nearest *n)
{
	const struct sym_lines *lines;
	uint32_t frame;
	size_t i;

	for (frame = 1; frame < p->stacks->frames; frame++) {
		lines = sym_frame(p->sym, frame);
		for (i = 0; lines && i < lines->count; i++) {
			if (matches(&lines->line[i], kind, pattern))
				return true;
			nearest_offer(n, &lines->line[i], kind);
		}
	}
	return false;
}

static int unknown(const char *path, enum kind kind, const char *pattern, const struct nearest *n,
		   struct error *err)
{
	if (n->line)
		return fail(
		    err, -EINVAL,
		    "no stack in '%.120s' goes through a %s '%.120s'; did you mean '%.120s'?", path,
		    kinds[kind].what, pattern, name_of(n->line, kind));
	return fail(err, -EINVAL, "no stack in '%.120s' goes through a %s '%.120s'", path,
		    kinds[kind].what, pattern);
}

int profile_knows_function(struct profile *p, const char *function, struct error *err)
{
	struct nearest n;

	nearest_begin(&n, function);
	return look_for(p, FUNCTION, function, &n) ? 0
						   : unknown(p->path, FUNCTION, function, &n, err);
}

/* ---- filters ---- */

static const char *pattern_of(const struct profile_options *o, enum kind kind)
{
	return kind == FUNCTION ? o->function : kind == SOURCE_FILE ? o->file : o->module;
}

static int check_patterns(struct profile *const *p, size_t n, const struct profile_options *o,
			  struct error *err)
{
	const char *pattern;
	struct nearest near;
	const char *path;
	size_t i, looked;
	int kind;

	for (kind = 0; kind < KINDS; kind++) {
		pattern = pattern_of(o, (enum kind)kind);
		if (!pattern)
			continue;
		nearest_begin(&near, pattern);
		path = NULL;
		for (i = looked = 0; i < n; i++) {
			if (!p[i] || !p[i]->has_stacks)
				continue;
			looked++;
			path = p[i]->path;
			if (look_for(p[i], (enum kind)kind, pattern, &near))
				break;
		}
		if (!looked)
			return fail(err, -EINVAL,
				    "%s needs call stacks, and there are none: the trace was"
				    " recorded with UNWIND=none, or by another tool",
				    kinds[kind].option);
		if (i == n)
			return unknown(path, (enum kind)kind, pattern, &near, err);
	}
	return 0;
}

static bool has_process(const struct profile *p, uint32_t number)
{
	size_t i;

	for (i = 0; i < p->walk.heap.processes; i++)
		if (p->walk.heap.process[i]->number == number)
			return true;
	return tree_find(&p->tree, number);
}

static bool has_thread(const struct profile *p, uint32_t number)
{
	size_t i;

	for (i = 0; i < p->walk.heap.threads; i++)
		if (p->walk.heap.thread[i].number == number)
			return true;
	return false;
}

static uint32_t highest(const struct profile *p, bool threads)
{
	const struct heap *h = &p->walk.heap;
	uint32_t most = 0, number;
	size_t i;

	for (i = 0; i < (threads ? h->threads : h->processes); i++) {
		number = threads ? h->thread[i].number : h->process[i]->number;
		most = number > most ? number : most;
	}
	for (i = 0; !threads && i < p->tree.processes; i++)
		most = p->tree.process[i].number > most ? p->tree.process[i].number : most;
	return most;
}

static int check_number(struct profile *const *p, size_t n, uint32_t number, bool threads,
			struct error *err)
{
	const struct profile *first = NULL;
	uint32_t most;
	size_t i;

	for (i = 0; i < n; i++) {
		if (!p[i])
			continue;
		first = first ? first : p[i];
		if (threads ? has_thread(p[i], number) : has_process(p[i], number))
			return 0;
	}
	most = first ? highest(first, threads) : 0;
	if (most < 2)
		return fail(err, -EINVAL, "no %s %" PRIu32 " in '%.200s': it has only number 1",
			    threads ? "thread" : "process", number, first ? first->path : "");
	return fail(err, -EINVAL,
		    "no %s %" PRIu32 " in '%.200s': its numbers go from 1 to %" PRIu32
		    "; mprof report %s",
		    threads ? "thread" : "process", number, first ? first->path : "", most,
		    threads ? "threads shows them" : "names the processes");
}

static int check_names(struct profile *const *p, size_t n, const struct thread_choice *choice,
		       struct error *err)
{
	const struct profile *first = NULL;

	for (size_t i = 0; i < n; i++) {
		if (!p[i])
			continue;
		first = first ? first : p[i];
		if (trace_has_chosen(p[i]->trace))
			return 0;
	}
	return fail(err, -EINVAL, "no thread in '%.200s' has the name '%.80s'%s",
		    first ? first->path : "", choice->pattern,
		    first && trace_has_thread_names(first->trace)
			? "; mprof report threads shows names"
			: ": none has a name");
}

static void add_word(struct error *to, const char *option, const char *value)
{
	const size_t n = strlen(to->text);

	snprintf(to->text + n, sizeof(to->text) - n, "%s%s%s%.80s", n ? " " : "", option,
		 value ? " " : "", value ? value : "");
}

/* Lists the options that no block passes, as typed. */
static void list_options(const struct profile_options *o, struct error *to)
{
	const struct site_filter all = SITE_FILTER_ALL, *f = &o->sites.filter;
	char number[16];
	int kind;

	*to->text = '\0';
	for (kind = 0; kind < KINDS; kind++)
		if (pattern_of(o, (enum kind)kind))
			add_word(to, kinds[kind].option, pattern_of(o, (enum kind)kind));
	if (o->without)
		add_word(to, "--without", o->without);
	snprintf(number, sizeof(number), "%" PRIu32, f->process);
	if (f->process)
		add_word(to, "--process", number);
	snprintf(number, sizeof(number), "%" PRIu32, f->thread.number);
	if (thread_is_chosen(&f->thread))
		add_word(to, "--thread", f->thread.pattern ?: number);
	if (f->size_min != all.size_min || f->size_max != all.size_max)
		add_word(to, "--size", NULL);
	if (f->lifetime_min_ns != all.lifetime_min_ns || f->lifetime_max_ns != all.lifetime_max_ns)
		add_word(to, "--lifetime", NULL);
	if (f->from_ns != all.from_ns || f->to_ns != all.to_ns)
		add_word(to, "--time", NULL);
	if (f->functions)
		add_word(to, "--kind", NULL);
}

int filters_refuse(const struct profile_options *o, bool of_process, const char *view,
		   struct error *err)
{
	struct profile_options others = *o;
	struct error options;

	if (of_process)
		others.sites.filter.process = 0;
	list_options(&others, &options);
	if (!*options.text)
		return 0;
	return fail(err, -EINVAL, "report %s shows %s: leave out %.300s", view,
		    of_process ? "all blocks of the run, or of one process" : "the whole run",
		    options.text);
}

int filters_check(struct profile *const *p, size_t n, const struct profile_options *o,
		  struct error *nothing, struct error *err)
{
	const struct site_filter *f = &o->sites.filter;
	struct error options;
	size_t i;
	int ret;

	if (nothing)
		*nothing->text = '\0';
	for (i = 0; i < n; i++)
		/* Rows without the figure that a view shows may have been left out. */
		if (p[i] && (p[i]->count || p[i]->total.calls))
			return 0;
	list_options(o, &options);
	if (!*options.text)
		return 0;
	ret = f->process ? check_number(p, n, f->process, false, err) : 0;
	/* The trace names all its processes; of threads, a walk that ends early knows only those
	 * that made a call. */
	if (!ret && f->thread.number && !o->sites.until.set)
		ret = check_number(p, n, f->thread.number, true, err);
	if (!ret && f->thread.pattern)
		ret = check_names(p, n, &f->thread, err);
	if (!ret)
		ret = check_patterns(p, n, o, err);
	if (!ret && nothing)
		snprintf(nothing->text, sizeof(nothing->text), "no block passes %.300s%s",
			 options.text,
			 strchr(options.text + 1, '-') && strstr(options.text, " --")
			     ? ": each occurs in the trace, but no block matches all of them"
			     : "");
	return ret;
}
