/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * reachable.h - which blocks that were never freed the program's pointers still led to as its
 * processes ended, and from where (record --reach; run/reach.h defines the terms).
 *
 * Without memory the program ends (util/alloc.h).  Threads: one at a time.
 */
#pragma once

#include "../pass/site.h"
#include "../pass/tree.h"
#include "../sym/sym.h"
#include "../trace/trace.h"

struct reachable;

/* Was the memory of a process examined?  Was that requested? */
bool reachable_is_known(const struct trace *t);
bool reachable_was_requested(const struct trace *t);
/* Returns why a process was not examined, if mprof could not do it; or "". */
const char *reachable_why_not(const struct trace *t);
/* Returns the first process of the run (of that number only, if not 0) that was not examined, and
 * how many there are; NULL if all were. */
const struct tree_process *reachable_missed(const struct trace *t, const struct tree *tree,
					    uint32_t only, size_t *n);

/* Reads what is known of a process, or of all for 0.  NULL if that is nothing.  All functions below
 * accept NULL. */
struct reachable *reachable_read(const struct trace *t, uint32_t process);
void reachable_release(struct reachable *r);
/* Were there too many stacks, so that some blocks were left out? */
bool reachable_is_part(const struct reachable *r);

/*
 * Sets site->v.examined_calls, unreachable_*, below_calls and held_*, once its leaked_* are known.
 * Of sites that share a stack (by thread, size or process), or of which a filter shows a part, only
 * those are counted that do not depend on it: all blocks of the stack are unreachable.
 */
void reachable_count(const struct reachable *r, struct site *site);

/* Names what holds most of the reachable bytes of v->held_stack: "cache (main.c:12)", "a
 * thread-local variable"; "" if nothing is known.  s: of the trace's stacks. */
struct reachable_holder {
	char text[192];
};
struct reachable_holder reachable_holder(struct reachable *r, struct sym *s,
					 const struct site_values *v);
