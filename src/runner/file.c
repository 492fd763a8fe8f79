/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * file.c - the playback file, which is not trusted: checks the header and the bounds of its
 * sections; check.c checks every word.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "run.h"

struct file playback;

static _Noreturn void bad(const char *why)
{
	die(STATUS_FILE, "%s: %s", settings.in, why);
}

static void read_at(void *to, uint64_t bytes, uint64_t offset)
{
	while (bytes) {
		ssize_t n = pread(playback.fd, to, bytes, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			die_errno(STATUS_FILE, "cannot read", settings.in);
		if (!n)
			bad("ends too early");
		to = (char *)to + n;
		bytes -= (uint64_t)n;
		offset += (uint64_t)n;
	}
}

static bool section_fits(const struct mprof_play_section *s, uint64_t unit)
{
	uint64_t all = playback.head.file_bytes;

	return s->offset % MPROF_PLAY_PAGE == 0 && s->bytes % unit == 0 && s->offset <= all &&
	       (s->offset || !s->bytes) && s->bytes <= all - s->offset;
}

static void check_header(uint64_t size)
{
	const struct mprof_playback_header *h = &playback.head;

	if (memcmp(h->magic, MPROF_PLAYBACK_MAGIC, sizeof(h->magic)))
		bad("not a playback file (mprof sort makes one)");
	if (h->version != MPROF_PLAYBACK_VERSION || h->header_bytes != MPROF_PLAY_PAGE)
		bad("a playback file of another version than this program's");
	if (h->check != mprof_play_check(MPROF_PLAY_CHECK_START, h,
					 offsetof(struct mprof_playback_header, check)))
		bad("damaged: the header's checksum is wrong");
	if (h->file_bytes != size)
		bad("damaged: not as long as its header says");
	if (!h->threads || h->thread.bytes != h->threads * sizeof(*playback.thread) ||
	    !section_fits(&h->thread, sizeof(*playback.thread)) || !section_fits(&h->order, 8) ||
	    !section_fits(&h->streams, 8) || !h->order.bytes)
		bad("damaged: a section has an impossible offset");
	if (h->slots > 1ull << 32 || h->slots > h->order.bytes / 8)
		bad("damaged: more slots than its calls can use");
}

static void check_streams(void)
{
	const struct mprof_play_section *s = &playback.head.streams;

	for (uint32_t i = 0; i < playback.head.threads; i++) {
		const struct mprof_play_thread *t = &playback.thread[i];

		if (t->creator >= playback.head.threads)
			bad("damaged: the creator of a thread does not exist");
		if (!s->bytes)
			continue;
		if (t->offset % 8 || t->offset < s->offset || !t->words ||
		    t->offset - s->offset > s->bytes ||
		    t->words > (s->bytes - (t->offset - s->offset)) / 8)
			bad("damaged: a thread's stream has an impossible offset");
	}
}

void file_open(const char *path)
{
	struct stat st;

	playback.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (playback.fd < 0 || fstat(playback.fd, &st))
		die_errno(STATUS_FILE, "cannot open", path);
	if (!S_ISREG(st.st_mode))
		bad("not a file");
	if ((uint64_t)st.st_size < sizeof(playback.head))
		bad("not a playback file (mprof sort makes one)");
	read_at(&playback.head, sizeof(playback.head), 0);
	check_header((uint64_t)st.st_size);
	playback.thread = own_map(playback.head.thread.bytes);
	read_at(playback.thread, playback.head.thread.bytes, playback.head.thread.offset);
	if (mprof_play_check(MPROF_PLAY_CHECK_START, playback.thread, playback.head.thread.bytes) !=
	    playback.head.thread.check)
		bad("damaged: the checksum of section threads is wrong");
	check_streams();
}

const uint64_t *file_map(uint64_t offset, uint64_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, playback.fd, (off_t)offset);

	if (p == MAP_FAILED)
		die_errno(STATUS_RUN, "cannot map", settings.in);
	madvise(p, bytes, MADV_SEQUENTIAL);
	return p;
}

void file_unmap(const uint64_t *words, uint64_t bytes)
{
	munmap((void *)words, bytes);
}

bool file_parallel(void)
{
	return playback.head.threads > 1 && playback.head.streams.bytes;
}
