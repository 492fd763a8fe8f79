/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * export.c - `mprof export`: a trace in the formats of other tools.
 */
#include <argp.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../out/export.h"
#include "cmd.h"
#include "export_series.h"

struct options {
	const char *log, *to, *output;
	const struct exporter *exporter;
	struct export_options export;
	struct profile_options profile;
};

enum { VALUE = 256, MIN_PERCENT, SMALL, LARGE, ZERO_LIVE, SYMBOLS };

static const struct argp_option options[] = {
	{ "to", 't', "FORMAT", 0, "The format; --to help lists them", 0 },
	{ "value", VALUE, "VALUE[,VALUE...]", 0,
	  "What is counted, or all; --value help lists them [peak]", 0 },
	{ "output", 'o', "FILE", 0, "Write here instead of to standard output", 0 },
	{ "stack-min-size", SMALL, "BYTES", 0,
	  "Smaller blocks are one site, SmallAllocations (folded, mallocprofiler)", 1 },
	{ "stack-max-size", LARGE, "BYTES", 0, "Larger blocks are one site, LargeAllocations", 1 },
	{ "hide-zero-live", ZERO_LIVE, NULL, 0, "Leave out sites of which no block is left", 1 },
	{ "min-percent", MIN_PERCENT, "PERCENT", 0,
	  "Leave out functions of a graph below this part of the total [1]", 1 },
	{ "symbols", SYMBOLS, NULL, 0, "Names of the symbol table in a graph, too", 1 },
	{ NULL, 0, NULL, 0, NULL, 0 },
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
	static const struct {
		const char *name, *help;
	} row[] = {
#define PROFILE_VALUE(id, name, unit, help) { name, help },
#include "../pass/values.def"
#undef PROFILE_VALUE
	};
	size_t i;

	for (i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		printf("%-15s %s\n", row[i].name, row[i].help);
}

static void add_values(struct options *o, const char *arg, struct argp_state *state)
{
	char *copy = strdup(arg), *word, *rest;
	enum profile_value value;
	struct error err;

	for (word = copy ? strtok_r(copy, ",", &rest) : NULL; word;
	     word = strtok_r(NULL, ",", &rest)) {
		if (!strcmp(word, "all"))
			o->export.values = (1u << VALUE_COUNT) - 1;
		else if (profile_value_find(word, &value, &err) < 0)
			argp_error(state, "%s", err.text);
		else
			o->export.values |= 1u << value;
	}
	free(copy);
	if (!o->export.values)
		argp_error(state, "which value? --value help lists them");
}

static uint64_t bytes(const char *arg, struct argp_state *state)
{
	unsigned long long n;
	char *end;

	errno = 0;
	n = strtoull(arg, &end, 10);
	if (errno || *end || end == arg || *arg == '-')
		argp_error(state, "'%s' is no number of bytes", arg);
	return n;
}

static double percent(const char *arg, struct argp_state *state)
{
	char *end;
	double p = strtod(arg, &end);

	if (*end || end == arg || !(p >= 0 && p <= 100))
		argp_error(state, "'%s' is no percentage: 0 to 100", arg);
	return p;
}

/* ---- the command line ---- */

static void check(struct options *o, struct argp_state *state)
{
	unsigned flags = o->exporter ? o->exporter->flags : 0;
	const char *unknown = export_series_unknown(&o->export, flags);

	if (!o->exporter)
		argp_error(state, "--to which format? --to help lists them");
	if (!o->log)
		argp_error(state, "which trace? for example: mprof export mprof.log --to folded");
	if (flags & EXPORT_PATH && !o->output)
		argp_error(state, "--to %s needs a file: -o FILE", o->exporter->name);
	if (flags & EXPORT_BINARY && !o->output && isatty(STDOUT_FILENO))
		argp_error(state, "--to %s is not for a terminal: -o FILE", o->exporter->name);
	if (flags & EXPORT_ONE_VALUE && __builtin_popcount(o->export.values) > 1 && !o->output)
		argp_error(state, "--to %s has one value in a file: -o FILE for several",
			   o->exporter->name);
	if (unknown)
		argp_error(state, "--to %s does not know %s", o->exporter->name, unknown);
	if (!(flags & EXPORT_SMALL) &&
	    (o->export.stack_min_size || o->export.stack_max_size != UINT64_MAX))
		argp_error(state, "--to %s has no bucket for small or large blocks",
			   o->exporter->name);
}

static void set_format(struct options *o, const char *name, struct argp_state *state)
{
	struct error err;

	if (!strcmp(name, "help")) {
		list_formats();
		exit(STATUS_OK);
	}
	o->exporter = export_find(name, &err);
	if (!o->exporter)
		argp_error(state, "%s", err.text);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct options *o = state->input;

	switch (key) {
	case 't':
		set_format(o, arg, state);
		return 0;
	case VALUE:
		if (!strcmp(arg, "help")) {
			list_values();
			exit(STATUS_OK);
		}
		add_values(o, arg, state);
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case SMALL:
		o->export.stack_min_size = bytes(arg, state);
		return 0;
	case LARGE:
		o->export.stack_max_size = bytes(arg, state);
		return 0;
	case ZERO_LIVE:
		o->export.hide_zero_live = true;
		return 0;
	case MIN_PERCENT:
		o->export.min_percent = percent(arg, state);
		return 0;
	case SYMBOLS:
		o->export.symbols = true;
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &o->export;
		return 0;
	case ARGP_KEY_ARG:
		if (o->log)
			argp_error(state, "one trace at a time, not '%s' as well", arg);
		o->log = arg;
		return 0;
	case ARGP_KEY_END:
		check(o, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_child children[] = {
	{ &export_series_argp, 0, NULL, 0 },
	{ NULL, 0, NULL, 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.children = children,
	.args_doc = "LOG",
	.doc = "Writes what a trace says about call stacks in the format of another tool.",
};

/* ---- writing ---- */

/* FILE, or for one of several values FILE with the value before its extension. */
static char *name_of(const struct options *o, enum profile_value value)
{
	const char *base, *dot;
	char *name = NULL;

	if (!o->output)
		return NULL;
	if (!(o->exporter->flags & EXPORT_ONE_VALUE) || __builtin_popcount(o->export.values) < 2)
		return strdup(o->output);
	base = strrchr(o->output, '/') ? strrchr(o->output, '/') + 1 : o->output;
	dot = strrchr(base, '.');
	if (!dot || dot == base)
		dot = base + strlen(base);
	if (asprintf(&name, "%.*s.%s%s", (int)(dot - o->output), o->output,
		     profile_value_name(value), dot) < 0)
		return NULL;
	return name;
}

static int write_one(const struct options *o, struct export *x, enum profile_value value,
		     struct error *err)
{
	char *name = name_of(o, value);
	struct export_file file;
	int ret;

	if (o->output && !name)
		return fail(err, -ENOMEM, "no memory to write '%s'", o->output);
	ret = export_file_open(&file, name, err);
	if (ret < 0) {
		free(name);
		return ret;
	}
	x->value = value;
	x->target = name;
	x->path = file.temporary ? file.temporary : file.target;
	x->out = o->exporter->flags & EXPORT_PATH ? NULL : file.out;
	ret = o->exporter->write(x, err);
	if (ret < 0)
		export_file_drop(&file);
	else
		ret = export_file_done(&file, err);
	free(name);
	return ret;
}

static int write_all(const struct options *o, struct export *x, struct error *err)
{
	unsigned values = o->export.values ? o->export.values : 1u << VALUE_PEAK;
	int ret = 0;

	if (!(o->exporter->flags & EXPORT_ONE_VALUE))
		return write_one(o, x, (enum profile_value)__builtin_ctz(values), err);
	for (; values && !ret; values &= values - 1)
		ret = write_one(o, x, (enum profile_value)__builtin_ctz(values), err);
	return ret;
}

static int export(struct options *o, struct trace *t, struct error *err)
{
	struct export x = { .exporter = o->exporter, .options = &o->export, .trace = t };
	struct profile *p;
	int ret;

	if (o->exporter->flags & EXPORT_EVENTS)
		return write_all(o, &x, err);
	p = calloc(1, sizeof(*p));
	if (!profile_make)
		return fail(err, -ENOSYS, "no profiles yet");
	if (!p)
		return fail(err, -ENOMEM, "no memory to read '%s'", o->log);
	ret = profile_make(p, t, &o->profile, err);
	if (!ret) {
		x.profile = p;
		ret = write_all(o, &x, err);
		profile_release(p);
	}
	free(p);
	return ret;
}

int cmd_export(int argc, char **argv)
{
	struct options o = {
		.export = { .min_percent = 1,
			    .stack_max_size = UINT64_MAX,
			    .detailed = EXPORT_DETAILED },
		.profile = { .sites = { .filter = SITE_FILTER_ALL,
					.temporary_events = SITE_TEMPORARY_EVENTS } },
	};
	struct error err = { "" };
	struct trace *t;
	int ret;

	o.export.profile = &o.profile;
	if (argp_parse(&argp, argc, argv, 0, NULL, &o))
		return STATUS_USAGE;
	if (trace_open(&t, o.log, MPROF_MAGIC_TRACE, &err) < 0)
		return cmd_error(STATUS_FILE, "%s", err.text);
	ret = export(&o, t, &err);
	trace_close(t);
	return ret < 0 ? cmd_error(STATUS_FOUND, "%s", err.text) : STATUS_OK;
}
