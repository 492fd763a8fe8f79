// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * live.c - mapped parts of the file that MODEs store totals into.
 *
 * They come from a pool whose pieces are large parts of the file, each one mapping. The unused rest
 * of a piece stays zero, which readers skip.
 */
#include <errno.h>
#include <mprof/module.h>

#include "config.h"
#include "core.h"
#include "file.h"
#include "local.h"
#include "pools.h"
#include "slots.h"
#include "sys.h"

#define UNIT   MPROF_EXTENT_ALIGN
#define FIRST  (65536u / UNIT)
#define POOLED 65536u

static int live_map_memory(const struct mp_pool_kind *kind, uint32_t units, struct mp_piece *out)
{
	out->at = sys_memory((size_t)units * kind->unit);
	if (!out->at)
		return -ENOMEM;
	mp_self_is_at(out->at, (size_t)units * kind->unit);
	return 0;
}

void *mp_live_memory(size_t bytes, size_t touched)
{
	static const struct mp_pool_kind units = { UNIT, FIRST, live_map_memory };
	void *p;

	/* Thousands of threads must stay below the limit of mappings. */
	if (bytes <= POOLED)
		return mp_pool_memory(&mp_local->memory, &units,
				      (uint32_t)((bytes + UNIT - 1) / UNIT));
	p = sys_memory(bytes);

	if (p) {
		mp_self_bytes((int64_t)touched);
		mp_self_is_at(p, bytes);
	}
	return p;
}

/*
 * A process that drops chunks walks from extent to extent.  It stops at a gap of a page or more,
 * where an extent may still be written (recent.c).  So unused pages become free extents.
 */
static int live_is_tiled(void)
{
	return (mp_config.last_bytes | mp_config.last_seconds) != 0;
}

static int live_map_file(const struct mp_pool_kind *kind, uint32_t units, struct mp_piece *out)
{
	uint64_t page = mp_page(), bytes = ((uint64_t)units * kind->unit + page - 1) & -page;
	int ret = mp_slots_map_new(bytes, &out->offset, &out->at);

	for (uint64_t at = 0; ret == 0 && live_is_tiled() && at < bytes; at += page)
		mp_extent_fill((struct mprof_extent *)(out->at + at), MPROF_EXTENT_FREE,
			       out->offset + at, (uint32_t)page, 0);
	return ret;
}

void *mp_live_take(unsigned kind, uint32_t thread, uint64_t seq, size_t bytes, int *error)
{
	static const struct mp_pool_kind units = { UNIT, FIRST, live_map_file };
	uint64_t offset;
	size_t size = sizeof(struct mprof_extent) + bytes;
	struct mprof_extent *x =
	    mp_pool_take(&mp_local->live, &units, (uint32_t)(size / UNIT), &offset, error);

	if (!x)
		return NULL;
	if (live_is_tiled())
		__builtin_memset(x + 1, 0, bytes);
	mp_extent_fill(x, kind, offset, (uint32_t)size, thread);
	x->seq = seq;
	x->used = (uint32_t)bytes;
	return x + 1;
}
