// SPDX-License-Identifier: LGPL-3.0-or-later
/* import.c - recognises the format of a file and reads its lines. */
#include "import.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/file_head.h"
#include "import_ops.h"
#include "import_text.h"

#define LOOK_AT 64u /* lines, to recognise the format */

static const struct import_format formats[] = {
#define IMPORT_FORMAT(name, title) { #name, title },
#include "import.def"
#undef IMPORT_FORMAT
};

static const struct import_ops *const ops[] = {
#define IMPORT_FORMAT(name, title) &import_##name,
#include "import.def"
#undef IMPORT_FORMAT
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

/* ---- which ---- */

static bool is_blank(const char *line)
{
	return scan_end(&line);
}

/* Is it text, as all formats are? */
static bool is_text(const char *line)
{
	for (; *line; line++)
		if ((unsigned char)*line < ' ' && *line != '\t')
			return false;
	return true;
}

/*
 * Returns the format of a file; NULL if it is unknown, or cannot be read.  A compressed file that
 * is damaged has one in any case: import_open() tells what is wrong with it.
 */
static const struct import_format *recognise(const char *path)
{
	const struct import_format *found = NULL;
	struct import_text *t;
	const char *line;
	int ret = import_text_open(&t, path, NULL);

	if (ret)
		return ret == -ENOEXEC ? &formats[0] : NULL;
	for (unsigned n = 0; !found && n < LOOK_AT && (line = import_text_line(t)); n++) {
		if (is_blank(line))
			continue;
		if (!is_text(line))
			break;
		for (size_t i = 0; i < FORMATS && !found; i++)
			if (ops[i]->fits(line))
				found = &formats[i];
	}
	if (!found && import_text_packed(t) && import_text_why(t))
		found = &formats[0];
	import_text_close(t);
	return found;
}

/* ---- remarks ---- */

/* Reports what ended reading. */
static void stopped_reading(struct importer *im, const char *why)
{
	struct import_report *r = &im->report;

	if (r->remarks == IMPORT_REMARKS)
		r->remarks--;
	import_missing(im, 1, "after line %" PRIu64 ": %s", im->number, why);
}

/* Quotes the printable beginning of the line. */
static void bad_line(struct importer *im, const char *line, const char *right)
{
	char shown[64], *remark = import_remark(&im->report);
	size_t n = 0;

	im->report.bad++;
	if (!remark)
		return;
	for (; *line && n < sizeof(shown) - 5; line++) {
		if (*line == '\t')
			shown[n++] = '\\';
		shown[n++] = *line == '\t' ? 't' : *line >= ' ' && *line < 0x7f ? *line : '?';
	}
	strcpy(shown + n, *line ? "..." : "");
	snprintf(remark, sizeof(im->report.remark[0]), "line %" PRIu64 ": '%s' should be %s",
		 im->number, shown, right);
}

/* ---- the events ---- */

/* Called after the last line. */
static void end_of_file(struct importer *im, bool bad)
{
	const char *why = import_text_why(im->text);

	im->ended = true;
	if (im->op->finish)
		im->op->finish(im);
	if (why)
		stopped_reading(im, why);
	/* An invalid incomplete line at the end is where the writer was interrupted; a valid one
	 * counts. */
	im->report.cut |= why || (bad && import_text_open_end(im->text));
}

/* Reads lines until there are events, or to the end of the file. */
static void read_lines(struct importer *im)
{
	const char *line, *right = NULL;

	im->first = im->events = 0;
	while (!im->events && !im->ended) {
		line = import_text_line(im->text);
		if (!line) {
			end_of_file(im, im->last_bad);
			return;
		}
		im->number++;
		right = is_blank(line) ? NULL : im->op->take(im, line);
		im->last_bad = right != NULL;
		if (right)
			bad_line(im, line, right);
	}
}

static void release(struct importer *im)
{
	import_text_close(im->text);
	if (im->state && im->op->release)
		im->op->release(im);
	free(im->state);
	im->text = NULL;
	im->state = NULL;
}

static int begin(struct importer *im, const char *path, const struct import_format *format,
		 struct error *err)
{
	*im = (struct importer){ .op = ops[format - formats], .format = format, .path = im->path };
	im->state = must_calloc(1, im->op->state_bytes + 1);
	return import_text_open(&im->text, path, err);
}

static void begin_again(struct importer *im)
{
	release(im);
	if (begin(im, im->path, im->format, NULL)) {
		im->ended = true;
		import_missing(im, 1, "it cannot be reopened");
	}
}

static size_t next_events(void *self, struct event *events, size_t n, struct trace_damage *d)
{
	struct importer *im = self;
	size_t got = 0;

	if (im->rewound)
		begin_again(im);
	while (got < n) {
		if (im->first == im->events)
			read_lines(im);
		if (im->first == im->events)
			break;
		while (got < n && im->first < im->events)
			events[got++] = im->event[im->first++];
	}
	d->lines_bad = im->report.bad;
	d->lines_cut = im->report.cut;
	return got;
}

/* ---- opening ---- */

/* Makes the next reading start again; until then, results of the last one stay valid. */
static void rewind_events(void *self)
{
	((struct importer *)self)->rewound = true;
}

static void close_events(void *self)
{
	struct importer *im = self;

	release(im);
	free(im->path);
	free(im);
}

static int no_record(const struct importer *im, struct error *err)
{
	const struct import_report *r = &im->report;
	const char *why = import_text_why(im->text);

	if (why)
		return fail(err, -EBADMSG, "cannot read '%s': %s", im->path, why);
	return fail(err, -EBADMSG, "'%s' looks like %s but has no usable line%s%s", im->path,
		    im->format->title, r->remarks ? ": " : "", r->remarks ? r->remark[0] : "");
}

/* Opens a record.  The first event shows whether there are times; a file without events is not a
 * record. */
static int open_record(struct trace **out, const char *path, const struct import_format *format,
		       struct error *err)
{
	struct importer *im = must_calloc(1, sizeof(*im));
	int ret;

	im->path = must_strdup(path);
	ret = begin(im, path, format, err);
	if (!ret) {
		while (!im->report.calls && !im->ended)
			read_lines(im);
		if (!im->report.calls)
			ret = no_record(im, err);
	}
	if (ret) {
		close_events(im);
		return ret;
	}
	*out = trace_open_source(path, &(struct trace_source){ .self = im,
							       .format = format->name,
							       .timed = im->timed,
							       .next = next_events,
							       .rewind = rewind_events,
							       .close = close_events });
	return 0;
}

/* Do the first bytes belong to a file of mprof's?  Sets *more if there are enough of them to be
 * sure. */
static bool is_ours(const char *path, bool *more)
{
	char magic[5] = "";

	*more = file_head(path, magic, sizeof(magic)) == sizeof(magic);
	return *more && !memcmp(magic, MPROF_MAGIC_TRACE, sizeof(magic));
}

static bool is_program(const char *path)
{
	char head[4] = "";

	file_head(path, head, sizeof(head));
	return !memcmp(head, "\177ELF", 4) || !memcmp(head, "#!", 2);
}

/* Tells what can be read instead. */
static int not_known(const char *path, const struct error *why, int code, struct error *err)
{
	size_t i, used = 0;
	char names[256] = "";

	if (is_program(path))
		return fail(err, code,
			    "'%s' is a program or a library, not a recording of one; to make one: "
			    "mprof record -- PROGRAM",
			    path);
	for (i = 0; i < FORMATS && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s", i ? ", " : "",
					 formats[i].title);
	return fail(err, code, "%s; other records that can be read: %s", why->text, names);
}

int import_open(struct trace **out, const char *path, const char *kind_magic, struct error *err)
{
	bool more;
	const bool ours = is_ours(path, &more);
	const struct import_format *format = ours ? NULL : recognise(path);
	struct error why;
	int ret;

	if (format)
		return open_record(out, path, format, err);
	ret = trace_open(out, path, kind_magic, &why);
	if (ret)
		return more && !ours ? not_known(path, &why, ret, err)
				     : fail(err, ret, "%s", why.text);
	return 0;
}

static const struct importer *importer_of(const struct trace *t)
{
	return trace_source(t) ? trace_source(t)->self : NULL;
}

const struct import_report *import_report(const struct trace *t)
{
	const struct importer *im = importer_of(t);

	return im ? &im->report : NULL;
}

const char *import_title(const struct trace *t)
{
	const struct importer *im = importer_of(t);

	return im ? im->format->title : NULL;
}
