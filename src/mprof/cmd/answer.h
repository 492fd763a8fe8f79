/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * answer.h - the file that a command which runs a program writes its answer to.
 *
 * What is there is treated as a recording is (run/target.h): an earlier answer
 * becomes FILE.old, and nothing else is touched.
 */
#pragma once

#include <stdio.h>

#include "../export/exports.h"

/* How an answer begins, as text and as JSON: by that it is recognised. */
struct answer_kind {
	const char *text, *json;
};

/* Before the program starts: 0, or -errno and *err when the answer could not be written. */
int answer_look(const char *path, const struct answer_kind *kind, struct error *err);
/* As export_file_open and export_file_done, for a path that answer_look accepted. */
int answer_open(struct export_file *f, const char *path, struct error *err);
int answer_done(struct export_file *f, int ret, struct error *err);
