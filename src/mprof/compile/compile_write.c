// SPDX-License-Identifier: LGPL-3.0-or-later
/* compile_write.c - the playback file being written. */
#include "compile_write.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../util/temporary.h"
#include "../util/alloc.h"
#include "../util/unfinished.h"

static uint64_t page_up(uint64_t bytes)
{
	return (bytes + MPROF_PLAY_PAGE - 1) & -(uint64_t)MPROF_PLAY_PAGE;
}

/* ---- files ---- */

int writer_pwrite(struct writer *w, const void *from, size_t bytes, uint64_t offset)
{
	const char *p = from;
	ssize_t n;

	for (; bytes && !w->error; p += n, bytes -= (size_t)n, offset += (uint64_t)n) {
		n = pwrite(w->fd, p, bytes, (off_t)offset);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0) {
			w->error = n ? -errno : -EIO;
			break;
		}
	}
	return w->error;
}

static int read_all(int fd, void *to, size_t bytes, uint64_t offset)
{
	char *p = to;
	ssize_t n;

	for (; bytes; p += n, bytes -= (size_t)n, offset += (uint64_t)n) {
		n = pread(fd, p, bytes, (off_t)offset);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0)
			return n ? -errno : -EIO;
	}
	return 0;
}

int writer_pread(struct writer *w, void *to, size_t bytes, uint64_t offset)
{
	int ret = w->error ? w->error : read_all(w->fd, to, bytes, offset);

	if (ret && !w->error)
		w->error = ret;
	return ret;
}

/*
 * The file gets a name when it is complete: until then it has none, or, where
 * the file system knows no files without, a temporary one.
 */
static int open_beside(struct writer *w, const char *path, struct error *err)
{
	const char *slash = strrchr(path, '/');
	char *directory = NULL;
	struct stat st;

	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return fail(err, -ENOTSUP, "'%s' is not a regular file, as a playback file must be",
			    path);
	w->path = must_strdup(path);
	w->temporary = must_printf("%s.XXXXXX", path);
	directory = must_printf("%.*s.", slash ? (int)(slash - path) + 1 : 0, path);
	w->fd = open(directory, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	free(directory);
	if (w->fd < 0) {
		w->fd = mkostemp(w->temporary, O_CLOEXEC);
		w->named = w->fd >= 0;
		if (w->named)
			unfinished_add(w->temporary);
	}
	if (w->fd < 0) {
		int code = -errno;

		return fail(err, code, "cannot write '%s': %s", path, strerror(-code));
	}
	return 0;
}

/* Under a name of its own first, since only rename() takes the place of another file. */
static int name_it(struct writer *w)
{
	char self[64];
	int tries;

	snprintf(self, sizeof(self), "/proc/self/fd/%d", w->fd);
	for (tries = 0; !w->named; tries++) {
		char *end = w->temporary + strlen(w->temporary) - 6;

		snprintf(end, 7, "%06x", ((unsigned)getpid() * 64 + (unsigned)tries) & 0xffffff);
		w->named = !linkat(AT_FDCWD, self, AT_FDCWD, w->temporary, AT_SYMLINK_FOLLOW);
		if (!w->named && (errno != EEXIST || tries == 64))
			return -errno;
	}
	if (rename(w->temporary, w->path) < 0)
		return -errno;
	w->named = false;
	unfinished_forget(w->temporary);
	return 0;
}

int writer_open(struct writer *w, const char *path, int fd, bool sites, struct error *err)
{
	int ret;

	*w = (struct writer){
		.fd = path ? -1 : fd,
		.sites_fd = -1,
		.check = MPROF_PLAY_CHECK_START,
		.sites_check = MPROF_PLAY_CHECK_START,
		.end = MPROF_PLAY_PAGE,
	};
	ret = path ? open_beside(w, path, err) : 0;
	if (ret < 0)
		return ret;
	w->word = must_reallocarray(NULL, WRITER_WORDS, sizeof(*w->word));
	w->site = sites ? must_reallocarray(NULL, WRITER_SITES, sizeof(*w->site)) : NULL;
	if (!sites)
		return 0;
	w->sites_fd = temporary_file(path);
	if (w->sites_fd < 0)
		return fail(err, w->sites_fd, "cannot make a temporary file%s%s: %s",
			    path ? " beside " : "", path ? path : "", strerror(-w->sites_fd));
	return 0;
}

void writer_release(struct writer *w)
{
	if (w->sites_fd >= 0)
		close(w->sites_fd);
	if (w->named)
		unlink(w->temporary);
	unfinished_forget(w->temporary);
	if (w->path && w->fd >= 0)
		close(w->fd);
	free(w->temporary);
	free(w->path);
	free(w->word);
	free(w->site);
	*w = (struct writer){ .fd = -1, .sites_fd = -1 };
}

/* ---- words and sites ---- */

void writer_flush(struct writer *w)
{
	size_t bytes = w->words * sizeof(*w->word);

	if (!w->patched)
		w->check = mprof_play_check(w->check, w->word, bytes);
	writer_pwrite(w, w->word, bytes, MPROF_PLAY_PAGE + w->flushed * sizeof(*w->word));
	w->flushed += w->words;
	w->words = 0;
}

void writer_flush_sites(struct writer *w)
{
	const char *p = (const char *)w->site;
	size_t bytes = w->sites * sizeof(*w->site);
	ssize_t n;

	w->sites_check = mprof_play_check(w->sites_check, w->site, bytes);
	w->sites_flushed += w->sites;
	w->sites = 0;
	for (; bytes && !w->error; p += n, bytes -= (size_t)n) {
		n = write(w->sites_fd, p, bytes);
		if (n < 0 && errno == EINTR)
			n = 0;
		else if (n <= 0) {
			w->error = n ? -errno : -EIO;
			break;
		}
	}
}

void writer_patch(struct writer *w, uint64_t position, uint64_t word)
{
	if (position >= w->flushed) {
		w->word[position - w->flushed] = word;
		return;
	}
	w->patched = true;
	writer_pwrite(w, &word, sizeof(word), MPROF_PLAY_PAGE + position * sizeof(word));
}

/* ---- the rest of the file ---- */

static uint64_t check_again(struct writer *w, uint64_t offset, uint64_t bytes)
{
	uint64_t check = MPROF_PLAY_CHECK_START;
	size_t n, room = WRITER_WORDS * sizeof(*w->word);

	for (; bytes; bytes -= n, offset += n) {
		n = bytes < room ? bytes : room;
		if (writer_pread(w, w->word, n, offset))
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
	int ret;

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
		ret = read_all(w->sites_fd, w->word, n, done);
		if (ret)
			w->error = ret;
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
		w->error = name_it(w);
	if (w->error)
		return fail(err, w->error, "cannot write '%s': %s", name, strerror(-w->error));
	return 0;
}
