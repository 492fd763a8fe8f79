/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * target.h - the path where a run is about to write its trace or counts.
 */
#ifndef MPROF_TARGET_H
#define MPROF_TARGET_H

#include "../util/error.h"

/*
 * Makes the path absolute (free() it), checks that a file can be made there,
 * and removes a finished file of the same kind (magic: MPROF_MAGIC_*) or an
 * empty one.  NULL and *err when something else is there: nothing that is not
 * ours is ever removed, and no symbolic link is followed.
 *
 * *claim becomes a descriptor (or -1, where sockets are forbidden): while it is
 * open, no other mprof is given the same path.
 */
char *target_clear(const char *path, const char *magic, int *claim, struct error *err);

#endif
