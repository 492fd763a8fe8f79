/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * apng.h - canvases of equal size as an animated PNG (APNG 1.0, now part of the
 * third edition of the PNG specification).  Chunks are written here because neither
 * Cairo nor libpng 1.6 knows acTL, fcTL and fdAT; zlib compresses.
 *
 * A frame after the first is the smallest rectangle that changed, drawn over
 * what is there (dispose none, blend source).  Equal frames lengthen the one
 * before.  A reader that knows only PNG shows the first frame.
 *
 * The number of frames stands before them in the file, so out must be seekable
 * unless that many frames are added and no two that follow each other are equal.
 *
 * Errors: -errno with err filled; then apng_free still.
 */
#pragma once

#include <stdio.h>

#include "../util/error.h"
#include "canvas.h"

struct apng;

/* frames: how many will come, at most; ms: how long each is shown. */
struct apng *apng_new(FILE *file, unsigned frames, unsigned ms);
/* The canvas may be changed afterwards.  The last one may be held longer: see apng_hold. */
int apng_add(struct apng *a, const struct canvas *c, struct error *err);
/* The frame that was added last stays so many ms longer before the movie begins again. */
void apng_hold(struct apng *a, unsigned ms);
/* What is still to be written.  -EINVAL: no frame was added. */
int apng_finish(struct apng *a, struct error *err);
void apng_free(struct apng *a);
