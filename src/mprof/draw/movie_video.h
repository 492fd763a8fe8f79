/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * movie_video.h - a movie as an animated PNG, which is written here, or as a video, which an
 * installed ffmpeg makes of frames in a pipe.
 *
 * Errors: -errno with err filled.  Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "../util/error.h"
#include "movie_make.h"

/* Decides by the extension of the name: .html, .htm; .apng, .png, .mp4, .webm, .y4m. */
bool movie_is_page(const char *path);
bool movie_is_video(const char *path);

/* Can this movie be written there?  -ENOENT if that needs ffmpeg, which is not installed. */
int movie_video_check(const char *path, struct error *err);
/* Writes the movie in the format of path's extension into the empty file out, which must be
 * seekable. */
int movie_write_video(struct movie *m, const char *path, FILE *out, struct error *err);
