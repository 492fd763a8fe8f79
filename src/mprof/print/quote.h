/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* quote.h - quoting of words for command lines that mprof proposes, and for tables in Markdown. */
#pragma once

#include <stdio.h>

/* Quotes a word for a shell if necessary. */
void shell_word(const char *word, FILE *out);
/* Quotes the path of a trace so that it is not taken for an option. */
void shell_path(const char *trace, FILE *out);
/* Returns the command, then that path, in a string that the caller frees. */
char *shell_command(const char *command, const char *trace);

/* Writes code, so that no part of a C++ name is taken for markup. */
void markdown_code(FILE *out, const char *s);
/* Writes text, with the special characters of Markdown and HTML escaped. */
void markdown_text(FILE *out, const char *s);
