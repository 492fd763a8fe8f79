/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * debuginfod.h - files from the servers that DEBUGINFOD_URLS names.
 *
 * Only when the user asked for it.  libdebuginfod is opened at the first question,
 * so that mprof does not depend on it; it keeps what it fetched in a cache of its own.
 * All fetches of a run together have DEBUGINFOD_SECONDS; when they are over, or
 * no server answers, nothing more is asked.
 */
#ifndef MPROF_SYM_DEBUGINFOD_H
#define MPROF_SYM_DEBUGINFOD_H

#include "files.h"

#define DEBUGINFOD_SECONDS 90

struct debuginfod;

/* NULL without memory. */
struct debuginfod *debuginfod_open(void);
void debuginfod_close(struct debuginfod *d);

/* What could not be had leaves `found` as it is. */
void debuginfod_debug(struct debuginfod *d, struct build_id id, struct file_found *found);
void debuginfod_object(struct debuginfod *d, struct build_id id, struct file_found *found);

/* One clause when the servers could not be used at all or time was over; else NULL. */
const char *debuginfod_why(const struct debuginfod *d);

#endif
