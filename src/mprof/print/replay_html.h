/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * replay_html.h - a playback on several allocators as sections of a page (html/html_frame.h):
 * words, tables and curves.  Each section has an id and is a page of src/web/report/allocators.ts.
 * The command writes the rest of the page, a movie or pictures, between the beginning and the end.
 */
#pragma once

#include "replay.h"

/* Writes the page up to the tables. */
void replay_html_begin(const struct replay_answer *a, FILE *out);
/* Writes where blocks were placed, and how it was played. */
void replay_html_end(const struct replay_answer *a, FILE *out);

/* Begins a section between them. */
void replay_html_part(FILE *out, const char *id, const char *heading);
void replay_html_part_end(FILE *out);

/* Writes the curves of memory as an image in the page. */
void replay_svg(const struct replay_answer *a, FILE *out);
