/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * help.h - the lists that --help, `mprof help` and `-m HELP` print.
 */
#pragma once

#include <stdio.h>

void help_commands(FILE *out);
void help_modes(FILE *out);
void help_keys(FILE *out);
/* What mprof is, and the commands to start with. */
void help_start(FILE *out);
/* What mprof is, and all the lists. */
void help_all(FILE *out);
