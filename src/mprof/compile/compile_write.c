// SPDX-License-Identifier: LGPL-3.0-or-later
/* compile_write.c - writes the playback file. */
#include "compile_write.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../util/alloc.h"
#include "../util/outputs.h"
#include "../util/whole.h"

/* ---- files ---- */

void writer_pwrite(struct writer *w, const void *from, size_t bytes, uint64_t offset)
{
	if (!w->error)
		w->error = write_at(w->fd, from, bytes, offset);
}

int writer_pread(struct writer *w, int fd, void *to, size_t bytes, uint64_t offset)
{
	if (!w->error && read_at(fd, to, bytes, offset) != bytes)
		w->error = -(errno ?: EIO);
	return w->error;
}

static int open_beside(struct writer *w, const char *path, struct error *err)
{
	struct stat st;
	int ret;

	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return fail(err, -ENOTSUP, "'%s' is not a regular file, as a playback file must be",
			    path);
	w->path = must_strdup(path);
	ret = directories_make(path, &w->first, err);
	if (ret)
		return ret;
	w->fd = new_file_open(&w->file, path);
	return w->fd < 0 ? fail_to_make(err, w->fd, path, path) : 0;
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
	new_file_drop(&w->file);
	if (w->path)
		directories_remove(w->path, w->first);
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
	size_t bytes = w->sites * sizeof(*w->site);

	w->sites_check = mprof_play_check(w->sites_check, w->site, bytes);
	if (!w->error)
		w->error =
		    write_at(w->sites_fd, w->site, bytes, w->sites_flushed * sizeof(*w->site));
	w->sites_flushed += w->sites;
	w->sites = 0;
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
