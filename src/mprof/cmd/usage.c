/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * usage.c - prints --help, and the rows from which manual pages and completions are made.
 *
 * The help of a command fits on two screens (HELP_LINES).  If not all options fit, the last groups
 * are listed by name only.
 *
 * Rows for scripts/gendoc are lines of fields separated by tabs:
 *   C NAME                        a command begins
 *   U ARGUMENTS                   one form of its arguments
 *   D TEXT, P TEXT                what it does; what follows the options
 *   H TITLE                       a group of options begins
 *   O SHORT LONG ARG OPTIONAL TEXT TYPE COMPLETIONS
 *   X COMMAND TEXT                an example
 * COMPLETIONS are words with blanks between; @file, @directory and @command stand for their names.
 */
#include "usage.h"

#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../export/exports.h"
#include "../print/quote.h"
#include "../util/alloc.h"
#include "../util/nearest.h"
#include "cmd.h"

enum { HELP_LINES = 48, WIDTH = 79, COLUMN = 24, ROWS_MOST = 128 };

static const struct {
	const char *command, *line, *text;
} examples[] = {
#define MPROF_EXAMPLE(command, line, text) { command, line, text },
#include "examples.def"
#undef MPROF_EXAMPLE
};

/* All rows of a command, including those of other tables in their place. */
struct rows {
	struct {
		const struct option_row *option;
		size_t at; /* offset of its OPTIONS in the command's struct */
		bool given;
	} row[ROWS_MOST];
	size_t n;
};

static void add(struct rows *r, const struct option_row *o, size_t at)
{
	if (r->n == ROWS_MOST)
		abort();
	r->row[r->n].option = o;
	r->row[r->n++].at = at;
}

static void collect(struct rows *r, const struct option_row *o, size_t at)
{
	const char *title = "";

	for (size_t i = 0; i < r->n; i++)
		if (!r->row[i].option->name)
			title = r->row[i].option->help;
	for (; !o->end; o++) {
		if (o->rows)
			collect(r, o->rows, at + o->at);
		else if (o->name || (o->help && strcmp(o->help, title)))
			add(r, o, at);
	}
}

/* ---- --help ---- */

static size_t words_until(const char *s, size_t room)
{
	size_t n = strlen(s), i;

	if (n <= room)
		return n;
	for (i = room; i > 0 && s[i] != ' '; i--)
		;
	return i ? i : room;
}

/* Prints text from column `at`; further lines begin at column `indent`. */
static void wrap(FILE *out, const char *s, size_t at, size_t indent)
{
	size_t n;

	for (;;) {
		n = words_until(s, at < WIDTH ? WIDTH - at : 0);
		fprintf(out, "%.*s\n", (int)n, s);
		for (s += n; *s == ' '; s++)
			;
		if (!*s)
			return;
		fprintf(out, "%*s", (int)indent, "");
		at = indent;
	}
}

/* Puts "a, b or c". */
static size_t put_words_or(char *to, size_t room, const char *const *words, const char *comma,
			   const char *last)
{
	size_t n = 0, i;

	for (i = 0; words[i] && n < room; i++)
		n += (size_t)snprintf(to + n, room - n, "%s%s",
				      !i	     ? ""
				      : words[i + 1] ? comma
						     : last,
				      words[i]);
	return n;
}

/* Returns the name of the value for help: "N", "keep|clear"; "" if there is none. */
static const char *option_arg(char *to, size_t room, const struct option_row *o)
{
	if (!o->arg || strcmp(o->arg, OPTION_EITHER))
		return o->arg ? o->arg : "";
	put_words_or(to, room, o->words, "|", "|");
	return to;
}

static void option_left(char *to, size_t room, const struct option_row *o)
{
	const char *open = o->otherwise ? "[=" : " ", *close = o->otherwise ? "]" : "";
	char letter[8] = "", arg[96];

	if (o->letter)
		snprintf(letter, sizeof(letter), "-%c, ", o->letter);
	snprintf(to, room, "  %s--%s%s%s%s", letter, o->name, o->arg ? open : "",
		 option_arg(arg, sizeof(arg), o), o->arg ? close : "");
}

/* Puts the help, with the words of the row in place of %s. */
static void option_help(char *to, size_t room, const struct option_row *o)
{
	const char *at = o->words ? strstr(o->help, "%s") : NULL;
	size_t n;

	if (!at) {
		snprintf(to, room, "%s", o->help);
		return;
	}
	n = (size_t)snprintf(to, room, "%.*s", (int)(at - o->help), o->help);
	n += put_words_or(to + n, room - n, o->words, ", ", " or ");
	if (n < room)
		snprintf(to + n, room - n, "%s", at + 2);
}

static void print_option(FILE *out, const struct option_row *o)
{
	char left[128], help[512];
	int n;

	option_left(left, sizeof(left), o);
	option_help(help, sizeof(help), o);
	n = fprintf(out, "%-*s  ", COLUMN - 2, left);
	wrap(out, help, (size_t)n, COLUMN);
}

/* Puts only the names of one group: "Names: --names, --rewrite ...". */
static size_t help_names(FILE *out, const struct rows *r, size_t i, const char *title)
{
	char *line = NULL;
	size_t n;
	FILE *f = must_memstream(&line, &n);

	fprintf(f, "%s", title);
	for (; i < r->n && r->row[i].option->name; i++)
		fprintf(f, " --%s", r->row[i].option->name);
	must_close(f, &line);
	wrap(out, line, 0, 4);
	free(line);
	return i;
}

/* Prints groups from row number `names` on by name only. */
static void help_options(FILE *out, const struct rows *r, size_t names)
{
	bool brief = false;
	size_t i;

	for (i = 0; i < r->n; i++) {
		const struct option_row *o = r->row[i].option;

		if (o->name) {
			print_option(out, o);
			continue;
		}
		if (i && !brief)
			fputc('\n', out);
		if (i >= names) {
			i = help_names(out, r, i + 1, o->help) - 1;
			brief = true;
		} else {
			wrap(out, o->help, 0, 0);
		}
	}
}

static const char *command_of(const char *name)
{
	const char *blank = strchr(name, ' ');

	return blank ? blank + 1 : "";
}

static void help_examples(FILE *out, const char *command)
{
	const char *title = "\nExamples:\n";
	size_t i;

	for (i = 0; i < sizeof(examples) / sizeof(examples[0]); i++) {
		if (strcmp(examples[i].command, command))
			continue;
		fprintf(out, "%s  %s\n", title, examples[i].line);
		title = "";
	}
}

static void help_forms(FILE *out, const char *name, const struct usage *u)
{
	const char *form = u->args;
	size_t n;

	for (n = strcspn(form, "\n");; form += n + 1, n = strcspn(form, "\n")) {
		fprintf(out, "%s%s [OPTION...] %.*s\n", form == u->args ? "Usage: " : "       ",
			name, (int)n, form);
		if (!form[n])
			break;
	}
}

static void print_help(FILE *out, const char *name, const struct usage *u, const struct rows *rows,
		       size_t names)
{
	const char *v = strchr(u->doc, '\v');
	char *before = strndup(u->doc, v ? (size_t)(v - u->doc) : strlen(u->doc));
	char *more = u->more ? u->more() : NULL;

	help_forms(out, name, u);
	if (before && *before)
		wrap(out, before, 0, 0);
	fputc('\n', out);
	if (more)
		fprintf(out, "%s\n", more);
	help_options(out, rows, names);
	fprintf(out, "\nmprof%s%s(1) explains all options%s.\n", *command_of(name) ? "-" : "",
		command_of(name), names < rows->n ? ", --help=all lists them" : "");
	if (v) {
		fputc('\n', out);
		wrap(out, v + 1, 0, 0);
	}
	help_examples(out, command_of(name));
	free(before);
	free(more);
}

static size_t lines_of(const char *s)
{
	size_t n = 0;

	for (; (s = strchr(s, '\n')) != NULL; s++)
		n++;
	return n;
}

/* all: with every option.  name: "mprof report". */
static void help(FILE *out, const char *name, const struct usage *u, const struct rows *rows,
		 bool all)
{
	const char *brief = all ? NULL : u->brief;
	size_t names;
	char *text;
	bool fits = false;

	/* Print one group less in full at a time, from the last one back, until it fits. */
	for (names = rows->n; !fits; names--) {
		if (names && names < rows->n && rows->row[names].option->name)
			continue;
		if (brief && names &&
		    (names == rows->n || strcmp(rows->row[names].option->help, brief) != 0))
			continue;
		text = WRITTEN(to, print_help(to, name, u, rows, names));
		fits = all || brief || !names || lines_of(text) <= HELP_LINES;
		if (fits)
			fputs(text, out);
		free(text);
	}
}

/* ---- rows for scripts/gendoc ---- */

static void put_lines(FILE *out, char kind, const char *s)
{
	size_t n;

	for (; *s; s += n + (s[n] != '\0')) {
		n = strcspn(s, "\n");
		fprintf(out, "%c\t%.*s\n", kind, (int)n, s);
	}
}

static void put_words(FILE *out, const char *const *word)
{
	for (; word && *word; word++)
		if (!strchr(*word, ' '))
			fprintf(out, "%s ", *word);
}

static void put_option(FILE *out, const struct option_row *o)
{
	static const char *const complete[] = { "", "@file", "@directory", "@command" };
	char text[512], arg[96];

	option_help(text, sizeof(text), o);
	fprintf(out, "O\t%.*s\t%s\t%s\t%d\t%s\t%s\t", o->letter != 0, &o->letter, o->name,
		option_arg(arg, sizeof(arg), o), o->otherwise != NULL, text, o->type->name);
	put_words(out, o->words);
	put_words(out, o->type->words);
	fprintf(out, "%s\n", complete[o->type->complete]);
}

static void put_rows(FILE *out, const char *name, const struct usage *u, const struct rows *rows)
{
	const char *v = strchr(u->doc, '\v');
	size_t i;

	fprintf(out, "C\t%s\n", command_of(name));
	put_lines(out, 'U', u->args);
	fprintf(out, "D\t%.*s\n", v ? (int)(v - u->doc) : (int)strlen(u->doc), u->doc);
	if (v)
		fprintf(out, "P\t%s\n", v + 1);
	for (i = 0; i < rows->n; i++) {
		if (rows->row[i].option->name)
			put_option(out, rows->row[i].option);
		else
			fprintf(out, "H\t%s\n", rows->row[i].option->help);
	}
	for (i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		if (!strcmp(examples[i].command, command_of(name)))
			fprintf(out, "X\t%s\t%s\n", examples[i].line, examples[i].text);
}

/* ---- parsing ---- */

struct parsing {
	const struct usage *usage;
	struct rows rows;
	void *options;
	struct error err;
};

/* The values of getopt_long() for an option without a letter, and for each --name: KEYS + its
 * row. */
enum { KEYS = 256, HELP = KEYS + ROWS_MOST, USAGE };

/* Returns the index of the row, or rows->n. */
static size_t row_of(const struct rows *rows, int key)
{
	size_t i;

	for (i = 0; i < rows->n; i++) {
		const struct option_row *o = rows->row[i].option;

		if (o->name && (key == KEYS + (int)i || (o->letter && key == o->letter)))
			break;
	}
	return i;
}

static void getopt_rows(const struct rows *rows, struct option *to, char *letters)
{
	const struct option_row *o;

	for (size_t i = 0; i < rows->n; i++) {
		o = rows->row[i].option;
		if (!o->name)
			continue;
		*to++ = (struct option){ o->name,
					 !o->arg	? 0
					 : o->otherwise ? 2
							: 1,
					 NULL, KEYS + (int)i };
		if (o->letter)
			letters += sprintf(letters, "%c%s", o->letter,
					   !o->arg	  ? ""
					   : o->otherwise ? "::"
							  : ":");
	}
	*to++ = (struct option){ "help", 2, NULL, HELP };
	*to++ = (struct option){ "usage", 0, NULL, USAGE };
	*to = (struct option){ 0 };
	strcpy(letters, "h");
}

/* What other profilers call --pid or -p. */
#define ATTACH "'mprof attach PID' profiles a program that runs already"

/* Options of commands that run a program, taken for those of another such command. */
static const struct {
	const char *name, *command;
} elsewhere[] = {
	{ "budget", "record" },		 { "last", "record" },
	{ "overhead", "record" },	 { "touched", "record" },
	{ "at-exit", "profile" },	 { "dump-every", "profile" },
	{ "dump-rss", "profile" },	 { "dump-signal", "profile" },
	{ "paused", "profile" },	 { "sample", "profile" },
	{ "sample-calls", "profile" },	 { "site-sizes", "profile" },
	{ "stack-max-size", "profile" }, { "stack-min-size", "profile" },
	{ "threads", "profile" },
};

/* Returns the command that has this option, or NULL. */
static const char *command_elsewhere(const char *command, const char *word)
{
	static const char *const run[] = { "test", "stat", "record", "profile", "attach" };
	bool runs = false;

	for (size_t i = 0; i < sizeof(run) / sizeof(run[0]); i++)
		runs |= !strcmp(command, run[i]);
	for (size_t i = 0; runs && i < sizeof(elsewhere) / sizeof(elsewhere[0]); i++)
		if (!strcmp(word, elsewhere[i].name))
			return elsewhere[i].command;
	return NULL;
}

/* Reports "unknown option '--formt': did you mean '--format'?"; word: as given, without a value. */
static int unknown_option(struct parsing *p, const char *name, const char *word)
{
	const size_t n = strlen(word);
	unsigned d, best = (unsigned)n / 3 + 1; /* about a third of the word */
	const char *like = NULL;
	char list[256] = "";
	size_t i, used = 0;
	const char *command = command_elsewhere(command_of(name), word);

	if (command)
		return fail(&p->err, -EINVAL,
			    "unknown option '--%s': it is an option of 'mprof %s'", word, command);
	for (i = 0; i < p->rows.n; i++) {
		const struct option_row *o = p->rows.row[i].option;

		if (!o->name)
			continue;
		if (n && !strncmp(o->name, word, n) && used < sizeof(list))
			used += (size_t)snprintf(list + used, sizeof(list) - used, "%s--%s",
						 used ? ", " : "", o->name);
		d = nearest_is_part(word, o->name) ? 1 : nearest_distance(word, o->name);
		if (d < best) {
			best = d;
			like = o->name;
		}
	}
	if (used)
		return fail(&p->err, -EINVAL, "ambiguous option '--%s': expected one of %s", word,
			    list);
	if (!strcmp(word, "pid"))
		return fail(&p->err, -EINVAL, "unknown option '--pid': " ATTACH);
	if (like)
		return fail(&p->err, -EINVAL, "unknown option '--%s': did you mean '--%s'?", word,
			    like);
	return fail(&p->err, -EINVAL, "unknown option '--%s': '%s --help%s' lists the options",
		    word, name, *command_of(name) ? "=all" : "");
}

static int missing_value(struct parsing *p, const struct option_row *o)
{
	char words[256] = "";
	size_t n = 0;

	if (o->words)
		n = put_words_or(words, sizeof(words), o->words, ", ", " or ");
	return fail(&p->err, -EINVAL, "--%s needs a value: expected %s%s%s", o->name,
		    n ? words : o->arg, o->example ? ", for example " : "",
		    o->example ? o->example : "");
}

/* Reports what getopt_long() did not accept: ':' or '?', and optopt. */
static int refuse(struct parsing *p, int key, char **argv)
{
	const char *given = argv[optind - 1];
	const struct option_row *o;
	char word[64];
	const size_t i = row_of(&p->rows, optopt);

	if (optopt >= HELP)
		return fail(&p->err, -EINVAL, "--usage takes no value");
	o = i < p->rows.n ? p->rows.row[i].option : NULL;
	if (o && key == ':')
		return missing_value(p, o);
	if (o)
		return fail(&p->err, -EINVAL, "--%s takes no value: got '%.60s'", o->name,
			    strchr(given, '=') + 1);
	if (optopt == 'p')
		return fail(&p->err, -EINVAL, "unknown option '-p': " ATTACH);
	if (optopt)
		return fail(&p->err, -EINVAL,
			    "unknown option '-%c': '%s --help%s' lists the options", optopt,
			    argv[0], *command_of(argv[0]) ? "=all" : "");
	snprintf(word, sizeof(word), "%.*s", (int)strcspn(given + 2, "="), given + 2);
	return unknown_option(p, argv[0], word);
}

/* Adds to the error about an option that it may belong to a line of shell without quotes.  name: of
 * the option, NULL if unknown. */
static int refuse_in_line(struct parsing *p, const char *name, int ret)
{
	const char *whole = p->usage->whole;
	char text[sizeof(p->err.text)];
	size_t i;

	if (whole && name && !strcmp(name, whole))
		return ret;
	for (i = 0; whole && i < p->rows.n; i++)
		if (p->rows.row[i].given && !strcmp(p->rows.row[i].option->name, whole)) {
			snprintf(text, sizeof(text), "%s", p->err.text);
			return fail(&p->err, ret,
				    "%.400s; if it belongs to --%s, put the whole line in quotes",
				    text, whole);
		}
	return ret;
}

/*
 * The name of a method of Objective-C, -[Store add:], begins as options do, but is none:
 * getopt_long() sees it with a mark before it.
 */
#define METHOD_MARK '\1'

static bool is_method(const char *word)
{
	return !strncmp(word, "-[", 2) || !strncmp(word, "-\\[", 3); /* the same as a pattern */
}

static void hide_methods(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (is_method(argv[i]))
			argv[i] = must_printf("%c%s", METHOD_MARK, argv[i]);
}

static char *shown_method(char *word)
{
	return word && *word == METHOD_MARK ? word + 1 : word;
}

int usage_one_file(char **file, size_t n, struct error *err)
{
	char *one, *two;

	if (n != 2 || export_file_look(file[0], NULL) != -EEXIST ||
	    export_file_look(file[1], NULL) != -EEXIST)
		return fail(err, -EINVAL, "unexpected argument '%s': expected one file", file[1]);
	one = shell_command("mprof diff ", file[0]);
	two = shell_command(" ", file[1]);
	fail(err, -EINVAL, "unexpected argument '%s': expected one file; to compare two: %s%s",
	     file[1], one, two);
	free(one);
	free(two);
	return -EINVAL;
}

/* Takes the arguments after the options. */
static int take_arguments(struct parsing *p, int argc, char **argv)
{
	const struct usage *u = p->usage;
	void *to = (char *)p->options + u->at;
	const size_t n = (size_t)(argc - optind);

	argv += optind;
	for (size_t i = 0; i < n; i++)
		argv[i] = shown_method(argv[i]);
	if (!n)
		return u->missing ? fail(&p->err, -EINVAL, "%s", u->missing) : 0;
	switch (u->words) {
	case USAGE_FILES:
		*(struct arguments *)to = (struct arguments){ argv, n };
		return 0;
	case USAGE_PROGRAM:
		*(char ***)to = argv;
		return 0;
	case USAGE_FILE:
		*(const char **)to = argv[0];
		return n == 1 ? 0 : usage_one_file(argv, n, &p->err);
	default:
		return fail(&p->err, -EINVAL, "unexpected argument '%s'", argv[0]);
	}
}

/* Does every text of more than 0 characters pass as a value? */
static bool takes_anything(const struct option_type *type)
{
	static const char *const names[] = { "text", "glob", "regex" };
	size_t i = 0;

	while (i < 3 && strcmp(type->name, names[i]) != 0)
		i++;
	return i < 3;
}

/*
 * Refuses the next option as the value of this one.  word: a value that is a word of its own, as in
 * `-o -q`; one that is joined to its option, as in `--output=-q`, is meant.
 */
static int not_option(struct parsing *p, const struct option_row *o, const char *word)
{
	const bool file =
	    o->type->complete == COMPLETE_FILE || o->type->complete == COMPLETE_DIRECTORY;

	if (file && word[0] == '-' && word[1])
		return fail(&p->err, -EINVAL,
			    "--%s needs a %s before '%.60s'; if that is its name, write ./%.60s",
			    o->name, o->arg, word, word);
	if (takes_anything(o->type) && !strcmp(word, "--"))
		return fail(&p->err, -EINVAL, "--%s needs a %s before '--'%s", o->name, o->arg,
			    p->usage->whole && !strcmp(p->usage->whole, o->name)
				? ": a line of shell in quotes"
				: "");
	if (takes_anything(o->type) && !strncmp(word, "--", 2))
		return fail(&p->err, -EINVAL,
			    "--%s needs a %s before '%.60s'; if that is its value, write "
			    "--%s=%.60s",
			    o->name, o->arg, word, o->name, word);
	return 0;
}

/* Refuses the next word as the value of an option that takes one only after =, as in --sample 64K.
 */
static int not_joined(struct parsing *p, const struct option_row *o, size_t at, const char *word)
{
	struct error invalid;

	if (!o->otherwise || !word || option_take(o, word, (char *)p->options + at, &invalid))
		return 0;
	return fail(&p->err, -EINVAL, "--%s takes its value after '=': write --%s=%s", o->name,
		    o->name, word);
}

/* Options of some commands that begin the names of other ones elsewhere: no abbreviations. */
static const char *const of_others[] = {
	"all", "at", "file", "log", "time", "to", "touch", "wrap"
};

static bool is_of_others(const char *word, size_t n)
{
	for (size_t i = 0; i < sizeof(of_others) / sizeof(of_others[0]); i++)
		if (strlen(of_others[i]) == n && !strncmp(of_others[i], word, n))
			return true;
	return false;
}

/* Refuses --log where only --log-qty is an option.  key: of getopt_long(), which takes it. */
static int not_abbreviated(struct parsing *p, const struct option_row *o, int key, char **argv)
{
	const char *word = argv[optind - 1 - (optarg && optarg == argv[optind - 1])] + 2;
	const size_t n = key < KEYS ? 0 : strcspn(word, "=");

	if (!n || strlen(o->name) == n || !is_of_others(word, n))
		return 0;
	return fail(&p->err, -EINVAL, "unknown option '--%.*s': did you mean '--%s'?", (int)n, word,
		    o->name);
}

static int take(struct parsing *p, int key, const char *arg, char **argv)
{
	const size_t i = row_of(&p->rows, key);
	const struct option_row *o = p->rows.row[i].option;

	if (not_abbreviated(p, o, key, argv))
		return -EINVAL;
	if (arg && arg == argv[optind - 1] && not_option(p, o, arg))
		return -EINVAL;
	if (!arg && not_joined(p, o, p->rows.row[i].at, argv[optind]))
		return -EINVAL;
	if (o->once && p->rows.row[i].given)
		return fail(&p->err, -EINVAL, "--%s may be given only once", o->name);
	p->rows.row[i].given = true;
	return option_take(o, arg, (char *)p->options + p->rows.row[i].at, &p->err);
}

static int parse(struct parsing *p, int argc, char **argv)
{
	struct option rows[ROWS_MOST + 3];
	char letters[3 * ROWS_MOST + 4] = "+:";
	int key, ret;

	if (p->usage->words != USAGE_PROGRAM) {
		strcpy(letters, ":");
		hide_methods(argc, argv);
	}
	getopt_rows(&p->rows, rows, letters + strlen(letters));
	opterr = 0;
	optind = 0; /* a command may call another one */
	while ((key = getopt_long(argc, argv, letters, rows, NULL)) != -1) {
		switch (key) {
		case 'h':
		case HELP:
			if (optarg && strcmp(optarg, "all"))
				return fail(&p->err, -EINVAL,
					    "invalid --help '%s': expected nothing or all", optarg);
			help(stdout, argv[0], p->usage, &p->rows, optarg);
			exit(STATUS_OK);
		case USAGE:
			help_forms(stdout, argv[0], p->usage);
			exit(STATUS_OK);
		case ':':
		case '?':
			return refuse_in_line(p, NULL, refuse(p, key, argv));
		default:
			ret = take(p, key, shown_method(optarg), argv);
			if (ret)
				return refuse_in_line(
				    p, p->rows.row[row_of(&p->rows, key)].option->name, ret);
		}
	}
	return take_arguments(p, argc, argv);
}

int usage_take(const struct usage *usage, int argc, char **argv, void *options)
{
	struct parsing p = { .usage = usage, .options = options };
	int ret;

	collect(&p.rows, usage->options, 0);
	if (argc == 2 && !strcmp(argv[1], USAGE_ROWS)) {
		put_rows(stdout, argv[0], usage, &p.rows);
		return STATUS_USAGE;
	}
	ret = parse(&p, argc, argv);
	if (!ret && usage->check) {
		ret = usage->check(options, &p.err);
		if (ret)
			ret = refuse_in_line(&p, NULL, ret);
	}
	if (!ret)
		return STATUS_OK;
	fflush(stdout);
	fprintf(stderr, "%s: %s\n", argv[0], *p.err.text ? p.err.text : strerror(-ret));
	return STATUS_USAGE;
}
