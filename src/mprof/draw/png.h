/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* png.h - a canvas as a PNG file: 8 bits a pixel with the palette's colours. */
#ifndef MPROF_DRAW_PNG_H
#define MPROF_DRAW_PNG_H

#include <stdio.h>

#include "../util/error.h"
#include "canvas.h"

/* title may be NULL; it is kept in the file as text.  0 or -errno with err filled. */
int png_write_canvas(FILE *out, const struct canvas *c, const char *title, struct error *err);

#endif
