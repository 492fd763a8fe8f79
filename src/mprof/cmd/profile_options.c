// SPDX-License-Identifier: LGPL-3.0-or-later
/* profile_options.c - the options of commands that use call stacks. */
#include "profile_options.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../sym/rewrite.h"
#include "../util/alloc.h"
#include "../util/ranges.h"
#include "cmd.h"

/* ---- words ---- */

#define KIND_ALLOC(name)   name,
#define KIND_REALLOC(name) name,
#define KIND_MAP(name)	   name,
#define KIND_FREE(name)
static const char *const kinds[] = {
#define MPROF_FUNCTION(id, code, name, class) KIND_##class(name)
#include <mprof/functions.def>
	"new",
	"new[]",
	NULL,
};
static const uint8_t kind_codes[] = {
#define MPROF_FUNCTION(id, code, name, class) KIND_##class(code)
#include <mprof/functions.def>
	MPROF_FN_NEW,
	MPROF_FN_NEW_ARRAY,
};

static const struct option_type rewrite_type;

static int take_temporary(const struct option_row *row, const char *arg, void *to,
			  struct error *err)
{
	struct sites_options *o = to;

	if (!arg[strspn(arg, "0123456789")]
		? parse_whole(arg, 1, SITE_TEMPORARY_MOST, &o->temporary_events)
		: parse_time(arg, &o->temporary_ns))
		return option_invalid(err, row, arg, "1 to %u calls, or a time such as 1ms",
				      SITE_TEMPORARY_MOST);
	return 0;
}

/* Nothing began before the start, so a range from 0 leaves out nothing. */
static int take_period(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	uint64_t range[2];
	int64_t *ns = to;
	int ret = option_times.take(row, arg, range, err);

	if (ret)
		return ret;
	ns[0] = range[0] ? (int64_t)range[0] : INT64_MIN;
	ns[1] = range[1] > INT64_MAX ? INT64_MAX : (int64_t)range[1];
	return 0;
}

/* A rule of --rewrite, or the expression of --stop-at. */
static int take_rewrite(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	struct error expected;
	int ret = row->type == &rewrite_type ? rewrite_check_rule(arg, &expected)
					     : rewrite_check_stop(arg, &expected);

	if (ret)
		return option_invalid(err, row, arg, "%s", expected.text);
	option_add(to, arg);
	return 0;
}

static int take_glob(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	if (!*arg)
		return option_invalid(err, row, arg, "a name or a pattern such as parse*");
	*(const char **)to = arg;
	return 0;
}

static int take_threads(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	struct thread_choice *c = to;
	uint64_t n;

	if (!*arg)
		return option_invalid(err, row, arg, "a number, or a name such as worker*");
	if (arg[strspn(arg, "0123456789")]) {
		c->pattern = arg;
		return 0;
	}
	if (parse_whole(arg, 1, UINT32_MAX, &n))
		return option_invalid(err, row, arg, "1 to %" PRIu32 ", or a name", UINT32_MAX);
	c->number = (uint32_t)n;
	return 0;
}

const struct option_type option_threads = { "thread", take_threads, NULL, COMPLETE_NOTHING };
static const struct option_type rewrite_type = { "rule", take_rewrite, NULL, COMPLETE_NOTHING };
static const struct option_type glob_type = { "glob", take_glob, NULL, COMPLETE_NOTHING };
static const struct option_type regex_type = { "regex", take_rewrite, NULL, COMPLETE_NOTHING };
static const struct option_type temporary_type = { "number", take_temporary, NULL,
						   COMPLETE_NOTHING };
static const struct option_type period_type = { "times", take_period, NULL, COMPLETE_NOTHING };

/* ---- rows ---- */

#define OPTIONS struct profile_cli
const struct option_row option_names[] = {
	OPTION_TITLE("Names:"),
	OPTION_WORD(0, "names", OPTION_EITHER, options.sym.names, words_NAMES,
		    "Print names without parameters and template arguments, with them, or as "
		    "linked [short]"),
	OPTION_LIST(0, "rewrite", "s/REGEX/TEXT/", options.sym.rewrite, &rewrite_type,
		    "Change names; may be repeated", .example = "s/<.*>//"),
	OPTION_LIST(0, "stop-at", "REGEX", options.sym.stop, &regex_type,
		    "Attribute everything that these functions call to them; may be repeated"),
	OPTION_FLAG(0, "wrappers", options.wrappers,
		    "Show malloc, operator new and similar functions, too"),
	OPTION_LIST(0, "debug-dir", "DIR", options.sym.debug_dir, &option_directories,
		    "Look for debug files in DIR, too; may be repeated"),
	OPTION_DIRECTORY(0, "sysroot", options.sym.sysroot,
			 "Look for the files of the recorded machine below DIR"),
	OPTION_FLAG(0, "debuginfod", options.sym.debuginfod,
		    "Ask the servers of DEBUGINFOD_URLS, too"),
	OPTION_FLAG(0, "no-symbol-cache", options.sym.no_cache,
		    "Do not use the caches on disk of names, heap states and results"),
	OPTION_END,
};

#define FILTER .named = OPTION_AT(filter)
/* All filters must match, so a second value must not replace the first. */
#define FILTER_ONCE .once = true, FILTER
#define FILTER_GLOB(name, member, help) \
	OPTION_CUSTOM(0, name, "GLOB", const char *, options.member, &glob_type, help, FILTER_ONCE)
const struct option_row option_profile[] = {
	OPTION_TITLE("Filters:"),
	FILTER_GLOB("function", function, "Count only stacks with a function that matches GLOB"),
	FILTER_GLOB("file", file, "Count only stacks with a source file that matches GLOB"),
	FILTER_GLOB("module", module,
		    "Count only stacks through a program or library that matches GLOB"),
	FILTER_GLOB("without", without, "Count only stacks without a function that matches GLOB"),
	OPTION_FLAG(0, "hide-zero-live", options.hide_zero_live,
		    "Count only stacks with blocks that were not freed", FILTER),
	OPTION_CUSTOM(0, "thread", "NUMBER|GLOB", struct thread_choice, options.sites.filter.thread,
		      &option_threads,
		      "Count only blocks that this thread allocated (its number in the run), or "
		      "threads whose names match GLOB",
		      FILTER_ONCE),
	OPTION_NUMBER(
	    0, "process", "NUMBER", options.sites.filter.process, 1, UINT32_MAX,
	    "Count only blocks of this process (its number in the run), and use its own peak",
	    FILTER_ONCE),
	OPTION_RANGE(0, "size", options.sites.filter.size_min, &option_sizes,
		     "Count only blocks of these sizes, such as 64..1K, 1M.. or ..100",
		     FILTER_ONCE),
	OPTION_RANGE(0, "lifetime", options.sites.filter.lifetime_min_ns, &option_times,
		     "Count only blocks that lived this long, such as ..5us or 10ms..2s",
		     FILTER_ONCE),
	OPTION_CUSTOM(0, "time", "A..B", int64_t, options.sites.filter.from_ns, &period_type,
		      "Count only blocks allocated in this time range since the start of the run",
		      FILTER_ONCE),
	OPTION_WORDS(0, "kind", "NAME[,NAME]", options.sites.filter.functions, kinds,
		     "Count only blocks allocated by these functions: malloc, calloc, new ...",
		     .codes = kind_codes, FILTER),
	OPTION_CUSTOM(0, "temporary", "N|TIME", struct sites_options, options.sites,
		      &temporary_type,
		      "Call a block temporary if its thread frees it within N calls, or within "
		      "TIME [1]",
		      FILTER_ONCE),
	OPTION_FLAG(
	    0, "totals", options.totals,
	    "Show the totals of the whole run, not the calls that were kept (record --last, "
	    "--budget or --overhead)"),
	OPTION_TITLE("Leaks:"),
	OPTION_LIST(
	    0, "suppressions", "FILE", options.suppressions, &option_files,
	    "Read suppressions from FILE, in the format of LeakSanitizer or Valgrind; may be "
	    "repeated"),
	OPTION_FLAG(0, "no-builtin-suppressions", options.no_builtin_suppressions,
		    "Also show what libc, libstdc++ and the loader keep"),
	OPTION_ROWS_ALONE(option_names),
	OPTION_END,
};

void profile_cli_init(struct profile_cli *c)
{
	*c = (struct profile_cli){ .options = { .sites = { .filter = SITE_FILTER_ALL } } };
}

void profile_cli_release(struct profile_cli *c)
{
	free((void *)c->options.suppressions);
	free((void *)c->options.sym.debug_dir);
	free((void *)c->options.sym.rewrite);
	free((void *)c->options.sym.stop);
}

/* ---- what is missing ---- */

#define REMARKS 3u

/* Reports stripped objects in one line, with the remedy; once if both runs of a diff have them. */
static void tell_stripped(const struct profile *p, const struct sym_remark *const *remark, size_t n)
{
	static char last[512];
	char list[sizeof(last)] = "";
	size_t i, named = 0, used = 0;

	for (i = 0; i < n; i++)
		if (remark[i]->stripped && named++ < REMARKS && used < sizeof(list))
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s'%s'",
						 used ? ", " : "",
						 p->stacks->object[remark[i]->object].path);
	if (named > REMARKS && used < sizeof(list))
		snprintf(list + used, sizeof(list) - used, " and %zu more", named - REMARKS);
	if (named && strcmp(list, last) != 0)
		cmd_warn(
		    "only exported names for %s: %s; install debug symbols (-dbgsym or -debuginfo"
		    " packages), or add --debuginfod",
		    list,
		    named > 1 ? "they are stripped, and no debug files of their build-ids were"
				" found"
			      : "it is stripped, and no debug file of its build-id was found");
	strcpy(last, list);
}

static void tell(const struct profile *p, const struct sym_remark *const *remark, size_t n)
{
	size_t others = 0, i;

	tell_stripped(p, remark, n);
	for (i = 0; i < n; i++) {
		if (remark[i]->stripped || others++ >= REMARKS)
			continue;
		if (remark[i]->split)
			cmd_warn("no inlined functions and few lines for '%s': %s",
				 p->stacks->object[remark[i]->object].path, remark[i]->why);
		else if (remark[i]->object)
			cmd_warn("no names for '%s': %s", p->stacks->object[remark[i]->object].path,
				 remark[i]->why);
		else
			cmd_warn("%s", remark[i]->why);
	}
	if (others > REMARKS)
		cmd_warn("and %zu more object%s no names, or not all", others - REMARKS,
			 others - REMARKS == 1 ? " has" : "s have");
}

/* Prints remarks about these modules, and about all without .dwo files; NULL: about all. */
static void tell_remarks(const struct profile *p, const char *const *module, size_t modules)
{
	const struct sym_remark *all, **some;
	size_t n = sym_remarks(p->sym, &all), told = 0, i, k;

	some = must_calloc(n + 1, sizeof(*some));
	for (i = 0; i < n; i++) {
		const char *path = p->stacks->object[all[i].object].path;

		for (k = 0; k < modules && strcmp(basename(path), module[k]) != 0; k++)
			;
		if (!module || k < modules || all[i].split)
			some[told++] = &all[i];
	}
	tell(p, some, told);
	free(some);
}

void profile_tell_rules(const struct profile *p, const struct profile *other)
{
	const char *rule = sym_unused_rule(p->sym, other->sym);

	if (rule)
		cmd_warn("no function in '%s'%s%s%s matches '%s' (--rewrite, --stop-at)", p->path,
			 p != other ? " or '" : "", p != other ? other->path : "",
			 p != other ? "'" : "", rule);
}

void profile_tell_estimates(const struct profile *p)
{
	if (p->sites.totals.estimated)
		cmd_warn("'%s' contains estimates from %" PRIu64
			 " samples; mprof report shows their ranges",
			 p->path, p->total.error.samples);
	else if (p->sites.totals.period && !p->total.calls && !p->hide_zero_live)
		cmd_warn("'%s' has no sample, so its figures are 0: use mprof profile without "
			 "--sample, or with a smaller one",
			 p->path);
}

void profile_tell_remarks(const struct profile *p)
{
	tell_remarks(p, NULL, 0);
}

void profile_tell_remarks_of(const struct profile *p, const char *const *module, size_t n)
{
	static const char *const none[] = { NULL };

	tell_remarks(p, n ? module : none, n);
}
