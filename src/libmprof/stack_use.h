/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * stack_use.h - how much of its stack each thread uses: struct mprof_stack_use in the file.
 *
 * A thread's record is its own while it runs; the thread that ends the process reads the pages of
 * all.  Nothing here fails: a thread without a record is missing in the file.
 */
#pragma once

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

/* What the creator of a thread knows about its stack. */
struct mp_stack_room {
	uintptr_t top;	/* supplied by the program; 0: libc maps one */
	size_t bytes;	/* 0: unknown */
	uintptr_t from; /* the frame of the thread's first function */
};
struct mp_stack_room mp_stack_room(const pthread_attr_t *attr); /* NULL: the default */

/* In a thread, before any code of the program; room NULL: its creation was not seen. */
void mp_stack_use_begin(uint32_t number, const struct mp_stack_room *room);
/* 1 if sp lies on this thread's own stack and its bounds, as mapped, are known; else 0 */
int mp_stack_use_home(uintptr_t sp, uintptr_t *low, uintptr_t *high);
/* 1: at is above sp, and both lie on this thread's own stack; 0: no, or its bounds are unknown */
int mp_stack_use_spans(uintptr_t sp, uintptr_t at);
/* The call stack `id` has the thread's lowest sp so far on its own stack. */
void mp_stack_use_deeper(uintptr_t sp, uint32_t id);
void mp_stack_use_end(void);	/* this thread has run its destructors */
void mp_stack_use_look(void);	/* the process is about to end or to exec */
void mp_stack_use_forked(void); /* in a child: its thread has another record */
