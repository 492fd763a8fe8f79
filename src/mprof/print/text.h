/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * text.h - bars, sizes and names for people.  Returned by value, so that they can be used as
 * printf("%s", format_count(n).s).
 */
#pragma once

#include <stdint.h>
#include <stdio.h>

#include "../pass/tree.h"
#include "../util/format.h"

/* Returns up to width columns of '#', or of blocks if the terminal has them; at least one if
 * part > 0.  At most LONGEST_BAR columns. */
#define LONGEST_BAR 100
struct long_text text_bar(uint64_t part, uint64_t of, int width);

/* Returns the sizes with this many binary digits: 0, 1, 2 - 3, ..., from 1.0 KiB, ... */
struct text text_power(unsigned power);

/* Returns the program's arguments in one line, without control characters, cut at room. */
struct long_text text_command(const struct trace_fact *image, unsigned room);
/* The same of the last program of a process, after "fork of" if that is its parent's. */
struct long_text text_process(const struct tree_process *p, unsigned room);
/* Returns the name of the program, which the caller frees. */
char *text_program(const struct trace_fact *image);
/* Returns "exited with status 0", "was killed by SIGSEGV" ... */
struct text text_end(const struct tree_process *p);
/* Does it still run, on this host? */
bool text_runs(const struct tree_process *p);
/* Returns the pid of a process that still runs and is recorded; 0: none. */
int text_running(const struct tree *tree);
/* A profile has no growth over time, but a program that runs can be asked twice: says how. */
void text_growth(const struct tree *tree, const struct mprof_file_header *h, FILE *out);
/* Returns the part of a path after the last slash. */
const char *text_base(const char *path);
