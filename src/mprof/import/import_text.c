// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * import_text.c - lines out of a buffer that zlib or libzip fills.
 *
 * zlib passes on uncompressed files unchanged, so there are two ways of reading, not three.
 */
#include "import_text.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>
#include <zlib.h>

#include "../util/alloc.h"
#include "../util/late.h"
#include "../util/memory.h"

#define BUFFER (256u << 10)

#define ZIP_FUNCTIONS(X)         \
	X(zip_, discard)         \
	X(zip_, fclose)          \
	X(zip_, fdopen)          \
	X(zip_, file_strerror)   \
	X(zip_, fopen_index)     \
	X(zip_, fread)           \
	X(zip_, get_name)        \
	X(zip_, get_num_entries) \
	X(zip_, strerror)

static struct {
	ZIP_FUNCTIONS(LATE_MEMBER)
} libzip;

struct import_text {
	gzFile gz; /* or */
	zip_t *zip;
	zip_file_t *entry;
	char *at, *end; /* the part of the buffer that was not used yet */
	bool ended;	/* at the end of the file */
	bool open_line; /* the last line had no line end */
	char why[128];
	char line[IMPORT_LINE_MAX + 1];
	char buffer[BUFFER];
};

/* ---- opening ---- */

/* Opens a file that can be read twice and does not block: not a FIFO. */
static int open_regular(const char *path, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), code;
	struct stat st;

	if (fd < 0) {
		code = -errno;
		return fail(err, code, "cannot open '%s': %s", path, strerror(-code));
	}
	if (!fstat(fd, &st) && S_ISREG(st.st_mode)) {
		memory_cap_file((uint64_t)st.st_size);
		return fd;
	}
	close(fd);
	return fail(err, -EBADMSG, "'%s' is not a regular file", path);
}

static bool is_zip(int fd)
{
	char magic[4];

	return pread(fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
	       (!memcmp(magic, "PK\3\4", 4) || !memcmp(magic, "PK\5\6", 4));
}

static bool is_directory(zip_t *zip, zip_uint64_t i)
{
	const char *name = libzip.get_name(zip, i, ZIP_FL_ENC_RAW);
	size_t n = name ? strlen(name) : 0;

	return n && name[n - 1] == '/';
}

static int load_libzip(struct error *err)
{
	static const char *const name[] = { ZIP_FUNCTIONS(LATE_NAME) };

	return late_load(LATE_LIBRARY, "reads zip files", name, &libzip, sizeof(libzip), err);
}

/* Takes ownership of fd.  The only file in the zip becomes t->entry. */
static int open_zip(struct import_text *t, int fd, const char *path, struct error *err)
{
	zip_int64_t all, wanted = -1;
	unsigned files = 0;
	int code = load_libzip(err);

	if (code) {
		close(fd);
		return code;
	}
	t->zip = libzip.fdopen(fd, 0, &code);
	if (!t->zip) {
		close(fd);
		return fail(err, -ENOEXEC, "'%s' begins like a zip file but cannot be read as one",
			    path);
	}
	all = libzip.get_num_entries(t->zip, 0);
	for (zip_int64_t i = 0; i < all; i++)
		if (!is_directory(t->zip, (zip_uint64_t)i)) {
			wanted = i;
			files++;
		}
	if (files != 1)
		return fail(
		    err, -ENOEXEC,
		    "'%s' is a zip with %u files; expected one: unpack it and name one of them",
		    path, files);
	t->entry = libzip.fopen_index(t->zip, (zip_uint64_t)wanted, 0);
	if (!t->entry)
		return fail(err, -ENOEXEC, "cannot unpack '%s': %s", path, libzip.strerror(t->zip));
	return 0;
}

static int open_gz(struct import_text *t, int fd)
{
	t->gz = gzdopen(fd, "rb");
	if (!t->gz)
		memory_out();
	return 0;
}

int import_text_open(struct import_text **out, const char *path, struct error *err)
{
	struct import_text *t = must_calloc(1, sizeof(*t));
	int fd, ret;

	*out = NULL;
	fd = open_regular(path, err);
	ret = fd < 0 ? fd : is_zip(fd) ? open_zip(t, fd, path, err) : open_gz(t, fd);
	if (ret) {
		import_text_close(t);
		return ret;
	}
	t->at = t->end = t->buffer;
	*out = t;
	return 0;
}

void import_text_close(struct import_text *t)
{
	if (!t)
		return;
	if (t->gz)
		gzclose(t->gz);
	if (t->entry)
		libzip.fclose(t->entry);
	if (t->zip)
		libzip.discard(t->zip);
	free(t);
}

/* ---- reading ---- */

static void stopped(struct import_text *t, const char *why)
{
	if (!t->why[0])
		strncpy(t->why, why, sizeof(t->why) - 1);
}

static void gz_stopped(struct import_text *t)
{
	int code;
	const char *why = gzerror(t->gz, &code);

	if (code == Z_ERRNO)
		why = strerror(errno);
	if (code != Z_OK)
		stopped(t, code == Z_BUF_ERROR ? "the compressed data are truncated" : why);
}

/* Fills the empty buffer; false at the end. */
static bool fill(struct import_text *t)
{
	zip_int64_t n;

	if (t->ended)
		return false;
	if (t->gz) {
		n = gzread(t->gz, t->buffer, BUFFER);
		if (n <= 0)
			gz_stopped(t);
	} else {
		n = libzip.fread(t->entry, t->buffer, BUFFER);
		if (n < 0)
			stopped(t, libzip.file_strerror(t->entry));
	}
	t->ended = n <= 0;
	t->at = t->buffer;
	t->end = t->buffer + (n > 0 ? n : 0);
	return !t->ended;
}

/* Returns the next line, and skips the rest of a line that is too long for t->line. */
static char *take_line(struct import_text *t, size_t *used)
{
	char *newline = NULL;

	for (*used = 0; !newline && (t->at < t->end || fill(t));) {
		size_t n = (size_t)(t->end - t->at), room = IMPORT_LINE_MAX - *used;

		newline = memchr(t->at, '\n', n);
		if (newline)
			n = (size_t)(newline - t->at);
		memcpy(t->line + *used, t->at, n < room ? n : room);
		*used += n < room ? n : room;
		t->at += n + (newline != NULL);
	}
	return newline;
}

const char *import_text_line(struct import_text *t)
{
	size_t used;

	if (t->at == t->end && !fill(t))
		return NULL;
	t->open_line = !take_line(t, &used);
	if (used && t->line[used - 1] == '\r')
		used--;
	t->line[used] = 0;
	return t->line;
}

bool import_text_packed(const struct import_text *t)
{
	return !t->gz || !gzdirect(t->gz);
}

bool import_text_open_end(const struct import_text *t)
{
	return t->open_line;
}

const char *import_text_why(const struct import_text *t)
{
	return t->why[0] ? t->why : NULL;
}
