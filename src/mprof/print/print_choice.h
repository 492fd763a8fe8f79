/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* print_choice.h - which of the programs of a trace is played, in words. */
#pragma once

#include "../pass/programs.h"

struct program_choice {
	const struct trace_program *list; /* most calls first */
	size_t n;
	const struct trace_program *chosen; /* one of them; NULL = all, or the only one */
};

/* Returns one sentence without its end, which the caller frees; NULL if there was no choice. */
char *program_choice_text(const struct program_choice *c);
