/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * sites_state.h - saves the state of the pass of sites in the middle of a walk as bytes, as
 * walk_state.h does for the walk, so that another walk can continue from there.
 *
 * Works only for sites with the usual options (sites_are_usual): all queries with an end of the
 * walk begin with these.  A query that only counts blocks from a time on needs no earlier counts,
 * only the moments of the run.
 *
 * It does not include peaks of groups, which are saved only at the end of a walk, for that walk's
 * groups.
 */
#pragma once

#include "../trace/bytes.h"
#include "sites.h"

/* Returns how many sites sites_state_put would save. */
size_t sites_state_rows(const struct sites *s);

/* Sets to->failed without memory. */
void sites_state_put(struct sites *s, struct byte_column *to);

/*
 * Call this after the pass has started.  With options.until, restores all sites; else only the
 * moments of the run, saved by a walk without such an end, and sites begin empty.
 */
void sites_state_get(struct sites *s, struct cursor *from);

/*
 * The same when all events were delivered, before finish(), and after sites_groups_put.  Everything
 * is restored except maxima of groups.  sites_end_put returns bytes that belong behind those that
 * it puts; they are most of all, and remain those of s.  sites_end_get: s owns the bytes from then
 * on: sites remain there until their figures are needed.
 */
const struct byte_column *sites_end_put(struct sites *s, struct byte_column *to);
void sites_end_get(struct sites *s, struct cursor *from, uint8_t *bytes);

/* Saves maxima of groups at the end of a walk of the whole trace.  Sets to->failed without
 * memory. */
void sites_groups_put(struct sites *s, struct byte_column *to);
/* Call it before a walk: are the groups of s the saved ones?  It makes a group for each stack,
 * as the walk would. */
bool sites_groups_match(const struct sites *s, struct cursor from);
/* Restores them after sites_end_get, if they are the same. */
void sites_groups_get(struct sites *s, struct cursor from);
