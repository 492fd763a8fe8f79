/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * facts.h - facts about this process and its children.
 *
 * Facts and samples are small extents, written at once; one that cannot be written is missing, and
 * the next slot that cannot be written ends recording.
 */
#pragma once

#include <mprof/format.h>
#include <stdint.h>
#include <sys/resource.h>

/* The stacks that a forked child inherits. */
struct mp_inherited {
	uint32_t count; /* numbers assigned */
	uint32_t image; /* of the parent */
};
/* stacks: NULL unless it is a forked child */
void mp_fact_start(unsigned what, uint64_t fork_ticks, uint32_t parent, int parent_pid,
		   const struct mp_inherited *stacks);
void mp_fact_rank(void);	       /* mp_known.rank has become known */
void mp_fact_set(const char *setting); /* "NAME=VALUE" of an allocator */
void mp_fact_end(int status);
/* How a child ended, as wait reported it to this process; usage NULL if unknown. */
void mp_fact_waited(const struct mprof_process_entry *child, int signal, int status,
		    const struct rusage *usage);
/* foreign: an enum mprof_exec_how if the program would not run with the library, else 0. */
void mp_fact_exec(int child_pid, const char *path, char *const envp[], int foreign);
void mp_fact_returned(int child_pid);
void mp_fact_spawned(int pid, const char *path, int env_kept);
void mp_fact_stopped(const char *why);
void mp_fact_attached(uint64_t held, uint64_t freed); /* bytes of the heap by then */
void mp_fact_mark(unsigned what);		      /* RESUMED, ATTACHED or DETACHED */
void mp_fact_bypass(const char *path, enum mprof_bypass how);
void mp_fact_code(const char *name); /* "ADDRESS NAME" of a frame in no object */
void mp_sample_maybe(void);
void mp_fact_remark(const char *why);
