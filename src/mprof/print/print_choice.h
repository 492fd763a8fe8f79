/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* print_choice.h - which of the programs of a trace is played, in words. */
#pragma once

#include "../pass/programs.h"

struct program_choice {
	const struct trace_program *list; /* most calls first */
	size_t n;
	const struct trace_program *chosen; /* one of them; NULL = all, or the only one */
};

/* Returns a sentence without the final full stop; the caller frees it.  NULL if the trace has only
 * one program. */
char *program_choice_text(const struct program_choice *c);
