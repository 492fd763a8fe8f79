/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* shell.h - words of command lines that mprof proposes. */
#ifndef MPROF_PRINT_SHELL_H
#define MPROF_PRINT_SHELL_H

#include <stdio.h>

/* A word as a shell takes it for one, in quotes if it must be. */
void shell_word(const char *word, FILE *out);
/* The path of a trace as a shell takes it, and as no option. */
void shell_path(const char *trace, FILE *out);

#endif
