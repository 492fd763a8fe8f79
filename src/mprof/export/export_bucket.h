/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * export_bucket.h - blocks below --stack-min-size or above --stack-max-size: each group is one row
 * with a name instead of a stack.
 */
#pragma once

#include "../profile/merged.h"
#include "exports.h"

struct export_bucket {
	const struct profile *profile;
	const struct sym_line *line;
};

/* Fills in the groups that exist, at most two; returns their number. */
size_t export_buckets(const struct export *x, struct export_bucket bucket[2]);
/* Adds each group as a row. */
void export_bucket_add(const struct export *x, struct merged *m);
