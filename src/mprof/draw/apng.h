/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * apng.h - canvases of equal size as an animated PNG (APNG 1.0, now part of the
 * third edition of the PNG specification).  The chunks are written here because neither Cairo nor
 * libpng 1.6 supports acTL, fcTL and fdAT; zlib compresses.
 *
 * A frame after the first is the smallest rectangle that changed, drawn over the frame before
 * (dispose none, blend source). An equal frame lengthens the frame before. A reader that supports
 * only PNG shows the first frame.
 *
 * The number of frames precedes them in the file, so it must be seekable unless exactly that many
 * frames are added, no two successive ones equal.
 *
 * Errors: -errno with err filled; apng_free() in any case.
 */
#pragma once

#include <stdio.h>

#include "../util/error.h"
#include "canvas.h"

struct apng;

/* frames: the most that will be added; ms: the duration of each frame. */
struct apng *apng_new(FILE *file, unsigned frames, unsigned ms);
/* The canvas may be changed afterwards. */
int apng_add(struct apng *a, const struct canvas *c, struct error *err);
/* Shows the last frame this much longer before the movie begins again. */
void apng_hold(struct apng *a, unsigned ms);
/* Writes the rest.  -EINVAL if no frame was added. */
int apng_finish(struct apng *a, struct error *err);
void apng_free(struct apng *a);
