/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * stacks.h - the stack of a call as a number: the interface for the rest of the library.
 *
 * stack_parts.h lists the files behind it.  Stacks are numbered from 1; 0 means that no stack was
 * found, which counts as a loss.
 */
#pragma once

#include <mprof/module.h>
#include <stddef.h>
#include <stdint.h>

/* unwind.c: returns the stack of the caller at pc, whose sp was `sp`; fp is the current frame
 * pointer. */
uint32_t mp_capture(struct mprof_thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp);
/* Call this when memory is being unmapped, because a stack may lie in it. */
void mp_stacks_unmapped(uintptr_t at, size_t bytes);
void mp_stack_forget(struct mprof_thread *t); /* the record is about to be used by another thread */
/* stack_cache.c: call this where t takes a slow path; see mp_stack_use_interval(). */
void mp_stack_interval(struct mprof_thread *t);
/* capture.c: applies UNWIND.  0 or -errno. */
int mp_stacks_start(void);
/* rules.c: call this when code may have been unloaded. */
void mp_rules_forget(void);
void mp_rules_forked(void); /* in a child: ends what a thread of the parent had begun */
/* stacks.c */
uint32_t mp_stacks_count(void); /* numbers assigned so far */
int mp_stacks_flush(void);	/* writes records, releases the slot; 0 or -errno */
