/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * recent.h - a run that keeps only its last events (keys LAST_BYTES and LAST_SECONDS).
 */
#pragma once

#include <stdint.h>

/*
 * Drops chunks that are too old; now: in ticks.  Called by a thread that has just written one, with
 * signals blocked.  Never fails: what cannot be dropped stays.
 */
void mp_recent_keep(uint64_t now);
/* Can the file system of our file free blocks inside a file?  0 or -errno. */
int mp_recent_works(void);
