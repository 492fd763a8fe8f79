/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * answer.h - the file that a command which runs a program writes its answer to.
 *
 * A file at the path is treated like a recording (run/target.h): an earlier answer becomes
 * FILE.old, and other files are not touched.
 */
#pragma once

#include <stdio.h>

#include "../export/exports.h"

/* The beginning of an answer, as text and as JSON, by which it is recognised. */
struct answer_kind {
	const char *text, *json;
};

/* Call it before the program starts: 0, or -errno with *err if the answer could not be written. */
int answer_look(const char *path, const struct answer_kind *kind, struct error *err);
/* Like export_file_done, for a path that answer_look accepted. */
int answer_done(struct export_file *f, int ret, struct error *err);
