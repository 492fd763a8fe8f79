/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * error.h - one sentence about what went wrong, carried up to the command.
 *
 * Functions below the commands return -errno and fill a struct error; only a
 * command prints it.  Sentences are lower case, without a full stop: what failed, the subject in
 * single quotes, why, and what was expected.
 */
#pragma once

struct error {
	char text[512]; /* NUL-terminated, truncated if longer */
};

/* Returns strerror(error), for operations on another process: ESRCH becomes "it has ended". */
const char *error_of_process(int error);
/* Fills err (may be NULL) and returns code, so that `return fail(...)` reads well. */
int fail(struct error *err, int code, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
