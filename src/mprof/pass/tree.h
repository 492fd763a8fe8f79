/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * tree.h - the processes of a run, from the facts of its trace, how each ended, and the processes
 * that could not be recorded.
 *
 * Made from facts alone; needs no events.  Pointers go into the trace, which
 * must stay open.
 */
#pragma once

#include "../heap/heap.h"
#include "walk_input.h"

enum tree_end {
	TREE_UNKNOWN, /* neither it nor another process recorded it; or it was still running */
	TREE_EXITED,  /* status is the exit status */
	TREE_KILLED,  /* status is the signal */
	TREE_BECAME,  /* by exec, it became a program that is not recorded: see missing */
};

#define TREE_FILES (16u << 20)

struct tree_process {
	uint32_t number;
	int32_t pid, parent_pid;
	uint32_t parent; /* its number, 0 if not recorded */
	bool forked;	 /* began as a copy of its parent */
	/* Its programs in order: the START fact, then one EXEC for each exec. */
	const struct trace_fact **image;
	size_t images;
	/* The image of a forked child that set a title, with the title instead of arguments. */
	struct trace_fact titled;
	const char *title; /* NULL without one */
	char *title_found; /* by tree_title(), or NULL */
	enum tree_end end;
	int32_t status;
	uint64_t start_ticks, end_ticks; /* 0 if unknown */
	uint64_t start_time;		 /* of the process, as its START has it */
	uint64_t user_ns, system_ns, minor_faults, major_faults; /* 0 if unknown */
	uint64_t peak_rss_bytes;   /* the most that the kernel or a sample reported; 0 if unknown */
	uint64_t waited_rss_bytes; /* from wait4: includes its children */
	uint32_t heir;		   /* number of the forked child that went on when it exited, as a
				    * daemon does, and may have freed what it left; or 0 */
	bool oom;		   /* SIGKILL killed it, probably the out-of-memory killer's */
	bool ran_on;	     /* its end is unknown, because the file is a dump, or the trace live */
	bool runs;	     /* it was found running after the trace was read */
	bool served;	     /* the end of its parent, or of an ancestor, is unknown */
	bool gone;	     /* it ended, and an ancestor may still run: its blocks are not live */
	uint64_t left_bytes; /* of a profile: live at its end; 0 if it is gone */
	bool outlived;	     /* it still ran when the program that mprof started had ended */
	bool said_end;	     /* it wrote its END fact, and read its memory once more */
	uint64_t samples, rss_most, rss_anon_most; /* of samples while it ran, in bytes */
	uint64_t self_bytes;			   /* mprof's own memory in it, the most seen */
	uint64_t huge_most; /* the most pages of it that were in transparent huge pages */
	uint64_t lost[MPROF_LOST_REASONS];
	const char *deepbind; /* the first object it loaded past the library, or NULL */
	bool deepbinds;	      /* it loaded another one, too */
	unsigned bypass;      /* how: bits of enum mprof_bypass */
	const char *stopped;  /* why recording ended early, or NULL */
	bool attached;	      /* it ran already when its recording began... */
	uint64_t before_ns;   /* ... for this long; 0: unknown */
	uint64_t held, freed; /* bytes of its heap by then: in blocks, and kept; 0: unknown */
	bool detached;	      /* mprof ended its recording, and it ran on */
};

/* Returns how much of its largest resident set in a sample was code, files and shared memory of its
 * own, at least: mprof's memory may all be shared. */
static inline uint64_t tree_files(const struct tree_process *p)
{
	const uint64_t others = p->rss_anon_most + p->self_bytes;

	return p->rss_most > others ? p->rss_most - others : 0;
}

/* Is that more than the code of a usual program, and not a small part? */
static inline bool tree_has_files(const struct tree_process *p)
{
	return tree_files(p) >= TREE_FILES && tree_files(p) >= p->peak_rss_bytes / 4;
}

/* A process, or a program that a process became, which is not in the trace. */
struct tree_missing {
	int32_t pid;
	uint32_t parent;  /* number of the process that started it, or that became it */
	bool became;	  /* by exec, in the same process */
	bool environment; /* its environment did not preload the library */
	bool denied;	  /* its user might not open the run's file */
	bool apart;   /* that or the library was out of its reach, as after chroot, in a sandbox */
	uint32_t how; /* enum mprof_exec_how, or 0 */
	const char *path; /* "" if unknown */
	const char *note; /* the reason, as its own process noted it; NULL if it did not */
	char why[512];	  /* the reason, from `how` or its file; "" until the file is read */
};

/* An object whose malloc programs called instead of the library's. */
struct tree_own {
	const char *path;
	uint32_t process;   /* number of the first process that did, */
	uint64_t processes; /* and how many did */
	char why[1024];	    /* the reason, from its file; "" until the file is read */
};

struct tree {
	struct tree_process *process; /* ascending by number */
	size_t processes;
	struct tree_missing *missing;
	size_t missing_count;
	struct tree_own *own;
	size_t owns;
	const char **remark; /* of mprof, about the run */
	size_t remarks;
	char *noticed;		 /* one of them, which only the reader knows; NULL without it */
	uint64_t unrecorded_rss; /* rss_of_children() */
	uint64_t together; /* bytes of all processes at a time, shared ones once; 0: unknown */
	uint64_t lost[MPROF_LOST_REASONS], lost_all;
	size_t deepbinds; /* processes with objects loaded past the library */
	uint64_t start_ticks, end_ticks;
};

/*
 * seen: the time of the last event read, 0 without any; a program that still
 * runs continues after its trace was opened.
 */
void tree_make(struct tree *r, const struct walk_input *in, uint64_t seen,
	       const uint64_t lost[MPROF_LOST_REASONS]);
/* Makes only `missing`, of an empty tree. */
void tree_missing(struct tree *r, const struct walk_input *in);
/* Returns in words why it is not in the trace, and what would record it. */
const char *tree_why_missing(const struct tree_missing *m);
/* Adds a remark unless there is the same; only one may be added. */
void tree_notice(struct tree *r, const char *remark);
void tree_release(struct tree *r);

/* Returns NULL if there is none. */
const struct tree_process *tree_find(const struct tree *r, uint32_t number);
/* Returns the process that started it, NULL if that was not recorded.  Its number is smaller, even
 * in a damaged file, so loops over ancestors end. */
const struct tree_process *tree_parent(const struct tree *r, const struct tree_process *p);
/* Returns the process that had most resident memory; NULL if there is none. */
const struct tree_process *tree_largest(const struct tree *r);
/* Did more than one program run? */
static inline bool tree_has_several(const struct tree *r)
{
	return r->processes > 1 || (r->processes && r->process[0].images > 1);
}
/* Was it killed, or did it still run?  Then it might have freed its blocks later. */
bool tree_process_interrupted(const struct tree_process *p);
bool tree_interrupted(const struct tree *r); /* was any of its processes interrupted? */
/* Did a forked child go on when its parent exited?  It may have freed what that left. */
bool tree_has_heir(const struct tree *r);
/*
 * Did interrupted processes, and those with an heir, have at least half of the bytes that were live
 * at the end?  Then live bytes alone do not indicate a leak.  h: after the walk.  process: only
 * this one; 0: all.
 */
bool tree_left_open(const struct tree *r, const struct heap *h, uint32_t process);
/* Is this fact, one of in->facts, the EXECING of an exec that worked and led out of the recording?
 */
bool tree_became(const struct walk_input *in, const struct trace_fact *f);
/* Does the fact name a program that a process runs from then on? */
bool tree_is_image(const struct trace_fact *f);
/* Returns the path of the object with a malloc of its own that serves this program: if it is the
 * executable, its path, because the loader names it as it was called. */
const char *tree_own_malloc(const struct trace_fact *image);
/* Does the allocator of the C library serve this program? */
bool tree_has_c_library(const struct trace_fact *image);
/* Gives a forked child the title that it has now, unless that is still its parent's. */
void tree_title(struct tree_process *p, const char *title);
/* Returns the last program that it ran, NULL if no fact names it. */
const struct trace_fact *tree_image(const struct tree_process *p);
/* The same of the first process; NULL if there is none. */
static inline const struct trace_fact *tree_first_image(const struct tree *r)
{
	return r->processes ? tree_image(&r->process[0]) : NULL;
}
