// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * movie_make.c - the films of a movie, and its page.
 *
 * Films are packed when the page is written: then their sites and sizes are known.
 */
#include "movie_make.h"

#include <stdlib.h>

#include "../util/markup.h"
#include "film.h"
#include "movie_pack.h"
#include "movie_sites.h"
#include "palette.h"
#include "../util/alloc.h"

/* movie_player.c: the bundle of src/web, made by esbuild while mprof is built. */
extern const char movie_player[], movie_player_end[];

struct movie_film {
	char *name;
	struct film *film;
	struct movie_packed packed;
};

struct movie {
	struct movie_options options;
	struct movie_film *film;
	size_t films;
	struct movie_sites sites;
};

/* ---- films ---- */

struct movie *movie_new(const struct movie_options *o)
{
	struct movie *m = must_calloc(1, sizeof(*m));

	m->options = *o;
	if (!m->options.limit)
		m->options.limit = MOVIE_LIMIT;
	if (m->options.fps <= 0)
		m->options.fps = 20;
	m->sites.names = o->names;
	return m;
}

void movie_drop(struct movie *m)
{
	struct movie_film *f;

	if (!m->films)
		return;
	f = &m->film[--m->films];
	film_free(f->film);
	free(f->name);
	movie_packed_release(&f->packed);
}

void movie_free(struct movie *m)
{
	if (!m)
		return;
	while (m->films)
		movie_drop(m);
	free(m->film);
	movie_sites_release(&m->sites);
	free(m);
}

void movie_add(struct movie *m, const char *name, struct place_sink *sink)
{
	struct film_options o = { .channels = FILM_ALL,
				  .units = m->options.units,
				  .page_bytes = m->options.only_page ? m->options.limit : 0 };
	struct movie_film *f;

	m->film = must_reallocarray(m->film, m->films + 1, sizeof(*f));
	f = &m->film[m->films++];
	*f = (struct movie_film){ .film = film_new(&o), .name = must_strdup(name) };
	*sink = (struct place_sink){ .ops = &film_ops, .self = f->film };
}

const struct movie_options *movie_options_of(const struct movie *m)
{
	return &m->options;
}

size_t movie_films(const struct movie *m)
{
	return m->films;
}

const struct film *movie_film(const struct movie *m, size_t i)
{
	return m->film[i].film;
}

const char *movie_film_name(const struct movie *m, size_t i)
{
	return m->film[i].name;
}

/* ---- JSON ---- */

static void write_packed(FILE *out, const char *name, const struct blob *b)
{
	fprintf(out, ",\"%s\":\"", name);
	blob_base64(b->data, b->used, out);
	putc('"', out);
}

static void write_text(FILE *out, const char *text)
{
	struct blob b = { .data = NULL };

	movie_string(&b, text);
	fwrite(b.data, 1, b.used, out);
	blob_release(&b);
}

static void write_string(FILE *out, const char *name, const char *text)
{
	fprintf(out, ",\"%s\":", name);
	write_text(out, text ? text : "");
}

static void write_spans(FILE *out, const struct film *f)
{
	size_t i;

	fputs(",\"spans\":[", out);
	for (i = 0; i < f->regions; i++)
		fprintf(out, "%s[\"%llx\",%zu]", i ? "," : "",
			(unsigned long long)f->region[i].addr,
			f->region[i].units * FILM_UNIT_PAGES);
	putc(']', out);
}

static void write_film(FILE *out, const struct movie_film *f, bool detail)
{
	const struct film *film = f->film;
	size_t i;

	fprintf(out,
		"{\"frames\":%zu,\"points\":%zu,\"pages\":%zu,\"changed\":%llu,\"residency\":%s,"
		"\"left_out\":%s",
		f->packed.frames, film->points, film->units * FILM_UNIT_PAGES,
		(unsigned long long)f->packed.changed, f->packed.residency ? "true" : "false",
		film->left_out ? "true" : "false");
	write_string(out, "name", f->name);
	write_spans(out, film);
	for (i = 0; i < (detail ? MOVIE_STREAMS : MOVIE_DETAIL); i++)
		write_packed(out, movie_stream_name[i], &f->packed.stream[i]);
	putc('}', out);
}

static void write_sites(FILE *out, const struct movie *m)
{
	struct blob b = { .data = NULL };

	movie_sites_write(&m->sites, &b);
	blob_deflate(&b);
	write_packed(out, "sites", &b);
	blob_release(&b);
}

static void write_threads(FILE *out, const struct movie *m)
{
	const struct thread_titles *t = &m->options.threads;

	fputs(",\"threads\":[", out);
	for (size_t i = 0; i < t->count; i++) {
		if (i)
			putc(',', out);
		write_text(out, t->of[i]);
	}
	putc(']', out);
}

/* Writes a ramp or a list: `count` colours, every step-th. */
static void write_ramp(FILE *out, const char *name, unsigned first, unsigned count, unsigned step)
{
	const uint8_t(*rgb)[3] = palette(THEME_LIGHT) + first;
	unsigned i;

	fprintf(out, "\"%s\":[", name);
	for (i = 0; i < count; i += step)
		fprintf(out, "%s\"#%02x%02x%02x\"", i ? "," : "", rgb[i][0], rgb[i][1], rgb[i][2]);
	putc(']', out);
}

/* Writes the colours of pictures. */
static void write_colours(FILE *out)
{
	static const struct {
		const char *name;
		unsigned first, count, step;
	} row[] = {
		{ "occupancy", COLOUR_FULL, FULL_LEVELS, 1 },
		{ "age", COLOUR_AGE, AGE_LEVELS, AGE_LEVELS / 8 },
		{ "size", COLOUR_SIZE, SIZE_CLASSES, 1 },
		{ "classes", COLOUR_HUE, HUES, 1 },
		{ "other", COLOUR_OTHER, 1, 1 },
		{ "retained", COLOUR_RETAINED, 1, 1 },
		{ "mapped", COLOUR_MAPPED, 1, 1 },
		{ "pin", COLOUR_PIN, 1, 1 },
	};
	unsigned i;

	fputs(",\"colours\":{", out);
	for (i = 0; i < sizeof(row) / sizeof(*row); i++) {
		if (i)
			putc(',', out);
		write_ramp(out, row[i].name, row[i].first, row[i].count, row[i].step);
	}
	fputs("},\"sizes\":[", out);
	for (i = 0; i + 1 < SIZE_CLASSES; i++)
		fprintf(out, "%s%llu", i ? "," : "", (unsigned long long)palette_size_most(i));
	putc(']', out);
}

static void write_head(FILE *out, const struct movie *m, const char *left_out)
{
	const struct movie_options *o = &m->options;
	const struct film *f = m->films ? m->film[0].film : NULL;

	fprintf(out,
		"{\"format\":1,\"ops\":%llu,\"ns\":%llu,\"begin_ns\":%lld,\"fps\":%g,\"by\":\"%s\"",
		f ? (unsigned long long)f->ops : 0, f ? (unsigned long long)f->ns : 0,
		f ? (long long)f->begin_ns : 0, o->fps, picture_by_name(o->by));
	if (f && f->peak_op != UINT64_MAX)
		fprintf(out, ",\"peak_op\":%llu,\"peak_bytes\":%llu",
			(unsigned long long)f->peak_op, (unsigned long long)f->peak_bytes);
	else
		fputs(",\"peak_op\":-1,\"peak_bytes\":0", out);
	write_string(out, "title", o->title);
	write_string(out, "note", o->note);
	write_string(out, "left_out", left_out);
	write_threads(out, m);
	write_colours(out);
}

/* ---- pages ---- */

/* What is left out of a page so that it fits the limit. */
struct fit {
	unsigned every; /* only each n-th frame is shown */
	bool detail;	/* does it contain age, size, thread, site and module? */
	size_t frames;	/* that there are */
};

#define FRAMES_LEAST 100 /* kept before detail is left out */

/* all: set to the bytes of the page's data; *needed: without detail. */
static int pack_all(struct movie *m, unsigned every, uint64_t *all, uint64_t *needed,
		    struct error *err)
{
	size_t i, s;
	int ret;

	*all = *needed = 0;
	for (i = 0; i < m->films; i++) {
		ret = film_ready(m->film[i].film, err);
		movie_packed_release(&m->film[i].packed);
		if (!ret)
			ret = movie_pack(&m->film[i].packed, m->film[i].film, every, movie_site,
					 &m->sites, err);
		if (ret < 0)
			return ret;
		for (s = 0; s < MOVIE_STREAMS; s++) {
			*all += m->film[i].packed.stream[s].used * 4 / 3;
			if (s < MOVIE_DETAIL)
				*needed += m->film[i].packed.stream[s].used * 4 / 3;
		}
	}
	return 0;
}

/* Once only the first frame, the peak and the end are shown, more makes no difference. */
static unsigned fewer(unsigned every, uint64_t by, size_t frames)
{
	const size_t most = frames / every + 1;

	return every * (unsigned)(by < most ? by : most);
}

/* First leaves out frames while there are many, then detail, then more frames. */
static int fit(struct movie *m, struct fit *f, struct error *err)
{
	uint64_t limit = m->options.limit, all, needed, size;
	size_t frames = m->films ? m->film[0].film->numbers : 0, i;
	unsigned least = 1; /* powers of two: the greatest is a multiple of the others */
	int ret;

	for (i = 0; i < m->films; i++)
		if (m->film[i].film->every > least)
			least = m->film[i].film->every;
	*f = (struct fit){ .every = least, .detail = true, .frames = frames };
	for (;;) {
		ret = pack_all(m, f->every, &all, &needed, err);
		if (ret < 0)
			return ret;
		size = f->detail ? all : needed;
		if (size <= limit || (f->every >= frames && !f->detail))
			return 0;
		if (f->detail && frames / ((size / limit + 1) * f->every) < FRAMES_LEAST) {
			f->detail = false;
			if (needed <= limit && f->every == least)
				return 0;
			f->every = fewer(least, needed / limit + 1, frames);
			continue;
		}
		/* Changes of the frames between become one change, so the size falls less than the
		 * number of frames. */
		f->every = fewer(f->every, size / limit + 1, frames);
	}
}

static void say_left_out(const struct fit *f, char *text, size_t room)
{
	int n;

	*text = '\0';
	if (f->detail && f->every == 1)
		return;
	n = snprintf(text, room, "To keep this page small, ");
	if (f->every > 1 && f->every >= f->frames)
		n += snprintf(text + n, room - (size_t)n,
			      "only the first frame, the peak and the last one are shown");
	else if (f->every > 1)
		n += snprintf(text + n, room - (size_t)n, "one frame in %u is shown", f->every);
	if (f->every > 1)
		n += snprintf(text + n, room - (size_t)n, f->detail ? "." : ", and ");
	if (!f->detail)
		snprintf(text + n, room - (size_t)n,
			 "age, size, thread and site of the blocks were left out.");
}

static void put_data(struct movie *m, FILE *out, bool detail, const char *left_out)
{
	size_t i;

	write_head(out, m, left_out);
	write_sites(out, m);
	fputs(",\"films\":[", out);
	for (i = 0; i < m->films; i++) {
		if (i)
			putc(',', out);
		write_film(out, &m->film[i], detail);
	}
	fputs("]}", out);
}

int movie_write_data(struct movie *m, FILE *out, struct error *err)
{
	struct fit f;
	char left_out[200];
	int ret = fit(m, &f, err);

	if (ret < 0)
		return ret;
	say_left_out(&f, left_out, sizeof(left_out));
	put_data(m, out, f.detail, left_out);
	return ret;
}

static int put_part(struct movie *m, FILE *out, struct error *err)
{
	int ret;

	fputs("<div class=\"mprof-movie\"><script type=\"application/json\">\n", out);
	ret = movie_write_data(m, out, err);
	if (ret < 0)
		return ret;
	fputs(
	    "\n</script><noscript>This movie of a heap is played by JavaScript.</noscript></div>\n",
	    out);
	return ret;
}

static void put_player(FILE *out)
{
	fputs("<script>\n", out);
	fwrite(movie_player, 1, (size_t)(movie_player_end - movie_player), out);
	fputs("</script>\n", out);
}

int movie_write_page(struct movie *m, FILE *out, struct error *err)
{
	int ret;

	fputs("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
	      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
	      "<meta name=\"generator\" content=\"mprof " MPROF_VERSION "\">\n"
	      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; "
	      "script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:\">\n"
	      "<link rel=\"icon\" href=\"data:,\">\n<title>",
	      out);
	markup_text(m->options.title ? m->options.title : "mprof movie", out);
	fputs("</title>\n<style>body { margin: 0; } .mprof-movie { min-height: 100vh; }</style>\n"
	      "</head>\n<body>\n",
	      out);
	ret = put_part(m, out, err);
	if (!ret)
		put_player(out);
	fputs("</body>\n</html>\n", out);
	return ret;
}
