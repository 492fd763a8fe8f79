/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * process.h - this process in its run: how it joins, what it writes while it runs, how it ends.
 */
#pragma once

#include <mprof/format.h>
#include <stddef.h>
#include <stdint.h>

/* ---- process.c ---- */

int mp_process_join(uint64_t fork_ticks, uint32_t parent, int parent_pid);
int mp_process_forked(uint64_t when); /* 0: the time is not known exactly */
void mp_process_forks(void);	      /* called once, as early as possible: notices forks */
void mp_process_watch(void);	      /* from the constructor: notices the end */
void mp_process_flush(void);	      /* writes what this thread holds */

/* ---- dumps.c ---- */

void mp_dumps_start(void);
void mp_course_start(void); /* for totals without dumps: only the course */
void mp_dumps_forked(void);
const uint64_t *mp_dump_due(void); /* module.h */
struct mprof_heap_totals;
void mp_dump(uint64_t now, struct mprof_heap_totals *heap, void (*sum)(void)); /* module.h */
void mp_step(uint64_t now, struct mprof_heap_totals *heap, void (*sum)(void)); /* module.h */

/* ---- course.c: memory over time ---- */

uint64_t mp_course_look(uint64_t now, struct mprof_heap_totals *heap, void (*sum)(void));

/* ---- summary.c: files of a process, from its own profile ---- */

/* number: of the dump; 0 = at exit */
void mp_summary_start(void);
/* why: what caused the dump; NULL if nothing in particular did */
void mp_summary_write(const char *what, int number, const char *why);

/* ---- variables.c ---- */

void mp_variables_look(void); /* the program is about to end */

/* ---- resident.c ---- */

void mp_resident_begin(const void *block, size_t usable); /* module.h */
int64_t mp_resident_end(const void *block, size_t usable);
