/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * argument.h - arguments and values of options that several commands take.
 * An invalid value ends in argp_error().
 */
#ifndef MPROF_CMD_ARGUMENT_H
#define MPROF_CMD_ARGUMENT_H

#include <argp.h>
#include <stddef.h>
#include <stdint.h>

#include "../util/word_list.h"

/* A list that ends with NULL; item is the caller's to free. */
struct argument_list {
	const char **item;
	size_t count;
};

/* arg must outlive the list. */
void argument_add(struct argument_list *l, const char *arg, struct argp_state *state);

/* Which of the words it is. */
unsigned argument_word(const char *arg, enum words list, struct argp_state *state);
/* Of --touch: how much of a block a replay writes (runner.h). */
const char *argument_touch(const char *arg, struct argp_state *state);

/* From 1 on, without a fraction; what: "process". */
uint32_t argument_number(const char *arg, const char *what, struct argp_state *state);
/* 0 to 100. */
double argument_percent(const char *arg, struct argp_state *state);

/*
 * Of a command that takes one file, the keys that are no options: the file goes to *path.
 * Without one, the user is told `missing`, which asks for it and gives an example.
 */
error_t argument_file(int key, char *arg, struct argp_state *state, const char **path,
		      const char *missing);

/*
 * Of a command that runs a program, likewise: the program and all that follows go to *argv, which
 * ends with NULL.
 */
error_t argument_program(int key, struct argp_state *state, char ***argv, const char *missing);

/* --memory SIZE; among the argp children of every command that reads files. */
extern const struct argp memory_argp;

/* --color WHEN, --no-pager; among the argp children of every command that prints for people. */
extern const struct argp terminal_argp;

#endif
