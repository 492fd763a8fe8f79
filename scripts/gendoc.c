/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * gendoc.c - makes manual pages and completion scripts from templates.
 *
 *   gendoc ROWS FILE.in >FILE
 *
 * ROWS is the output of `mprof help --rows`: the options and examples of every command
 * (src/mprof/cmd/usage.c has its format).  Replaced anywhere in FILE.in:
 *
 *   @OPTIONS@ @MODES@ @INITS@ @UNWINDERS@ @FUNCTIONS@ @COMMANDS@ @VIEWS@ @VALUES@ @BY@
 *   @COLUMNS@ @FORMATS@ @ALLOCATORS@ @VERSION@  rows of the .def tables: items of a list in a
 * manual page (NAME.N.in), words in a script of bash or fish (NAME.bash.in), 'word:help' in a zsh
 * function
 *   @VALUES_OF_OPTIONS@    in a completion: a case for each option with a value, which sets
 *                          `values' to what a shell offers for it
 *   @COMMAND_OPTIONS@      in a completion: a case for each command that sets `options'; for fish,
 *                          a line for each option
 *
 * Lines of a page mprof-COMMAND.1.in:
 *
 *   @HELP@ @SYNOPSIS@ @DOC@ @EXAMPLES@   the command's line of help, forms, text, examples
 *   @ROWS@ ... @END@       its options; between the two, a line `@+ NAME@' begins text that
 *                          is put behind the help of option NAME, or before the first option
 *                          of the group of that title
 *   @JSON FILE@            the objects of src/mprof/json/FILE.def (gendoc_json.h)
 *   @MARKDOWN N PATH@      a Markdown file: ## is .Sh for N = 1 and .Ss for N = 2
 */
#include <mprof/runner.h>

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum format { MDOC, BASH, ZSH, FISH };

struct row {
	const char *name, *args, *help, *value;
};

static const struct row options[] = {
#define MPROF_OPTION(key, field, type, value, min, max, arg, help) { #key, arg, help, value },
#include <mprof/options.def>
	{ NULL, NULL, NULL, NULL },
};
static const struct row modes[] = {
#define MPROF_MODE(name, ops, key, kind, help) { #name, "", help, "" },
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
#define VALUE(id, name, blocks, roles, member, unit, add, from, json, help) { name, "", help, "" },
#include <pass/figures.def>
	{ NULL, NULL, NULL, NULL },
};
static const struct row columns[] = {
#define FIGURE(member, unit, add, from, json, help) { #member, "", help, "" },
#include <pass/figures.def>
	{ NULL, NULL, NULL, NULL },
};
static const struct row allocators[] = {
#define X(name, soname, package) { name, "", package, "" },
	MPROF_ALLOCATORS(X)
#undef X
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
	{ "@ALLOCATORS@", allocators, "Cm", "" },
	{ "@VALUES@", values, "Cm", "" },
	{ "@COLUMNS@", columns, "Sy", "" },
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

/* The arguments of a command, as mdoc: literal words stay literal. */
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
		printf("%s%s", r == tables[table].rows ? "" : ",\n", r->name);
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

/* A quote inside quotes, escaped for a shell. */
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
		else if (format != ZSH)
			printf("%s%s", r == tables[table].rows ? "" : " ", r->name);
		else
			put_quoted(r);
	}
	if (format == MDOC && !*tables[table].macro)
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

/* ---- what `mprof help --rows` says ---- */

enum { FIELDS = 8, LINES_MOST = 4096 };

static char *row_line[LINES_MOST];
static size_t row_lines;

static void fatal(const char *what, const char *of)
{
	fprintf(stderr, "gendoc: %s '%s'\n", what, of);
	exit(1);
}

static void read_rows(const char *path)
{
	FILE *in = fopen(path, "r");
	char *line = NULL;
	size_t room = 0;

	if (!in)
		fatal("cannot read", path);
	while (getline(&line, &room, in) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (row_lines == LINES_MOST || !(row_line[row_lines++] = strdup(line)))
			fatal("too many rows in", path);
	}
	free(line);
	fclose(in);
}

/* Splits a copy of a row at its tabs; the caller frees field[0]. */
static void split(const char *line, char *field[FIELDS])
{
	char *at = strdup(line);
	int i;

	for (i = 0; i < FIELDS; i++) {
		field[i] = at;
		at += strcspn(at, "\t");
		if (*at && i + 1 < FIELDS)
			*at++ = '\0';
	}
}

/* The first row after "C NAME". */
static size_t rows_of(const char *command)
{
	size_t i;

	for (i = 0; i < row_lines; i++)
		if (row_line[i][0] == 'C' && !strcmp(row_line[i] + 2, command))
			return i + 1;
	fatal("no rows of command", command);
	return 0;
}

static int in_command(size_t i)
{
	return i < row_lines && row_line[i][0] != 'C';
}

/* Text of the program in a manual page: each sentence on a line of its own. */
/* end: appended to the last word, unless that ends with a full stop. */
static void put_sentences(const char *s, const char *end)
{
	size_t n = strlen(s);

	if (*s == '.' || *s == '\'')
		fputs("\\&", stdout);
	if (n && s[n - 1] == '.')
		end = "";
	for (; *s; s++) {
		if (*s == '\\') {
			fputs("\\e", stdout);
		} else if (*s == '.' && s[1] == ' ' &&
			   (isupper((unsigned char)s[2]) || s[2] == ' ')) {
			fputs(".\n", stdout);
			s += strspn(s + 1, " ");
		} else {
			putchar(*s);
		}
	}
	puts(end);
}

/* The arguments of a command: "[--] PROGRAM [ARGS]", "LOG...", "\"SHELL COMMAND\"". */
static void put_form(const char *command, const char *form)
{
	char copy[256], *word, *rest;
	size_t n;

	printf(".Nm \"mprof %s\"\n.Op Ar OPTION ...\n", command);
	snprintf(copy, sizeof(copy), "%s", form);
	for (word = copy; *word; word = rest) {
		n = *word == '"' ? strcspn(word + 1, "\"") + 2 : strcspn(word, " ");
		rest = word + n + strspn(word + n, " ");
		word[n] = '\0';
		if (*word == '"')
			printf(".Ar \\(dq%.*s\\(dq\n", (int)n - 2, word + 1);
		else if (!strcmp(word, "[--]"))
			puts(".Op Fl -");
		else if (*word == '[')
			printf(".Op Ar %.*s\n", (int)n - 2, word + 1);
		else
			printf(".Ar %s\n", word);
	}
}

static void put_synopsis(const char *command)
{
	size_t i;

	for (i = rows_of(command); in_command(i); i++)
		if (row_line[i][0] == 'U')
			put_form(command, row_line[i] + 2);
}

static void put_doc(const char *command)
{
	size_t i;

	for (i = rows_of(command); in_command(i); i++)
		if (row_line[i][0] == 'D')
			put_sentences(row_line[i] + 2, "");
	for (i = rows_of(command); in_command(i); i++) {
		if (row_line[i][0] != 'P')
			continue;
		puts(".Pp");
		put_sentences(row_line[i] + 2, "");
	}
}

static void put_examples(const char *command)
{
	const char *gap = "";
	char *field[FIELDS];
	size_t i;

	for (i = rows_of(command); in_command(i); i++) {
		if (row_line[i][0] != 'X')
			continue;
		split(row_line[i], field);
		printf("%s%s:\n.Bd -literal -offset indent\n", gap, field[2]);
		put_text(field[1]);
		puts("\n.Ed");
		gap = ".Pp\n";
		free(field[0]);
	}
}

static void put_help(const char *command)
{
	const struct row *r;

	for (r = commands; r->name; r++)
		if (!strcmp(r->name, command))
			printf(".Nd %s\n", r->help);
}

/* ---- text that a page adds to its options ---- */

enum { MORE_MOST = 128 };

static struct {
	char name[128];
	char *text;
	int used;
} more[MORE_MOST];
static size_t mores;

static void read_more(FILE *in)
{
	char line[4096], *end;
	size_t room = 0;
	FILE *text = NULL;

	for (mores = 0; fgets(line, sizeof(line), in) && strcmp(line, "@END@\n");) {
		if (!strncmp(line, "@+ ", 3)) {
			end = strrchr(line, '@');
			if (text)
				fclose(text);
			if (mores == MORE_MOST)
				fatal("too many additions at", line);
			snprintf(more[mores].name, sizeof(more[mores].name), "%.*s",
				 (int)(end - line - 3), line + 3);
			more[mores].used = 0;
			more[mores].text = NULL;
			text = open_memstream(&more[mores++].text, &room);
		} else if (text) {
			fputs(line, text);
		}
	}
	if (text)
		fclose(text);
}

static void put_more(const char *name)
{
	const char *line, *end;
	char copy[4096];
	size_t i;

	for (i = 0; i < mores; i++) {
		if (strcmp(more[i].name, name))
			continue;
		more[i].used = 1;
		for (line = more[i].text; *line; line = end + 1) {
			end = strchr(line, '\n');
			snprintf(copy, sizeof(copy), "%.*s\n", (int)(end - line), line);
			put_line(copy, MDOC);
		}
	}
}

static void put_option(char *const field[FIELDS])
{
	printf(".It ");
	if (*field[1])
		printf("Fl %s , ", field[1]);
	printf("Fl -%s", field[2]);
	if (*field[3])
		printf(*field[4] == '1' ? " Ns Op = Ns Ar %s" : " Ar %s", field[3]);
	putchar('\n');
	put_sentences(field[5], ".");
	put_more(field[2]);
}

static void put_group(const char *title)
{
	char name[256];
	size_t n = strlen(title);

	snprintf(name, sizeof(name), "%.*s", (int)(n - (n && title[n - 1] == ':')), title);
	printf(".Ss %s\n", name);
	put_more(name);
}

static void put_rows(const char *command)
{
	int open = 0, options = 0;
	char *field[FIELDS];
	size_t i;

	for (i = rows_of(command); in_command(i); i++) {
		if (row_line[i][0] != 'O' && row_line[i][0] != 'H')
			continue;
		split(row_line[i], field);
		if (row_line[i][0] == 'O') {
			if (!open)
				puts(".Bl -tag -width Ds");
			put_option(field);
			open = 1;
			options++;
		} else {
			if (open)
				puts(".El");
			put_group(field[1]);
			open = 0;
		}
		free(field[0]);
	}
	if (open)
		puts(".El");
	for (i = 0; i < mores; i++)
		if (!more[i].used)
			fatal("unknown option or group in '@+':", more[i].name);
}

#include "gendoc_shell.h"

/* ---- Markdown ---- */

/*
 * Inline: `code` and **word** bold, *word* italic; each sentence on a line of its own.
 * A lone asterisk, as between factors, stays.
 */
static void put_markdown(const char *s, const char *end)
{
	const char *begin = s;
	int bold = 0, strong = 0, italic = 0;

	if (*s == '.' || *s == '\'')
		fputs("\\&", stdout);
	for (; s < end; s++) {
		if (*s == '`') {
			fputs((bold = !bold) ? "\\fB" : "\\fP", stdout);
		} else if (*s == '\\') {
			fputs("\\e", stdout);
		} else if (*s == '*' && !bold && s[1] == '*') {
			fputs((strong = !strong) ? "\\fB" : "\\fP", stdout);
			s++;
		} else if (*s == '*' && !bold && (italic || (s + 1 < end && s[1] != ' '))) {
			fputs((italic = !italic) ? "\\fI" : "\\fP", stdout);
		} else if (*s == ' ' && s > begin && s[-1] == '.' && s + 1 < end &&
			   (isupper((unsigned char)s[1]) || s[1] == '`')) {
			putchar('\n'); /* mdoc wants each sentence on a line of its own */
			if (s[1] == '.' || s[1] == '\'')
				fputs("\\&", stdout);
		} else {
			putchar(*s);
		}
	}
}

enum { CELLS = 8 };

/* The cells of a row of a table, without blanks around; returns how many. */
static int cells_of(const char *line, const char *cell[CELLS], const char *end[CELLS])
{
	int n = 0, code = 0;
	const char *s = line + 1;

	while (n < CELLS && *s && *s != '\n') {
		const char *from = s + strspn(s, " "), *to;

		for (s = from; *s && *s != '\n' && (code || *s != '|'); s++)
			code ^= *s == '`';
		if (*s != '|')
			break;
		for (to = s++; to > from && to[-1] == ' '; to--)
			;
		cell[n] = from;
		end[n++] = to < from ? from : to;
	}
	return n;
}

enum { TABLE_ROWS = 512, LONG_CELL = 24 };

/* Rows are kept until the table ends: the widths depend on all of them. */
static char *table_row[TABLE_ROWS];
static int table_rows;

static void table_add(const char *line)
{
	if (line[1] == '-')
		return;
	if (table_rows == TABLE_ROWS || !(table_row[table_rows++] = strdup(line)))
		fatal("too many rows in a table at", line);
}

/* A name and its meaning. */
static void put_list(void)
{
	const char *cell[CELLS], *end[CELLS];
	int i;

	puts(".Bl -tag -width Ds");
	for (i = 1; i < table_rows; i++) {
		cells_of(table_row[i], cell, end);
		fputs(".It ", stdout);
		put_markdown(cell[0], end[0]);
		putchar('\n');
		put_markdown(cell[1], end[1]);
		putchar('\n');
	}
	puts(".El");
}

static void put_cell(const char *s, const char *end, int block)
{
	if (block && end > s)
		fputs("T{\n", stdout);
	put_markdown(s, end);
	if (block && end > s)
		fputs("\nT}", stdout);
}

/* For tbl(1): the last column, and any long column of a pair, breaks its lines. */
static void put_tbl(int columns)
{
	const char *cell[CELLS], *end[CELLS];
	int i, c, block[CELLS] = { 0 };

	for (i = 0; i < table_rows; i++)
		for (c = 0; c < cells_of(table_row[i], cell, end); c++)
			block[c] |=
			    end[c] - cell[c] > LONG_CELL && (c + 1 == columns || columns == 2);
	puts(".TS");
	for (c = 0; c < columns; c++)
		printf("%s%s", c ? " " : "", block[c] ? "lx" : "l");
	puts(".");
	for (i = 0; i < table_rows; i++) {
		int n = cells_of(table_row[i], cell, end), filled = 0;

		for (c = 0; c < n; c++)
			filled |= end[c] > cell[c];
		for (c = 0; c < n && filled; c++) {
			fputs(c ? "\t" : "", stdout);
			put_cell(cell[c], end[c], block[c]);
		}
		if (filled)
			putchar('\n');
	}
	puts(".TE");
}

/* A table of names and meanings becomes a list; other tables are left to tbl(1). */
static void table_end(int gap)
{
	const char *cell[CELLS], *end[CELLS];
	int n = cells_of(table_row[0], cell, end);

	if (n == 2 && !strncmp(cell[0], "name", 4) && end[0] == cell[0] + 4) {
		put_list();
	} else {
		if (gap)
			puts(".Pp");
		put_tbl(n);
	}
	while (table_rows)
		free(table_row[--table_rows]);
}

struct markdown {
	int table; /* 1 within one, 2 behind a gap */
	int code, list, gap, level;
};

static void end_list(struct markdown *m)
{
	if (m->list)
		puts(".El");
	m->list = 0;
}

static void put_heading(const struct markdown *m, const char *line)
{
	int level = (int)strspn(line, "#") - 2 + m->level;
	const char *s = line + strspn(line, "#") + 1;

	printf(level < 2 ? ".Sh " : ".Ss ");
	/* Backquotes only: a heading is one line, and "1. Time" is not a sentence. */
	for (; *s && *s != '\n'; s++)
		if (*s != '`')
			putchar(*s);
	putchar('\n');
}

/* A line outside tables and code.  gap: it follows 0 text, 1 a gap, 2 a heading. */
static void put_markdown_text(struct markdown *m, const char *line)
{
	size_t n = strcspn(line, "\n"), skip = 0;

	if (!n) {
		m->gap = m->gap == 2 ? 2 : 1;
		return;
	}
	if (!strncmp(line, "* ", 2)) {
		if (!m->list)
			puts(".Bl -bullet");
		puts(".It");
		m->list = 1;
		skip = 2;
	} else if (m->list && !strncmp(line, "  ", 2)) {
		skip = 2;
	} else {
		end_list(m);
		if (m->gap == 1)
			puts(".Pp");
	}
	put_markdown(line + skip, line + n);
	putchar('\n');
	m->gap = 0;
}

static void put_markdown_line(struct markdown *m, const char *line)
{
	int row = line[0] == '|' && !m->code;

	if (m->table && !row) {
		table_end(m->table == 2);
		m->table = 0;
	}
	if (!strncmp(line, "```", 3)) {
		puts((m->code = !m->code) ? ".Bd -literal" : ".Ed");
		m->gap = 0;
	} else if (m->code) {
		put_text(line);
	} else if (row) {
		end_list(m);
		if (!m->table)
			m->table = m->gap == 1 ? 2 : 1;
		table_add(line);
		m->gap = 0;
	} else if (!strncmp(line, "##", 2)) {
		end_list(m);
		put_heading(m, line);
		m->gap = 2;
	} else if (line[0] != '#' && line[0] != '<') {
		put_markdown_text(m, line);
	}
}

static void put_markdown_file(const char *marker)
{
	struct markdown m = { .gap = 2, .level = marker[0] - '0' };
	char path[512], line[4096];
	FILE *in;

	snprintf(path, sizeof(path), "%.*s", (int)strcspn(marker + 2, "@"), marker + 2);
	in = fopen(path, "r");
	if (!in)
		fatal("cannot read", path);
	while (fgets(line, sizeof(line), in))
		put_markdown_line(&m, line);
	put_markdown_line(&m, "\n");
	end_list(&m);
	fclose(in);
}

#define JSON_OF_EVENTS
#define JSON_OF_STACKS
#include "gendoc_json.h"

/* ---- templates ---- */

/* The command of a page: "report" for man/mprof-report.1.in. */
static const char *page_command(const char *path)
{
	static char name[64];
	const char *at = strstr(path, "mprof-");

	if (!at)
		fatal("no page of a command", path);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(at + 6, "."), at + 6);
	return name;
}

/* Was the line only a marker? */
static int put_block(const char *line, const char *path, enum format format, FILE *in)
{
	if (!strcmp(line, "@COMMAND_OPTIONS@\n") && format == FISH)
		put_fish_options();
	else if (!strcmp(line, "@COMMAND_OPTIONS@\n"))
		put_command_options(format);
	else if (!strcmp(line, "@VALUES_OF_OPTIONS@\n"))
		put_values_of_options();
	else if (!strncmp(line, "@MARKDOWN ", 10))
		put_markdown_file(line + 10);
	else if (!strncmp(line, "@JSON ", 6))
		put_json_file(line + 6);
	else if (!strcmp(line, "@HELP@\n"))
		put_help(page_command(path));
	else if (!strcmp(line, "@SYNOPSIS@\n"))
		put_synopsis(page_command(path));
	else if (!strcmp(line, "@DOC@\n"))
		put_doc(page_command(path));
	else if (!strcmp(line, "@EXAMPLES@\n"))
		put_examples(page_command(path));
	else if (!strcmp(line, "@ROWS@\n")) {
		read_more(in);
		put_rows(page_command(path));
	} else {
		return 0;
	}
	return 1;
}

int main(int argc, char **argv)
{
	enum format format;
	char line[4096];
	FILE *in;

	if (argc == 2 && !strcmp(argv[1], "--json"))
		return put_json_rows();
	if (argc != 3 || !(in = fopen(argv[2], "r"))) {
		fprintf(stderr, "usage: gendoc ROWS FILE.in >FILE\n       gendoc --json\n");
		return 2;
	}
	read_rows(argv[1]);
	format = strstr(argv[2], ".bash.in")   ? BASH
		 : strstr(argv[2], ".fish.in") ? FISH
		 : strstr(argv[2], "/_")       ? ZSH
					       : MDOC;
	while (fgets(line, sizeof(line), in))
		if (!put_block(line, argv[2], format, in))
			put_line(line, format);
	fclose(in);
	check_json_files();
	return fflush(stdout) || ferror(stdout);
}
