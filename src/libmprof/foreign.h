/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * foreign.h - programs that would not run, or whose loader would complain, with the library
 * preloaded: those of another machine or of 32 bits, those linked with musl or an older glibc,
 * those built with a sanitizer, and those that cannot open it.  `mprof` judges the first program of
 * a run likewise (src/mprof/run/program.c).
 *
 * For the moment before exec, also in a vfork child or a signal handler: system calls only, and no
 * memory but the stack.
 */
#pragma once

#include <stddef.h>

/* path: as for execve, or with `search` as for execvp.  0, or why: an enum mprof_exec_how. */
int mp_is_foreign(const char *path, int search);

/* Does this environment preload the library? */
int mp_preloads_us(char *const envp[]);
/* Does it preload the library from where a program cannot open it, as after chroot or setuid? */
int mp_lacks_us(char *const envp[]);
/* Returns the environment without what mprof preloads, in `room` of mp_without_us_bytes(). */
size_t mp_without_us_bytes(char *const envp[]);
char *const *mp_without_us(char *const envp[], void *room);
