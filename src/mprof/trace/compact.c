// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * compact.c - rewriting a finished trace in a tenth of the space.
 *
 * The new file is built beside the old one and renamed over it when it is
 * complete, so the trace is readable at any time.  All events are read in the
 * order of time, as any reader would, and written in groups (group.h).  A
 * damaged trace is not changed at all: parts that cannot be read today may
 * become readable.
 */
#include "compact.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util/order.h"
#include "../util/whole.h"
#include "compact_job.h"

/* ---- what is neither events nor stacks ---- */

/* Leaves out the room for sizes of further frames and for further intervals. */
static size_t used_bytes(const struct extent *x, unsigned char *payload)
{
	struct mprof_stack_use u;
	size_t all = x->head.used < x->bytes ? x->head.used : x->bytes, sizes, intervals;

	if (x->kind != MPROF_EXTENT_STACK_USE || all < sizeof(u))
		return x->bytes;
	memcpy(&u, payload, sizeof(u));
	all &= ~(sizeof(uint64_t) - 1);
	sizes = ((size_t)u.frames + 1) / 2 * sizeof(uint64_t);
	intervals = u.intervals * sizeof(uint64_t);
	if (sizes + intervals > all - sizeof(u))
		return x->bytes;
	memmove(payload + sizeof(u) + sizes, payload + all - intervals, intervals);
	return sizeof(u) + sizes + intervals;
}

static int copy_extent(struct job *j, const struct extent *x)
{
	unsigned char *to = job_payload(j, x->bytes);
	struct mprof_extent head = x->head;
	size_t bytes;

	if (!to)
		return -ENOMEM;
	if (trace_read(j->from, to, x->bytes, x->payload) != x->bytes)
		return -EIO;
	bytes = used_bytes(x, to);
	head.used = head.used < bytes ? head.used : (uint32_t)bytes;
	return job_add_extent(j, head, bytes);
}

/* A group from while the run went on. */
static int copy_group(struct job *j, const struct extent *x)
{
	struct mprof_index_entry *e = GROW_ONE(j->index.item, j->index.n, j->index.room);
	struct mprof_group head = { 0 };

	if (trace_read(j->from, &head, sizeof(head), x->payload) != sizeof(head))
		return -EIO;
	*e = (struct mprof_index_entry){ j->tail, x->head.first_ticks, x->head.last_ticks,
					 head.first_event };
	return copy_extent(j, x);
}

static int take_extent(struct job *j, const struct extent *x)
{
	switch (x->kind) {
	case MPROF_EXTENT_FREE:
	case MPROF_EXTENT_INDEX:
	case MPROF_EXTENT_SLOT:
	case MPROF_EXTENT_EVENTS:
	case MPROF_EXTENT_TAKEN:
	case MPROF_EXTENT_THREADS:
		return 0;
	case MPROF_EXTENT_SORTS:
		return j->keeps_groups ? copy_extent(j, x) : 0;
	case MPROF_EXTENT_GROUP:
		return j->keeps_groups ? copy_group(j, x) : 0;
	default:
		return copy_extent(j, x);
	}
}

ORDER(by_event, struct mprof_index_entry, RISING(first_event))

static int add_index(struct job *j)
{
	size_t used = j->index.n * sizeof(*j->index.item);
	unsigned char *to;

	SORT(j->index.item, j->index.n, by_event);
	if (used > MPROF_EXTENT_MAX / 2) /* without the index a reader finds the groups, too */
		return 0;
	to = job_payload(j, used);
	if (!to)
		return -ENOMEM;
	if (used)
		memcpy(to, j->index.item, used);
	return job_add_own(j, MPROF_EXTENT_INDEX, used, 0, NULL);
}

/* ---- the file ---- */

/* The current header of the file, without fields that a finished file does not need. */
static int read_header(struct job *j)
{
	struct mprof_file_header *h = &j->from->header;
	size_t entries = 0;

	if (trace_read(j->from, h, sizeof(*h), 0) != sizeof(*h))
		return -EIO;
	for (size_t i = 0; i < MPROF_PROCESS_TABLE; i++)
		if (h->process[i].number)
			entries = i + 1;
	h->header_size = (uint32_t)(MPROF_HEADER_SHORT + entries * sizeof(*h->process));
	j->tail = h->header_size;
	return 0;
}

static int write_header(struct job *j, uint64_t index_offset)
{
	struct mprof_file_header *h = &j->from->header;
	int ret;

	h->flags |= MPROF_FILE_COMPRESSED;
	h->tail = j->tail;
	h->index_offset = index_offset;
	h->time_error = j->options->exact ? 0 : 1u << j->shift;
	memset(h->free_slots, 0, sizeof(h->free_slots));
	ret = write_at(j->fd, h, MPROF_HEADER_SHORT, 0);
	if (!ret)
		ret = write_at(j->fd, h->process, h->header_size - MPROF_HEADER_SHORT,
			       MPROF_HEADER_SHORT);
	return ret;
}

/* Parts that could not be read this time may be readable later. */
bool job_is_damaged(const struct job *j)
{
	const struct trace_damage *d = &j->from->damage;

	return d->chunks_bad || d->words_bad || d->sizes_bad || d->bytes_missing;
}

static int write_all(struct job *j)
{
	uint64_t index_offset;
	int ret = read_header(j);

	if (!ret)
		ret = job_add_stacks(j);
	if (!ret)
		ret = j->events_of ? events_add_last(j->events_of, j->nodes) : job_add_events(j);
	if (!ret && job_is_damaged(j))
		return -EBADMSG;
	if (!ret && j->options->finished)
		j->options->finished(j->options->context, j->from);
	for (size_t i = 0; !ret && i < j->extents.n; i++)
		if (!j->done[i])
			ret = take_extent(j, &j->extents.item[i]);
	index_offset = j->tail;
	if (!ret)
		ret = add_index(j);
	return ret ? ret : write_header(j, index_offset);
}

static int open_beside(struct job *j, const char *path, struct error *err)
{
	/* For a link, we replace its target, not the link. */
	char *real = realpath(path, NULL);

	j->fd = real ? new_file_open(&j->file, real) : -errno;
	free(real);
	if (j->fd == -ENOMEM)
		return fail(err, -ENOMEM, "no memory to compress '%s'", path);
	if (j->fd < 0)
		return fail(err, j->fd, "cannot create a file beside '%s' to compress it: %s", path,
			    strerror(-j->fd));
	return 0;
}

/* An extent cut off by the end of the file or another extent. */
static bool is_cut(const struct extent *x)
{
	bool whole = x->kind == MPROF_EXTENT_SLOT || x->kind == MPROF_EXTENT_STACKS_SLOT ||
		     x->kind == MPROF_EXTENT_COUNTS;

	return x->bytes < (whole ? x->head.size - sizeof(x->head) : x->head.used);
}

static int stopped(const struct job *j, int ret, const char *path, struct error *err)
{
	switch (ret) {
	case -EINTR:
		return fail(err, ret,
			    "the compression of '%s' was interrupted; the file is unchanged", path);
	case -ENOMEM:
		return fail(err, ret, "no memory to compress '%s'", path);
	case -EBADMSG:
		return fail(err, ret, "'%s' is damaged at byte %llu and is left unchanged", path,
			    (unsigned long long)j->from->damage.first_bad_offset);
	default:
		return fail(err, ret, "cannot write the compressed '%s': %s", path, strerror(-ret));
	}
}

/*
 * Is everything that was written present? Data missing from a compressed file
 * is lost forever, so an outdated view of the file (network file system) or a
 * truncated one must not replace the trace.
 */
static int check_complete(const struct trace_damage *d, const char *path, struct error *err)
{
	if (d->chunks_unseen)
		return fail(err, -EBADMSG,
			    "'%s' is left uncompressed: %" PRIu64
			    " of its parts are not visible (yet)",
			    path, d->chunks_unseen);
	if (d->bytes_missing)
		return fail(err, -EBADMSG,
			    "'%s' is left uncompressed: its last %" PRIu64
			    " bytes are not visible (yet)",
			    path, d->bytes_missing);
	if (d->header_cut || d->bytes_cut)
		return fail(err, -EBADMSG,
			    "'%s' is left uncompressed: parts of it were cut off or never written",
			    path);
	return 0;
}

static int look_over(struct job *j)
{
	bool cut = job_is_damaged(j);

	extents_find_again(j->from, &j->extents);
	for (size_t i = 0; i < j->extents.n; i++)
		cut |= is_cut(&j->extents.item[i]);
	if (cut)
		return -EBADMSG;
	if (!j->packer)
		j->packer = packer_new(j->options->level);
	j->done = calloc(j->extents.n + 1, sizeof(*j->done));
	return j->packer && j->done ? 0 : -ENOMEM;
}

static int replace(struct job *j, const char *path, struct error *err)
{
	int ret = j->options->to ? 0 : open_beside(j, path, err);

	if (ret)
		return ret;
	if (j->options->to)
		j->fd = j->options->to;
	ret = write_all(j);
	if (ret)
		return stopped(j, ret, path, err);
	if (j->options->to)
		return 0;
	ret = new_file_done(&j->file);
	if (ret)
		return fail(err, ret, "cannot replace '%s' with its compressed form: %s", path,
			    strerror(-ret));
	return 0;
}

void job_release(struct job *j)
{
	new_file_drop(&j->file);
	packer_free(j->packer);
	trace_close(j->from);
	free(j->done);
	free(j->extents.item);
	free(j->index.item);
	free(j->out);
}

/* Returns the largest unit of time that keeps times accurate to COMPACT_ERROR_NS. */
static unsigned shift_of(const struct trace *t)
{
	uint64_t ticks = COMPACT_ERROR_NS * 4294967296ull / (t->ns_per_tick ? t->ns_per_tick : 1);
	unsigned shift = 0;

	while (shift < 30 && 2ull << shift <= ticks)
		shift++;
	return shift;
}

#define SHIFT_EXACT 8u /* what is below fits into a byte */

unsigned job_shift(const struct job *j)
{
	return j->options->exact ? SHIFT_EXACT : shift_of(j->from);
}

int job_replace(struct job *j, const char *path, struct error *err)
{
	int ret = check_complete(&j->from->damage, path, err);

	if (ret)
		return ret;
	ret = look_over(j);
	return ret ? stopped(j, ret, path, err) : replace(j, path, err);
}

int trace_compress(const char *path, const struct compact_options *o, struct error *err)
{
	struct job j = { .fd = -1, .options = o };
	int ret = trace_open(&j.from, path, MPROF_MAGIC_TRACE, err);

	if (!ret && !(j.from->header.flags & MPROF_FILE_COMPRESSED)) {
		j.shift = job_shift(&j);
		ret = job_replace(&j, path, err);
	}
	job_release(&j);
	return ret;
}
