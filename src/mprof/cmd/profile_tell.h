/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* profile_tell.h - the line that a command prints about the profile that it made. */
#pragma once

#include "../run/run.h"

/* Prints on stderr what the profile contains, and what to do with it.  r: the run that made it, for
 * what it has not recorded; NULL if mprof did not start the program. */
void profile_tell(const char *path, const struct run_result *r);
