/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* compact_extents.c - the extents of the new file. */
#include "compact_job.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/whole.h"

unsigned char *job_payload(struct job *j, size_t bytes)
{
	const size_t all = sizeof(struct mprof_extent) + bytes + MPROF_EXTENT_ALIGN;

	return scratch_room(&j->out, &j->out_room, all) ? j->out + sizeof(struct mprof_extent)
							: NULL;
}

int job_add_extent(struct job *j, struct mprof_extent head, size_t used)
{
	size_t size = (sizeof(head) + used + MPROF_EXTENT_ALIGN - 1) / MPROF_EXTENT_ALIGN *
		      MPROF_EXTENT_ALIGN;
	int ret;

	if (j->live)
		j->tail = __atomic_fetch_add(&j->live->header->tail, size, __ATOMIC_RELAXED);
	head.offset = j->tail;
	head.size = (uint32_t)size;
	memcpy(j->out, &head, sizeof(head));
	memset(j->out + sizeof(head) + used, 0, size - sizeof(head) - used);
	ret = write_at(j->fd, j->out, size, j->tail);
	j->tail += size;
	return ret;
}

int job_add_own(struct job *j, enum mprof_extent_kind kind, size_t used, uint64_t seq,
		const uint64_t *ticks)
{
	struct mprof_extent head = { .magic = MPROF_EXTENT_MAGIC,
				     .kind = (uint16_t)kind,
				     .used = (uint32_t)used,
				     .seq = seq,
				     .first_ticks = ticks ? ticks[0] : 0,
				     .last_ticks = ticks ? ticks[1] : 0 };

	if (used > MPROF_EXTENT_MAX / 2)
		return -EFBIG;
	memcpy(&head.run, j->from->header.run_id, sizeof(head.run));
	head.check = mprof_checksum(j->out + sizeof(head), used);
	return job_add_extent(j, head, used);
}

int job_go_on(const struct job *j)
{
	const struct compact_options *o = j->options;
	uint64_t done = 8 * (j->events - j->before), all = trace_bytes(j->from);

	if (o->stop && *o->stop)
		return -EINTR;
	if (o->progress)
		o->progress(o->context, done < all ? done : all, all);
	return 0;
}
