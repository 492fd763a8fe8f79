/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * export_bucket.h - blocks below --stack-min-size or above --stack-max-size: all
 * of them are one row that has a name instead of a stack.
 */
#pragma once

#include "../profile/merged.h"
#include "exports.h"

struct export_bucket {
	const struct profile *profile;
	const struct sym_line *line;
};

/* Those that there are, up to two; how many. */
size_t export_buckets(const struct export *x, struct export_bucket bucket[2]);
/* Each becomes a row. */
void export_bucket_add(const struct export *x, struct merged *m);
