/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * picture.h - films as pictures: a map of the address space in each frame, under
 * it the curves of bytes with a cursor, and a legend; several films side by side
 * on one scale.
 *
 *	picture_new(&p, &options, panel, n, frame, err);
 *	picture_draw(p, frame, err);		-- once for each frame
 *	canvas_write(picture_canvas(p), out, err);
 *	picture_free(p);
 *
 * Films must have been taken with classes_channels(by), and outlive the picture.
 *
 * Errors: -errno with err filled.  Threads: one at a time.
 */
#pragma once

#include "canvas.h"
#include "classes.h"
#include "film.h"
#include "layout.h"

#define PICTURE_LEAST	 240 /* pixels of a side */
#define PICTURE_PIN_FROM 4   /* least pixels of a square on which a pin is an outline */

struct picture_options {
	enum canvas_format format;
	enum layout_kind layout;
	enum theme theme;
	enum picture_by by;    /* LAYOUT_TIME: only occupancy */
	int per_row;	       /* panels side by side; 0 = automatic */
	int width, height;     /* 0 = automatic; then the picture is only as high as necessary */
	const char *title;     /* the program's command line; may be NULL */
	const char *note;      /* a description, one clause; may be NULL */
	struct profile *names; /* for by site and module; NULL = sites are numbers */
	struct thread_titles threads; /* by index; of further ones, the number is index + 1 */
};

struct picture_panel {
	const char *name; /* "jemalloc 5.3.0" */
	const struct film *film;
};

struct picture;

/*
 * frame[i]: the frame of panel i that will be drawn; NULL = all of them, one after the other (the
 * classes with hues are then those of the whole film).  LAYOUT_TIME ignores it. -E2BIG if the heaps
 * are too large for the size.
 */
int picture_new(struct picture **out, const struct picture_options *o,
		const struct picture_panel *panel, size_t n, const size_t *frame,
		struct error *err);
void picture_free(struct picture *p);

/* Draws frame[i] of panel i; going forward is faster.  LAYOUT_TIME draws all frames; frame may
 * be NULL. */
int picture_draw(struct picture *p, const size_t *frame, struct error *err);
/* Returns the canvas, to write the picture; the caller does not draw on it. */
struct canvas *picture_canvas(struct picture *p);

/* Returns the width of a panel's map in pixels: the number of frames for LAYOUT_TIME. */
unsigned picture_columns(const struct picture_options *o, size_t panels);

/* The rectangle of the map of a panel, without text and curves. */
struct picture_place {
	const char *name;
	const struct film *film;
	int x, y, width, height;
	const struct layout_row *row; /* strips; x and y are relative to the map */
	size_t rows;
};
void picture_place(const struct picture *p, size_t panel, struct picture_place *to);
const struct layout *picture_layout(const struct picture *p);
const struct classes *picture_classes(const struct picture *p);
