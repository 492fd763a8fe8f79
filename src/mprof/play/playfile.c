// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * playfile.c - opens a playback file, and walks its ORDER.
 *
 * Nothing in the file is trusted: every offset is compared with the size of the file, every count
 * with its section.
 */
#include "playfile.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mprof/format.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../util/alloc.h"
#include "../util/file_head.h"
#include "../util/memory.h"

/* ---- opening ---- */

static int bad(struct error *err, const struct playfile *p, const char *what, uint64_t is,
	       const char *field, uint64_t right)
{
	return fail(err, -EBADMSG, "'%s': %s is %" PRIu64 " at byte %s; expected %" PRIu64, p->path,
		    what, is, field, right);
}

bool playfile_is(const char *path)
{
	char magic[8];

	return file_head(path, magic, sizeof(magic)) == sizeof(magic) &&
	       !memcmp(magic, MPROF_PLAYBACK_MAGIC, sizeof(magic));
}

static int map_file(struct playfile *p, struct error *err)
{
	int fd = open(p->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	struct stat st;
	void *at;

	if (fd < 0)
		return fail(err, -errno, "cannot open '%s': %s", p->path, strerror(errno));
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode)) {
		close(fd);
		return fail(err, -EBADMSG, "'%s' is not a regular file", p->path);
	}
	p->bytes = (uint64_t)st.st_size;
	if (p->bytes < MPROF_PLAY_PAGE) {
		close(fd);
		return fail(err, -EBADMSG,
			    "'%s' is not a playback file of mprof: it ends at byte %" PRIu64
			    " and the header has %u",
			    p->path, p->bytes, MPROF_PLAY_PAGE);
	}
	memory_cap_file(p->bytes);
	at = mmap(NULL, p->bytes, PROT_READ, MAP_SHARED, fd, 0);
	close(fd);
	if (at == MAP_FAILED)
		return fail(err, -errno, "cannot map '%s': %s", p->path, strerror(errno));
	p->map = at;
	return 0;
}

static int check_header(struct playfile *p, struct error *err)
{
	const struct mprof_playback_header *h = &p->header;
	uint64_t check;

	memcpy(&p->header, p->map, sizeof(p->header));
	if (mprof_is_magic(h->magic))
		return fail(err, -EBADMSG, "'%s' is a %s; expected a playback file", p->path,
			    mprof_kind_name(h->magic));
	if (memcmp(h->magic, MPROF_PLAYBACK_MAGIC, sizeof(h->magic)))
		return fail(err, -EBADMSG,
			    "'%s' is not a playback file of mprof: wrong magic at byte 0", p->path);
	if (h->version != MPROF_PLAYBACK_VERSION)
		return bad(err, p, "the version", h->version, "8", MPROF_PLAYBACK_VERSION);
	if (h->header_bytes != MPROF_PLAY_PAGE)
		return bad(err, p, "the header's size", h->header_bytes, "12", MPROF_PLAY_PAGE);
	check = mprof_play_check(MPROF_PLAY_CHECK_START, h,
				 offsetof(struct mprof_playback_header, check));
	if (check != h->check)
		return fail(err, -EBADMSG, "'%s': the header's checksum is wrong", p->path);
	if (h->file_bytes != p->bytes)
		return bad(err, p, "its size", h->file_bytes, "16", p->bytes);
	if (!h->threads || !h->slots || h->slots >= UINT32_MAX)
		return fail(err, -EBADMSG,
			    "'%s' has %" PRIu32 " threads and %" PRIu64
			    " slots at byte 24: both are impossible",
			    p->path, h->threads, h->slots);
	return 0;
}

static int check_section(const struct playfile *p, const char *name,
			 const struct mprof_play_section *s, uint64_t unit, struct error *err)
{
	if (s->offset % MPROF_PLAY_PAGE || s->offset < MPROF_PLAY_PAGE || s->offset > p->bytes ||
	    s->bytes > p->bytes - s->offset)
		return fail(err, -EBADMSG,
			    "'%s': section %s has %" PRIu64 " bytes at offset %" PRIu64
			    ": not in the file of %" PRIu64 " bytes, or not at a page of 4096",
			    p->path, name, s->bytes, s->offset, p->bytes);
	if (s->bytes % unit)
		return fail(err, -EBADMSG,
			    "'%s': section %s has %" PRIu64 " bytes, not a multiple of %" PRIu64,
			    p->path, name, s->bytes, unit);
	return 0;
}

static int check_size(const struct playfile *p, const char *name,
		      const struct mprof_play_section *s, uint64_t right, struct error *err)
{
	if (s->bytes == right)
		return 0;
	return fail(err, -EBADMSG, "'%s': section %s has %" PRIu64 " bytes instead of %" PRIu64,
		    p->path, name, s->bytes, right);
}

static int check_sections(const struct playfile *p, struct error *err)
{
	const struct mprof_playback_header *h = &p->header;
	const size_t thread = sizeof(struct mprof_play_thread);

	if (check_section(p, "order", &h->order, 8, err) ||
	    check_section(p, "thread", &h->thread, thread, err) ||
	    check_size(p, "thread", &h->thread, (uint64_t)h->threads * thread, err))
		return -EBADMSG;
	/* A call is a word; a reader may rely on END. */
	if (h->order.bytes / 8 <= h->sum.calls)
		return fail(err, -EBADMSG,
			    "'%s': section order has %" PRIu64 " words for %" PRIu64 " calls",
			    p->path, h->order.bytes / 8, h->sum.calls);
	/* Each slot had a block: tables of slots are no longer than the file. */
	if (h->slots > h->order.bytes / 8)
		return fail(err, -EBADMSG, "'%s' has %" PRIu64 " slots for %" PRIu64 " calls",
			    p->path, h->slots, h->sum.calls);
	if (h->sites.bytes && (check_section(p, "sites", &h->sites, 4, err) ||
			       check_size(p, "sites", &h->sites, h->sum.calls * 4, err)))
		return -EBADMSG;
	if (h->threads == 1)
		return check_size(p, "streams", &h->streams, 0, err);
	return check_section(p, "streams", &h->streams, 8, err);
}

/* Streams follow each other in the order of threads. */
static int check_threads(const struct playfile *p, struct error *err)
{
	const struct mprof_play_thread *t = playfile_threads(p);
	const struct mprof_play_section *s = &p->header.streams;
	uint64_t at = s->offset, end = s->offset + s->bytes;
	uint32_t i;

	for (i = 0; i < p->header.threads; i++) {
		if (t[i].creator >= p->header.threads || (i && t[i].creator == i))
			return fail(err, -EBADMSG,
				    "'%s': thread %" PRIu32 " has creator %" PRIu32
				    ": there is no such thread",
				    p->path, i, t[i].creator);
		if (p->header.threads == 1)
			return 0;
		if (t[i].offset != at || t[i].words < 2 || t[i].words > (end - at) / 8)
			return fail(err, -EBADMSG,
				    "'%s': the stream of thread %" PRIu32 " has %" PRIu64
				    " words at offset %" PRIu64 "; it begins at %" PRIu64
				    " and ends by %" PRIu64,
				    p->path, i, t[i].words, t[i].offset, at, end);
		at += t[i].words * 8;
	}
	if (at != end)
		return fail(err, -EBADMSG,
			    "'%s': the streams end at offset %" PRIu64
			    ", their section at %" PRIu64,
			    p->path, at, end);
	return 0;
}

int playfile_open(struct playfile **out, const char *path, struct error *err)
{
	struct playfile *p = must_calloc(1, sizeof(*p));
	int ret;

	*out = NULL;
	p->path = must_strdup(path);
	ret = map_file(p, err);
	if (!ret)
		ret = check_header(p, err);
	if (!ret)
		ret = check_sections(p, err);
	if (!ret)
		ret = check_threads(p, err);
	if (ret) {
		playfile_close(p);
		return ret;
	}
	p->header.program[sizeof(p->header.program) - 1] = '\0';
	p->header.source[sizeof(p->header.source) - 1] = '\0';
	p->header.input[sizeof(p->header.input) - 1] = '\0';
	*out = p;
	return 0;
}

void playfile_close(struct playfile *p)
{
	if (!p)
		return;
	if (p->map)
		munmap((void *)p->map, p->bytes);
	free(p->path);
	free(p);
}

/* ---- sections ---- */

const char *playfile_path(const struct playfile *p)
{
	return p->path;
}

const struct mprof_playback_header *playfile_header(const struct playfile *p)
{
	return &p->header;
}

const uint64_t *playfile_order(const struct playfile *p, size_t *words)
{
	*words = p->header.order.bytes / 8;
	return (const uint64_t *)(p->map + p->header.order.offset);
}

const uint32_t *playfile_sites(const struct playfile *p)
{
	return p->header.sites.bytes ? (const uint32_t *)(p->map + p->header.sites.offset) : NULL;
}

const struct mprof_play_thread *playfile_threads(const struct playfile *p)
{
	return (const struct mprof_play_thread *)(p->map + p->header.thread.offset);
}

uint32_t *playfile_thread_numbers(const struct playfile *p)
{
	const struct mprof_play_thread *t = playfile_threads(p);
	const size_t n = playfile_header(p)->threads;
	uint32_t *number = must_calloc(n + 1, sizeof(*number));
	size_t i;

	for (i = 0; i < n; i++)
		number[i] = t[i].recorded;
	return number;
}

const uint64_t *playfile_stream(const struct playfile *p, uint32_t thread, size_t *words)
{
	const struct mprof_play_thread *t = playfile_threads(p) + thread;

	*words = 0;
	if (p->header.threads == 1 || thread >= p->header.threads)
		return NULL;
	*words = t->words;
	return (const uint64_t *)(p->map + t->offset);
}

/* ---- ORDER, call by call ---- */

static const uint8_t own_fn[16] = {
	[MPROF_PLAY_MALLOC] = MPROF_FN_MALLOC,	  [MPROF_PLAY_FREE] = MPROF_FN_FREE,
	[MPROF_PLAY_CALLOC] = MPROF_FN_CALLOC,	  [MPROF_PLAY_REALLOC] = MPROF_FN_REALLOC,
	[MPROF_PLAY_ALIGNED] = MPROF_FN_MEMALIGN,
};

void playfile_start(struct playfile_cursor *c, const struct playfile *p)
{
	size_t words;
	const uint64_t *order = playfile_order(p, &words);

	*c = (struct playfile_cursor){
		.at = order,
		.end = order + words,
		.sites = playfile_sites(p),
		.calls = p->header.sum.calls,
		.slots = p->header.slots,
		.threads = p->header.threads,
	};
}

static bool take_call(struct playfile_cursor *c, struct playfile_op *op, uint64_t word,
		      uint64_t ext)
{
	const unsigned kind = mprof_play_op(word), fn = mprof_play_fn(ext);

	*op = (struct playfile_op){
		.op = c->op,
		.size = mprof_play_size(word, ext),
		.ns = c->ns,
		.touched = MPROF_PLAY_TOUCH_UNKNOWN,
		.slot = mprof_play_slot(word),
		.thread = c->thread,
		.site = c->sites ? c->sites[c->op] : 0,
		.kind = (uint8_t)kind,
		.fn = (uint8_t)(fn ? fn : own_fn[kind]),
	};
	if (c->at < c->end && mprof_play_op(*c->at) == MPROF_PLAY_TOUCH)
		op->touched = *c->at++ >> 4;
	c->op++;
	return true;
}

bool playfile_next(struct playfile_cursor *c, struct playfile_op *op)
{
	uint64_t word, ext = 0;

	while (c->at < c->end) {
		word = *c->at++;
		if (mprof_play_is_call(word)) {
			if (mprof_play_slot(word) >= c->slots || c->op == c->calls)
				return false;
			return take_call(c, op, word, ext);
		}
		switch (mprof_play_op(word)) {
		case MPROF_PLAY_EXT:
			ext = word;
			break;
		case MPROF_PLAY_TIME:
			c->ns = word >> 4;
			break;
		case MPROF_PLAY_SWITCH:
			if (mprof_play_slot(word) >= c->threads)
				return false;
			c->thread = mprof_play_slot(word);
			break;
		case MPROF_PLAY_END:
			return false;
		}
	}
	return false;
}
