/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * thread_names.h - the names that a program gives its threads, as debuggers and top show them.
 */
#pragma once

#include <mprof/format.h>

/* Called once, before the first thread has a record: notes the name that the program was given. */
void mp_thread_names_start(void);
/*
 * Stores a name as it is kept: at most 15 characters, padded with zeros, and empty if it is that
 * which the kernel gave the program, or with ANONYMOUS.
 */
void mp_thread_name_keep(char to[MPROF_THREAD_NAME], const char *name);
void mp_thread_name_read(char to[MPROF_THREAD_NAME]); /* that of the calling thread */
