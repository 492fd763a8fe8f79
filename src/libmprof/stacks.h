/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * stacks.h - the stack of a call as a number: what the rest of the library asks of it.
 *
 * How it is done is the affair of the files in unwind.h.  Numbers count from 1; 0: there is none,
 * which is counted as lost.
 */
#ifndef MP_STACKS_H
#define MP_STACKS_H

#include <mprof/module.h>
#include <stddef.h>
#include <stdint.h>

/* unwind.c: the stack of whoever called from pc, where sp was then and fp is. */
uint32_t mp_capture(struct mprof_thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp);
/* Memory goes away: a stack may have been in it. */
void mp_stacks_unmapped(uintptr_t at, size_t bytes);
void mp_stack_forget(struct mprof_thread *t); /* the record gets another thread */
/* capture.c: which unwinder UNWIND means.  0 or -errno. */
int mp_stacks_start(void);
/* rules.c: rules may be of code that was unloaded */
void mp_rules_forget(void);
void mp_rules_forked(void); /* in a child: ends what a thread of the parent had begun */
/* stacks.c */
uint32_t mp_stacks_count(void); /* numbers given so far */
int mp_stacks_flush(void);	/* records go to the file, the slot to others; 0 or -errno */

#endif
