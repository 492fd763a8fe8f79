/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * pager.h - a long answer on a terminal goes through a pager, as git's does.
 *
 * MPROF_PAGER, else PAGER, else less; LESS=FRX unless it is set.  If standard output is not a
 * terminal, or if the pager is empty, "cat" or not found, output is unchanged.  Warnings go with
 * the answer if they would be on the terminal.
 *
 * The exit status is the command's.  Quitting the pager early loses only the rest of the answer.  A
 * signal that ends mprof waits until the pager has released the terminal.
 */
#pragma once

#include <stdbool.h>

/* Implements --no-pager. */
void pager_off(void);
/* Call it once, after terminal_start() and before the first line of the answer. */
void pager_start(void);
/* Was the pager quit before the end?  Call it after a write that failed. */
bool pager_left(void);
/* Waits until the pager is quit; does nothing without one.  Flush stdout first. */
void pager_end(void);
