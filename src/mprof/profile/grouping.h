/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * grouping.h - combines the sites of a profile: by stack, those whose lines are the same when
 * folded; otherwise by line, function, file, module, thread, size, process or rank.
 *
 * A group is found during the walk, when a stack first occurs, because its peak cannot be computed
 * from those of its sites.
 *
 * Only profile.c and profile_groups.c include this.  Without memory the program ends
 * (util/alloc.h).
 */
#pragma once

#include "profile.h"

/* Before a walk: sets part and groups of its sites, unless by stack and o has groups already. */
void groups_begin(struct profile *p, enum profile_by by, struct sites_options *o);
/* After it: makes p->group of p->site. */
void groups_make(struct profile *p);
/* Frees what only these need; may be called again. */
void groups_end(struct profile *p);

/* The part by which sites are divided. */
enum site_part groups_part(enum profile_by by);
/* Does the stack pass --function, --file, --module and --without? */
bool groups_passes(struct profile *p, uint32_t stack);
/* Returns a number that stacks share if their lines are the same, including folded ones.  Between
 * groups_begin and groups_end. */
uint32_t groups_path(struct profile *p, uint32_t stack);
