/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* movie_parts.h - what movie_video.c asks of movie.c. */
#ifndef MPROF_DRAW_MOVIE_PARTS_H
#define MPROF_DRAW_MOVIE_PARTS_H

#include "movie_make.h"

/* With fps and limit set. */
const struct movie_options *movie_options_of(const struct movie *m);

#endif
