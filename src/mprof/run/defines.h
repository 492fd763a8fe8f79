/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * defines.h - what a shared object offers to others.
 */
#ifndef MPROF_RUN_DEFINES_H
#define MPROF_RUN_DEFINES_H

/*
 * 1: others get this function from the object; 0: they do not; -1: the file
 * has no table of dynamic symbols that can be read.
 */
int defines_function(const char *path, const char *name);

#endif
