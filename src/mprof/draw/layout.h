/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * layout.h - the positions of pages of the address axis in a picture.
 *
 * A square of `px` pixels is `pages` pages (a power of 2), the same for all
 * films of a picture.
 *
 * STRIPS: rows of `columns` squares, in the order of addresses, from the left to
 * the right and downward.  A row is a range of addresses that begins at a
 * multiple of its length, a power of 2 of 64 KiB and more; so 2 MiB are whole
 * rows, or whole parts of one, and addresses in one column have the same low bits. Rows that never
 * held anything are left out, and a band of LAYOUT_GAP pixels is in their place. Rows that do not
 * fit below each other continue in another block of rows on the right.
 *
 * HILBERT: units in the order of addresses, without gaps, along Hilbert's curve
 * in a square of `side` squares: neighbours in memory are neighbours in the picture.
 *
 * Errors: -errno.
 */
#pragma once

#include "film.h"

#define LAYOUT_GAP    3	 /* pixels between rows whose addresses are not neighbours */
#define LAYOUT_GUTTER 8	 /* between blocks of rows */
#define LAYOUT_MOST   12 /* pixels of the largest square */

enum layout_kind { LAYOUT_STRIPS, LAYOUT_HILBERT, LAYOUT_TIME };

struct layout {
	enum layout_kind kind;
	unsigned pages, px;
	unsigned columns, blocks; /* strips */
	unsigned row_shift;	  /* strips: log2 of a row's bytes */
	unsigned side;		  /* hilbert */
	unsigned width, height;	  /* pixels of the largest film */
	unsigned most_height;	  /* available height */
};

/* A row of strips. */
struct layout_row {
	uint64_t key; /* address >> row_shift */
	unsigned x, y;
	bool gap; /* there is a band above it */
};

/* The places of one film. */
struct layout_map {
	const struct layout *layout;
	const struct film *film;
	struct layout_row *row;
	size_t rows;
	uint32_t *row_of; /* strips: the row of the first page of each unit */
};

/*
 * Chooses the largest squares with which each of n films fits into this many pixels.  0; -E2BIG if
 * none fit.
 */
int layout_fit(struct layout *l, enum layout_kind kind, const struct film *const *film, size_t n,
	       unsigned width, unsigned height);

void layout_map_new(struct layout_map *m, const struct layout *l, const struct film *f);
void layout_map_release(struct layout_map *m);

/* Finds the pixel of the square of a cell (unit * 16 + page). */
void layout_place(const struct layout_map *m, size_t cell, unsigned *x, unsigned *y);

/* Finds the d-th square of Hilbert's curve through a square of `side`, a power of 2. */
void hilbert_place(unsigned side, uint64_t d, unsigned *x, unsigned *y);

/* "strips", ...; -EINVAL with err naming the valid ones. */
