/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * site_rows.h - the sites of a walk, most bytes first, packed into rows.  A row takes a tenth of
 * struct site, because most figures are 0 or follow from others.
 *
 * A row consists of a bit for each figure that is not 0 (8 bytes), the figures of struct site_brief
 * as varints, the size of the rest in bytes, and the rest.
 *
 * Only sites_count.h includes it, for sites.c and sites_state.c.  Threads: one at a time.
 */
#pragma once

#include "../trace/bytes.h"
#include "site.h"

struct site_rows {
	struct byte_column added;
	const uint8_t *byte; /* rows that were taken; NULL: those that were added */
	size_t bytes;	     /* of these */
	size_t *at;	     /* where each begins */
	size_t room;
};

/* Makes room for where n rows begin. */
void site_rows_room(struct site_rows *r, size_t n);
/* Appends a site to the n that are there.  Rows store exact figures only: estimates lose their
 * errors. */
void site_rows_add(struct site_rows *r, size_t n, const struct site *site);
/* Reads n rows in place, so their bytes must outlive r.  Fills brief[0..n), unless it is NULL. */
void site_rows_take(struct site_rows *r, size_t n, struct cursor *from, struct site_brief *brief);
/* Reads the beginning of a row: sets key and group; returns whether it has the figure at this
 * offset in struct site_values. */
bool site_rows_has(const struct site_rows *r, size_t i, size_t figure, struct site *site);
void site_rows_get(const struct site_rows *r, size_t i, struct site *site);
void site_rows_release(struct site_rows *r);

void site_brief_fill(struct site_brief *brief, const struct site *site);
