/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * mode.h - the option -m of mprof itself.
 */
#ifndef MPROF_CMD_MODE_H
#define MPROF_CMD_MODE_H

/* Runs argv (ends with NULL) in this MODE; "HELP" lists them.  The exit status. */
int mode_run(const char *mode, char **argv);

#endif
