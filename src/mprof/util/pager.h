/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * pager.h - a long answer on a terminal goes through a pager, as git's does.
 *
 * MPROF_PAGER, else PAGER, else less; LESS=FRX unless it is set.  Where standard
 * output is no terminal, the pager is empty or "cat", or it cannot be found, output
 * goes where it went.  Warnings go with the answer if they would be on the terminal.
 *
 * The exit status stays the command's.  Quitting the pager early loses only the rest of the answer.
 * A signal that ends mprof waits until the pager has released the terminal.
 */
#pragma once

#include <stdbool.h>

/* --no-pager. */
void pager_off(void);
/* Behind terminal_start(), before the first line of the answer; once. */
void pager_start(void);
/* Was it quit before the end? After a write that failed. */
bool pager_left(void);
/* Waits until it is quit; does nothing without one. stdout was flushed. */
void pager_end(void);
