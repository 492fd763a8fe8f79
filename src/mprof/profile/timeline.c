// SPDX-License-Identifier: LGPL-3.0-or-later
/* timeline.c - see timeline.h. */
#include "timeline.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../pass/course.h"
#include "../pass/site_totals.h"
#include "../util/alloc.h"
#include "../util/file_head.h"
#include "../util/order.h"
#include "../util/text_lines.h"

/* ---- a profile ---- */

static double known(uint64_t n)
{
	return n ? (double)n : NAN;
}

static struct timeline_point point_of(const struct course_step *s, bool estimated)
{
	return (struct timeline_point){
		.from = (double)s->from_ns / 1e9,
		.to = (double)s->to_ns / 1e9,
		.figure = { [TIMELINE_LIVE] = (double)s->live_bytes,
			    [TIMELINE_PEAK] = NAN,
			    [TIMELINE_RESIDENT] = known(s->resident),
			    [TIMELINE_VIRTUAL] = known(s->mapped),
			    [TIMELINE_BLOCKS] = (double)s->live_calls,
			    [TIMELINE_CALLS] = estimated ? NAN : (double)s->calls,
			    [TIMELINE_BYTES] = estimated ? NAN : (double)s->bytes },
	};
}

static bool has_several(const struct trace *t)
{
	const struct trace_totals *part;
	const size_t n = trace_totals(t, &part);

	return n && part[0].process != part[n - 1].process;
}

static void take_sizes(struct timeline *l, const struct trace *t)
{
	struct site_lanes lanes;

	site_lanes_read(&lanes, t);
	for (size_t i = 0; i < MPROF_SIZE_BINS; i++) {
		l->sizes[i] = lanes.sizes[i];
		if (lanes.sizes[i] > lanes.freed_sizes[i])
			l->live_sizes[i] = lanes.sizes[i] - lanes.freed_sizes[i];
	}
}

int timeline_of_profile(struct timeline *l, const struct trace *t, uint32_t process,
			struct error *err)
{
	struct course course;

	memset(l, 0, sizeof(*l));
	l->of_all = has_several(t);
	l->estimated = trace_is_sampled(t);
	course_read(&course, t, process);
	if (process && !course.process)
		return fail(err, -ESRCH,
			    "no process %" PRIu32 " in '%s'; mprof report names the processes",
			    process, trace_path(t));
	if (!course.count)
		return fail(err, -EBADMSG, "'%s' has no figures over time", trace_path(t));
	l->process = course.process;
	for (size_t i = 0; i < course.count; i++)
		l->point[l->count++] = point_of(&course.step[i], l->estimated);
	l->live = (double)course.live_bytes;
	l->blocks = (double)course.live_calls;
	take_sizes(l, t);
	return 0;
}

/* ---- a table ---- */

#define FIELDS 5 /* before the histograms */

struct table {
	struct timeline *l;
	unsigned each, last;   /* rows of each point; of the last one */
	double start, seconds; /* seconds before the figures began anew; those of the last row */
	double calls, bytes;   /* sums up to the last row */
	uint64_t sizes[TIMELINE_BINS];
};

struct row {
	double field[FIELDS];		 /* seconds, calls, bytes, live, peak */
	double blocks, resident, mapped; /* live blocks, and bytes; NAN: unknown */
	uint64_t sizes[TIMELINE_BINS], live_sizes[TIMELINE_BINS];
};

/* Joins two neighbours to one point. */
static void join(struct timeline_point *a, const struct timeline_point *b)
{
	double *x = a->figure;
	const double *y = b->figure;

	a->to = b->to;
	x[TIMELINE_LIVE] = fmax(x[TIMELINE_LIVE], y[TIMELINE_LIVE]);
	x[TIMELINE_PEAK] = y[TIMELINE_PEAK];
	x[TIMELINE_BLOCKS] = y[TIMELINE_BLOCKS];
	x[TIMELINE_CALLS] += y[TIMELINE_CALLS];
	x[TIMELINE_BYTES] += y[TIMELINE_BYTES];
	for (size_t i = 0; i < TIMELINE_BINS; i++)
		a->sizes[i] += b->sizes[i];
	memcpy(a->live_sizes, b->live_sizes, sizeof(a->live_sizes));
}

static void add_point(struct table *t, const struct timeline_point *p)
{
	struct timeline *l = t->l;

	if (l->count && t->last < t->each) {
		join(&l->point[l->count - 1], p);
		t->last++;
		return;
	}
	if (l->count == TIMELINE_POINTS) {
		for (size_t i = 0; i < TIMELINE_POINTS / 2; i++) {
			struct timeline_point two = l->point[2 * i];

			join(&two, &l->point[2 * i + 1]);
			l->point[i] = two;
		}
		l->count /= 2;
		t->each *= 2;
	}
	l->point[l->count++] = *p;
	t->last = 1;
}

static void add_row(struct table *t, const struct row *r)
{
	struct timeline *l = t->l;
	const double *f = r->field;
	struct timeline_point p = { .from = t->start + t->seconds };
	uint64_t blocks = 0;

	if (f[0] < t->seconds || f[1] < t->calls) {
		t->start += t->seconds;
		t->calls = t->bytes = 0;
		memset(t->sizes, 0, sizeof(t->sizes));
	}
	p.to = t->start + f[0];
	for (size_t i = 0; i < TIMELINE_BINS; i++) {
		p.sizes[i] = r->sizes[i] > t->sizes[i] ? r->sizes[i] - t->sizes[i] : 0;
		p.live_sizes[i] = r->live_sizes[i];
		l->sizes[i] += p.sizes[i];
		l->binned |= r->sizes[i] != 0;
		blocks += r->live_sizes[i];
	}
	memcpy(
	    p.figure,
	    (double[TIMELINE_FIGURES]){ [TIMELINE_LIVE] = f[3],
					[TIMELINE_PEAK] = f[4],
					[TIMELINE_RESIDENT] = r->resident,
					[TIMELINE_VIRTUAL] = r->mapped,
					[TIMELINE_BLOCKS] = !isnan(r->blocks) ? r->blocks
							    : l->binned	      ? (double)blocks
									      : NAN,
					[TIMELINE_CALLS] = f[1] - t->calls,
					[TIMELINE_BYTES] = f[2] < t->bytes ? 0 : f[2] - t->bytes },
	    sizeof(p.figure));
	add_point(t, &p);
	memcpy(l->live_sizes, r->live_sizes, sizeof(l->live_sizes));
	memcpy(t->sizes, r->sizes, sizeof(t->sizes));
	t->seconds = f[0];
	t->calls = f[1];
	t->bytes = f[2];
}

/* Reads numbers separated by commas.  NULL on anything else. */
static char *read_bins(char *s, uint64_t *to, char end)
{
	for (size_t i = 0; i < TIMELINE_BINS; i++) {
		if (*s < '0' || *s > '9')
			return NULL;
		to[i] = strtoull(s, &s, 10);
		if (*s++ != (i + 1 < TIMELINE_BINS ? ',' : end))
			return NULL;
	}
	return s;
}

static bool read_row(struct row *r, char *s)
{
	for (size_t i = 0; i < FIELDS; i++) {
		if (*s < '0' || *s > '9')
			return false;
		r->field[i] = strtod(s, &s);
		if (*s++ != '\t')
			return false;
	}
	r->blocks = r->resident = r->mapped = NAN;
	s = read_bins(s, r->sizes, '\t');
	return s && read_bins(s, r->live_sizes, '\n');
}

static bool are_titles(const char *line)
{
	return line && !strcmp(line, MPROF_STAT_TITLES "\n");
}

bool timeline_is_table(const char *path)
{
	char line[sizeof(MPROF_STAT_TITLES) + 1] = "";

	return file_head(path, line, sizeof(line) - 1) > 0 && are_titles(line);
}

/* Titles may occur again in concatenated tables.  The last line may be unfinished. */
static int take_line(void *table, char *line, struct error *err)
{
	struct row r;

	if (are_titles(line) || !strchr(line, '\n'))
		return 0;
	if (!read_row(&r, line))
		return fail(err, -EBADMSG,
			    "expected five numbers and two lists of %u numbers, separated by tabs",
			    TIMELINE_BINS);
	add_row(table, &r);
	return 0;
}

int timeline_of_table(struct timeline *l, const char *path, struct error *err)
{
	struct table t = { .l = l, .each = 1 };
	int ret;

	memset(l, 0, sizeof(*l));
	l->instants = true;
	ret = text_lines(path, take_line, &t, err);
	if (!ret && !l->count)
		ret = fail(err, -EBADMSG, "'%s' has titles and no figures", path);
	return ret;
}

/* ---- dumps ---- */

/* The time of the dump is that of the course's last step. */
static int read_dump(struct row *r, struct timeline *l, const struct trace *t, uint32_t process,
		     struct error *err)
{
	struct timeline *one = must_malloc(sizeof(*one));
	const int ret = timeline_of_profile(one, t, process, err);
	const struct timeline_point *last;

	*r = (struct row){ .field = { 0 } };
	if (ret < 0) {
		free(one);
		return ret;
	}
	last = &one->point[one->count - 1];
	for (size_t i = 0; i < one->count; i++) {
		r->field[1] += one->point[i].figure[TIMELINE_CALLS];
		r->field[2] += one->point[i].figure[TIMELINE_BYTES];
		r->field[4] = fmax(r->field[4], one->point[i].figure[TIMELINE_LIVE]);
	}
	r->field[0] = last->to;
	r->field[3] = one->live;
	r->blocks = one->blocks;
	r->resident = last->figure[TIMELINE_RESIDENT];
	r->mapped = last->figure[TIMELINE_VIRTUAL];
	memcpy(r->sizes, one->sizes, sizeof(one->sizes));
	memcpy(r->live_sizes, one->live_sizes, sizeof(one->live_sizes));
	l->process = one->process;
	l->of_all = one->of_all;
	l->estimated |= one->estimated;
	free(one);
	return 0;
}

ORDER(by_time, struct row, RISING(field[0]))

static int read_dumps(struct row *row, struct timeline *l, char *const *path, size_t n,
		      uint32_t process, struct error *err)
{
	uint8_t run[sizeof(trace_header(NULL)->run_id)];
	struct trace *t;
	int ret = 0;

	for (size_t i = 0; i < n && !ret; i++) {
		ret = trace_open(&t, path[i], MPROF_MAGIC_PROFILE, err);
		if (ret < 0)
			return ret;
		if (!i)
			memcpy(run, trace_header(t)->run_id, sizeof(run));
		ret = memcmp(run, trace_header(t)->run_id, sizeof(run))
			  ? fail(err, -EINVAL,
				 "'%s' is of another run than '%s'; dumps of one process can be "
				 "drawn together, mprof diff compares runs",
				 path[i], path[0])
			  : read_dump(&row[i], l, t, process ? process : l->process, err);
		trace_close(t);
	}
	return ret;
}

int timeline_of_dumps(struct timeline *l, char *const *path, size_t n, uint32_t process,
		      struct error *err)
{
	struct row *row = must_calloc(n, sizeof(*row));
	struct table t = { .l = l, .each = 1 };
	int ret;

	memset(l, 0, sizeof(*l));
	l->instants = true;
	ret = read_dumps(row, l, path, n, process, err);
	SORT(row, n, by_time);
	for (size_t i = 0; i < n && ret >= 0; i++)
		add_row(&t, &row[i]);
	free(row);
	return ret;
}
