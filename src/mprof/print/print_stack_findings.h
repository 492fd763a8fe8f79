/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* print_stack_findings.h - findings about the stacks of threads, in words and as JSON. */
#pragma once

#include <stdio.h>

#include "../profile/stack_findings.h"
#include "json.h"

#define STACK_FINDINGS 3u

/* The command that shows more, without the file. */
const char *stack_finding_command(size_t which);
/* which: 0 to STACK_FINDINGS - 1.  False: there is nothing to say. */
bool stack_finding_is(const struct stack_findings *s, size_t which);
void stack_finding_sentence(const struct analysis *a, const struct stack_findings *s, size_t which,
			    FILE *out);
json *stack_finding_json(const struct analysis *a, const struct stack_findings *s, size_t which);
