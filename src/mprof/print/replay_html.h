/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * replay_html.h - a playback on several allocators as a page: words, tables and
 * curves.  What else belongs to the page, a movie or pictures, is written by the
 * command between the beginning and the end.  Nothing in the page is loaded from
 * elsewhere.
 */
#ifndef MPROF_PRINT_REPLAY_HTML_H
#define MPROF_PRINT_REPLAY_HTML_H

#include "replay.h"

/* Up to the tables. */
void replay_html_begin(const struct replay_answer *a, FILE *out);
/* Where blocks lay, and how it was played. */
void replay_html_end(const struct replay_answer *a, FILE *out);

/* A heading of a part between them. */
void replay_html_part(FILE *out, const char *heading);

/* The curves of memory as an image in the page. */
void replay_svg(const struct replay_answer *a, FILE *out);
/* Of row i: "#rrggbb". */
const char *replay_colour(size_t i);

#endif
