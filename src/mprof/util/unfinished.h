/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * unfinished.h - files that must not remain if the program ends before it is done with them:
 * half-written outputs under their temporary names, sockets, directories for one run.
 *
 * They are removed, the newest first, when memory runs out (memory.h), and by a signal after
 * unfinished_watch().  Forget a file once it is renamed or removed.
 *
 * Ownership: the caller owns a path and does not change it until unfinished_forget().  Threads:
 * any.
 */
#pragma once

/* Ignores paths beyond the sixteenth. */
void unfinished_add(const char *path);
/*
 * Creates a file as mkostemp(3) does, close-on-exec, and adds it, with no signal in between.
 * Returns its descriptor or -errno.
 */
int unfinished_open(char *template);
/* Takes the same pointer; does nothing if it was not added. */
void unfinished_forget(const char *path);
/* SIGINT, SIGTERM and SIGHUP also remove them, before they end the program. */
void unfinished_watch(void);
/* Removes all of them now: files, and directories if they are empty.  Safe in signal handlers. */
void unfinished_remove(void);
