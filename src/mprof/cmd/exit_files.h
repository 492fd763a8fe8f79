/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* exit_files.h - the files that the processes of a run write themselves: dumps, and AT_EXIT's. */
#pragma once

#include <time.h>

#include "../run/conf.h"

/* Prints on stderr which of them were written since that time (of CLOCK_REALTIME_COARSE), if any.
 */
void exit_files_tell(const struct conf *conf, const struct timespec *since);
