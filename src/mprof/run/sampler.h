/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * sampler.h - samples the memory of the processes of a run from outside.
 *
 * A thread of mprof waits for the run's file to appear, and, while the run
 * lasts, reads from /proc what every RUNNING process of its table uses, and at
 * a few moments which of its pages are resident.  Nothing of this runs in the program. The thread
 * uses less than about 2 % of one CPU.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "../trace/append.h"
#include "../util/error.h"

struct sampler;

/*
 * Starts the thread.  with_samples false: only opens the file, so that it can
 * be put back if it is deleted.  path and run_id are copied.
 */
int sampler_start(struct sampler **out, const char *path, const uint8_t run_id[16],
		  bool with_samples, struct error *err);

/*
 * Ends the thread and writes its buffered samples.  The open file becomes the caller's (fd -1 if
 * none was seen); s is freed.
 */
void sampler_stop(struct sampler *s, struct append *file);
