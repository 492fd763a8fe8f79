/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* report_command.h - the report at the end of `mprof -t`. */
#ifndef MPROF_REPORT_COMMAND_H
#define MPROF_REPORT_COMMAND_H

/* The first screen of the trace, the largest size classes and compactness; a status. */
int report_after_test(const char *path);

#endif
