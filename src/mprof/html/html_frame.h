/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * html_frame.h - what begins and ends each page that the script in src/web/report shows: style and
 * script are constants whose hashes the page's content security policy names, and that forbids
 * every request.
 */
#ifndef MPROF_HTML_HTML_FRAME_H
#define MPROF_HTML_HTML_FRAME_H

#include <stdbool.h>
#include <stdio.h>

/* Content security policies: of a page, of one that is served, and in its header. */
extern const char html_policy[], html_policy_served[], html_policy_header[];

/* Up to <body>.  served: by mprof view, which the page may ask. */
void html_frame_begin(const char *title, bool served, FILE *out);
/* The script, and the end. */
void html_frame_end(FILE *out);

#endif
