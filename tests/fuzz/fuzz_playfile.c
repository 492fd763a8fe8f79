// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * fuzz_playfile.c - the reader of playback files under libFuzzer.
 *
 * The first byte says which checksums are made right before the file is read:
 * 1 those of sections, 2 the header's; without them hardly anything would be
 * reached.  Then: whatever opens can be walked, and never hands out a slot or a
 * thread that the header does not have; and what was checked has as many calls
 * as it says.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "play/playfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void seal_section(char *file, size_t bytes, struct mprof_play_section *s)
{
	if (s->offset <= bytes && s->bytes <= bytes - s->offset)
		s->check = mprof_play_check(MPROF_PLAY_CHECK_START, file + s->offset, s->bytes);
}

static void seal(char *file, size_t bytes, unsigned which)
{
	struct mprof_playback_header *h = (struct mprof_playback_header *)file;

	if (bytes < MPROF_PLAY_PAGE)
		return;
	if (which & 1) {
		seal_section(file, bytes, &h->order);
		seal_section(file, bytes, &h->streams);
		seal_section(file, bytes, &h->thread);
		seal_section(file, bytes, &h->sites);
	}
	if (which & 2) {
		h->file_bytes = bytes;
		h->check = mprof_play_check(MPROF_PLAY_CHECK_START, h,
					    offsetof(struct mprof_playback_header, check));
	}
}

static void must(int right)
{
	if (!right)
		abort();
}

static void walk(const struct playfile *p)
{
	const struct mprof_playback_header *h = playfile_header(p);
	struct playfile_cursor c;
	struct playfile_op op;
	struct error err;
	uint64_t calls = 0;
	size_t words;

	playfile_start(&c, p);
	for (; playfile_next(&c, &op); calls++)
		must(op.slot < h->slots && op.thread < h->threads && op.op == calls);
	must(calls <= h->sum.calls);
	(void)playfile_stream(p, h->threads - 1, &words);
	if (!playfile_check(p, &err))
		must(calls == h->sum.calls);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct playfile *p;
	struct error err;
	char path[64], *file;
	int fd;

	if (size < 2)
		return 0;
	fd = memfd_create("playfile", MFD_CLOEXEC);
	file = malloc(size - 1);
	if (fd < 0 || !file)
		abort();
	memcpy(file, data + 1, size - 1);
	seal(file, size - 1, data[0]);
	must(write(fd, file, size - 1) == (ssize_t)(size - 1));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (!playfile_open(&p, path, &err)) {
		walk(p);
		playfile_close(p);
	}
	free(file);
	close(fd);
	return 0;
}
