// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * lineage.c - the parts of the file that have the stacks of this process: see lineage.h.
 */
#include "lineage.h"

static struct mp_lineage lineage;

const struct mp_lineage *mp_lineage(void)
{
	return &lineage;
}

void mp_lineage_forked(struct mp_ancestor parent)
{
	if (!parent.process)
		lineage.ancestors = 0;
	else if (lineage.ancestors < MP_ANCESTORS)
		lineage.ancestor[lineage.ancestors++] = parent;
	else {
		__builtin_memmove(lineage.ancestor, lineage.ancestor + 1,
				  (MP_ANCESTORS - 1) * sizeof(parent));
		lineage.ancestor[MP_ANCESTORS - 1] = parent;
	}
}

void mp_lineage_part(const struct mprof_extent *x)
{
	const uint32_t n = lineage.parts;

	if (n < MP_PARTS)
		lineage.part[n] = (struct mp_part){ .offset = x->offset,
						    .seq = x->seq,
						    .bytes = x->size,
						    .process = x->process,
						    .image = x->image };
	if (n <= MP_PARTS)
		__atomic_store_n(&lineage.parts, n + 1, __ATOMIC_RELEASE);
}
