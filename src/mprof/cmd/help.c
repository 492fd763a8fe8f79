/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * help.c - `mprof help [COMMAND]`, and the lists that --help prints.
 */
#include "help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"
#include "usage.h"

struct row {
	const char *name, *help;
};

static const struct row modes[] = {
#define MPROF_MODE(name, ops, key, kind, help) { #name, help },
#include <mprof/modules.def>
#undef MPROF_MODE
};

static const struct row inits[] = {
#define MPROF_INIT(name, ops, help) { #name, help },
#include <mprof/modules.def>
#undef MPROF_INIT
};

static const struct {
	const char *key, *arg, *value, *help;
} options[] = {
#define MPROF_OPTION(key, field, type, value, min, max, arg, help) { #key, arg, value, help },
#include <mprof/options.def>
#undef MPROF_OPTION
};

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

void help_commands(FILE *out)
{
	const struct command *c;
	const char *group = "";

	for (c = cmd_table; c->name; c++) {
		if (strcmp(group, c->group))
			fprintf(out, "%s%s:\n", *group ? "\n" : "", c->group);
		group = c->group;
		fprintf(out, "  %-9s %s\n", c->name, c->help);
	}
}

static void print_rows(FILE *out, const struct row *row, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		fprintf(out, "  %-9s %s\n", row[i].name, row[i].help);
}

void help_modes(FILE *out)
{
	print_rows(out, modes, COUNT(modes));
	fputs("  FILE.so   a module of your own, built against mprof/module.h\n", out);
}

void help_keys(FILE *out)
{
	size_t i;
	char left[64];

	for (i = 0; i < COUNT(options); i++) {
		snprintf(left, sizeof(left), "%s=%s", options[i].key, options[i].arg);
		fprintf(out, "  %-18s %s", left, options[i].help);
		if (*options[i].value)
			fprintf(out, " [%s]", options[i].value);
		fputc('\n', out);
	}
}

void help_start(FILE *out)
{
	static const char *const first[] = { "test", "record", "report", "stat", "compare" };
	const struct command *c;
	size_t i;

	fputs("mprof shows how a program uses malloc.  The program need not be rebuilt.\n\n"
	      "Start with one of these:\n",
	      out);
	for (i = 0; i < COUNT(first); i++) {
		c = cmd_find(first[i]);
		fprintf(out, "  mprof %s %s\n      %s\n", c->name, c->args, c->help);
	}
	fputs("\n`mprof help' lists all commands; `mprof COMMAND --help' explains one.\n", out);
}

void help_all(FILE *out)
{
	fputs("Records every call that a program makes to malloc and its family, and explains\n"
	      "what it did.  Start with:  mprof -t \"COMMAND\"\n\n",
	      out);
	help_commands(out);
	fputs("\nModes:\n", out);
	help_modes(out);
	fputs("\nFinding the allocator (INIT):\n", out);
	print_rows(out, inits, COUNT(inits));
	fputs("\nKeys of MPROF_CONF [default]:\n", out);
	help_keys(out);
	fputs("\n"
	      "`mprof help COMMAND' or `mprof COMMAND --help' explains one of them.\n"
	      "Manual pages: mprof(1), mprof-COMMAND(1), libmprof(7).\n",
	      out);
}

/* The option rows of every command, for scripts/gendoc. */
static int print_rows_of_all(void)
{
	char title[64], option[] = USAGE_ROWS;
	char *args[] = { title, option, NULL };
	const struct command *c;

	for (c = cmd_table; c->name; c++) {
		if (c->run == cmd_help)
			continue;
		snprintf(title, sizeof(title), "mprof %s", c->name);
		c->run(2, args);
	}
	return STATUS_OK;
}

int cmd_help(int argc, char **argv)
{
	const struct command *c;
	char title[64], option[] = "--help";
	char *args[] = { title, option, NULL };

	if (argc < 2 || !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h")) {
		help_all(stdout);
		return STATUS_OK;
	}
	if (!strcmp(argv[1], USAGE_ROWS))
		return print_rows_of_all();
	if (argc > 2)
		return cmd_error(STATUS_USAGE, "expected one command, got '%s' as well", argv[2]);
	c = cmd_find(argv[1]);
	if (!c)
		return cmd_unknown(argv[1]);
	if (c->run == cmd_help) {
		puts("Usage: mprof help [COMMAND]\n\nExplains COMMAND, or lists them all.");
		return STATUS_OK;
	}
	snprintf(title, sizeof(title), "mprof %s", c->name);
	return c->run(2, args);
}
