/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* plain.c - stdout and stderr without control characters. */
#include "plain.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "fit.h"
#include "utf8.h"

#define LETTER_MOST 4 /* bytes */
#define BEGUN_MOST  8 /* bytes of a letter, or of a word of progress[], that is incomplete */
#define ROOM	    4096
#define ESCAPE_MOST 12 /* bytes that one step may put */

/* How our own progress lines begin and end. */
static const char *const progress[] = { "\rmprof: ", "\r\033[K", "\033[K" };

struct filter {
	int fd;
	bool progress;
	/* The beginning of a letter, or of a word of progress[], that the next write may
	 * complete. */
	unsigned char begun[BEGUN_MOST];
	size_t begun_n;
	char out[ROOM];
	size_t n;
	bool failed;	/* 1 if fitted lines could not be written */
	struct fit fit; /* its width is 0 if lines may have any width */
};

static FILE *raw;
static struct filter out_filter, err_filter;

static int put_out(struct filter *f)
{
	size_t done = 0;

	while (done < f->n) {
		ssize_t n = write(f->fd, f->out + done, f->n - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return -1;
		done += (size_t)n;
	}
	f->n = 0;
	return 0;
}

/* Writes fitted lines, which may be longer than the text. */
static void put_fitted(void *to, const char *s, size_t n)
{
	struct filter *f = to;
	size_t some;

	for (; n; s += some, n -= some) {
		if (f->n == ROOM && put_out(f)) {
			f->failed = true;
			f->n = 0;
		}
		some = n < ROOM - f->n ? n : ROOM - f->n;
		memcpy(f->out + f->n, s, some);
		f->n += some;
	}
}

/* Adds output.  Without fitting there is space: filter_some() sees to it. */
static void put(struct filter *f, const unsigned char *s, size_t n)
{
	if (f->fit.width) {
		fit_text(&f->fit, (const char *)s, n);
		return;
	}
	memcpy(f->out + f->n, s, n);
	f->n += n;
}

static void put_escaped(struct filter *f, unsigned char c)
{
	char text[ESCAPE_MOST];

	put(f, (const unsigned char *)text, (size_t)snprintf(text, sizeof(text), "\\x%02x", c));
}

/* How many bytes of plain ASCII there are. */
static size_t plain_bytes(const unsigned char *s, size_t n)
{
	size_t i = 0;

	while (i < n && ((s[i] >= ' ' && s[i] < 0x7f) || s[i] == '\n' || s[i] == '\t'))
		i++;
	return i;
}

/* Counts the bytes of the word of progress[] that begins at s, or that may when more comes; 0 if
 * none. */
static size_t progress_bytes(const unsigned char *s, size_t n, bool *whole)
{
	size_t i, most;

	for (i = 0; i < sizeof(progress) / sizeof(progress[0]); i++) {
		most = strlen(progress[i]);
		*whole = n >= most;
		if (!memcmp(s, progress[i], *whole ? most : n))
			return *whole ? most : n;
	}
	return 0;
}

static bool may_begin_letter(const unsigned char *s, size_t n)
{
	size_t want = s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2, i;

	for (i = 1; i < n; i++)
		if (s[i] >> 6 != 2)
			return false;
	return s[0] >= 0xc2 && s[0] <= 0xf4 && n < want;
}

/* Handles s, which is not plain ASCII; returns how many of its bytes are done, 0 if more must
 * come. */
static size_t step(struct filter *f, const unsigned char *s, size_t n)
{
	unsigned char letter[LETTER_MOST + 1] = { 0 };
	bool whole = true;
	size_t bytes = f->progress ? progress_bytes(s, n, &whole) : 0;

	if (!whole && bytes)
		return 0;
	if (!bytes) {
		if (may_begin_letter(s, n))
			return 0;
		memcpy(letter, s, n < LETTER_MOST ? n : LETTER_MOST);
		bytes = (size_t)utf8_at(letter);
		if (bytes == 1 || utf8_is_control(letter))
			bytes = 0;
	}
	if (!bytes) {
		put_escaped(f, *s);
		return 1;
	}
	put(f, s, bytes);
	return bytes;
}

/* Filters all but an incomplete letter at the end; returns how many bytes are done, -1 with
 * errno. */
static ssize_t filter_some(struct filter *f, const unsigned char *s, size_t n)
{
	size_t at = 0, more;

	while (at < n) {
		if (f->n > ROOM - ESCAPE_MOST && put_out(f))
			return -1;
		/* Take no more than there is space for: an answer of one line may have 100 MB. */
		more = n - at < ROOM - f->n ? n - at : ROOM - f->n;
		more = plain_bytes(s + at, more);
		put(f, s + at, more);
		at += more;
		if (at == n || f->n > ROOM - ESCAPE_MOST || plain_bytes(s + at, 1))
			continue;
		more = step(f, s + at, n - at);
		if (!more)
			break;
		at += more;
	}
	return put_out(f) || f->failed ? -1 : (ssize_t)at;
}

/* Completes a letter that began in the last write. */
static ssize_t complete(struct filter *f, const unsigned char *s, size_t n)
{
	unsigned char letter[2 * BEGUN_MOST];
	size_t had = f->begun_n, more = n < BEGUN_MOST ? n : BEGUN_MOST;
	ssize_t done;

	memcpy(letter, f->begun, had);
	memcpy(letter + had, s, more);
	f->begun_n = 0;
	done = filter_some(f, letter, had + more);
	if (done < 0)
		return -1;
	if ((size_t)done >= had)
		return done - (ssize_t)had;
	f->begun_n = had + more - (size_t)done; /* it is still incomplete */
	memcpy(f->begun, letter + done, f->begun_n);
	return (ssize_t)more;
}

static ssize_t on_write(void *cookie, const char *text, size_t n)
{
	const unsigned char *s = (const unsigned char *)text;
	struct filter *f = cookie;
	ssize_t done = 0, more;

	if (f->begun_n)
		done = complete(f, s, n);
	if (done < 0)
		return 0;
	more = filter_some(f, s + done, n - (size_t)done);
	if (more < 0)
		return 0;
	done += more;
	if ((size_t)done < n) {
		f->begun_n = n - (size_t)done;
		memcpy(f->begun, s + done, f->begun_n);
	}
	return (ssize_t)n;
}

static FILE *open_filter(struct filter *f, int fd, bool progress)
{
	*f = (struct filter){ .fd = fd, .progress = progress };
	return fopencookie(f, "w", (cookie_io_functions_t){ .write = on_write });
}

void plain_streams(void)
{
	FILE *new_out = open_filter(&out_filter, STDOUT_FILENO, false);
	FILE *new_err = open_filter(&err_filter, STDERR_FILENO, true);

	raw = stdout;
	if (!new_out || !new_err)
		return;
	setvbuf(new_out, NULL, isatty(STDOUT_FILENO) ? _IOLBF : _IOFBF, BUFSIZ);
	setvbuf(new_err, NULL, _IONBF, 0);
	stdout = new_out;
	stderr = new_err;
}

void plain_fit(unsigned width)
{
	if (fflush(stdout) || stdout == raw)
		return;
	if (!width)
		fit_end(&out_filter.fit);
	put_out(&out_filter);
	out_filter.fit = (struct fit){ .width = width, .put = put_fitted, .to = &out_filter };
}

void plain_escape(const char *sequence)
{
	if (fflush(stdout))
		return;
	if (out_filter.fit.width)
		fit_escape(&out_filter.fit, sequence);
	else
		put(&out_filter, (const unsigned char *)sequence, strlen(sequence));
	put_out(&out_filter);
}

FILE *plain_raw(void)
{
	fflush(stdout);
	if (out_filter.fit.width)
		plain_fit(0);
	return raw ? raw : stdout;
}

int plain_why(FILE *out)
{
	clearerr(out);
	errno = EIO;
	putc('\n', out);
	fflush(out);
	return -errno;
}
