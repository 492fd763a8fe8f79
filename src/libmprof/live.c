// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * live.c - mapped parts of the file that MODEs store totals into, and records of threads.
 *
 * They come from two pools whose pieces are parts of the file, each one mapping.  The unused rest
 * of a piece of totals stays zero, which readers skip.  A server may fork a process for each
 * request, so the first pieces are small.
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
#define POOLED 65536u
/* Totals of a short process fit the first piece; in other files, counts of a thread do. */
#define FIRST_TOTALS  (8192u / UNIT)
#define FIRST_COUNTS  (4096u / UNIT)
#define FIRST_RECORDS (4096u / MP_RECORD)

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
	static const struct mp_pool_kind units = { UNIT, POOLED / UNIT, live_map_memory };
	void *p;

	/* Thousands of threads must stay below the limit of mappings. */
	if (bytes <= POOLED)
		return mp_pool_memory(&mp_local->memory, &units,
				      (uint32_t)((bytes + UNIT - 1) / UNIT));
	p = sys_memory(bytes);

	if (p) {
		/* A huge page would be resident as a whole for each few bytes that are touched. */
		if (touched < bytes)
			sys_madvise(p, bytes, MADV_NOHUGEPAGE);
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

	out->units = (uint32_t)(bytes / kind->unit);
	for (uint64_t at = 0; ret == 0 && live_is_tiled() && at < bytes; at += page)
		mp_extent_fill((struct mprof_extent *)(out->at + at), MPROF_EXTENT_FREE,
			       out->offset + at, (uint32_t)page, 0);
	return ret;
}

void *mp_live_take(unsigned kind, uint32_t thread, uint64_t seq, size_t bytes, int *error)
{
	const struct mp_pool_kind units = { UNIT,
					    mp_file_is_profile() ? FIRST_TOTALS : FIRST_COUNTS,
					    live_map_file };
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

/* In a trace, space that is neither an extent nor a free one was lost. */
static int live_map_records(const struct mp_pool_kind *kind, uint32_t units, struct mp_piece *out)
{
	int ret = live_map_file(kind, units, out);
	uint64_t end = ret ? 0 : (uint64_t)out->units * kind->unit, rest = -end & (mp_page() - 1);

	for (uint64_t at = 0; at < end; at += kind->unit)
		mp_extent_fill((struct mprof_extent *)(out->at + at), MPROF_EXTENT_FREE,
			       out->offset + at, kind->unit, 0);
	if (rest)
		mp_extent_fill((struct mprof_extent *)(out->at + end), MPROF_EXTENT_FREE,
			       out->offset + end, (uint32_t)rest, 0);
	return ret;
}

struct mprof_extent *mp_record_take(uint32_t n, uint64_t *offset)
{
	static const struct mp_pool_kind records = { MP_RECORD, FIRST_RECORDS, live_map_records };
	struct mprof_extent *x;
	int error;

	x = mp_pool_take(&mp_local->records, &records, n, offset, &error);
	if (x) {
		__builtin_memset(x + 1, 0, n * MP_RECORD - sizeof(*x));
		mp_extent_fill(x, MPROF_EXTENT_FREE, *offset, n * MP_RECORD, 0);
	}
	return x;
}
