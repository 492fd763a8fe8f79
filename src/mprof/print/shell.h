/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* shell.h - quoting of words in command lines that mprof proposes. */
#pragma once

#include <stdio.h>

/* Quotes a word for a shell if necessary. */
void shell_word(const char *word, FILE *out);
/* Quotes the path of a trace so that it is not taken for an option. */
void shell_path(const char *trace, FILE *out);
/* Returns the command, then that path, in a string that the caller frees. */
char *shell_command(const char *command, const char *trace);
