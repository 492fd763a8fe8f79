// SPDX-License-Identifier: LGPL-3.0-or-later
/* export_bucket.c - blocks that have a name instead of a stack. */
#include "export_bucket.h"

static const struct sym_line small_line = {
	.function = "SmallAllocations",
	.raw = "",
	.file = "",
	.module = "",
};
static const struct sym_line large_line = {
	.function = "LargeAllocations",
	.raw = "",
	.file = "",
	.module = "",
};

size_t export_buckets(const struct export *x, struct export_bucket bucket[2])
{
	size_t n = 0;

	if (x->small)
		bucket[n++] = (struct export_bucket){ x->small, &small_line };
	if (x->large)
		bucket[n++] = (struct export_bucket){ x->large, &large_line };
	return n;
}

void export_bucket_add(const struct export *x, struct merged *m)
{
	struct export_bucket bucket[2];
	size_t n = export_buckets(x, bucket), i, k;
	uint64_t v[VALUE_COUNT];

	for (i = 0; i < n; i++) {
		for (k = 0; k < VALUE_COUNT; k++)
			v[k] = profile_value_total(bucket[i].profile, (enum profile_value)k);
		merged_add(m, &bucket[i].line, 1, v);
	}
}
