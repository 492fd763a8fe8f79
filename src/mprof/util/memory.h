/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * memory.h - how much memory a command may take.
 *
 * A file of a few kilobytes may claim to need all memory.  A command that reads files has
 * MEMORY_LEAST and MEMORY_PER_BYTE for each byte of them, and never more than three quarters of
 * what is free (but MEMORY_FLOOR in any case), unless the user sets a limit. Allocations beyond it
 * fail like any other.
 *
 * A command that runs out of memory ends in memory_out(): one line on standard error, no
 * half-written file (unfinished.h), the answer so far flushed, the pager waited for.  The
 * functions of alloc.h end there; those that libraries call back, or that must go on without
 * memory, use malloc and return -ENOMEM.
 *
 * Threads: limits before others are started; memory_out() from any.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define MEMORY_LEAST	((uint64_t)1 << 30)
#define MEMORY_FLOOR	((uint64_t)256 << 20) /* however little is free */
#define MEMORY_PER_BYTE 256u

/* Bytes available without swapping; or the free ones, where that is unknown. */
uint64_t memory_free(void);

/* From now on. */
void memory_cap(void);
/* A file of so many bytes is read. */
void memory_cap_file(uint64_t bytes);
/* The user's limit, regardless of the files. */
void memory_cap_at(uint64_t bytes);

/* UINT64_MAX: no limit. */
uint64_t memory_cap_bytes(void);
/* The user's limit; 0: none. */
uint64_t memory_cap_asked(void);

/* Restores the original limit for programs that we start; a vfork child may call it. */
void memory_uncap(void);
/* In us again. */
void memory_recap(void);

/* Ends the program: "TITLE: out of memory" and how to get more.  Status 1 unless it was set. */
_Noreturn void memory_out(void);
/* The name in messages: "mprof report". */
void memory_out_title(const char *title);
/* A program that was run has ended with this status, which becomes ours. */
void memory_out_status(int status);
/*
 * While a program of the user's runs (a pid, else 0): mprof waits for its end first, and takes
 * its status.
 */
void memory_out_child(int pid);

/* Appends to a message about lack of memory, of at most room bytes, how to allow more. */
void memory_explain(char *text, size_t room);
