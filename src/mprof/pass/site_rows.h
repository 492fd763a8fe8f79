/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * site_rows.h - the sites of a walk, most bytes first, as rows of bytes: a tenth of struct site,
 * most of whose figures are 0, or follow from others.
 *
 * A row is which of its numbers are not 0 (8 bytes), these as varints up to the last one that
 * struct site_brief has, the number of bytes of the others, and the others.
 *
 * Only sites.c and sites_state.c include it.  Threads: one at a time.
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

/* Adds a site, whose figures are no estimates; the n-th is added to n others. */
void site_rows_add(struct site_rows *r, size_t n, const struct site *site);
/* Takes n rows that begin there and stay there, and fills the brief figures, if they are wanted. */
void site_rows_take(struct site_rows *r, size_t n, struct cursor *from, struct site_brief *brief);
void site_rows_get(const struct site_rows *r, size_t i, struct site *site);
void site_rows_release(struct site_rows *r);

void site_brief_fill(struct site_brief *brief, const struct site *site);
