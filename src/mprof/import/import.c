// SPDX-License-Identifier: LGPL-3.0-or-later
/* import.c - which format a file has, and its lines one by one. */
#include "import.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "import_ops.h"
#include "import_text.h"

#define LOOK_AT 64u /* lines, to tell the format */

static const struct import_format formats[] = {
#define IMPORT_FORMAT(name, title, lines) { #name, title, lines },
#include "import.def"
#undef IMPORT_FORMAT
};

static const struct import_ops *const ops[] = {
#define IMPORT_FORMAT(name, title, lines) &import_##name,
#include "import.def"
#undef IMPORT_FORMAT
};

#define FORMATS (sizeof(formats) / sizeof(formats[0]))

const struct import_format *import_formats(size_t *n)
{
	*n = FORMATS;
	return formats;
}

/* ---- which ---- */

static bool is_blank(const char *line)
{
	return scan_end(&line);
}

/* Nothing but text has lines of ours. */
static bool is_text(const char *line)
{
	for (; *line; line++)
		if ((unsigned char)*line < ' ' && *line != '\t')
			return false;
	return true;
}

const struct import_format *import_recognise(const char *path)
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
	if (!found && import_text_packed(t))
		found = &formats[0];
	import_text_close(t);
	return found;
}

/* ---- what formats use ---- */

void import_call(struct importer *im, const struct compile_call *call)
{
	im->report->calls++;
	compile_call(im->to, call);
}

static char *next_remark(struct import_report *r)
{
	return r->remarks < IMPORT_REMARKS ? r->remark[r->remarks++] : NULL;
}

/* What ended it is told in any case. */
static void stopped_reading(struct importer *im, const char *why)
{
	struct import_report *r = im->report;

	if (r->remarks == IMPORT_REMARKS)
		r->remarks--;
	import_missing(im, 1, "behind line %" PRIu64 ": %s", im->number, why);
}

void import_missing(struct importer *im, uint64_t how_many, const char *format, ...)
{
	char *remark = next_remark(im->report);
	va_list ap;

	im->report->bad += how_many;
	if (!remark)
		return;
	va_start(ap, format);
	vsnprintf(remark, sizeof(im->report->remark[0]), format, ap);
	va_end(ap);
}

/* The beginning of the line, as far as it can be shown. */
static void bad_line(struct importer *im, const char *line, const char *right)
{
	char shown[64], *remark = next_remark(im->report);
	size_t n = 0;

	im->report->bad++;
	if (!remark)
		return;
	for (; *line && n < sizeof(shown) - 5; line++) {
		if (*line == '\t')
			shown[n++] = '\\';
		shown[n++] = *line == '\t' ? 't' : *line >= ' ' && *line < 0x7f ? *line : '?';
	}
	strcpy(shown + n, *line ? "..." : "");
	snprintf(remark, sizeof(im->report->remark[0]), "line %" PRIu64 ": '%s' should be %s",
		 im->number, shown, right);
}

static bool scan_one(const char **at, char what, struct compile_call *call, uint64_t *elements)
{
	switch (what) {
	case 'r':
		return scan_next(at, 16, &call->addr);
	case 'o':
		return scan_next(at, 16, &call->old);
	case 's':
		return scan_next(at, 10, &call->size);
	case 'n':
		return scan_next(at, 10, elements);
	default:
		return scan_next(at, 10, &call->align);
	}
}

bool scan_call(const char **at, const char *shape, struct compile_call *call)
{
	uint64_t elements = 1;

	for (; *shape; shape++)
		if (!scan_one(at, *shape, call, &elements))
			return false;
	if (__builtin_mul_overflow(call->size, elements, &call->size))
		call->size = UINT64_MAX;
	return true;
}

/* ---- the whole ---- */

static void take_lines(struct importer *im, const struct import_ops *op, struct import_text *text)
{
	const char *line, *right = NULL;

	while (!im->failed && (line = import_text_line(text))) {
		im->number++;
		im->report->lines++;
		right = is_blank(line) ? NULL : op->take(im, line);
		if (right)
			bad_line(im, line, right);
	}
	if (op->finish)
		op->finish(im);
	if (import_text_why(text))
		stopped_reading(im, import_text_why(text));
	/* Half a line at the end is where somebody was interrupted; a whole one is as good as any.
	 */
	im->report->cut |= import_text_why(text) || (right && import_text_open_end(text));
}

static int feed(const char *path, const struct import_format *format, struct compile *to,
		struct import_text *text, struct import_report *report, struct error *err)
{
	const struct import_ops *op = ops[format - formats];
	struct importer im = { .to = to, .report = report };

	im.state = calloc(1, op->state_bytes + 1);
	if (!im.state)
		return fail(err, -ENOMEM, "no memory to read '%s'", path);
	take_lines(&im, op, text);
	if (op->release)
		op->release(&im);
	free(im.state);
	if (im.failed)
		return fail(err, -ENOMEM, "no memory to read '%s'", path);
	if (report->calls)
		return 0;
	return fail(err, -EBADMSG, "'%s' looks like %s but has no line that can be used%s%s", path,
		    format->title, report->remarks ? ": " : "",
		    report->remarks ? report->remark[0] : "");
}

/* Where it came from, when the caller does not say. */
static struct compile_options options_for(const char *path, const struct import_format *format,
					  const struct compile_options *o, char *source)
{
	struct compile_options with = *o;

	if (!with.source)
		with.source = source ? source : path;
	if (!with.input)
		with.input = format->name;
	with.sites = with.touch = false;
	with.run_id = NULL;
	return with;
}

int import_compile(const char *path, const struct import_format *format,
		   const struct compile_options *o, struct import_report *report,
		   struct mprof_play_summary *sum, struct error *err)
{
	char *source = realpath(path, NULL);
	struct compile_options with = options_for(path, format, o, source);
	struct import_report own, *r = report ? report : &own;
	struct import_text *text = NULL;
	struct compile *to = NULL;
	int ret = import_text_open(&text, path, err);

	memset(r, 0, sizeof(*r));
	if (!ret)
		ret = compile_new(&to, &with, err);
	if (!ret)
		ret = feed(path, format, to, text, r, err);
	import_text_close(text);
	free(source);
	if (ret) {
		if (to)
			compile_abandon(to);
		return ret;
	}
	compile_damage(to, 0, r->bad, r->cut);
	return compile_finish(to, sum, err);
}
