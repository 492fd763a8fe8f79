/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * movie_video.h - a movie as pictures one after the other: animated PNG, which
 * is written here, and what an installed ffmpeg makes of frames in a pipe.
 *
 * Errors: -errno with err filled.  Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "../util/error.h"
#include "movie_make.h"

/* By the end of their names: .html, .htm; .apng, .png, .mp4, .webm, .y4m. */
bool movie_is_page(const char *path);
bool movie_is_video(const char *path);

/* May this movie be written there?  -ENOENT: it takes ffmpeg, which is not installed. */
int movie_video_check(const char *path, struct error *err);
/* As the kind that the end of path says, into the empty file out, which must be seekable. */
int movie_write_video(struct movie *m, const char *path, FILE *out, struct error *err);
