/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * html_frame.h - the beginning and end of each page of the script in src/web/report: style and
 * script are constants whose hashes are in the page's content security policy, which forbids every
 * request.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* The content security policy of a served page, for its HTTP header. */
extern const char html_policy_header[];

/* Writes the page up to <body>.  served: by mprof view, to which the page may send requests. */
void html_frame_begin(const char *title, bool served, FILE *out);
/* Writes the script, and the end. */
void html_frame_end(FILE *out);
