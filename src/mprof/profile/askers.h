/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * askers.h - which function and line of the program allocates at each site, for findings.
 *
 * What takes long is found when it is needed, and remembered.  Without memory the program ends
 * (util/alloc.h).
 */
#pragma once

#include "../pass/interner.h"
#include "paths.h"
#include "profile.h"

struct asker {
	uint32_t function, line; /* ids, 0 if unknown */
	uint32_t path;		 /* id of its stack as views show it; 0 = not formed yet */
	const struct sym_line *through, *caller;
	const struct sym_line *source; /* see profile_source */
	bool asked_source;
	enum { LEAKS_UNKNOWN, LEAKS, LEAKS_NOT } leaks; /* are its leaks suppressed? */
	bool asked_kept, kept;				/* kept: a library keeps its blocks */
};

struct askers {
	struct line_interner functions, lines;
	struct path_interner paths;
	struct asker *of; /* by index of site */
};

void askers_find(struct askers *t, const struct sites *s, struct profile *names);
/* Sets `path` of all sites of a function. */
void askers_form_paths(struct askers *t, const struct sites *s, struct profile *names,
		       uint32_t function);
void askers_release(struct askers *t);
