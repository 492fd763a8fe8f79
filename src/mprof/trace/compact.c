// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * compact.c - rewriting a finished trace so that it takes a quarter of the room.
 *
 * The new file is built beside the old one and renamed over it when it is
 * whole, so there is no moment at which the trace is not readable.  Chunks that
 * are damaged are copied as they are: a reader shall find the damage.  A file
 * with an extent cut off is not touched at all, for the same reason.
 */
#include "compact.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compact_job.h"

static int write_at(const struct job *j, const void *data, size_t bytes, uint64_t offset)
{
	size_t done = 0;

	while (done < bytes) {
		ssize_t n =
		    pwrite(j->fd, (const char *)data + done, bytes - done, (off_t)(offset + done));

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -ENOSPC;
		done += (size_t)n;
	}
	return 0;
}

int job_grow(void **buf, size_t *room, size_t bytes)
{
	if (*room < bytes) {
		free(*buf);
		*buf = malloc(bytes);
		*room = *buf ? bytes : 0;
	}
	return *buf ? 0 : -ENOMEM;
}

int job_go_on(const struct job *j)
{
	const struct compact_options *o = j->options;

	if (o->stop && *o->stop)
		return -EINTR;
	if (o->progress)
		o->progress(o->context, j->taken, j->from->file_bytes);
	return 0;
}

int job_add_to_index(struct job *j, const struct mprof_extent *h)
{
	struct mprof_index_entry *e =
	    trace_grow((void **)&j->index.item, &j->index.n, &j->index.room, sizeof(*e));

	if (!e)
		return -ENOMEM;
	*e = (struct mprof_index_entry){ j->tail, h->first_ticks, h->last_ticks, h->process,
					 h->thread };
	return 0;
}

int job_add_extent(struct job *j, struct mprof_extent head, size_t used)
{
	size_t size = (sizeof(head) + used + MPROF_EXTENT_ALIGN - 1) / MPROF_EXTENT_ALIGN *
		      MPROF_EXTENT_ALIGN;
	int ret;

	head.offset = j->tail;
	head.size = (uint32_t)size;
	memcpy(j->out, &head, sizeof(head));
	memset(j->out + sizeof(head) + used, 0, size - sizeof(head) - used);
	ret = write_at(j, j->out, size, j->tail);
	j->tail += size;
	return ret;
}

static int copy_extent(struct job *j, const struct extent *x)
{
	if (job_grow((void **)&j->out, &j->out_room, sizeof(x->head) + x->bytes + 64))
		return -ENOMEM;
	if (trace_read(j->from, j->out + sizeof(x->head), x->bytes, x->payload) != x->bytes)
		return -EIO;
	return job_add_extent(j, x->head, x->bytes);
}

/* Words of a slot up to the first zero one that begins a record. */
static size_t slot_words(const uint64_t *word, size_t n)
{
	size_t i = 0;

	while (i < n && word[i])
		i += mprof_word_tag(word[i]) == MPROF_TAG_LONG ? MPROF_LONG_WORDS : 1;
	return i < n ? i : n;
}

static int pack_extent(struct job *j, const struct extent *x, size_t n)
{
	struct mprof_packed packed = { .original = x->head };
	struct mprof_extent head = x->head;
	size_t before = sizeof(head) + sizeof(packed), frame;

	if (job_grow((void **)&j->out, &j->out_room, before + 16 * n + 65536))
		return -ENOMEM;
	frame = packer_chunk(j->packer, j->words, n, j->options->level, &packed, j->out + before,
			     j->out_room - before - 64);
	if (!frame)
		return copy_extent(j, x);
	memcpy(j->out + sizeof(head), &packed, sizeof(packed));
	head.kind = MPROF_EXTENT_PACKED;
	head.used = (uint32_t)(sizeof(packed) + frame);
	head.check = mprof_checksum(j->out + sizeof(head), head.used);
	return job_add_extent(j, head, head.used);
}

/* ---- single extents ---- */

/* A chunk that cannot be read stays as it is, for the reader to find and to tell. */
static int take_chunk(struct job *j, const struct extent *x)
{
	bool slot = x->kind == MPROF_EXTENT_SLOT;
	size_t n = x->bytes / 8;
	int ret;

	if (!slot && !x->bytes)
		return 0;
	if (x->bytes > CHUNK_BYTES_MAX || x->bytes % 8)
		return copy_extent(j, x);
	if (job_grow((void **)&j->words, &j->words_room, x->bytes))
		return -ENOMEM;
	if (trace_read(j->from, j->words, x->bytes, x->payload) != x->bytes)
		return -EIO;
	if (slot)
		n = slot_words(j->words, n);
	if (!n)
		return 0;
	ret = job_add_to_index(j, &x->head);
	if (ret)
		return ret;
	if (!slot && mprof_checksum(j->words, x->bytes) != x->head.check)
		return copy_extent(j, x);
	return pack_extent(j, x, n);
}

static int take_extent(struct job *j, const struct extent *x)
{
	switch (x->kind) {
	case MPROF_EXTENT_FREE:
	case MPROF_EXTENT_INDEX:
		return 0;
	case MPROF_EXTENT_SLOT:
	case MPROF_EXTENT_EVENTS:
		return take_chunk(j, x);
	default:
		return copy_extent(j, x);
	}
}

static int add_index(struct job *j)
{
	size_t used = j->index.n * sizeof(*j->index.item);
	struct mprof_extent head = { .magic = MPROF_EXTENT_MAGIC,
				     .kind = MPROF_EXTENT_INDEX,
				     .used = (uint32_t)used };

	if (used > MPROF_EXTENT_MAX / 2) /* a reader finds the chunks without it */
		return 0;
	if (job_grow((void **)&j->out, &j->out_room, sizeof(head) + used + 64))
		return -ENOMEM;
	if (used)
		memcpy(j->out + sizeof(head), j->index.item, used);
	memcpy(&head.run, j->from->header.run_id, sizeof(head.run));
	head.check = mprof_checksum(j->out + sizeof(head), used);
	return job_add_extent(j, head, used);
}

/* The file's header as it is now, without what a finished file has no use for. */
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
	h->time_error = j->time_error;
	memset(h->free_slots, 0, sizeof(h->free_slots));
	ret = write_at(j, h, MPROF_HEADER_SHORT, 0);
	if (!ret)
		ret = write_at(j, h->process, h->header_size - MPROF_HEADER_SHORT,
			       MPROF_HEADER_SHORT);
	return ret;
}

static int write_all(struct job *j)
{
	uint64_t index_offset;
	int ret = read_header(j);

	if (!ret)
		ret = job_add_groups(j);
	for (size_t i = 0; !ret && i < j->extents.n; i++) {
		if (!j->done[i])
			ret = take_extent(j, &j->extents.item[i]);
		if (!ret)
			ret = job_go_on(j);
	}
	index_offset = j->tail;
	if (!ret)
		ret = add_index(j);
	return ret ? ret : write_header(j, index_offset);
}

static int make_temporary(struct job *j, const char *path, struct error *err)
{
	/* Of a link we replace what it points to, not the link. */
	j->path = realpath(path, NULL);
	if (!j->path || asprintf(&j->temporary, "%s.XXXXXX", j->path) < 0) {
		j->temporary = NULL;
		return fail(err, -ENOMEM, "no memory to compress '%s'", path);
	}
	j->fd = mkostemp(j->temporary, O_CLOEXEC);
	if (j->fd < 0) {
		int code = errno;

		free(j->temporary);
		j->temporary = NULL;
		return fail(err, -code, "cannot make a file beside '%s' to compress it: %s", path,
			    strerror(code));
	}
	return 0;
}

/* An extent that the file's end or another extent cuts off. */
static bool is_cut(const struct extent *x)
{
	bool whole = x->kind == MPROF_EXTENT_SLOT || x->kind == MPROF_EXTENT_STACKS_SLOT ||
		     x->kind == MPROF_EXTENT_COUNTS;

	return x->bytes < (whole ? x->head.size - sizeof(x->head) : x->head.used);
}

static int stopped(int ret, const char *path, struct error *err)
{
	if (ret == -EINTR)
		return fail(err, ret, "the compression of '%s' was interrupted: it stays as it was",
			    path);
	if (ret == -ENOMEM)
		return fail(err, ret, "no memory to compress '%s'", path);
	return fail(err, ret, "cannot write the compressed '%s': %s", path, strerror(-ret));
}

/*
 * Is everything that was written there?  What a compressed file does not have is gone for
 * good: a view of the file that is behind (a network file system) or one that somebody cut
 * must not take the place of the trace.
 */
static int check_complete(const struct trace_damage *d, const char *path, struct error *err)
{
	if (d->chunks_unseen)
		return fail(err, -EBADMSG,
			    "'%s' stays as it was written: %" PRIu64
			    " of its parts cannot be seen (yet)",
			    path, d->chunks_unseen);
	if (d->bytes_missing)
		return fail(err, -EBADMSG,
			    "'%s' stays as it was written: its last %" PRIu64
			    " bytes cannot be seen (yet)",
			    path, d->bytes_missing);
	if (d->header_cut || d->bytes_cut)
		return fail(err, -EBADMSG,
			    "'%s' stays as it was written: it was truncated meanwhile", path);
	return 0;
}

static int look_over(struct job *j, const char *path, struct error *err)
{
	struct trace_damage before = j->from->damage;
	int ret = check_complete(&before, path, err);
	bool cut = before.sizes_bad;

	if (ret)
		return ret;
	ret = extents_find(j->from, &j->extents);
	j->from->damage = before;
	if (ret)
		return fail(err, ret, "no memory to compress '%s'", path);
	for (size_t i = 0; i < j->extents.n; i++)
		cut |= is_cut(&j->extents.item[i]);
	if (cut)
		return fail(err, -EBADMSG, "'%s' is damaged at byte %llu and stays as it is", path,
			    (unsigned long long)before.first_bad_offset);
	j->packer = packer_new();
	j->group = group_packer_new();
	j->stacks = stack_packer_new();
	j->done = calloc(j->extents.n + 1, sizeof(*j->done));
	if (!j->packer || !j->group || !j->stacks || !j->done)
		return fail(err, -ENOMEM, "no memory to compress '%s'", path);
	ret = turns_find(&j->turns, j->from, j->options);
	if (ret)
		return stopped(ret, path, err);
	if (j->options->finished)
		j->options->finished(j->options->context, j->from);
	trace_rewind(j->from);
	return 0;
}

static int replace(struct job *j, const char *path, struct error *err)
{
	int ret = make_temporary(j, path, err);

	if (ret)
		return ret;
	ret = write_all(j);
	if (ret)
		return stopped(ret, path, err);
	if (rename(j->temporary, j->path) < 0)
		return fail(err, -errno, "cannot replace '%s' by its compressed form: %s", path,
			    strerror(errno));
	free(j->temporary);
	j->temporary = NULL;
	return 0;
}

static void job_release(struct job *j)
{
	if (j->temporary)
		unlink(j->temporary);
	if (j->fd >= 0)
		close(j->fd);
	packer_free(j->packer);
	group_packer_free(j->group);
	stack_packer_free(j->stacks);
	turns_free(&j->turns);
	trace_close(j->from);
	free(j->done);
	free(j->temporary);
	free(j->path);
	free(j->extents.item);
	free(j->index.item);
	free(j->words);
	free(j->out);
}

/* In ticks of the trace's clock. */
static uint32_t ticks_of(const struct trace *t, uint64_t ns)
{
	uint64_t ticks = ns * 4294967296ull / (t->ns_per_tick ? t->ns_per_tick : 1);

	return ticks < 1u << 29 ? (uint32_t)ticks : 1u << 29;
}

int trace_compress(const char *path, const struct compact_options *o, struct error *err)
{
	struct job j = { .fd = -1, .options = o };
	int ret = trace_open(&j.from, path, MPROF_MAGIC_TRACE, err);

	if (!ret && !o->exact)
		j.time_error = ticks_of(j.from, COMPACT_ERROR_NS);
	if (!ret && !(j.from->header.flags & MPROF_FILE_COMPRESSED)) {
		ret = look_over(&j, path, err);
		if (!ret)
			ret = replace(&j, path, err);
	}
	job_release(&j);
	return ret;
}
