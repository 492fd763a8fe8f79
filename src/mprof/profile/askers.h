/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * askers.h - which function and line of the program allocates at each site, for findings.
 *
 * What takes long is found when it is needed, and remembered.  Without memory the program ends
 * (util/alloc.h).
 */
#pragma once

#include "../pass/interner.h"
#include "profile.h"

struct asker {
	uint32_t function, line; /* ids, 0 if unknown */
	uint32_t path;		 /* number of its stack as views show it; 0 = not known yet */
	uint8_t leaks;		 /* are its leaks not suppressed?  0 = not known yet, 1 = no */
	uint8_t kept;		 /* does a library keep its blocks?  likewise */
	struct profile_asked who;
};

struct askers {
	struct line_interner functions, lines;
	struct asker *of; /* by index of site */
	/* Indices of a function's sites, ascending: site[first[id - 1]] up to site[first[id]]. */
	uint32_t *site, *first;
};

void askers_find(struct askers *t, const struct sites *s, struct profile *names);
/* Sets `path` of all sites of a function. */
void askers_number_paths(struct askers *t, const struct sites *s, struct profile *names,
			 uint32_t function);
/* Are the leaks of a site not suppressed?  Does a library keep its blocks? */
bool askers_leaks(struct askers *t, const struct sites *s, struct profile *names, size_t i);
bool askers_kept(struct askers *t, const struct sites *s, struct profile *names, size_t i);
void askers_release(struct askers *t);
