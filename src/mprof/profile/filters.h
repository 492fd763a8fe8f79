/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * filters.h - explains why nothing passes: a name or number that the trace does not contain is a
 * mistake, and the nearest one is suggested; names that exist, but that no block has together, are
 * a valid answer.
 *
 * Patterns are compared with all frames of the trace, whether they allocate or
 * not.  Threads: one at a time.
 */
#pragma once

#include "profile.h"

/* Does any stack contain such a function?  0, or -EINVAL with err naming the nearest. */
int profile_knows_function(struct profile *p, const char *function, struct error *err);
/* Does the pattern name this line's function, as --function does? */
bool profile_is_function(const struct sym_line *line, const char *pattern);

/* For figures that count all blocks, or with of_process all of a process.  -EINVAL with err if o
 * selects blocks in another way. */
int filters_refuse(const struct profile_options *o, bool of_process, const char *view,
		   struct error *err);

/*
 * Checks n profiles made with the same options; a missing one is NULL. If no site of any profile
 * passes: -EINVAL with err if none of them contains the name in an option; otherwise *nothing (may
 * be NULL) names the options that exclude everything together. 0 with *nothing empty if there are
 * sites, or no filter.
 */
int filters_check(struct profile *const *p, size_t n, const struct profile_options *o,
		  struct error *nothing, struct error *err);
