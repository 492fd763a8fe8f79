/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* print_stack_uses.h - how much of its stack each thread used, in words and as a table. */
#ifndef MPROF_PRINT_PRINT_STACK_USES_H
#define MPROF_PRINT_PRINT_STACK_USES_H

#include <stdio.h>

#include "../pass/stack_uses.h"
#include "../profile/profile.h"

/* most: rows, 0 all; p: whose names the deepest calls have. */
void stack_uses_print(const struct stack_uses *s, struct profile *p, size_t most, FILE *out);

#endif
