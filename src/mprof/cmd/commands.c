/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * commands.c - the table of commands; `mprof help [COMMAND]`, and the lists that --help prints.
 */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../export/exports.h"
#include "../print/paragraph.h"
#include "../print/views.h"
#include "../run/program.h"
#include "../util/memory.h"
#include "../util/nearest.h"
#include "../util/styled.h"
#include "../util/terminal.h"
#include "cmd.h"
#include "usage.h"

const struct command cmd_table[] = {
#define MPROF_COMMAND(name, function, group, args, help) { name, function, group, args, help },
#include "commands.def"
#undef MPROF_COMMAND
	{ NULL, NULL, NULL, NULL, NULL },
};

const struct command *cmd_find(const char *name)
{
	const struct command *c;

	for (c = cmd_table; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

/* Returns the most similar name for a mistyped one; NULL if none is similar. */
static const struct command *cmd_nearest(const char *name)
{
	const struct command *c, *best = NULL;
	unsigned d, least = nearest_limit(name);

	for (c = cmd_table; c->name; c++) {
		d = nearest_misses(name, c->name);
		if (d < least) {
			least = d;
			best = c;
		}
	}
	return best;
}

int cmd_run(const struct command *c, int argc, char **argv)
{
	memory_out_title(argv[0]);
	/* The options of a program that we run are its own. */
	if (strcmp(c->group, "Run a program"))
		memory_cap();
	return c->run(argc, argv);
}

/* What other profilers call it, or what it is about. */
static const char *cmd_elsewhere(const char *name)
{
	static const char *const words[][2] = {
		{ "run", "record" },
		{ "analyze", "report" },
		{ "analyse", "report" },
		{ "summary", "report" },
		{ "stats", "report" },
		{ "print", "report" },
		{ "tree", "report top-down" },
		{ "flamegraph", "report --html" },
		{ "flame", "report --html" },
		{ "html", "report --html" },
		{ "gui", "view" },
		{ "web", "view" },
		{ "webview", "view" },
		{ "serve", "view" },
		{ "server", "view" },
		{ "live", "ctl" },
		{ "count", "stat" },
		{ "log", "record" },
		{ "guard", "-m Guard" },
		{ "sizes", "report --all" },
		{ "compactness", "report --all" },
		{ "fragmentation", "report --all" },
		{ "playback", "replay" },
		{ "bench", "compare" },
		{ "benchmark", "compare" },
		{ "allocators", "compare" },
		{ "draw", "image" },
		{ "picture", "image" },
		{ "plot", "image" },
		{ "video", "movie" },
		{ "convert", "export" },
		{ "list", "help" },
		{ "version", "--version" },
	};
	size_t i;

	for (i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!strcmp(words[i][0], name))
			return words[i][1];
	return NULL;
}

int cmd_unknown(const char *name)
{
	const struct command *c = cmd_nearest(name);
	const char *elsewhere = cmd_elsewhere(name);
	struct program program;
	struct stat file;

	if (view_find(name))
		return cmd_error(STATUS_USAGE, "unknown command '%s'; did you mean 'report %s'?",
				 name, name);
	if (!stat(name, &file) && S_ISREG(file.st_mode))
		return cmd_error(STATUS_USAGE, "unknown command '%s'; did you mean '%s%s'?", name,
				 access(name, X_OK)  ? "report "
				 : strchr(name, '/') ? "record -- "
						     : "record -- ./",
				 name);
	if (!elsewhere && export_find(name))
		return cmd_error(STATUS_USAGE,
				 "unknown command '%s'; did you mean 'export --to %s'?", name,
				 name);
	if (c || elsewhere)
		return cmd_error(STATUS_USAGE, "unknown command '%s'; did you mean '%s'?", name,
				 elsewhere ? elsewhere : c->name);
	if (!program_find(name, &program, NULL))
		return cmd_error(STATUS_USAGE, "unknown command '%s'; did you mean 'record -- %s'?",
				 name, name);
	return cmd_error(STATUS_USAGE, "unknown command '%s'; 'mprof help' lists all commands",
			 name);
}

int cmd_call(const char *name, const char *path)
{
	const struct command *c = cmd_find(name);
	char title[64], file[4096];
	char *argv[] = { title, path ? file : NULL, NULL };

	if (!c)
		return cmd_error(STATUS_USAGE, "this mprof was built without the command '%s'",
				 name);
	snprintf(title, sizeof(title), "mprof %s", name);
	if (!path)
		return cmd_run(c, 1, argv);
	/* A path that begins with a dash must not become an option. */
	snprintf(file, sizeof(file), "%s%s", path[0] == '-' ? "./" : "", path);
	return cmd_run(c, 2, argv);
}

/* ---- help ---- */

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

/* Prints the left column, then its explanation in as many lines as it needs. */
static void print_row(FILE *out, unsigned width, const char *left, const char *help,
		      const char *value)
{
	char first[80];
	const struct paragraph_form form = { first, width + 3, terminal_text_width(), false };
	struct paragraph p = { 0 };

	if (strlen(left) > width) { /* on a line of its own */
		fprintf(out, "  %.77s\n", left);
		left = "";
	}
	snprintf(first, sizeof(first), "  %-*.60s ", (int)width, left);
	paragraph_add(&p, "%s", help);
	if (*value)
		paragraph_add(&p, " [%s]", value);
	paragraph_print(&p, &form, out);
	paragraph_release(&p);
}

void help_commands(FILE *out)
{
	const struct command *c;
	const char *group = "";

	for (c = cmd_table; c->name; c++) {
		if (strcmp(group, c->group))
			fprintf(out, "%s%s:\n", *group ? "\n" : "", c->group);
		group = c->group;
		print_row(out, 9, c->name, c->help, "");
	}
}

static void print_rows(FILE *out, const struct row *row, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		print_row(out, 9, row[i].name, row[i].help, "");
}

void help_modes(FILE *out)
{
	print_rows(out, modes, COUNT(modes));
	print_row(out, 9, "FILE.so", "a module of your own, built against mprof/module.h", "");
}

static void help_keys(FILE *out)
{
	size_t i;
	char left[64];

	for (i = 0; i < COUNT(options); i++) {
		snprintf(left, sizeof(left), "%s=%s", options[i].key, options[i].arg);
		print_row(out, 18, left, options[i].help, options[i].value);
	}
}

void help_start(FILE *out)
{
	static const char *const first[] = { "test", "record", "report", "stat", "compare" };
	const struct command *c;
	size_t i;

	fputs("mprof shows how a program uses malloc. The program need not be rebuilt.\n\n"
	      "Start with one of these:\n",
	      out);
	for (i = 0; i < COUNT(first); i++) {
		c = cmd_find(first[i]);
		fprintf(out, "  mprof %s %s\n      %s\n", c->name, c->args, c->help);
	}
	fputs("\n'mprof help' lists all commands; 'mprof COMMAND --help' explains one.\n", out);
}

static void help_all(FILE *out)
{
	const struct paragraph_form form = { "", 0, terminal_text_width(), false };
	struct paragraph about = { 0 };

	paragraph_add(&about, "%s", HELP_ABOUT);
	paragraph_print(&about, &form, out);
	paragraph_release(&about);
	fputc('\n', out);
	help_commands(out);
	fputs("\n"
	      "'mprof help COMMAND' or 'mprof COMMAND --help' explains a command.\n" HELP_SETTINGS
	      "\n"
	      "Manual pages: mprof(1), mprof-COMMAND(1), libmprof(7).\n",
	      out);
}

static void help_settings(FILE *out)
{
	fputs("Modes:\n", out);
	help_modes(out);
	fputs("\nFinding the allocator (INIT):\n", out);
	print_rows(out, inits, COUNT(inits));
	fputs("\nKeys of MPROF_CONF [default]:\n", out);
	help_keys(out);
}

/* Prints the option rows of every command, for scripts/gendoc. */
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
		terminal_fit();
		help_all(stdout);
		return STATUS_OK;
	}
	if (!strcmp(argv[1], USAGE_ROWS))
		return print_rows_of_all();
	if (argc > 2)
		return cmd_error(STATUS_USAGE, "unexpected argument '%s': expected one command",
				 argv[2]);
	if (!strcmp(argv[1], "settings")) {
		terminal_fit();
		help_settings(stdout);
		return STATUS_OK;
	}
	c = cmd_find(argv[1]);
	if (!c)
		return cmd_unknown(argv[1]);
	if (c->run == cmd_help) {
		puts("Usage: mprof help [COMMAND|settings]\n\n"
		     "Explains COMMAND, or lists all commands.\n" HELP_SETTINGS);
		return STATUS_OK;
	}
	snprintf(title, sizeof(title), "mprof %s", c->name);
	return c->run(2, args);
}
