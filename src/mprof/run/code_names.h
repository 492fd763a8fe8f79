/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * code_names.h - names of generated code, that is, of frames in no object, from the map that a
 * runtime writes on request to /tmp/perf-PID.map.
 *
 * The map is used for names only: it must be a regular file of the user (for root, of any user),
 * written since the run began; invalid lines are skipped, and sizes are limited.
 */
#pragma once

#include <stdbool.h>

#include "../trace/append.h"
#include "../trace/trace.h"

/* Functions of Python scripts: there were none, no map has their names, or they have names. */
enum code_python { CODE_NO_PYTHON, CODE_PYTHON_UNNAMED, CODE_PYTHON_NAMED };

/* Appends CODE facts for all processes of the run to its file.  If it or a map cannot be read,
 * frames have no names. */
void code_names_add(const char *path);
/* Adds the names to a trace that was just opened, but not to its file, while it is recorded, or if
 * mprof was killed before it could write them, unless another process has the PID now.  To others
 * it adds nothing. */
void code_names_read(struct trace *t);
/* As code_names_add() when the run has ended: removes the maps that libmprof_python.so wrote.
 * python: also look for functions of scripts; without it the result says nothing. */
enum code_python code_names_take(struct append *file, bool python);
