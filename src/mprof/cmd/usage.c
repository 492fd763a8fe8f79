/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * usage.c - what --help prints, and the rows that manual pages and completions are made of.
 *
 * The help of a command fits on two screens (HELP_LINES).  Where all options do not, the last
 * groups of them are listed by name only.
 *
 * Rows for scripts/gendoc are lines of fields separated by tabs:
 *   C NAME                        a command begins
 *   U ARGUMENTS                   one form of its arguments
 *   D TEXT, P TEXT                what it does; what follows the options
 *   H TITLE                       a group of options begins
 *   O SHORT LONG ARG OPTIONAL TEXT
 *   X COMMAND TEXT                an example
 */
#include "usage.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

enum { HELP_LINES = 48, WIDTH = 79, COLUMN = 24, ROWS_MOST = 128 };
enum { USAGE = 0x7100 };

#define OTHER "Other options:"

static const struct {
	const char *command, *line, *text;
} examples[] = {
#define MPROF_EXAMPLE(command, line, text) { command, line, text },
#include "examples.def"
#undef MPROF_EXAMPLE
};

struct rows {
	const struct argp_option *option[ROWS_MOST];
	size_t n;
};

static const struct argp_option other = { NULL, 0, NULL, 0, OTHER, 0 };

static void add(struct rows *r, const struct argp_option *o)
{
	if (r->n == ROWS_MOST || (o->flags & OPTION_HIDDEN))
		return;
	r->option[r->n++] = o;
}

static bool is_end(const struct argp_option *o)
{
	return !o->name && !o->key && !o->doc;
}

static void collect(struct rows *r, const struct argp *argp, bool shared)
{
	const struct argp_option *o = argp->options;
	const struct argp_child *child = argp->children;

	/* What is shared and has no title must not seem to belong to the group before. */
	if (shared && o && o->name && r->n)
		add(r, &other);
	for (; o && !is_end(o); o++)
		add(r, o);
	for (; child && child->argp; child++)
		collect(r, child->argp, true);
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

/* Text from column `at`; further lines begin at column `indent`. */
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

static bool is_short(const struct argp_option *o)
{
	return o->key > ' ' && o->key < 0x7f;
}

static void option_left(char *to, size_t room, const struct argp_option *o)
{
	const char *open = o->flags & OPTION_ARG_OPTIONAL ? "[=" : " ";
	const char *close = o->flags & OPTION_ARG_OPTIONAL ? "]" : "";
	char letter[8] = "";

	if (is_short(o))
		snprintf(letter, sizeof(letter), "-%c, ", o->key);
	snprintf(to, room, "  %s--%s%s%s%s", letter, o->name, o->arg ? open : "",
		 o->arg ? o->arg : "", o->arg ? close : "");
}

static void help_option(FILE *out, const struct argp_option *o)
{
	char left[128];
	int n;

	option_left(left, sizeof(left), o);
	n = fprintf(out, "%-*s  ", COLUMN - 2, left);
	wrap(out, o->doc, (size_t)n, COLUMN);
}

/* Names only, of one group: "Names: --names, --rewrite ...". */
static size_t help_names(FILE *out, const struct rows *r, size_t i, const char *title)
{
	char *line = NULL;
	size_t n;
	FILE *f = open_memstream(&line, &n);

	if (!f)
		return r->n;
	fprintf(f, "%s", title);
	for (; i < r->n && r->option[i]->name; i++)
		fprintf(f, " --%s", r->option[i]->name);
	fclose(f);
	wrap(out, line, 0, 4);
	free(line);
	return i;
}

/* Groups from row number `names` on by name only. */
static void help_options(FILE *out, const struct rows *r, size_t names)
{
	bool brief = false;
	size_t i;

	for (i = 0; i < r->n; i++) {
		const struct argp_option *o = r->option[i];

		if (o->name) {
			help_option(out, o);
			continue;
		}
		if (i && !brief)
			fputc('\n', out);
		if (i >= names) {
			i = help_names(out, r, i + 1, o->doc) - 1;
			brief = true;
		} else {
			wrap(out, o->doc, 0, 0);
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

/* The text before \v, or behind it; the caller frees it. */
static char *doc_part(const struct argp *argp, bool behind)
{
	const char *doc = argp->doc ? argp->doc : "", *v = strchr(doc, '\v');
	int key = behind ? ARGP_KEY_HELP_POST_DOC : ARGP_KEY_HELP_PRE_DOC;
	char *part =
	    behind ? strdup(v ? v + 1 : "") : strndup(doc, v ? (size_t)(v - doc) : strlen(doc));
	char *made = part;

	if (part && argp->help_filter)
		made = argp->help_filter(key, part, NULL);
	if (made != part)
		free(part);
	return made;
}

static void print_help(FILE *out, const char *name, const struct argp *argp,
		       const struct rows *rows, size_t names)
{
	const char *form = argp->args_doc ? argp->args_doc : "";
	char *before = doc_part(argp, false), *behind = doc_part(argp, true);
	size_t n;

	for (n = strcspn(form, "\n");; form += n + 1, n = strcspn(form, "\n")) {
		fprintf(out, "%s%s [OPTION...] %.*s\n",
			form == argp->args_doc ? "Usage: " : "       ", name, (int)n, form);
		if (!form[n])
			break;
	}
	if (before && *before)
		wrap(out, before, 0, 0);
	fputc('\n', out);
	help_options(out, rows, names);
	fprintf(out, "\nmprof-%s(1) explains all options%s.\n", command_of(name),
		names < rows->n ? ", --help=all lists them" : "");
	if (behind && *behind) {
		fputc('\n', out);
		if (strchr(behind, '\n'))
			fputs(behind, out);
		else
			wrap(out, behind, 0, 0);
	}
	help_examples(out, command_of(name));
	free(before);
	free(behind);
}

static size_t lines_of(const char *s)
{
	size_t n = 0;

	for (; (s = strchr(s, '\n')) != NULL; s++)
		n++;
	return n;
}

void usage_help(FILE *out, const char *name, const struct argp *argp, bool all)
{
	struct rows rows = { .n = 0 };
	size_t names, size;
	char *text = NULL;
	bool fits = false;
	FILE *f;

	collect(&rows, argp, false);
	/* One group less in full at a time, from the last one back, until it fits. */
	for (names = rows.n; !fits; names--) {
		if (names && names < rows.n && rows.option[names]->name)
			continue;
		f = open_memstream(&text, &size);
		if (!f)
			return;
		print_help(f, name, argp, &rows, names);
		fclose(f);
		fits = all || !names || lines_of(text) <= HELP_LINES;
		if (fits)
			fputs(text, out);
		free(text);
		text = NULL;
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

void usage_rows(FILE *out, const char *name, const struct argp *argp)
{
	const char *doc = argp->doc ? argp->doc : "", *v = strchr(doc, '\v');
	struct rows rows = { .n = 0 };
	size_t i;

	fprintf(out, "C\t%s\n", command_of(name));
	put_lines(out, 'U', argp->args_doc ? argp->args_doc : "");
	fprintf(out, "D\t%.*s\n", v ? (int)(v - doc) : (int)strlen(doc), doc);
	if (v && v[1])
		fprintf(out, "P\t%s\n", v + 1);
	collect(&rows, argp, false);
	for (i = 0; i < rows.n; i++) {
		const struct argp_option *o = rows.option[i];

		if (!o->name)
			fprintf(out, "H\t%s\n", o->doc);
		else
			fprintf(out, "O\t%.*s\t%s\t%s\t%d\t%s\n", is_short(o) ? 1 : 0,
				(const char[]){ (char)o->key }, o->name, o->arg ? o->arg : "",
				(o->flags & OPTION_ARG_OPTIONAL) != 0, o->doc);
	}
	for (i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		if (!strcmp(examples[i].command, command_of(name)))
			fprintf(out, "X\t%s\t%s\n", examples[i].line, examples[i].text);
}

/* ---- parsing ---- */

static const struct argp_option help_options_rows[] = {
	{ "help", 'h', "all", OPTION_ARG_OPTIONAL | OPTION_HIDDEN, NULL, 0 },
	{ "usage", USAGE, NULL, OPTION_HIDDEN, NULL, 0 },
	{ NULL, 0, NULL, 0, NULL, 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	const struct argp *argp = state->root_argp->children[0].argp;

	switch (key) {
	case 'h':
		if (arg && strcmp(arg, "all"))
			argp_error(state, "invalid --help '%s': expected nothing or all", arg);
		usage_help(stdout, state->name, argp, arg != NULL);
		exit(STATUS_OK);
	case USAGE:
		argp_state_help(state, stdout, ARGP_HELP_USAGE);
		exit(STATUS_OK);
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

int usage_parse(const struct argp *argp, int argc, char **argv, unsigned flags, void *input)
{
	static const struct argp help = { .options = help_options_rows, .parser = parse };
	const struct argp_child both[] = {
		{ argp, 0, NULL, 0 },
		{ &help, 0, NULL, 0 },
		{ NULL, 0, NULL, 0 },
	};
	const struct argp whole = { .children = both };

	if (argc == 2 && !strcmp(argv[1], USAGE_ROWS)) {
		usage_rows(stdout, argv[0], argp);
		return STATUS_USAGE;
	}
	return argp_parse(&whole, argc, argv, flags | ARGP_NO_HELP, NULL, input);
}
