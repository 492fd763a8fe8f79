/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * debuginfod.h - files from the servers that DEBUGINFOD_URLS names.
 *
 * Only on request.  libdebuginfod is opened at the first fetch, so that mprof does not depend on
 * it; it keeps fetched files in its own cache. All fetches of a run share DEBUGINFOD_SECONDS; after
 * that, or if no server answers, nothing more is fetched.
 */
#pragma once

#include "files.h"

#define DEBUGINFOD_SECONDS 90

struct debuginfod;

/* NULL without memory. */
struct debuginfod *debuginfod_open(void);
void debuginfod_close(struct debuginfod *d);

/* Does not change `found` on failure. */
void debuginfod_debug(struct debuginfod *d, struct build_id id, struct file_found *found);
void debuginfod_object(struct debuginfod *d, struct build_id id, struct file_found *found);

/* Returns one clause if no server could be used or time ran out; else NULL. */
const char *debuginfod_why(const struct debuginfod *d);
