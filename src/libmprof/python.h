/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * python.h - functions and lines of Python scripts, from the interpreter's own records of the
 * calls that run.
 *
 * For a CPython that runs already (mprof attach --python), whose calls entered no stub of
 * libmprof_python.so.  Nothing of the interpreter is changed, and none of its locks is needed: a
 * thread reads what it has itself, which does not change meanwhile.
 */
#pragma once

#include <stdint.h>

#include "eh.h"

/* Finds the program's Python, for calls from now on.  Returns NULL, or why it cannot be shown. */
const char *mp_python_find(void);
/* Will mp_python_redirect() have an effect, if one is needed? */
int mp_python_is_known_allocator(void);
/*
 * Makes it request its objects from malloc, or from its own allocator as before: blocks that each
 * of them served can be freed at any time.  Does nothing if it has another allocator.  Any thread,
 * while others run.
 */
void mp_python_redirect(int here);

/* Does the code at pc, which is of object o and has rule r, evaluate functions of scripts? */
int mp_python_evaluates(const struct eh_object *o, uintptr_t pc, const struct eh_rule *r);

/*
 * The calls of scripts that one C frame evaluates, innermost first.  *walk: 0 at the beginning of
 * a stack, whose frames are passed outward.  Both return the place that holds the address of the
 * interpreter's data of the call, or 0 after the last call.  *sure: 1 if that place is not reused
 * after the frame has ended.  [sp, cfa) is the frame.
 */
struct area;
uintptr_t mp_python_first(uintptr_t *walk, const struct area *stack, uintptr_t sp, uintptr_t cfa,
			  int *sure);
uintptr_t mp_python_next(uintptr_t link);
/* Returns the address that stands for the line (scripts.h), and stores in *instruction where the
 * data of the call has the instruction.  Returns 0 if the call is not of a script's function. */
uintptr_t mp_python_line(uintptr_t data, uintptr_t *instruction);
