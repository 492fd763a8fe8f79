// SPDX-License-Identifier: LGPL-3.0-or-later
/* markdown.c - text for a cell of a Markdown table. */
#include "markdown.h"

#include <string.h>

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
