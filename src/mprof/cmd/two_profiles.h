/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* two_profiles.h - one or two traces, opened and walked, for commands that compare. */
#pragma once

#include "../profile/difference.h"

struct two_profiles {
	struct trace *trace[DIFF_SIDES];
	struct profile profile[DIFF_SIDES];
	bool made[DIFF_SIDES];
};

/*
 * A path may be NULL: that side stays empty. 0, or an exit status with err filled; release in any
 * case. Do not move *two until then.
 */
int two_profiles_make(struct two_profiles *two, const char *const path[DIFF_SIDES],
		      const struct profile_options *o, struct error *err);
void two_profiles_release(struct two_profiles *two);

/* Prints on stderr lost calls, missing stacks and, with `names`, missing names of both. */
void two_profiles_tell(const struct two_profiles *two, bool names);
