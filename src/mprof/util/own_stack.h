/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* own_stack.h - a stack that is large enough, whatever the limit of the shell is. */
#pragma once

/*
 * Runs main(argc, argv) and returns its result: on a stack of its own if RLIMIT_STACK is small
 * (ulimit -s 96).  Threads that are created later have stacks of that size, too.  Programs that
 * mprof starts keep the limit.  Without memory for it, nothing changes.
 */
int own_stack_run(int (*main)(int argc, char **argv), int argc, char **argv);
