/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* argument.h - values of options that several commands take.  What is none ends in argp_error(). */
#ifndef MPROF_ARGUMENT_H
#define MPROF_ARGUMENT_H

#include <argp.h>

/* 0 to 100. */
double argument_percent(const char *arg, struct argp_state *state);

#endif
