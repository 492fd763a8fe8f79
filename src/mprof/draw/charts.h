/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * charts.h - a timeline as a picture: charts below each other, of curves over time, of blocks by
 * size, and of sizes over time.
 *
 *	charts_new(&c, &options, timeline, err);
 *	canvas_write(charts_canvas(c), out, err);
 *	charts_free(c);
 *
 * Unknown figures have no curve, and a chart without curves is left out.
 *
 * Errors: -errno with err filled.  Threads: one at a time.
 */
#pragma once

#include "../profile/timeline.h"
#include "canvas.h"

#define CHART_CURVES 3
#define CHARTS_MOST  9

struct charts_options {
	enum canvas_format format;
	enum theme theme;
	int width, height; /* 0 = automatic */
	const char *title; /* the program's command line */
};

enum chart_kind {
	CHART_OVER_TIME,  /* curves; values are amounts, or rates a second */
	CHART_BY_SIZE,	  /* bars, on a logarithmic scale */
	CHART_SIZES_TIME, /* a map: time to the right, sizes upward; colours are logarithmic */
};

struct chart_curve {
	const char *name;
	uint8_t colour;
	double most, last; /* known values; in a map: blocks of one point and size */
};

struct chart {
	enum chart_kind kind;
	const char *title;
	bool bytes;		 /* values are bytes */
	int x, y, width, height; /* the plot, without title and labels */
	double top;		 /* value at its upper edge */
	unsigned first, last;	 /* sizes shown: bins */
	size_t curves;
	struct chart_curve curve[CHART_CURVES];
};

struct charts;

/* The timeline must outlive it.  -E2BIG if it does not fit into the height. */
int charts_new(struct charts **out, const struct charts_options *o, const struct timeline *l,
	       struct error *err);
void charts_free(struct charts *c);

/* Returns the canvas with all charts; the caller does not draw on it. */
struct canvas *charts_canvas(struct charts *c);
/* Lists the charts from top to bottom. */
size_t charts_list(const struct charts *c, const struct chart **list);
