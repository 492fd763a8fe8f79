/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * larger.h - a process of a profile that is much larger than its live blocks.
 *
 * A profile has the resident size at the end of each step of the course, and the most live bytes in
 * the step, but no pages.  So it shows that other memory was resident, not which.
 *
 *   rest     resident - the most that the live blocks of the step can have needed, with rounding
 *            and headers - mprof's own memory - all objects of the run, of which pages may be
 *            resident
 *
 * There is a finding if rest was at least RESIDENT_FREED, what the blocks needed, and a quarter of
 * the resident size, in steps that cover a tenth of the time of the process or more.  Unknown for
 * forked processes, which have pages of their parent's blocks.
 *
 * A profile does not know how much of what was mapped was unmapped again, only which runtime mapped
 * most, in all processes.
 */
#pragma once

#include "../pass/analysis.h"
#include "../pass/course.h"
#include "outside.h"
#include "profile.h"

struct larger {
	uint32_t process; /* number in the run; 0 without a finding */
	int64_t ns;	  /* since the start of the run: the step with the largest rest */
	uint64_t resident, live, needed, rest;
	uint64_t code; /* bytes of objects and of mprof itself */
	uint64_t held_ns, of_ns;
	bool freed;   /* half of rest may have been freed */
	bool aligned; /* ... lie beside aligned blocks; without `freed` also if unknown */
	bool maps;    /* the program mapped memory itself, or may have */
	bool threads; /* it had several */
	bool missing; /* some of its calls may not have been recorded */
	const struct mapper *mapper; /* the runtime that mapped at least half of rest, or NULL */
};

/* a: of a profile; names: NULL without call stacks. */
void larger_find(struct larger *f, const struct analysis *a, const struct trace *t,
		 struct profile *names);
