/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * reduced.h - runs that did not keep every call (--budget, --overhead), for commands that show
 * figures by call stack.
 */
#pragma once

#include "../profile/profile.h"

/* Before profile_make: if the trace lacks calls of some stacks and its totals have all that o
 * selects, t shows these from now on, and a line on stderr says so. */
void reduced_choose(struct trace *t, const struct profile_options *o);
/* After it: says on stderr which calls of the run the figures lack. */
void reduced_tell(const struct profile *p);
