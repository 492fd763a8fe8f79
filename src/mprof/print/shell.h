/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* shell.h - words of command lines that mprof proposes. */
#ifndef MPROF_PRINT_SHELL_H
#define MPROF_PRINT_SHELL_H

#include <stdio.h>

/* A word as a shell takes it for one, in quotes if it must be. */
void shell_word(const char *word, FILE *out);
/* The path of a trace as a shell takes it, and as no option. */
void shell_path(const char *trace, FILE *out);
/* The command, then that path: a string, the caller's. */
char *shell_command(const char *command, const char *trace);

#endif
