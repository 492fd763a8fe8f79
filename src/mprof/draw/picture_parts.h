/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* picture_parts.h - what the files that draw a picture share; picture.c puts the parts together. */
#pragma once

#include "picture.h"

#define PICTURE_MARGIN	16
#define PICTURE_BETWEEN 20 /* panels */
#define PICTURE_CURVES	84 /* height of the curves */
#define PICTURE_AXIS	92 /* width of addresses at the left of a map */

struct panel {
	const char *name;
	const struct film *film;
	struct film_cursor *cursor;
	struct layout_map map;
	int x, y; /* of the panel */
};

struct picture {
	struct picture_options o;
	struct panel *panel;
	size_t panels;
	struct classes classes;
	struct layout layout;
	struct canvas canvas;
	int panel_width, per_row, axis; /* axis: 0 or PICTURE_AXIS */
	int map_top, map_height;	/* within a panel */
	int curves_top, panel_height;
	int legend_top;
	uint64_t most;	/* maximum of all curves */
	bool residency; /* true if it is known in the frames that are drawn */
	bool gaps;
	bool earlier; /* pages without a block may have one from before */
};

/* A box of the canvas. */
struct box {
	int x, y, width, height;
};

/* Lines of words above a map; PICTURE_LABELS of them. */
#define PICTURE_LABELS 4
int picture_label_height(void);
void picture_draw_labels(struct picture *p, const struct panel *a, const struct film_frame *f);

/* Draws the curves of a film; cursor: a frame, or NULL. */
void picture_draw_curves(struct picture *p, const struct panel *a, struct box b,
			 const struct film_frame *cursor);

/* Draws the legend and returns its height.  With draw false, only measures. */
int picture_legend(struct picture *p, int top, bool draw);

/* Several pages as one square.  If residency is known, bytes in pages that are not resident do
 * not count as live. */
struct square {
	bool residency; /* set before the first page */
	unsigned pages, live_pages, resident, mapped, pinned;
	uint64_t live;
	const struct film_cell *top; /* the cell with most live bytes */
};
void square_add(struct square *s, const struct film_cell *cell);
/* Returns its colour; sets *pin if it is pinned. */
uint8_t picture_colour(struct picture *p, const struct film *f, const struct square *s,
		       uint64_t now, bool *pin);

/* For LAYOUT_TIME: finds pages and pixels of a row, the same for all panels. */
void picture_time_scale(const struct picture *p, size_t *pages, int *px);
/* For LAYOUT_TIME: draws all frames of a film in the box. */
int picture_draw_time(struct picture *p, struct panel *a, struct box b, struct error *err);
