/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * export.c - `mprof export`: a trace in the formats of other tools.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../export/exports.h"
#include "../profile/filters.h"
#include "../util/alloc.h"
#include "cmd.h"
#include "export_files.h"
#include "export_series.h"
#include "missing.h"
#include "profile_options.h"
#include "progress.h"
#include "event_count.h"
#include "running.h"
#include "usage.h"
#include "when.h"

struct options {
	struct arguments log;
	const char *output;
	const struct exporter *exporter;
	struct export_options export;
	bool cut; /* --min-percent was given */
	bool columns;
	struct when at;
	struct profile_cli cli;
};

/* ---- words ---- */

static void list_formats(void)
{
	const struct exporter *e;

	for (e = export_table; e->name; e++)
		printf("%-15s %s\n", e->name, e->help);
}

static void list_values(void)
{
	for (int i = 0; i < VALUE_COUNT; i++)
		printf("%-15s %s\n", profile_value_name((enum profile_value)i),
		       profile_value_help((enum profile_value)i));
}

static void list_columns(void)
{
	static const struct export_column others[] = {
		{ "site", "number", "the call stack; 1 has most bytes", 0 },
		{ "function", "text", "the function that allocated", 0 },
		{ "file", "text", "its source file", 0 },
		{ "line", "number", "the source line of the call", 0 },
		{ "module", "text", "its program or library", 0 },
	};
	const struct export_column *c;
	size_t i;

	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		printf("%-16s %-7s %s\n", others[i].name, others[i].unit, others[i].help);
	for (c = export_columns; c->name; c++)
		printf("%-16s %-7s %s\n", c->name, c->unit, c->help);
	printf("%-16s %-7s %s\n", "stack", "text", "all functions of the stack, outermost first");
}

static int take_format(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	const struct exporter *e = export_find(arg);

	if (!strcmp(arg, "help")) {
		list_formats();
		exit(STATUS_OK);
	}
	if (!e)
		return option_unknown(err, row, arg, row->words);
	*(const struct exporter **)to = e;
	return 0;
}

static int take_values(const struct option_row *row, const char *arg, void *to, struct error *err)
{
	if (!strcmp(arg, "help")) {
		list_values();
		exit(STATUS_OK);
	}
	if (strcmp(arg, "all"))
		return option_words.take(row, arg, to, err);
	*(unsigned *)to = (1u << VALUE_COUNT) - 1;
	return 0;
}

static const char *const help_word[] = { "help", NULL };
static const char *const all_and_help[] = { "all", "help", NULL };
static const struct option_type format_type = { "word", take_format, help_word, COMPLETE_NOTHING };
static const struct option_type values_type = { "words", take_values, all_and_help,
						COMPLETE_NOTHING };

/* ---- the command line ---- */

/* Returns an option that the format would ignore, or NULL. */
static const char *unheeded(const struct options *o, unsigned flags)
{
	const struct export_options *e = &o->export;

	if (!(flags & EXPORT_SMALL) && e->stack_min_size)
		return "--stack-min-size";
	if (!(flags & EXPORT_SMALL) && e->stack_max_size != UINT64_MAX)
		return "--stack-max-size";
	if (!(flags & EXPORT_GRAPH) && e->symbols)
		return "--symbols";
	if (!(flags & (EXPORT_GRAPH | EXPORT_TREES)) && o->cut)
		return "--min-percent";
	if (flags & EXPORT_FIXED && e->values)
		return "--value: it always contains the same values";
	return export_series_unknown(e, flags);
}

/* Returns why this export does not support --at; NULL if it does, or if --at was not given. */
static const char *moment(const struct options *o, unsigned flags)
{
	if (o->at.kind == WHEN_PEAK)
		return NULL;
	if (flags & EXPORT_RUN)
		return "it describes the whole run, not one point in time; leave out --at";
	if (o->export.values >> VALUE_RSS & 1 && o->export.values + 1 != 1u << VALUE_COUNT)
		return "--at and --value rss: choose one, both select a time";
	return when_unheeded(&o->cli.options);
}

static int check(void *options, struct error *err)
{
	struct options *o = options;
	unsigned flags = o->exporter ? o->exporter->flags : 0;
	const char *unknown = unheeded(o, flags), *name = o->exporter ? o->exporter->name : NULL;

	if (o->columns) {
		list_columns();
		exit(STATUS_OK);
	}
	o->output = o->output && strcmp(o->output, "-") ? o->output : NULL;
	if (!name)
		return fail(err, -EINVAL,
			    "no format given; add --to FORMAT (--to help lists all formats)");
	if (!o->log.count)
		return fail(err, -EINVAL,
			    "no trace given; for example: mprof export mprof.log --to folded");
	if (unknown)
		return fail(err, -EINVAL, "--to %s does not support %s", name, unknown);
	unknown = moment(o, flags);
	if (unknown)
		return fail(err, -EINVAL, "--to %s: %s", name, unknown);
	if (flags & EXPORT_PATH && !o->output)
		return fail(err, -EINVAL, "--to %s needs a file: -o FILE", name);
	if (flags & EXPORT_BINARY && !o->output && isatty(STDOUT_FILENO))
		return fail(err, -EINVAL, "--to %s cannot be written to a terminal; use -o FILE",
			    name);
	if (flags & EXPORT_ONE_VALUE && __builtin_popcount(o->export.values) > 1 && !o->output)
		return fail(err, -EINVAL,
			    "--to %s writes one value per file; use -o FILE for several", name);
	return 0;
}

#define OPTIONS struct options
static const struct option_row options[] = {
	OPTION_CUSTOM(0, "to", "FORMAT", const struct exporter *, exporter, &format_type,
		      "Write this format; --to help lists all", .words = export_names),
	OPTION_CUSTOM(0, "value", "VALUE[,VALUE...]", unsigned, export.values, &values_type,
		      "Export this figure, or all; --value help lists them [peak]",
		      .words = profile_value_names),
	OPTION_FLAG(0, "columns", columns,
		    "List the columns of csv, tsv, sqlite and jsonl with their units"),
	OPTION_WHEN(at, "Treat this point as the peak: "),
	OPTION_FILE('o', "output", "FILE", output, "Write to FILE instead of standard output (-)",
		    .dash = true),
	OPTION_SIZE_FROM(0, "stack-min-size", "BYTES", export.stack_min_size, 0,
			 "Combine smaller blocks into SmallAllocations (folded, mallocprofiler)"),
	OPTION_SIZE_FROM(0, "stack-max-size", "BYTES", export.stack_max_size, 0,
			 "Combine larger blocks into LargeAllocations"),
	OPTION_PERCENT(0, "min-percent", export.min_percent, 100,
		       "Leave out functions of a graph below this share of the total [1]",
		       .given = OPTION_AT(cut)),
	OPTION_FLAG(0, "symbols", export.symbols, "Also show symbol-table names in a graph"),
	OPTION_ROWS(option_series, export),
	OPTION_ROWS(option_profile, cli),
	OPTION_ROWS_ALONE(option_memory),
	OPTION_END,
};

static const struct usage usage = {
	.options = options,
	.args = "LOG...",
	.doc = "Writes the call stacks of a trace in the format of another tool." RUNNING_HELP,
	.words = USAGE_FILES,
	.at = offsetof(struct options, log),
	.check = check,
};

/* ---- writing ---- */

enum { MAIN, SMALLER, LARGER, PROFILES };

struct writing {
	const struct options *o;
	struct export x;
	struct profile *profile[PROFILES]; /* NULL if no block can pass */
	struct walk_until until;
	bool directory;
	const char *log;
};

/* Says why nothing is exported; profile_tell_estimates() does it for one that has no samples. */
static void tell_empty(const struct writing *w)
{
	const struct profile *p = w->profile[MAIN];

	for (int i = 0; i < PROFILES; i++)
		if (w->profile[i] && w->profile[i]->total.calls)
			return;
	if (p && p->hide_zero_live)
		cmd_warn("no block in '%s' was live at the end (--hide-zero-live)", w->log);
	else if (!w->until.set && !(p && p->sites.totals.period))
		cmd_warn("'%s' contains no allocation", w->log);
}

/* An empty result is reported; no file is written for a mistyped name. */
static int check_filters(const struct writing *w, struct error *err)
{
	struct error nothing;
	int ret = filters_check(w->profile, PROFILES, &w->o->cli.options, &nothing, err);

	if (!ret && *nothing.text)
		cmd_warn("%s", nothing.text);
	else if (!ret)
		tell_empty(w);
	return ret;
}

static char *name_of(const struct writing *w, enum profile_value value)
{
	const struct exporter *e = w->o->exporter;
	bool several = __builtin_popcount(w->o->export.values) > 1;
	bool by_value = e->flags & EXPORT_ONE_VALUE && (several || w->directory);

	return export_file_name(w->o->output, w->directory, w->log, e->extension,
				by_value ? profile_value_name(value) : NULL);
}

/* Some write to a file of this name themselves. */
static int name_early(struct export *x, struct export_file *file, struct error *err)
{
	x->out = NULL;
	x->path = file->file.path ? new_file_temporary(&file->file) : file->target;
	return x->path ? 0 : fail(err, -errno, "cannot write '%s': %m", file->target);
}

static int write_one(struct writing *w, enum profile_value value, struct error *err)
{
	char *name = w->o->output ? name_of(w, value) : NULL;
	struct export_file file;
	struct export *x = &w->x;
	int ret;

	ret = export_file_open(&file, name, err);
	if (ret < 0) {
		free(name);
		return ret;
	}
	x->value = value;
	x->target = name;
	x->out = file.out;
	ret = x->exporter->flags & EXPORT_PATH ? name_early(x, &file, err) : 0;
	if (!ret)
		ret = x->exporter->write(x, err);
	if (!ret && x->exporter->flags & EXPORT_WALKS)
		ret = check_filters(w, err);
	ret = export_file_done(&file, ret, err);
	if (!ret && w->directory)
		fprintf(stderr, "mprof: wrote %s\n", name);
	free(name);
	return ret;
}

static int write_all(struct writing *w, struct error *err)
{
	unsigned values = w->o->export.values ? w->o->export.values : 1u << VALUE_PEAK;
	int ret = 0;

	if (!(w->x.exporter->flags & EXPORT_ONE_VALUE))
		return write_one(w, (enum profile_value)__builtin_ctz(values), err);
	if (values == (1u << VALUE_COUNT) - 1) /* all that exist */
		for (int v = 0; v < VALUE_COUNT; v++)
			if (profile_value_check(w->x.trace, (enum profile_value)v, err) < 0)
				values &= ~(1u << v);
	for (; values && !ret; values &= values - 1)
		ret = write_one(w, (enum profile_value)__builtin_ctz(values), err);
	return ret;
}

/* ---- profiles ---- */

static uint32_t one_group(void *context, uint32_t stack, uint64_t part)
{
	return 0;
}

/* Limits a profile to blocks within the limits, below or above them. */
static bool limit(struct profile_options *p, const struct export_options *e, int which)
{
	struct site_filter *f = &p->sites.filter;

	/* It is known only later which blocks pass a glob: the peak is then each site's own. */
	if (which != MAIN && !p->function && !p->file && !p->module)
		p->sites.group = one_group;
	if (which == MAIN && e->stack_min_size > f->size_min)
		f->size_min = e->stack_min_size;
	if (which == MAIN && e->stack_max_size < f->size_max)
		f->size_max = e->stack_max_size;
	if (which == SMALLER && e->stack_min_size && e->stack_min_size - 1 < f->size_max)
		f->size_max = e->stack_min_size - 1;
	if (which == LARGER && e->stack_max_size < UINT64_MAX &&
	    e->stack_max_size + 1 > f->size_min)
		f->size_min = e->stack_max_size + 1;
	return f->size_min <= f->size_max &&
	       (which == MAIN ||
		(which == SMALLER ? e->stack_min_size > 0 : e->stack_max_size < UINT64_MAX));
}

/* Returns the options of profiles, and the progress line. */
static struct profile_options options_of(const struct writing *w, struct progress *progress)
{
	struct profile_options options = w->o->cli.options;

	options.sites.until = w->until;
	options.progress = progress_start(progress);
	options.progress_context = progress;
	return options;
}

static int make(struct writing *w, int which, struct error *err)
{
	struct progress progress;
	struct profile_options options = options_of(w, &progress);
	struct trace *t = w->x.trace;
	struct profile *p;
	int ret = 0;

	/* A profile is written even if no block can pass. */
	if (limit(&options, &w->o->export, which) || which == MAIN) {
		p = must_calloc(1, sizeof(*p));
		ret = profile_make(p, t, &options, err);
		if (ret < 0)
			free(p);
		else
			w->profile[which] = p;
		trace_rewind(t);
	}
	progress_done(&progress);
	return ret;
}

static int make_and_write(struct writing *w, struct error *err)
{
	int ret = 0, i;

	for (i = 0; i < PROFILES && !ret; i++)
		ret = make(w, i, err);
	if (!ret)
		ret = check_filters(w, err);
	w->x.profile = w->profile[MAIN];
	w->x.small = w->profile[SMALLER];
	w->x.large = w->profile[LARGER];
	return ret ? ret : write_all(w, err);
}

/* The format makes the profile itself. */
static int walk_and_write(struct writing *w, struct error *err)
{
	struct progress progress;
	struct profile_options options = options_of(w, &progress);
	struct export_options export = w->o->export;
	int ret;

	export.profile = &options;
	w->x.options = &export;
	w->x.profile = w->profile[MAIN] = must_calloc(1, sizeof(*w->x.profile));
	ret = write_one(w, VALUE_PEAK, err);
	w->x.options = &w->o->export;
	progress_done(&progress);
	return ret;
}

/* Warns of data that is missing in the trace and thus in the file. */
static void tell_losses(const struct trace *t)
{
	struct event_count missing = { .lost = 0 };

	event_count_losses(&missing, t);
	missing_parts(t, "exported");
	if (missing.lost || missing.ended)
		cmd_warn("calls were lost while '%s' was recorded, so sums are too low; mprof "
			 "report has the details",
			 trace_path(t));
}

static bool is_of_events(const struct options *o)
{
	return o->exporter->flags & EXPORT_SERIES || o->export.events;
}

/* Warns of figures that are 0 because they were not measured. */
static void tell_unknown(const struct options *o, const struct profile *p)
{
	if (o->export.values >> VALUE_RSS & 1 && !p->sites.rss.rss)
		cmd_warn("'%s': the size of the process is unknown, so rss is 0 everywhere",
			 p->path);
	missing_calls(p, is_of_events(o));
	profile_tell_remarks(p);
	profile_tell_rules(p, p);
}

static void tell(const struct writing *w)
{
	const struct profile *p = w->profile[MAIN];

	missing_times(w->x.trace);
	tell_losses(w->x.trace);
	profile_tell_estimates(p);
	tell_unknown(w->o, p);
}

static int export(struct writing *w, struct error *err)
{
	int ret = when_find(&w->o->at, w->x.trace, &w->until, err), i;

	if (!ret)
		ret = w->x.exporter->flags & EXPORT_WALKS ? walk_and_write(w, err)
							  : make_and_write(w, err);
	if (!ret)
		tell(w);
	for (i = 0; i < PROFILES; i++) {
		if (w->profile[i])
			profile_release(w->profile[i]);
		free(w->profile[i]);
	}
	return ret;
}

/* Rejects what a profile, or the record of another tool, does not contain. */
static int check_contents(const struct options *o, const struct trace *t, struct error *err)
{
	unsigned value;
	int ret = 0;

	if (!trace_has_events(t) && is_of_events(o))
		return fail(err, -EINVAL,
			    "'%s' contains totals, not individual calls: %s%s needs a trace from "
			    "mprof record",
			    trace_path(t), o->exporter->name, o->export.events ? " --events" : "");
	for (value = 0; value < VALUE_COUNT && !ret; value++)
		if (o->export.values >> value & 1 && o->export.values != (1u << VALUE_COUNT) - 1)
			ret = profile_value_check(t, (enum profile_value)value, err);
	return ret;
}

static int export_log(const struct options *o, const char *log, bool directory)
{
	struct writing w = {
		.o = o,
		.x = { .exporter = o->exporter, .options = &o->export },
		.directory = directory,
		.log = log,
	};
	struct error err = { "" };
	int ret;

	if (running_open(&w.x.trace, log, NULL, &err) < 0)
		return cmd_error(STATUS_FILE, "%s", err.text);
	ret = profile_show_totals(w.x.trace, &o->cli.options, &err);
	if (!ret && !is_of_events(o))
		missing_choose(w.x.trace, &o->cli.options);
	if (!ret)
		ret = check_contents(o, w.x.trace, &err);
	if (!ret)
		ret = export(&w, &err);
	trace_close(w.x.trace);
	return ret < 0 ? cmd_failed(ret, &err) : STATUS_OK;
}

static int export_any(const struct options *o)
{
	struct error err = { "" };
	bool directory;
	char *log;
	int ret;

	if (running_find(o->log.item, o->log.count))
		return STATUS_FILE;
	if (export_pick(o->log.item, o->log.count, &log, &err) < 0)
		return cmd_error(STATUS_FILE, "%s", err.text);
	if (export_directory(o->output, &directory, &err) < 0)
		ret = cmd_error(STATUS_USAGE, "%s", err.text);
	else
		ret = export_log(o, log, directory);
	free(log);
	return ret;
}

int cmd_export(int argc, char **argv)
{
	struct options o = {
		.export = { .min_percent = 1,
			    .stack_max_size = UINT64_MAX,
			    .detailed = EXPORT_DETAILED },
	};
	int ret;

	profile_cli_init(&o.cli);
	/* Pictures of stacks include the library functions that a program called. */
	o.cli.options.library = true;
	o.export.profile = &o.cli.options;
	if (usage_take(&usage, argc, argv, &o))
		ret = STATUS_USAGE;
	else
		ret = export_any(&o);
	profile_cli_release(&o.cli);
	return ret;
}
