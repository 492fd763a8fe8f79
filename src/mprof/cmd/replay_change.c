// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay_change.c - `mprof replay LOG --drop-site F ...`: finds what a change would save. */
#include "replay_change.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "../print/print_change.h"
#include "../util/format.h"
#include "../profile/filters.h"
#include "../profile/path_numbers.h"
#include "../util/styled.h"
#include "../util/pager.h"
#include "cmd.h"
#include "playback_input.h"
#include "progress.h"

static int take_change(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	struct change_cli *c = to;
	struct error why;
	int ret;

	if (c->rules == CHANGE_RULES)
		return fail(err, -EINVAL, "--%s: at most %u changes at once", row->name,
			    CHANGE_RULES);
	ret = change_parse(&c->rule[c->rules++], (enum change_kind)row->least, arg, &why);
	return ret ? option_invalid(err, row, arg, "%s", why.text) : 0;
}

static const struct option_type change_type = { "change", take_change, NULL, COMPLETE_NOTHING };

#define CHANGE(name, kind, arg, help) \
	OPTION_CALL(0, name, arg, &change_type, help, .least = CHANGE_##kind)
const struct option_row option_change[] = {
	OPTION_TITLE(
	    "What if blocks were allocated differently (SITE: FUNCTION[:LINE] or stack:N):"),
	CHANGE("drop-site", DROP, "SITE", "Play without these blocks"),
	CHANGE("pool-site", POOL, "SITE[,chunk=SIZE][,free-list]",
	       "Allocate them from a pool of chunks [64K], one after the other or with a free "
	       "list for each size"),
	CHANGE("reserve-site", RESERVE, "SITE", "Allocate blocks that grow with their final size"),
	CHANGE("resize", RESIZE, "SITE=SIZE|xFACTOR",
	       "Change their size, or multiply it by FACTOR"),
	OPTION_END,
};

void change_cli_release(struct change_cli *c)
{
	while (c->rules)
		change_rule_release(&c->rule[--c->rules]);
}

/* ---- the two recordings ---- */

struct both {
	struct playback_input in[SIDES];
	struct profile names;
	bool named;
	struct path_numbers stacks;
	struct change *change;
};

/* Do the two stacks have the same text, as rows of a view? */
static bool same_stack(struct both *b, uint32_t stack, uint32_t site)
{
	return path_number(&b->stacks, b->names.paths, stack, false) ==
	       path_number(&b->stacks, b->names.paths, site, false);
}

static bool matches(void *context, const struct change_rule *r, uint32_t site)
{
	struct both *b = context;
	const struct sym_line *line;

	if (!site)
		return false;
	if (r->stack)
		return same_stack(b, r->stack, site);
	if (!r->line)
		return profile_has_function(&b->names, site, r->function);
	line = profile_asked(&b->names, site).line;
	return line && line->line == r->line && profile_is_function(line, r->function);
}

/* A rule that matches nothing in the trace is a mistake. */
static int check_rules(struct both *b, const struct change_cli *c)
{
	const struct stacks *stacks = trace_stacks(b->in[0].trace);
	const struct change_rule *r;
	struct error err = { "" };

	for (r = c->rule; r < c->rule + c->rules; r++) {
		if (r->stack >= stacks->nodes)
			return cmd_error(
			    STATUS_USAGE,
			    "'%s' has no %s; the views of mprof report show the numbers"
			    " of its stacks",
			    trace_path(b->in[0].trace), r->site);
		if (r->function && profile_knows_function(&b->names, r->function, &err))
			return cmd_error(STATUS_USAGE, "%s", err.text);
	}
	return STATUS_OK;
}

/* Opens the trace, which has the functions. */
static int open_as_it_is(struct both *b, const char *path, uint32_t process)
{
	const struct playback_options o = { .process = process };
	const struct profile_options names = { .by = PROFILE_BY_FUNCTION };
	struct error err = { "" };
	int status = playback_input_open(&b->in[0], path, &o);

	if (status)
		return status;
	if (!b->in[0].trace || !trace_stacks(b->in[0].trace)->definitions)
		return cmd_error(STATUS_FILE,
				 "'%s' has no call stacks, which name the functions to change; "
				 "use a trace recorded with call stacks",
				 path);
	if (profile_names(&b->names, b->in[0].trace, &names, &err))
		return cmd_error(STATUS_FOUND, "%s", err.text);
	b->named = true;
	b->stacks = (struct path_numbers)PATH_NUMBERS_EMPTY;
	return STATUS_OK;
}

/* Finds chains; the compiled calls are discarded. */
static int collect(struct both *b, uint32_t process, struct error *err)
{
	const struct compile_change hook = change_collect(b->change);
	const int fd = memfd_create("mprof-collect", MFD_CLOEXEC);
	const struct compile_options o = { .fd = fd, .process = process, .change = &hook };
	int ret = fd < 0 ? fail(err, -errno, "no temporary file: %s", strerror(errno)) : 0;

	if (!ret)
		ret = compile_trace(b->in[0].trace, &o, NULL, err);
	if (fd >= 0)
		close(fd);
	return ret;
}

static int open_changed(struct both *b, struct change_cli *c, uint32_t process)
{
	const struct change_plan plan = {
		.rule = c->rule,
		.rules = c->rules,
		.matches = matches,
		.context = b,
		.stacks = trace_stacks(b->in[0].trace),
	};
	struct playback_options o = { .process = process, .quiet = true };
	struct compile_change hook;
	struct error err = { "" };

	b->change = change_new(&plan);
	if (change_needs_collect(b->change) && collect(b, process, &err))
		return cmd_error(STATUS_FOUND, "%s", err.text);
	hook = change_apply(b->change);
	o.change = &hook;
	return playback_input_open(&b->in[1], trace_path(b->in[0].trace), &o);
}

static void close_both(struct both *b)
{
	unsigned s;

	change_free(b->change);
	if (b->named) {
		path_numbers_release(&b->stacks);
		profile_release(&b->names);
	}
	for (s = 0; s < SIDES; s++)
		if (b->in[s].file)
			playback_input_close(&b->in[s]);
}

/* ---- playing them ---- */

static void print(const struct change_answer *a, bool as_json)
{
	if (as_json) {
		json_print(stdout, change_json(a));
		return;
	}
	pager_start();
	terminal_fit();
	change_text(a, stdout);
}

/* Without a list, uses the allocator that nearly every program has. */
static int choose_variants(struct variants *vs, const struct replay_cli *cli, struct error *err)
{
	size_t i;
	int ret = 0;

	*vs = (struct variants){ .n = 0 };
	if (cli->allocators)
		return 0;
	ret = variants_parse(vs, "glibc", err);
	for (i = 0; cli->sets && cli->sets[i] && !ret; i++)
		variants_set(vs, cli->sets[i]);
	for (i = 0; i < vs->n; i++)
		vs->v[i].clear = cli->clear;
	return ret;
}

static int play_both(const char *path, const struct both *b, const struct change_cli *c,
		     struct replay_cli *cli, bool as_json)
{
	struct progress progress;
	const bool tell = progress_begin(&progress);
	struct change_runs_plan plan = { .side = { cli->plan, cli->plan },
					 .heaps = !cli->no_heaps };
	struct change_runs runs = { .n = 0 };
	const struct change_answer a = { path, c->rule, c->rules, &runs, &plan };
	struct error err = { "" };
	struct variants glibc;
	size_t played = 0, i;
	unsigned s;
	int ret = choose_variants(&glibc, cli, &err);

	for (s = 0; s < SIDES; s++) {
		plan.side[s].playback = b->in[s].path;
		plan.side[s].head = playfile_header(b->in[s].file);
		plan.side[s].progress = tell ? progress_run : NULL;
		plan.side[s].context = &progress;
	}
	if (!cli->clear)
		playback_configure(&b->in[0], glibc.n ? &glibc : &cli->variants, NULL);
	if (!ret)
		ret = change_runs_make(&runs, &plan, glibc.n ? &glibc : &cli->variants, &err);
	progress_done(&progress);
	if (!ret)
		print(&a, as_json);
	for (i = 0; i < runs.n; i++)
		played += !runs.row[i].status;
	change_runs_release(&runs);
	variants_release(&glibc);
	if (ret)
		return cmd_error(STATUS_FOUND, "%s", err.text);
	return played ? STATUS_OK : STATUS_FOUND;
}

/* Returns the option of a rule. */
static struct text option_of(const struct change_rule *r)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "--%s%s", change_kind_name(r->kind),
		 r->kind == CHANGE_RESIZE ? "" : "-site");
	return t;
}

/* Reports that every block was too large for its chunk, or aligned. */
static int none_fits(const struct change_rule *r)
{
	uint64_t chunk = r->chunk;

	while (chunk / 4 < r->refused_most && chunk < CHANGE_CHUNK_MOST)
		chunk *= 2;
	if (r->refused_most <= r->chunk / 4 || r->refused_most > chunk / 4)
		return cmd_error(
		    STATUS_USAGE,
		    "a pool does not suit the %s of '%s', of up to %s: it excludes blocks larger "
		    "than a quarter of a chunk, or aligned to more than 16 bytes",
		    format_many(r->refused, "block", "blocks").s, r->site,
		    format_bytes(r->refused_most).s);
	return cmd_error(
	    STATUS_USAGE,
	    "no block of '%s' fits into a pool: its %s of up to %s, and one block can use only a "
	    "quarter of a chunk of %s; try --pool-site '%s,chunk=%" PRIu64 "K'",
	    r->site, format_many(r->refused, "block is", "blocks are").s,
	    format_bytes(r->refused_most).s, format_bytes(r->chunk).s, r->site, chunk / 1024);
}

static int nothing_changed(const struct change_cli *c)
{
	const struct change_rule *r;

	for (r = c->rule; r < c->rule + c->rules; r++)
		if (r->blocks)
			return STATUS_OK;
	r = c->rule;
	if (r->refused)
		return none_fits(r);
	if (r->line)
		return cmd_error(STATUS_USAGE,
				 "no block is changed by %s %s: no call on that line allocates "
				 "directly; mprof report hot --by line shows those that do, and %s "
				 "%s covers everything that the function and its callees allocate",
				 option_of(r).s, r->site, option_of(r).s, r->function);
	return cmd_error(STATUS_USAGE,
			 "no block is changed by %s %s%s: mprof report callers shows what allocates"
			 " memory",
			 option_of(r).s, r->site,
			 r->kind == CHANGE_RESERVE ? ", because it does not grow step by step"
						   : "");
}

int change_run(const char *path, struct change_cli *c, struct replay_cli *cli, bool as_json)
{
	struct both b = { .change = NULL };
	int status = open_as_it_is(&b, path, cli->process);

	if (!status)
		status = check_rules(&b, c);
	if (!status)
		status = open_changed(&b, c, cli->process);
	if (!status)
		status = nothing_changed(c);
	if (!status)
		status = play_both(path, &b, c, cli, as_json);
	close_both(&b);
	return status;
}
