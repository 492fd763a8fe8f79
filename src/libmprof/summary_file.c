// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * summary_file.c - copies what a summary needs from the run's file.
 *
 * A copy, because the file may be truncated meanwhile, which shortens a read but would raise SIGBUS
 * in a mapping.  It has this process's totals, and the stacks of its lineage.  If an ancestor's are
 * no longer where they were, because it has ended, the whole file is copied and searched.
 */
#include <errno.h>
#include <mprof/module.h>

#include "file.h"
#include "lineage.h"
#include "local.h"
#include "summary.h"
#include "sys.h"

void *summary_memory(struct summary *s, size_t bytes)
{
	void *at = s->maps < SUMMARY_MAPS ? sys_memory(bytes + 1) : NULL;

	if (!at) {
		s->failed = 1;
		return NULL;
	}
	s->map[s->maps].at = at;
	s->map[s->maps++].bytes = bytes + 1;
	return at;
}

static uint64_t read_at(int fd, char *to, uint64_t offset, uint64_t want)
{
	uint64_t got = 0;

	while (got < want) {
		const long n = sys_pread(fd, to + got, want - got, offset + got);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			break;
		got += (uint64_t)n;
	}
	return got;
}

static int read_whole(struct summary *s, int fd)
{
	const uint64_t want = mp_file.header->tail;

	s->parts = 1;
	s->part = summary_memory(s, sizeof(*s->part));
	if (!s->part || want <= MPROF_HEADER_SIZE || want >= 1ull << 36)
		return -1;
	*s->part = (struct summary_part){ .offset = MPROF_HEADER_SIZE };
	s->part->at = summary_memory(s, want - MPROF_HEADER_SIZE);
	if (s->part->at)
		s->part->bytes =
		    read_at(fd, s->part->at, MPROF_HEADER_SIZE, want - MPROF_HEADER_SIZE);
	return s->part->at ? 0 : -1;
}

int summary_is_stacks(const struct mprof_extent *x)
{
	return x->kind == MPROF_EXTENT_STACKS || x->kind == MPROF_EXTENT_STACKS_SLOT;
}

static int is_there(const struct summary_part *p, const struct mp_part *of)
{
	const struct mprof_extent *x = (const void *)p->at;

	return p->bytes >= sizeof(*x) && x->magic == MPROF_EXTENT_MAGIC && x->offset == p->offset &&
	       x->process == of->process && x->image == of->image && summary_is_stacks(x);
}

/* Is each chunk in one of the places where it was?  `part` are copies of the lineage's parts. */
static int are_all_there(const struct mp_lineage *l, const struct summary_part *part)
{
	for (uint32_t i = 0; i < l->parts; i++) {
		int found = 0;

		for (uint32_t k = 0; k < l->parts && !found; k++)
			found = l->part[k].process == l->part[i].process &&
				l->part[k].image == l->part[i].image &&
				l->part[k].seq == l->part[i].seq && is_there(&part[k], &l->part[k]);
		if (!found)
			return 0;
	}
	return 1;
}

/* Lists the lineage's parts, then those of totals.  Returns the number of them. */
static uint32_t list_parts(struct summary_part *part, const struct mp_lineage *l)
{
	uint32_t n = 0;

	for (; n < l->parts; n++)
		part[n] =
		    (struct summary_part){ .offset = l->part[n].offset, .bytes = l->part[n].bytes };
	for (uint32_t i = 0; i < MP_PIECES; i++) {
		const struct mp_piece *p = &mp_local->live.piece[i];

		if (__atomic_load_n(&p->at, __ATOMIC_ACQUIRE))
			part[n++] = (struct summary_part){ .offset = p->offset,
							   .bytes = (uint64_t)p->units *
								    MPROF_EXTENT_ALIGN };
	}
	return n;
}

/* 0, or -1 if the lineage does not have all parts. */
static int read_parts(struct summary *s, int fd)
{
	const struct mp_lineage *l = mp_lineage();
	uint64_t bytes = 0;
	char *at;

	if (l->parts > MP_PARTS)
		return -1;
	s->part = summary_memory(s, (MP_PIECES + l->parts) * sizeof(*s->part));
	if (!s->part)
		return -1;
	s->parts = list_parts(s->part, l);
	for (uint32_t i = 0; i < s->parts; i++)
		bytes += s->part[i].bytes;
	at = summary_memory(s, bytes);
	for (uint32_t i = 0; at && i < s->parts; i++) {
		s->part[i].at = at;
		at += s->part[i].bytes;
		s->part[i].bytes = read_at(fd, s->part[i].at, s->part[i].offset, s->part[i].bytes);
	}
	return at && are_all_there(l, s->part) ? 0 : -1;
}

int summary_read_file(struct summary *s)
{
	const int fd = mp_fd_hold();
	int ret;

	if (fd < 0)
		return -1;
	ret = read_parts(s, fd) == 0 || read_whole(s, fd) == 0 ? 0 : -1;
	mp_fd_release();
	return ret;
}

const struct mprof_extent *summary_next(const struct summary *s, struct summary_at *at)
{
	for (; at->part < s->parts; at->part++, at->at = 0) {
		const struct summary_part *p = &s->part[at->part];

		for (; at->at + sizeof(struct mprof_extent) <= p->bytes;
		     at->at += MPROF_EXTENT_ALIGN) {
			const struct mprof_extent *x = (const void *)(p->at + at->at);

			if (x->magic != MPROF_EXTENT_MAGIC || x->offset != p->offset + at->at ||
			    x->size < sizeof(*x) || x->size % MPROF_EXTENT_ALIGN ||
			    x->size > p->bytes - at->at)
				continue;
			at->at += x->size;
			return x;
		}
	}
	return NULL;
}
