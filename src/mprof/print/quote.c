/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* quote.c - see quote.h. */
#include "quote.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/utf8.h"

static bool is_plain(const char *s)
{
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("/._-+:,@%=", *s))
			return false;
	return true;
}

void shell_word(const char *word, FILE *out)
{
	int n;

	if (*word && is_plain(word)) {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word; word += n ? n : 1) {
		n = utf8_shown_at(word);
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fwrite(n ? word : "?", 1, n ? (size_t)n : 1, out);
	}
	fputc('\'', out);
}

void shell_path(const char *trace, FILE *out)
{
	if (*trace == '-')
		fputs("./", out);
	shell_word(trace, out);
}

char *shell_command(const char *command, const char *trace)
{
	return WRITTEN(out, fputs(command, out); shell_path(trace, out));
}

/* ---- Markdown ---- */

/* Counts the most backticks in a row: the delimiters must be longer. */
static int longest_run(const char *s)
{
	int now = 0, most = 0;

	for (; *s; s++) {
		now = *s == '`' ? now + 1 : 0;
		most = now > most ? now : most;
	}
	return most;
}

void markdown_code(FILE *out, const char *s)
{
	int n = longest_run(s) + 1, i;

	for (i = 0; i < n; i++)
		fputc('`', out);
	if (*s == '`')
		fputc(' ', out);
	for (; *s; s++) {
		/* A bar ends a cell even in code. */
		if (*s == '|')
			fputc('\\', out);
		fputc((unsigned char)*s < ' ' ? ' ' : *s, out);
	}
	if (s[-1] == '`')
		fputc(' ', out);
	for (i = 0; i < n; i++)
		fputc('`', out);
}

void markdown_text(FILE *out, const char *s)
{
	for (; *s; s++) {
		if (strchr("\\`*_{}[]<>|#&~", *s))
			fputc('\\', out);
		fputc((unsigned char)*s < ' ' ? ' ' : *s, out);
	}
}
