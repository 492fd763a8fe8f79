/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * html_frame.h - the beginning and end of each page of the script in src/web/report: style and
 * script are constants whose hashes are in the page's content security policy, which forbids every
 * request.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

/* Content security policies: of a file, of a served page, and of its HTTP header. */
extern const char html_policy[], html_policy_served[], html_policy_header[];

/* Up to <body>.  served: by mprof view, to which the page may send requests. */
void html_frame_begin(const char *title, bool served, FILE *out);
/* The script, and the end. */
void html_frame_end(FILE *out);
