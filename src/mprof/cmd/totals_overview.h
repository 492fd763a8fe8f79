/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* totals_overview.h - the whole analysis of one profile, which has totals but no events. */
#pragma once

#include "../print/print_totals.h"

/*
 * Reads the profile, or the totals that t shows (profile_show_totals()), gives them to `then`,
 * and releases them.  o->by becomes PROFILE_BY_FUNCTION.  What `then` said, or -errno.
 */
int totals_make(struct trace *t, struct profile_options *o,
		int (*then)(void *context, const struct print_totals *totals, struct error *err),
		void *context, struct error *err);
