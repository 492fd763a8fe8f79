/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * attach.h - recording a program that ran before the library was loaded.
 *
 * mprof makes a thread of the program load the library and call mprof_attach() (run/attaching.h).
 */
#pragma once

#include <mprof/module.h>

/* 1 unless the library was preloaded, or is linked to: no call of the program can reach it yet. */
int mp_attach_is_needed(void);
/* Finds what the program calls now. */
extern const struct mprof_init_ops mp_init_attached;
/* Returns the function or variable of this name that the program's own code reaches, or NULL. */
void *mp_attach_symbol(const char *name);
/* Looks the name up in all objects behind the executable, in the order of the loader. */
void *mp_attach_search(const char *name);
/* Notes that recording begins, and what glibc's heap contains by then. */
void mp_attach_note(void);
/* Leads the program's calls to us, or back.  Any thread, while others run. */
void mp_attach_redirect(int here);
