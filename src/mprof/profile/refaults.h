/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * refaults.h - a process whose allocator returns freed memory to the system and gets it back as new
 * pages, again and again: time that no call of malloc shows, as the first access to each page takes
 * it.
 *
 *   new      page faults * page size; or, if that is more, the bytes of freed blocks that glibc had
 *            mapped by themselves (totals.h), and accessed: a fault for a huge page is one fault
 *
 * The process with most time in the kernel has a finding if this is at least REFAULT_LEAST, alone
 * or with that of others that are alike, REFAULT_SHARE, a quarter of its CPU time, and not too much
 * for `new` and the calls that map and unmap, each of which takes as long as a page (REFAULT_NS);
 * if `new` is at least REFAULT_TIMES its largest resident set, so that most of it need not be new;
 * and if its live bytes rose, or it unmapped, at least half of `new`, which other faults do not
 * need: those of files, of stacks of threads, and of pages that it drops itself by madvise.  Page
 * faults that copies after each fork, or what the process unmapped itself, can explain do not
 * count. The figures of wait4 include children, so those of a process with recorded children count
 * only if it told them itself.
 *
 * With a setting that keeps memory, calloc clears all of a block that was new before.  So there is
 * none for a process that uses little of what calloc gives it (REFAULT_CLEAR).
 */
#pragma once

#include "../pass/analysis.h"
#include "askers.h"
#include "outside.h"

#define REFAULT_LEAST 100000000u /* ns */
#define REFAULT_SHARE 20000000u	 /* ns of one process of several */
#define REFAULT_TIMES 4u
#define REFAULT_NS    2u /* for a byte of new pages, at most: more is other work of the kernel */
#define REFAULT_CLEAR 4u /* bytes that calloc clears while the kernel provides one, or more */

/* A setting with which an allocator keeps freed memory; a row of refaults.def. */
struct refault_setting {
	const char *allocator, *name;
	const char *setting[2]; /* of one thread, and of several that allocate */
	bool of_large;		/* helps only large blocks */
};

struct refaults {
	uint32_t process; /* number in the run; 0 without a finding */
	uint64_t system_ns, cpu_ns;
	uint64_t more, more_ns; /* other processes that are alike, their time in the kernel */
	uint64_t new_bytes, apart, resident; /* resident: at its largest */
	uint64_t others;		     /* bytes that other processes of the run allocated */
	uint64_t work; /* bytes of new pages that take as long as those, and the calls for them */
	/* What the program mapped by its own calls of mmap, if it unmapped more than its live bytes
	 * rose, and called mmap REFAULT_TIMES or more; else 0. */
	uint64_t mapped, map_calls;
	const struct mapper *mapper; /* the runtime that mapped most of it; NULL: none is known */
	bool threads;		     /* several allocated */
	const struct refault_setting *keep; /* NULL: none is known */
	const struct refault_setting
	    *keep_large; /* likewise, if a function allocated large blocks */
	/* The function that allocated at least half of `new_bytes` in blocks of TOTALS_APART and
	 * more, on average; line is NULL if there is none. */
	const struct sym_line *line;
	bool many_lines; /* `line` is one of several */
	uint64_t bytes, calls;
};

/* Returns the setting to try, NULL if none is known. */
static inline const char *refaults_setting(const struct refaults *f)
{
	return f->keep ? f->keep->setting[f->threads] : NULL;
}

void refaults_find(struct refaults *f, const struct analysis *a, const struct sites *sites,
		   const struct trace *t);
/* Names the function or runtime, of a finding; askers: of these sites.  of_totals: they are of a
 * profile, which has no finding without a function. */
void refaults_place(struct refaults *f, const struct sites *sites, const struct askers *askers,
		    struct profile *names, bool of_totals);
