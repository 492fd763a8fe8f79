/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * gendoc.c - fills the tables of options, modules, functions and commands into
 * a manual page or a completion script.
 *
 * A filter run by make: copies the file it is given to stdout and replaces
 * @OPTIONS@ @MODES@ @INITS@ @UNWINDERS@ @FUNCTIONS@ @COMMANDS@ @VIEWS@ @VALUES@ @BY@
 * @FORMATS@ and @VERSION@, and a line @REPORT_JSON@ or @REPLAY_JSON@ by the names in
 * mprof-report-json.md or mprof-replay-json.md beside it.
 * What they become depends on the file: items of a list in a manual page (NAME.N.in),
 * words in a bash script (NAME.bash.in), 'word:help' in a zsh function.
 */
#include <ctype.h>
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
static const struct row unwinders[] = {
#define MPROF_UNWINDER(id, name, help) { #name, "", help, "" },
#include <mprof/unwinders.def>
#undef MPROF_UNWINDER
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
static const struct row views[] = {
#define VIEW(id, name, arg, help) { name, arg, help, "" },
#include <print/views.def>
	{ NULL, NULL, NULL, NULL },
};
static const struct row values[] = {
#define PROFILE_VALUE(id, name, unit, help) { name, "", help, "" },
#include <profile/values.def>
	{ NULL, NULL, NULL, NULL },
};
static const struct row formats[] = {
#define EXPORT(name, function, extension, flags, help) { name, "", help, "" },
#include <export/exports.def>
	{ NULL, NULL, NULL, NULL },
};
static const struct row by[] = {
#define PROFILE_BY(id, name, help) { name, "", help, "" },
#include <profile/by.def>
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
	{ "@UNWINDERS@", unwinders, "Cm", "" },
	{ "@FUNCTIONS@", functions, "", "" },
	{ "@COMMANDS@", commands, "Cm", " " },
	{ "@VIEWS@", views, "Cm", " " },
	{ "@FORMATS@", formats, "Cm", "" },
	{ "@VALUES@", values, "Cm", "" },
	{ "@BY@", by, "Cm", "" },
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

/* A quote inside quotes, as a shell wants it. */
static void put_quoted(const struct row *r)
{
	const char *s;

	printf("'%s:", r->name);
	for (s = r->help; *s; s++) {
		if (*s == '\'')
			fputs("'\\'", stdout);
		putchar(*s);
	}
	fputs("' ", stdout);
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
			put_quoted(r);
	}
	if (format == MDOC && tables[table].rows == functions)
		putchar('\n');
}

/*
 * The names of the JSON answer, from the page that documents them: headings
 * become subsections, rows of a table items, `code' bold.
 */
static void put_markdown(const char *s, const char *end)
{
	int bold = 0;

	if (*s == '.' || *s == '\'')
		fputs("\\&", stdout);
	for (; s < end; s++) {
		if (*s == '`')
			fputs((bold = !bold) ? "\\fB" : "\\fP", stdout);
		else if (*s == '\\')
			fputs("\\e", stdout);
		else if (*s == ' ' && s[-1] == '.' && (isupper((unsigned char)s[1]) || s[1] == '`'))
			putchar('\n'); /* mdoc wants each sentence on a line of its own */
		else
			putchar(*s);
	}
}

static void put_row(const char *line)
{
	const char *name = line + 2, *bar = strstr(name, " | "), *end;

	if (!bar || !strncmp(name, "name |", 6))
		return;
	fputs(".It ", stdout);
	put_markdown(name, bar);
	putchar('\n');
	end = strrchr(bar, '|');
	put_markdown(bar + 3, end - (end[-1] == ' '));
	putchar('\n');
}

static void put_markdown_line(const char *line, int *table, int *gap)
{
	size_t n = strcspn(line, "\n");
	int row = line[0] == '|';

	if (*table && !row)
		fputs(".El\n", stdout);
	if (row && !*table)
		fputs(".Bl -tag -width Ds\n", stdout);
	*table = row;
	if (row && line[1] == ' ') {
		put_row(line);
	} else if (!strncmp(line, "## ", 3)) {
		fputs(".Ss ", stdout);
		put_markdown(line + 3, line + n);
		putchar('\n');
	} else if (n && !row && line[0] != '#' && line[0] != '<') {
		if (*gap == 1)
			fputs(".Pp\n", stdout);
		put_markdown(line, line + n);
		putchar('\n');
	}
	/* A paragraph mark only between two paragraphs, not below a heading. */
	*gap = !n ? *gap == 2 ? 2 : 1 : line[0] == '#' ? 2 : 0;
}

static int put_json_names(const char *beside, const char *file)
{
	char path[4096], line[4096];
	const char *slash = strrchr(beside, '/');
	int table = 0, gap = 2;
	FILE *in;

	snprintf(path, sizeof(path), "%.*s%s", (int)(slash ? slash + 1 - beside : 0), beside, file);
	in = fopen(path, "r");
	if (!in) {
		fprintf(stderr, "gendoc: %s cannot be read\n", path);
		return 1;
	}
	while (fgets(line, sizeof(line), in))
		put_markdown_line(line, &table, &gap);
	if (table)
		fputs(".El\n", stdout);
	fclose(in);
	return 0;
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
	int failed = 0;
	FILE *in;

	if (argc != 2 || !(in = fopen(argv[1], "r"))) {
		fprintf(stderr, "usage: gendoc FILE.in >FILE\n");
		return 2;
	}
	format = strstr(argv[1], ".bash.in") ? BASH : strstr(argv[1], "/_") ? ZSH : MDOC;
	while (fgets(line, sizeof(line), in)) {
		if (!strcmp(line, "@REPORT_JSON@\n"))
			failed |= put_json_names(argv[1], "mprof-report-json.md");
		else if (!strcmp(line, "@REPLAY_JSON@\n"))
			failed |= put_json_names(argv[1], "mprof-replay-json.md");
		else
			put_line(line, format);
	}
	fclose(in);
	return failed || fflush(stdout) || ferror(stdout);
}
