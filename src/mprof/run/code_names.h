/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * code_names.h - names of generated code: of frames in no object, from the map that a
 * runtime writes to /tmp/perf-PID.map when it is told to.
 *
 * The map is trusted with nothing but names: it must be a regular file of the user, written
 * since the run began; lines that make no sense are skipped, and there are bounds.
 */
#pragma once

#include "../trace/append.h"

/* After the run: appends CODE facts for all its processes.  What cannot be read has no names. */
void code_names_append(struct append *file);
