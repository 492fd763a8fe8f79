/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * gendoc.c - fills the tables of options, modules, functions and commands into
 * a manual page or a completion script.
 *
 * A filter run by make: copies the file it is given to stdout and replaces
 * @OPTIONS@ @MODES@ @INITS@ @FUNCTIONS@ @COMMANDS@ and @VERSION@.  What they
 * become depends on the file: items of a list in a manual page (NAME.N.in),
 * words in a bash script (NAME.bash.in), 'word:help' in a zsh function.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum format { MDOC, BASH, ZSH };

struct row {
	const char *name, *args, *help, *value;
};

static const struct row options[] = {
#define MPROF_OPTION(key, field, type, value, min, max, arg, help) { #key, arg, help, value },
#include <mprof/options.def>
	{ NULL, NULL, NULL, NULL },
};
static const struct row modes[] = {
#define MPROF_MODE(name, ops, help) { #name, "", help, "" },
#include <mprof/modules.def>
#undef MPROF_MODE
	{ NULL, NULL, NULL, NULL },
};
static const struct row inits[] = {
#define MPROF_INIT(name, ops, help) { #name, "", help, "" },
#include <mprof/modules.def>
#undef MPROF_INIT
	{ NULL, NULL, NULL, NULL },
};
static const struct row functions[] = {
#define MPROF_FUNCTION(id, code, name, class) { name, "", #class, "" },
#include <mprof/functions.def>
	{ NULL, NULL, NULL, NULL },
};
static const struct row commands[] = {
#define MPROF_COMMAND(name, function, group, args, help) { name, args, help, "" },
#include <cmd/commands.def>
	{ NULL, NULL, NULL, NULL },
};

static const struct {
	const char *marker;
	const struct row *rows;
	const char *macro; /* of the name in a manual page */
	const char *join;  /* between name and argument there */
} tables[] = {
	{ "@OPTIONS@", options, "Cm", " Ns = Ns " },
	{ "@MODES@", modes, "Cm", "" },
	{ "@INITS@", inits, "Cm", "" },
	{ "@FUNCTIONS@", functions, "", "" },
	{ "@COMMANDS@", commands, "Cm", " " },
	{ "@VERSION@", NULL, "", "" },
};

/* mdoc takes a line's leading dot or quote, and any backslash, for itself. */
static void put_text(const char *s)
{
	if (*s == '.' || *s == '\'')
		fputs("\\&", stdout);
	for (; *s; s++)
		if (*s == '\\')
			fputs("\\e", stdout);
		else
			putchar(*s);
}

/* The arguments of a command, as mdoc: words that are written as they are stay so. */
static void put_args(const char *args)
{
	static const char *const literal[] = { "--", "\"COMMAND\"", NULL };
	char copy[256], *word, *rest;
	int i, plain;

	snprintf(copy, sizeof(copy), "%s", args);
	for (word = strtok_r(copy, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		plain = word[0] == '[' || word[strlen(word) - 1] == ']';
		for (i = 0; literal[i] && !plain; i++)
			plain = !strcmp(word, literal[i]);
		printf(plain ? " No %s" : " Ar %s", word[0] == '"' ? "\\(dqCOMMAND\\(dq" : word);
	}
}

static void put_mdoc(size_t table, const struct row *r)
{
	if (tables[table].rows == functions) {
		printf("%s%s", r == functions ? "" : ",\n", r->name);
		return;
	}
	printf(".It %s %s", tables[table].macro, r->name);
	if (tables[table].rows == commands)
		put_args(r->args);
	else if (*r->args)
		printf("%sAr %s", tables[table].join, r->args);
	putchar('\n');
	put_text(r->help);
	if (*r->value) {
		fputs("; default ", stdout);
		put_text(r->value);
	}
	fputs(".\n", stdout);
}

static void put_table(size_t table, enum format format)
{
	const struct row *r = tables[table].rows;

	if (!r) {
		fputs(MPROF_VERSION, stdout);
		return;
	}
	for (; r->name; r++) {
		if (format == MDOC)
			put_mdoc(table, r);
		else if (format == BASH)
			printf("%s%s", r == tables[table].rows ? "" : " ", r->name);
		else
			printf("'%s:%s' ", r->name, r->help);
	}
	if (format == MDOC && tables[table].rows == functions)
		putchar('\n');
}

/* A marker alone in a line of a manual page brings its own line ends. */
static void put_line(char *line, enum format format)
{
	char *at, *first;
	size_t i, best;

	for (;;) {
		first = NULL;
		best = 0;
		for (i = 0; i < sizeof(tables) / sizeof(tables[0]); i++) {
			at = strstr(line, tables[i].marker);
			if (at && (!first || at < first)) {
				first = at;
				best = i;
			}
		}
		if (!first)
			break;
		fwrite(line, 1, (size_t)(first - line), stdout);
		put_table(best, format);
		line = first + strlen(tables[best].marker);
		if (format == MDOC && tables[best].rows && !strcmp(line, "\n"))
			return;
	}
	fputs(line, stdout);
}

int main(int argc, char **argv)
{
	enum format format;
	char line[4096];
	FILE *in;

	if (argc != 2 || !(in = fopen(argv[1], "r"))) {
		fprintf(stderr, "usage: gendoc FILE.in >FILE\n");
		return 2;
	}
	format = strstr(argv[1], ".bash.in") ? BASH : strstr(argv[1], "/_") ? ZSH : MDOC;
	while (fgets(line, sizeof(line), in))
		put_line(line, format);
	fclose(in);
	return fflush(stdout) || ferror(stdout);
}
