/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * process.h - this process in its run: how it joins, its facts, how it ends.
 *
 * Facts and samples are small extents, written at once; one that cannot be written is missing, and
 * the next slot that cannot be written ends recording.
 */
#pragma once

#include <mprof/format.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>

/* ---- process.c ---- */

int mp_process_join(uint64_t fork_ticks, uint32_t parent, int parent_pid);
int mp_process_forked(uint64_t when); /* 0: the time is not known exactly */
void mp_process_forks(void);	      /* called once, as early as possible: notices forks */
void mp_process_watch(void);	      /* from the constructor: notices the end */
void mp_process_flush(void);	      /* writes what this thread holds */

/* ---- status.c: from /proc/self, using a descriptor for a moment ---- */

uint64_t mp_start_time(void);	   /* of this process, in clock ticks after boot; 0 if unknown */
uint32_t mp_seccomp_filters(void); /* filters that apply to it; since Linux 5.9 */
int mp_system_used(
    uint64_t *bytes);		 /* memory that the whole machine uses.  0, or -1 without /proc */
uint64_t mp_system_memory(void); /* of the whole machine, in bytes */
int mp_memory_pages(uint64_t *mapped, uint64_t *resident); /* 0 or -1 */
uint64_t mp_break_start(void); /* the break when the program began, 0 if unknown */
uint64_t mp_stack_start(void); /* where the main thread's stack begins, 0 if unknown */
uint64_t mp_high_water(void);  /* VmHWM in bytes, 0 if unknown */

/* ---- facts.c ---- */

/* strings: KEY=VALUE, each with its NUL; at most 1 KiB with the fact. */
void mp_fact(const struct mprof_fact *fact, const char *strings, size_t bytes);
/* image: for a forked child, its parent's */
void mp_fact_start(unsigned what, uint64_t fork_ticks, uint32_t parent, int parent_pid,
		   uint32_t image);
void mp_fact_end(int status);
/* How a child ended, as wait reported it to this process; usage NULL if unknown. */
void mp_fact_waited(const struct mprof_process_entry *child, int signal, int status,
		    const struct rusage *usage);
void mp_fact_exec(int child_pid, const char *path, int env_kept);
void mp_fact_child(int pid, unsigned how, const char *path, int env_kept);
void mp_fact_stopped(const char *why);
void mp_fact_resumed(void);
void mp_fact_deepbind(const char *path);
void mp_sample_maybe(void);
void mp_fact_remark(const char *why);

/* ---- dumps.c ---- */

void mp_dumps_start(void);
void mp_course_start(void); /* for totals without dumps: only the course */
void mp_dumps_forked(void);
const uint64_t *mp_dump_due(void); /* module.h */
struct mprof_heap_totals;
void mp_dump(uint64_t now, struct mprof_heap_totals *heap, void (*sum)(void)); /* module.h */

/* ---- course.c: memory over time ---- */

uint64_t mp_course_look(uint64_t now, struct mprof_heap_totals *heap, void (*sum)(void));

/* ---- summary.c: files of a process, from its own profile ---- */

/* number: of the dump; 0 = at exit */
void mp_summary_start(void);
/* why: what caused the dump; NULL if nothing in particular did */
void mp_summary_write(const char *what, int number, const char *why);

/* ---- peak.c ---- */

void mp_peak_begin(int forked);			/* in a new process, or in a new program of one */
int mp_peak_look(unsigned large, uint64_t now); /* module.h */
const uint64_t *mp_peak_times(void);		/* module.h */
void mp_peak_falls(size_t bytes);		/* bytes are about to be unmapped */
uint64_t mp_peak_last(void); /* called when the program is about to end; the mark, 0 if unknown */

/* ---- variables.c ---- */

void mp_variables_look(void); /* the program is about to end */

/* ---- resident.c ---- */

void mp_resident_begin(const void *block, size_t usable); /* module.h */
int64_t mp_resident_end(const void *block, size_t usable);
