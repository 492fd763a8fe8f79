// SPDX-License-Identifier: LGPL-3.0-or-later
/* profile_options.c - the options of commands that look at call stacks. */
#include "profile_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../util/ranges.h"
#include "argument.h"
#include "cmd.h"

enum {
	FUNCTION = PROFILE_KEYS,
	SOURCE_FILE,
	MODULE,
	THREAD,
	PROCESS,
	SIZE,
	LIFETIME,
	TIME,
	KIND,
	TEMPORARY,
	NAMES,
	REWRITE,
	STOP_AT,
	WRAPPERS,
	DEBUG_DIR,
	SYSROOT,
	DEBUGINFOD,
	NO_SYMBOL_CACHE,
	SUPPRESSIONS,
	NO_BUILTIN,
};

static const struct argp_option options[] = {
	{ NULL, 0, NULL, 0, "Which blocks count:", 20 },
	{ "function", FUNCTION, "GLOB", 0, "Only stacks with a function that matches GLOB", 20 },
	{ "file", SOURCE_FILE, "GLOB", 0, "Only stacks with a source file that matches GLOB", 20 },
	{ "module", MODULE, "GLOB", 0, "Only stacks through a program or library that matches GLOB",
	  20 },
	{ "thread", THREAD, "NUMBER", 0,
	  "Only blocks that this thread allocated (its number in the run)", 20 },
	{ "process", PROCESS, "NUMBER", 0, "Only blocks of this process (its number in the run)",
	  20 },
	{ "size", SIZE, "A..B", 0, "Only blocks of these sizes, such as 64..1K, 1M.. or ..100",
	  20 },
	{ "lifetime", LIFETIME, "A..B", 0,
	  "Only blocks that lived this long, such as ..5us or 10ms..2s", 20 },
	{ "time", TIME, "A..B", 0,
	  "Only blocks allocated in this time range since the start of the run", 20 },
	{ "kind", KIND, "NAME[,NAME]", 0,
	  "Only blocks allocated by these functions: malloc, calloc, new ...", 20 },
	{ "temporary", TEMPORARY, "N|TIME", 0,
	  "Call a block temporary if its thread frees it within N calls, or within TIME [1]", 20 },
	{ NULL, 0, NULL, 0, "Leaks:", 22 },
	{ "suppressions", SUPPRESSIONS, "FILE", 0,
	  "Read suppressions from FILE, in LeakSanitizer's format; may be repeated", 22 },
	{ "no-builtin-suppressions", NO_BUILTIN, NULL, 0,
	  "Show what libc, libstdc++ and the loader keep, too", 22 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static const struct argp_option names_options[] = {
	{ NULL, 0, NULL, 0, "Names:", 21 },
	{ "names", NAMES, "short|full|raw", 0,
	  "Print names without parameters and template arguments, with them, or as linked [short]",
	  21 },
	{ "rewrite", REWRITE, "s/REGEX/TEXT/", 0, "Change names; may be repeated", 21 },
	{ "stop-at", STOP_AT, "REGEX", 0,
	  "Count what these functions call as their own; may be repeated", 21 },
	{ "wrappers", WRAPPERS, NULL, 0, "Show malloc, operator new and similar functions, too",
	  21 },
	{ "debug-dir", DEBUG_DIR, "DIR", 0, "Look for debug files in DIR, too; may be repeated",
	  21 },
	{ "sysroot", SYSROOT, "DIR", 0, "Look for the files of the recorded machine below DIR",
	  21 },
	{ "debuginfod", DEBUGINFOD, NULL, 0, "Ask the servers of DEBUGINFOD_URLS, too", 21 },
	{ "no-symbol-cache", NO_SYMBOL_CACHE, NULL, 0, "Do not use the cache of names on disk",
	  21 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

/* ---- words ---- */

static const struct {
	const char *name;
	unsigned code;
} kinds[] = {
#define CLASS_ALLOC			      1
#define CLASS_REALLOC			      1
#define CLASS_MAP			      1
#define CLASS_FREE			      0
#define MPROF_FUNCTION(id, code, name, class) { CLASS_##class ? name : NULL, code },
#include <mprof/functions.def>
#undef MPROF_FUNCTION
	{ "new", MPROF_FN_NEW },
	{ "new[]", MPROF_FN_NEW_ARRAY },
};

static uint32_t kind_of(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (kinds[i].name && !strcmp(kinds[i].name, name))
			return 1u << kinds[i].code;
	return 0;
}

static void add_kinds(struct site_filter *f, const char *arg, struct argp_state *state)
{
	char *copy = strdup(arg), *word, *rest;
	uint32_t kind;

	for (word = copy ? strtok_r(copy, ",", &rest) : NULL; word;
	     word = strtok_r(NULL, ",", &rest)) {
		kind = kind_of(word);
		if (!kind)
			argp_error(state,
				   "invalid --kind '%s': expected functions that allocate: malloc, "
				   "calloc, realloc, new, new[], memalign, mmap ...",
				   word);
		f->functions |= kind;
	}
	free(copy);
}

static void set_temporary(struct sites_options *o, const char *arg, struct argp_state *state)
{
	struct error err;

	if (!arg[strspn(arg, "0123456789")]) {
		if (parse_whole(arg, 1, SITE_TEMPORARY_MOST, &o->temporary_events))
			argp_error(
			    state,
			    "invalid --temporary '%s': expected 1 to %u calls, or a time such "
			    "as 1ms",
			    arg, SITE_TEMPORARY_MOST);
	} else if (parse_time(arg, &o->temporary_ns, &err)) {
		argp_error(state, "invalid --temporary: %s; expected a number of calls or a time",
			   err.text);
	}
}

static void set_range(struct site_filter *f, int key, const char *arg, struct argp_state *state)
{
	uint64_t least, most;
	struct error err;
	int ret = key == SIZE ? parse_sizes(arg, &least, &most, &err)
			      : parse_times(arg, &least, &most, &err);

	if (ret) {
		argp_error(state, "%s", err.text);
	} else if (key == SIZE) {
		f->size_min = least;
		f->size_max = most;
	} else if (key == LIFETIME) {
		f->lifetime_min_ns = least;
		f->lifetime_max_ns = most;
	} else {
		/* Nothing began before the start: a range from 0 leaves out nothing. */
		f->from_ns = least ? (int64_t)least : INT64_MIN;
		f->to_ns = most > INT64_MAX ? INT64_MAX : (int64_t)most;
	}
}

/* ---- the parser ---- */

static error_t parse_filter(int key, char *arg, struct argp_state *state)
{
	struct profile_cli *c = state->input;
	struct profile_options *o = &c->options;
	struct site_filter *f = &o->sites.filter;

	if (key >= FUNCTION && key <= TEMPORARY)
		c->filter = options[key - FUNCTION + 1].name;

	switch (key) {
	case FUNCTION:
		o->function = arg;
		return 0;
	case SOURCE_FILE:
		o->file = arg;
		return 0;
	case MODULE:
		o->module = arg;
		return 0;
	case THREAD:
		f->thread = argument_number(arg, "thread", state);
		return 0;
	case PROCESS:
		f->process = argument_number(arg, "process", state);
		return 0;
	case SIZE:
	case LIFETIME:
	case TIME:
		set_range(f, key, arg, state);
		return 0;
	case KIND:
		add_kinds(f, arg, state);
		return 0;
	case TEMPORARY:
		set_temporary(&o->sites, arg, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_names(int key, char *arg, struct argp_state *state)
{
	struct profile_cli *c = state->input;
	struct profile_options *o = &c->options;

	switch (key) {
	case NAMES:
		o->sym.names = (enum sym_names)argument_word(arg, WORDS_NAMES, state);
		return 0;
	case REWRITE:
		argument_add(&c->rewrite, arg, state);
		return 0;
	case STOP_AT:
		argument_add(&c->stop, arg, state);
		return 0;
	case WRAPPERS:
		o->wrappers = true;
		return 0;
	case DEBUG_DIR:
		argument_add(&c->debug_dir, arg, state);
		return 0;
	case SYSROOT:
		o->sym.sysroot = arg;
		return 0;
	case DEBUGINFOD:
		o->sym.debuginfod = true;
		return 0;
	case NO_SYMBOL_CACHE:
		o->sym.no_cache = true;
		return 0;
	case ARGP_KEY_END:
		o->sym.debug_dir = c->debug_dir.item;
		o->sym.rewrite = c->rewrite.item;
		o->sym.stop = c->stop.item;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct profile_cli *c = state->input;

	switch (key) {
	case SUPPRESSIONS:
		argument_add(&c->suppressions, arg, state);
		return 0;
	case NO_BUILTIN:
		c->options.no_builtin_suppressions = true;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = c;
		return 0;
	case ARGP_KEY_END:
		c->options.suppressions = c->suppressions.item;
		return 0;
	default:
		return parse_filter(key, arg, state);
	}
}

const struct argp profile_names_argp = { .options = names_options, .parser = parse_names };

static const struct argp_child children[] = {
	{ &profile_names_argp, 0, NULL, 0 },
	{ NULL, 0, NULL, 0 },
};

const struct argp profile_argp = { .options = options, .parser = parse, .children = children };

void profile_cli_init(struct profile_cli *c)
{
	*c = (struct profile_cli){ .options = { .sites = { .filter = SITE_FILTER_ALL } } };
}

void profile_cli_release(struct profile_cli *c)
{
	free(c->suppressions.item);
	free(c->debug_dir.item);
	free(c->rewrite.item);
	free(c->stop.item);
	c->suppressions = c->debug_dir = c->rewrite = c->stop = (struct argument_list){ NULL, 0 };
}

/* ---- what is missing ---- */

#define REMARKS 3u

static void tell(const struct profile *p, const struct sym_remark *remark)
{
	if (remark->object)
		cmd_warn("no names for '%s': %s", p->stacks->object[remark->object].path,
			 remark->why);
	else
		cmd_warn("%s", remark->why);
}

void profile_tell_estimates(const struct profile *p)
{
	if (p->sites.totals.estimated)
		cmd_warn("'%s' holds estimates from %" PRIu64 " samples; mprof report gives their"
			 " ranges",
			 p->path, p->total.error.samples);
}

void profile_tell_remarks(const struct profile *p)
{
	const struct sym_remark *remark;
	size_t n = sym_remarks(p->sym, &remark), i;

	for (i = 0; i < n && i < REMARKS; i++)
		tell(p, &remark[i]);
	if (n > REMARKS)
		cmd_warn("and %zu more objects have no names", n - REMARKS);
}

void profile_tell_remarks_of(const struct profile *p, const char *const *module, size_t n)
{
	const struct sym_remark *remark;
	size_t remarks = sym_remarks(p->sym, &remark), i, k;

	for (i = 0; i < remarks; i++) {
		const char *path = p->stacks->object[remark[i].object].path;
		const char *slash = strrchr(path, '/');

		for (k = 0; k < n; k++)
			if (!strcmp(slash ? slash + 1 : path, module[k]))
				break;
		if (k < n)
			tell(p, &remark[i]);
	}
}
