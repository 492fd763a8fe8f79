/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * memory.h - how much memory a command may take.
 *
 * A file of some kilobytes may say that it needs all memory there is.  A command that
 * reads files has MEMORY_LEAST and MEMORY_PER_BYTE for each byte of them, and never more
 * than three quarters of what is free (but MEMORY_FLOOR in any case), unless the user says how much
 * it is to be.  What goes beyond fails like any allocation that fails.
 *
 * A command that runs out of memory ends in memory_out(): one line on standard error, no
 * half-written file (unfinished.h), the answer so far flushed, the pager waited for.  The
 * functions of alloc.h end there; those that libraries call back, or that must go on without
 * memory, use malloc and return -ENOMEM.
 *
 * Threads: limits before others are started; memory_out() from any.
 */
#ifndef MPROF_UTIL_MEMORY_H
#define MPROF_UTIL_MEMORY_H

#include <stddef.h>
#include <stdint.h>

#define MEMORY_LEAST	((uint64_t)1 << 30)
#define MEMORY_FLOOR	((uint64_t)256 << 20) /* however little is free */
#define MEMORY_PER_BYTE 256u

/* Bytes that can be had without swapping; what is free, where that is not told. */
uint64_t memory_free(void);

/* From now on. */
void memory_cap(void);
/* A file of so many bytes is read. */
void memory_cap_file(uint64_t bytes);
/* The user's word: so much, whatever is read. */
void memory_cap_at(uint64_t bytes);

/* UINT64_MAX: as much as there is. */
uint64_t memory_cap_bytes(void);
/* What the user said; 0: nothing. */
uint64_t memory_cap_asked(void);

/* Other programs that we start shall have what we had; a vfork child may call it. */
void memory_uncap(void);
/* In us again. */
void memory_recap(void);

/* Ends the program: "TITLE: out of memory" and how to get more.  Status 1 unless it was set. */
_Noreturn void memory_out(void);
/* Who speaks: "mprof report". */
void memory_out_title(const char *title);
/* A program that was run has ended with this status: so do we. */
void memory_out_status(int status);
/*
 * While a program of the user's runs (a pid, else 0): mprof waits for its end first, and takes
 * its status.
 */
void memory_out_child(int pid);

/* Behind a sentence of room bytes about memory that there was not: how to get more. */
void memory_explain(char *text, size_t room);

#endif
