/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * milestones.h - states of a walk that are kept on disk, so that a later command for one point in
 * time (--at), or for blocks from a time on (--time), need not begin at the start of the trace.
 *
 * The first walk over a long compressed trace leaves them in $XDG_CACHE_HOME/mprof/milestones-N,
 * not in the trace or beside it: the trace stays what was recorded, and its directory may be
 * read-only.  A file of them is for one content of one trace file and for one build of the
 * program: it names both, and its parts have checksums.  One that is missing, damaged, or of
 * another trace or build costs time, nothing else.  The directory is kept below MILESTONE_CACHE.
 *
 * A milestone is the state of heap, reader and sites at the beginning of a group.  Taking it costs
 * time in proportion to live blocks and sites, so with many of them milestones are further apart.
 *
 * The end is the state of walk and passes after all events: a later walk of the whole trace with
 * passes that earlier ones had reads no event.  A brief analysis can begin at the end of a full
 * one.
 *
 * A walk that continues from a milestone gives the same result as one from the start, except for
 * maxima of groups of sites.  These are kept at the end, for the groups of one walk.  A damaged
 * trace has no milestones.
 *
 * Errors: none.  Threads: one at a time.
 */
#pragma once

#include "sites.h"
#include "walk.h"

#define MILESTONES_TRACE (1u << 16) /* in bytes: a shorter trace is read in a few ms */
#define MILESTONES_APART 32u	    /* events for each live block and site */

struct milestones;

/* Returns NULL if the trace cannot have milestones, or there is no directory for them. */
struct milestones *milestones_open(struct trace *t);

/*
 * Call this after walk_init.  The walk of this trace begins at its end, or at the last milestone
 * that its sites can begin at, and leaves new ones where they are missing.  own_peaks: it needs
 * maxima of groups of sites. m may be NULL; it must outlive the walk.
 */
void milestones_walk(struct milestones *m, struct walk *w, struct sites *s, bool own_peaks);

/* done: the walk succeeded, so keeps the milestones that it left. */
void milestones_close(struct milestones *m, bool done);
