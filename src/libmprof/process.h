/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * process.h - this process in its run: how it joins, what it writes while it runs, how it ends.
 */
#pragma once

#include <mprof/format.h>
#include <stddef.h>
#include <stdint.h>

/* ---- process.c ---- */

/*
 * Joins the run, by the file that is open: as a new process or, after exec, as the one it was.
 * fork_ticks: when it was forked, else 0.  parent: its number in the run, 0 if unknown; then it is
 * looked up by its pid.  0, or -EIO if the file can no longer be written.
 */
int mp_process_join(uint64_t fork_ticks, uint32_t parent, int parent_pid);
/* Joins a forked child; when: the time in ticks, 0 if it is not known exactly.  0, -ECHILD if it
 * could not join, -ECANCELED if children are not recorded. */
int mp_process_forked(uint64_t when);
void mp_process_forks(void); /* called once, as early as possible: notices forks */
void mp_process_watch(void); /* from the constructor: notices the end */
/* Is this the process that is recorded, and not a vfork child in its memory? */
int mp_process_is_self(void);
/* Ends the recording of a process that runs on. */
void mp_process_detached(void);
/* Writes what this thread holds; nothing in a vfork child, or while the thread records a call. */
void mp_process_flush(void);

/* ---- examined.c ---- */

/* REACH: waits until mprof has examined the memory of this process, which ends. */
void mp_examined_wait(void);
/* Likewise in a handler, before the signal ends the process.  context: of the handler.  0: the
 * signal only repeats the one for which another thread waits. */
int mp_examined_signal(int number, const void *context);

/* ---- end_signals.c ---- */

/* Installs handlers of signals that would end the process, where it has none. */
void mp_end_signals_start(void);
/* Removes them, as they make system calls; returns 0 if they were not in place. */
int mp_end_signals_stop(void);

/* ---- dumps.c ---- */

void mp_dumps_start(void);
/* Remarks that the program has a handler of its own for DUMP_SIGNAL. */
void mp_dumps_end(void);
void mp_course_start(void); /* for totals without dumps: only the course */
void mp_dumps_forked(void);
const uint64_t *mp_dump_due(void); /* module.h */
struct mprof_heap_totals;
void mp_dump(uint64_t now, struct mprof_heap_totals *heap, void (*sum)(int past)); /* module.h */
void mp_step(uint64_t now, struct mprof_heap_totals *heap, void (*sum)(int past)); /* module.h */

/* ---- course.c: memory over time ---- */

/* Closes the steps that ended before `now`.  Returns when to call it next, in ticks; UINT64_MAX if
 * it could not allocate the course.  Only one thread may call it at a time. */
uint64_t mp_course_look(uint64_t now, struct mprof_heap_totals *heap, void (*sum)(int past));

/* ---- summary.c: files of a process, from its own profile ---- */

/* Makes the paths of the files absolute, before the program can change its directory. */
void mp_summary_start(void);
/* Writes these forms, words of AT_EXIT.  number: of the dump, 0 at exit.  why: what caused the
 * dump; NULL if nothing in particular did.  A file that cannot be written is a remark in the
 * profile. */
void mp_summary_write(const char *what, int number, const char *why);

/* ---- settings.c: how the program configures its allocator ---- */

/* Notes the variables of the environment that configure an allocator, when a program has begun. */
void mp_settings_note(void);

/* ---- variables.c ---- */

/* Writes which pages of variables are resident: when the program is about to
 * end. */
void mp_variables_look(void);

/* ---- resident.c ---- */

void mp_resident_begin(const void *block, size_t usable); /* module.h */
int64_t mp_resident_end(const void *block, size_t usable);
