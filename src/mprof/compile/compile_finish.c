// SPDX-License-Identifier: LGPL-3.0-or-later
/* compile_finish.c - writes what follows ORDER in a playback file, its header, and its name. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "compile_write.h"

static uint64_t page_up(uint64_t bytes)
{
	return (bytes + MPROF_PLAY_PAGE - 1) & -(uint64_t)MPROF_PLAY_PAGE;
}

static uint64_t check_again(struct writer *w, uint64_t offset, uint64_t bytes)
{
	uint64_t check = MPROF_PLAY_CHECK_START;
	size_t n, room = WRITER_WORDS * sizeof(*w->word);

	for (; bytes; bytes -= n, offset += n) {
		n = bytes < room ? bytes : room;
		if (writer_pread(w, w->fd, w->word, n, offset))
			return 0;
		check = mprof_play_check(check, w->word, n);
	}
	return check;
}

static void section_begins(struct writer *w, struct mprof_play_section *s, uint64_t bytes)
{
	s->offset = w->end;
	s->bytes = bytes;
	w->end = page_up(w->end + bytes);
}

static void finish_order(struct writer *w, struct mprof_playback_header *h)
{
	writer_flush(w);
	section_begins(w, &h->order, w->flushed * sizeof(*w->word));
	h->order.check = w->patched ? check_again(w, h->order.offset, h->order.bytes) : w->check;
}

static void finish_sites(struct writer *w, struct mprof_playback_header *h)
{
	uint64_t done, n, bytes;

	if (w->sites_fd < 0)
		return;
	writer_flush_sites(w);
	bytes = w->sites_flushed * sizeof(*w->site);
	section_begins(w, &h->sites, bytes);
	h->sites.check = w->sites_check;
	for (done = 0; done < bytes && !w->error; done += n) {
		n = bytes - done;
		if (n > WRITER_WORDS * sizeof(*w->word))
			n = WRITER_WORDS * sizeof(*w->word);
		writer_pread(w, w->sites_fd, w->word, n, done);
		writer_pwrite(w, w->word, n, h->sites.offset + done);
	}
}

static int finish_streams(struct writer *w, struct mprof_playback_header *h,
			  struct mprof_play_thread *thread)
{
	uint64_t words = 0;
	uint32_t i;

	if (h->threads < 2) {
		thread[0].words = w->flushed;
		return 0;
	}
	if (streams_write(w, h, thread))
		return w->error;
	for (i = 0; i < h->threads; i++)
		words += thread[i].words;
	section_begins(w, &h->streams, words * sizeof(*w->word));
	h->streams.check = check_again(w, h->streams.offset, h->streams.bytes);
	return w->error;
}

static int write_rest(struct writer *w, struct mprof_playback_header *h,
		      struct mprof_play_thread *thread)
{
	size_t bytes = h->threads * sizeof(*thread);

	finish_order(w, h);
	finish_sites(w, h);
	if (finish_streams(w, h, thread))
		return w->error;
	section_begins(w, &h->thread, bytes);
	h->thread.check = mprof_play_check(MPROF_PLAY_CHECK_START, thread, bytes);
	writer_pwrite(w, thread, bytes, h->thread.offset);
	h->file_bytes = w->end;
	h->check = mprof_play_check(MPROF_PLAY_CHECK_START, h,
				    offsetof(struct mprof_playback_header, check));
	writer_pwrite(w, h, sizeof(*h), 0);
	if (!w->error && ftruncate(w->fd, (off_t)w->end) < 0)
		w->error = -errno;
	return w->error;
}

int writer_finish(struct writer *w, struct mprof_playback_header *h,
		  struct mprof_play_thread *thread, struct error *err)
{
	const char *name = w->path ? w->path : "a temporary file";

	if (write_rest(w, h, thread))
		return fail(err, w->error, "cannot write '%s': %s", name, strerror(-w->error));
	if (w->path)
		w->error = new_file_done(&w->file);
	if (w->error)
		return fail(err, w->error, "cannot write '%s': %s", name, strerror(-w->error));
	return 0;
}
