/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * eh.h - the rule that leads from a frame to its caller.
 */
#pragma once

#include <stdint.h>

#include "eh_object.h"

enum eh_base { EH_SP, EH_FP };
enum eh_script { EH_STUB = 1, EH_EVALUATES }; /* a stub of scripts.h; a frame of python.h */

/* How to get from the frame that executes at an address to its caller. */
struct eh_rule {
	uint8_t base;	  /* enum eh_base: CFA = base + cfa */
	uint8_t deref;	  /* CFA = *(base + cfa) instead: realigned stacks */
	uint8_t fp_by_fp; /* the caller's fp is at fp + `fp` instead of CFA + `fp` */
	uint8_t signal;	  /* a signal frame: registers lie in a ucontext */
	uint8_t end;	  /* the return address is undefined: outermost frame */
	uint8_t no_code;  /* not executable code */
	uint8_t stuck;	  /* code without usable information */
	uint8_t script;	  /* EH_STUB or EH_EVALUATES */
	uint8_t complex;  /* not expressible as a rule: see full.c */
	int32_t cfa;	  /* bytes */
	int32_t ra;	  /* the return address is at CFA + ra; 0: still in its register */
	int32_t fp;	  /* the caller's frame pointer is at CFA + fp; 0: unchanged */
};

/*
 * Fills *rule for the instruction at pc; no other thread may use m.  0, -ENOENT without
 * information, -ENOTSUP if it is not understood.  Reads loaded objects only.
 */
struct cfi_machine;
int eh_find(const struct eh_object *o, uintptr_t pc, struct cfi_machine *m, struct eh_rule *rule);
