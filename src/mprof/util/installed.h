/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* installed.h - finds the other files of mprof by the place of the program that runs. */
#pragma once

/* Returns the real path of `directory`/`name`, which the caller frees, if access(2) permits `how`
 * (F_OK: if it exists); else NULL. */
char *installed_in(const char *directory, const char *name, int how);
/* The same in the first of these directories that has it.  They are relative to that of the
 * program; the list ends with NULL.  Needs /proc. */
char *installed_find(const char *const *below, const char *name, int how);
