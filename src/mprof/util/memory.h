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
 * functions of alloc.h end there; functions that libraries call, or that must continue without
 * memory, use malloc and return -ENOMEM.
 *
 * Threads: set limits before other threads start; any thread may call memory_out().
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define MEMORY_LEAST	((uint64_t)1 << 30)
#define MEMORY_FLOOR	((uint64_t)256 << 20) /* the least limit, however little memory is free */
#define MEMORY_PER_BYTE 256u

/* Returns the bytes available without swapping; or the free ones, if that is unknown. */
uint64_t memory_free(void);

/* Limits memory from now on. */
void memory_cap(void);
/* Raises the limit for a file of this many bytes. */
void memory_cap_file(uint64_t bytes);
/* Sets the user's limit, regardless of the files. */
void memory_cap_at(uint64_t bytes);

/* Returns the limit; UINT64_MAX if there is none. */
uint64_t memory_cap_bytes(void);
/* Returns the user's limit; 0 if none. */
uint64_t memory_cap_asked(void);

/* Restores the original limit for programs that we start; a vfork child may call it. */
void memory_uncap(void);
/* Sets mprof's own limit again. */
void memory_recap(void);

/* Ends the program with "TITLE: out of memory" and how to get more.  Status 1 unless one was
 * set. */
void memory_out(void) __attribute__((noreturn)); /* unlike _Noreturn, to clang a part of its type */
/* Sets the name for messages: "mprof report". */
void memory_out_title(const char *title);
/* Notes the exit status of a program that was run, which becomes ours. */
void memory_out_status(int status);
/*
 * Call this while a program of the user runs (its pid, else 0): mprof waits for its end first, and
 * takes its status.
 */
void memory_out_child(int pid);

/* Appends to a message about lack of memory how to allow more; text has `room` bytes. */
void memory_explain(char *text, size_t room);
/* A system without memory ends this process before any other. */
void memory_give_way(void);
