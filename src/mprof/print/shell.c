/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* shell.c - quoting of words in command lines that mprof proposes. */
#include "shell.h"

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "../util/alloc.h"

static bool is_plain(const char *s)
{
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("/._-+:,@%=", *s))
			return false;
	return true;
}

void shell_word(const char *word, FILE *out)
{
	if (*word && is_plain(word)) {
		fputs(word, out);
		return;
	}
	fputc('\'', out);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", out);
		else
			fputc((unsigned char)*word < ' ' || *word == 0x7f ? '?' : *word, out);
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
