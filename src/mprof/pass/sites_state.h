/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * sites_state.h - what the pass of sites knows in the middle of a walk, as bytes: with
 * walk_state.h, so that another walk goes on from there.
 *
 * Only of sites without a filter, by stack, with the usual meaning of temporary: from those every
 * question begins that says where the walk ends.  One that only counts blocks from a time on needs
 * nothing of what was counted before, but the moments of the run.
 *
 * It does not include peaks of groups: only the end of a walk has these, for that walk's groups.
 */
#pragma once

#include "../trace/bytes.h"
#include "sites.h"

/* Does a walk with these count what sites_state_put saves? */
bool sites_state_is_usual(const struct sites_options *o);

/* How many sites sites_state_put would save. */
size_t sites_state_rows(const struct sites *s);

/* Without memory, `to` has failed. */
void sites_state_put(struct sites *s, struct byte_column *to);

/*
 * After the pass has started.  With options.until, all sites go on; else only the moments of the
 * run, which a walk has saved that had no such end, and no site has anything yet.  over: that walk
 * had told all events, and everything is as it left it, but for what groups had at most.
 */
void sites_state_get(struct sites *s, struct cursor *from, bool over);

/* What groups had at most, at the end of a walk of the whole.  Without memory, `to` has failed. */
void sites_groups_put(const struct sites *s, struct byte_column *to);
/* Before a walk: are the groups of s the saved ones?  It makes a group for each stack, as the walk
 * would. */
bool sites_groups_match(const struct sites *s, struct cursor from);
/* After sites_state_get, if they are. */
void sites_groups_get(struct sites *s, struct cursor from);
