/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * variables.h - global and thread-local variables of the objects that call stacks name.
 *
 * For an object, the process that loaded it first counts; resident bytes are
 * those at the end of that process or, if it was killed or still runs, when
 * mprof last read its pages (which exclude variables with an initial value).
 */
#pragma once

#include "../sym/sym.h"
#include "profile.h"

struct variable {
	struct sym_variable v;
	uint64_t resident; /* bytes on resident pages; not of thread-local ones */
	bool known;	   /* resident is known */
};

struct variable_object {
	uint32_t object; /* index in stacks.h */
	uint64_t count, bytes, resident, tls;
	bool stripped, known;
	bool at_least;	  /* pages of initialised variables were not read */
	uint64_t threads; /* most threads of its process that ran at once */
};

struct variables {
	struct variable *of; /* largest first */
	size_t count;
	struct variable_object *object; /* most bytes first */
	size_t objects;
	uint64_t bytes, resident; /* without thread-local ones */
	bool at_least;		  /* resident is a lower bound, see above */
	uint64_t tls, tls_all;	  /* bytes for one thread; for all that ran at once */
};

void variables_find(struct variables *v, const struct profile *p);
void variables_release(struct variables *v);
/* Returns the resident bytes of variables at the end of the process; 0 if unknown. */
uint64_t variables_resident(const struct trace *t, uint32_t process);
