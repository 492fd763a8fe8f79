// SPDX-License-Identifier: LGPL-3.0-or-later
/* charts.c - see charts.h. */
#include "charts.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../util/alloc.h"
#include "../util/format.h"

#define WIDTH	     1000
#define HEIGHT	     110 /* of a plot */
#define HEIGHT_LEAST 40
#define MARGIN	     16
#define AXIS	     92 /* width of the labels at the left */
#define HEADER	     48 /* title and note */
#define ABOVE	     22 /* the title of a chart */
#define BELOW	     26 /* the labels of its axis, and the space to the next chart */
#define TICKS	     8
#define DAY	     86400.0 /* s */
#define GRID	     4
#define NANO	     1e9
#define SWATCH	     10

struct charts {
	const struct timeline *l;
	struct canvas canvas;
	size_t count;
	struct chart chart[CHARTS_MOST];
};

/* ---- what there is to show ---- */

/* Columns of TIMELINE_FIGURES; a mean is bytes divided by calls. */
enum { MEAN = TIMELINE_FIGURES };

static const struct {
	const char *title;
	bool bytes, rate;
	struct {
		const char *name;
		unsigned figure;
		uint8_t colour;
	} curve[CHART_CURVES];
} rows[] = {
	{ "Memory",
	  true,
	  false,
	  { { "live, as requested", TIMELINE_LIVE, COLOUR_REQUESTED },
	    { "resident", TIMELINE_RESIDENT, COLOUR_RESIDENT },
	    { "peak until then", TIMELINE_PEAK, COLOUR_OTHER } } },
	{ "Virtual memory", true, false, { { "", TIMELINE_VIRTUAL, COLOUR_OTHER } } },
	{ "Live blocks", false, false, { { "", TIMELINE_BLOCKS, COLOUR_REQUESTED } } },
	{ "Blocks allocated a second", false, true, { { "", TIMELINE_CALLS, COLOUR_USABLE } } },
	{ "Bytes allocated a second", true, true, { { "", TIMELINE_BYTES, COLOUR_USABLE } } },
	{ "Mean size of a block", true, false, { { "", MEAN, COLOUR_USABLE } } },
};
#define ROWS (sizeof(rows) / sizeof(*rows))
_Static_assert(ROWS + 3 <= CHARTS_MOST, "room for the charts of sizes");

static double value_of(const struct timeline_point *p, size_t row, size_t curve)
{
	const unsigned figure = rows[row].curve[curve].figure;

	if (figure == MEAN)
		return p->figure[TIMELINE_CALLS] > 0
			   ? p->figure[TIMELINE_BYTES] / p->figure[TIMELINE_CALLS]
			   : NAN;
	if (!rows[row].rate)
		return p->figure[figure];
	return p->to > p->from ? p->figure[figure] / (p->to - p->from) : NAN;
}

static void add_curves(struct charts *c, size_t row)
{
	struct chart *x = &c->chart[c->count];

	*x = (struct chart){ .kind = CHART_OVER_TIME,
			     .title = rows[row].title,
			     .bytes = rows[row].bytes };
	for (size_t i = 0; i < CHART_CURVES && rows[row].curve[i].name; i++) {
		struct chart_curve *curve = &x->curve[i];

		*curve = (struct chart_curve){ .name = rows[row].curve[i].name,
					       .colour = rows[row].curve[i].colour,
					       .most = NAN,
					       .last = NAN };
		for (size_t k = 0; k < c->l->count; k++) {
			const double v = value_of(&c->l->point[k], row, i);

			curve->most = fmax(curve->most, v);
			curve->last = isnan(v) ? curve->last : v;
		}
		x->curves = i + 1;
		x->top = fmax(x->top, curve->most);
	}
	c->count += x->top > 0;
}

static double most_of(const uint64_t *bins, struct chart *x)
{
	uint64_t most = 0;

	for (unsigned i = 0; i < TIMELINE_BINS; i++) {
		if (!bins[i])
			continue;
		most = bins[i] > most ? bins[i] : most;
		x->first = i < x->first ? i : x->first;
		x->last = i > x->last ? i : x->last;
	}
	return (double)most;
}

static double sum_of(const uint64_t *bins)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < TIMELINE_BINS; i++)
		sum += bins[i];
	return (double)sum;
}

static void add_sizes(struct charts *c)
{
	const struct timeline *l = c->l;
	struct chart *x = &c->chart[c->count];

	*x = (struct chart){ .kind = CHART_BY_SIZE,
			     .title =
				 l->of_all ? "Blocks by size, of all processes" : "Blocks by size",
			     .first = TIMELINE_BINS,
			     .curves = 2 };
	x->curve[0] = (struct chart_curve){ "allocated", COLOUR_USABLE, most_of(l->sizes, x),
					    sum_of(l->sizes) };
	x->curve[1] = (struct chart_curve){ "live at the end", COLOUR_REQUESTED,
					    most_of(l->live_sizes, x), sum_of(l->live_sizes) };
	x->top = fmax(x->curve[0].most, x->curve[1].most);
	c->count += x->top > 0;
}

static const uint64_t *bins_of(const struct timeline_point *p, bool live)
{
	return live ? p->live_sizes : p->sizes;
}

static void add_sizes_over_time(struct charts *c, bool live)
{
	const struct timeline *l = c->l;
	struct chart *x = &c->chart[c->count];

	*x = (struct chart){ .kind = CHART_SIZES_TIME,
			     .title = live ? "Live blocks by size" : "Blocks allocated by size",
			     .first = TIMELINE_BINS,
			     .curves = 1 };
	for (size_t i = 0; i < l->count; i++) {
		x->top = fmax(x->top, most_of(bins_of(&l->point[i], live), x));
		x->curve[0].last = sum_of(bins_of(&l->point[i], live));
	}
	x->curve[0].name = live ? "live" : "allocated";
	x->curve[0].most = x->top;
	x->curve[0].colour = COLOUR_FULL + FULL_LEVELS - 1;
	c->count += x->top > 0;
}

static void choose(struct charts *c)
{
	for (size_t i = 0; i < ROWS; i++)
		add_curves(c, i);
	add_sizes(c);
	if (!c->l->binned)
		return;
	add_sizes_over_time(c, false);
	add_sizes_over_time(c, true);
}

/* ---- scales ---- */

static double first_second(const struct charts *c)
{
	return c->l->point[0].from;
}

static double seconds_of(const struct charts *c)
{
	return c->l->point[c->l->count - 1].to - first_second(c);
}

static double x_of(const struct charts *c, const struct chart *x, double second)
{
	const double all = seconds_of(c);

	return x->x + (all > 0 ? (second - first_second(c)) / all : 0) * x->width;
}

/* Returns the height of a value as a part of the plot: for bars, half a decade below 1 is 0. */
static double part_of(const struct chart *x, double v)
{
	if (x->kind == CHART_OVER_TIME)
		return v / x->top;
	return v < 1 ? 0 : (log10(v) + 0.5) / (log10(x->top) + 0.5);
}

static double y_of(const struct chart *x, double v)
{
	return x->y + x->height - part_of(x, v) * (x->height - 4);
}

/* Returns a round number that is at least a GRID-th of the maximum. */
static double step_of(double most, bool bytes, unsigned parts)
{
	static const double round[] = { 1, 2, 5, 10 };
	const double least = fmax(most / parts, bytes ? 1 : 1e-9);
	double unit = bytes ? exp2(floor(log2(least))) : pow(10, floor(log10(least)));

	if (bytes)
		return unit < least ? 2 * unit : unit;
	for (size_t i = 0; i < 4; i++)
		if (round[i] * unit >= least * (1 - 1e-9))
			return round[i] * unit;
	return 10 * unit;
}

/* The same for seconds: from a quarter of a minute to a day, what clocks show. */
static double step_of_time(double most, unsigned parts)
{
	static const double round[] = { 15,   30,   60,	  120,	 300,	600,   900,
					1800, 3600, 7200, 10800, 21600, 43200, DAY };
	const double least = most / parts;

	for (size_t i = 0; least > 10 && i < sizeof(round) / sizeof(round[0]); i++)
		if (round[i] >= least)
			return round[i];
	return least > 10 ? DAY * step_of(most / DAY, false, parts) : step_of(most, false, parts);
}

/* "2 min", not "2 min 0 s". */
static struct text time_text(double seconds)
{
	struct text t = format_ns((uint64_t)llround(seconds * NANO));
	const size_t n = strlen(t.s);

	if (n > 4 && !strcmp(t.s + n - 4, " 0 s"))
		t.s[n - 4] = '\0';
	if (n > 6 && !strcmp(t.s + n - 6, " 0 min"))
		t.s[n - 6] = '\0';
	return t;
}

static struct text value_text(const struct chart *x, double v)
{
	return x->bytes ? format_bytes((uint64_t)llround(v)) : format_count((uint64_t)llround(v));
}

static struct text size_text(unsigned bin)
{
	return format_bytes(bin ? UINT64_C(1) << (bin - 1) : 0);
}

/* ---- drawing ---- */

static void draw_grid(struct charts *c, const struct chart *x)
{
	const bool bars = x->kind == CHART_BY_SIZE;
	double step =
	    bars ? pow(10, ceil(fmax(log10(x->top), 1) / GRID)) : step_of(x->top, x->bytes, GRID);
	double v;

	if (!bars && !x->bytes)
		step = fmax(step, 1);
	for (v = bars ? 1 : step; v <= x->top; v = bars ? v * step : v + step) {
		const int y = (int)y_of(x, v);

		canvas_fill(&c->canvas, x->x, y, x->width, 1, COLOUR_GRID);
		canvas_axis_text(&c->canvas, x->x - 6, y - 7, value_text(x, v).s);
	}
	canvas_fill(&c->canvas, x->x, x->y + x->height, x->width, 1, COLOUR_OTHER);
}

/* Puts a label below the plot, if there is room: *right is where the last one ends. */
static void put_below(struct charts *c, const struct chart *x, int left, const char *text,
		      int *right)
{
	if (left > *right)
		*right = 8 + canvas_text(&c->canvas, FONT_SMALL, left, x->y + x->height + 4,
					 COLOUR_MUTED, text);
}

static void draw_times(struct charts *c, const struct chart *x)
{
	const double end = first_second(c) + seconds_of(c),
		     step = step_of_time(seconds_of(c), TICKS);
	int right = 0;

	for (double s = ceil(first_second(c) / step) * step; s <= end; s += step) {
		const struct text label = time_text(s);
		const char *text = s > 0 ? label.s : "0";
		const int at = (int)x_of(c, x, s), width = font_width(FONT_SMALL, text);
		const int left = at + width > c->canvas.width ? c->canvas.width - width : at;

		canvas_fill(&c->canvas, at, x->y + x->height, 1, 4, COLOUR_OTHER);
		put_below(c, x, left, text, &right);
	}
}

/* Draws lines between figures that are known at the ends of points only. */
static void draw_line(struct charts *c, const struct chart *x, size_t row, size_t i)
{
	for (size_t k = 1; k < c->l->count; k++) {
		const struct timeline_point *p = &c->l->point[k];
		const double was = value_of(p - 1, row, i), is = value_of(p, row, i);

		if (!isnan(was) && !isnan(is))
			canvas_line(&c->canvas, x_of(c, x, p[-1].to), y_of(x, was),
				    x_of(c, x, p->to), y_of(x, is), 1.5, x->curve[i].colour);
	}
}

/* Draws stairs: a figure holds from one point to the next. */
static void draw_curve(struct charts *c, const struct chart *x, size_t row, size_t i)
{
	const uint8_t colour = x->curve[i].colour;
	double before = NAN;

	for (size_t k = 0; k < c->l->count; k++) {
		const struct timeline_point *p = &c->l->point[k];
		const double v = value_of(p, row, i), y = y_of(x, v);
		const double left = x_of(c, x, p->from), right = x_of(c, x, p->to);

		if (!isnan(v) && !isnan(before))
			canvas_line(&c->canvas, left, before, left, y, 1.5, colour);
		if (!isnan(v))
			canvas_line(&c->canvas, left, y, right, y, 1.5, colour);
		before = isnan(v) ? NAN : y;
	}
}

static void draw_bars(struct charts *c, const struct chart *x)
{
	const unsigned bins = x->last - x->first + 1;
	const uint64_t *const sum[] = { c->l->sizes, c->l->live_sizes };
	int right = 0;

	for (unsigned i = 0; i < bins; i++) {
		const int left = x->x + (int)((unsigned)x->width * i / bins);
		const int next = x->x + (int)((unsigned)x->width * (i + 1) / bins);
		const int half = (next - left - 2) / 2 > 0 ? (next - left - 2) / 2 : 1;

		for (int k = 0; k < 2; k++) {
			const int y = (int)y_of(x, (double)sum[k][x->first + i]);

			canvas_fill(&c->canvas, left + 1 + k * half, y, half, x->y + x->height - y,
				    x->curve[k].colour);
		}
		put_below(c, x, left, size_text(x->first + i).s, &right);
	}
}

static uint8_t map_colour(const struct chart *x, uint64_t n)
{
	const double level = log1p((double)n) / log1p(x->top) * (FULL_LEVELS - 1);

	return n ? (uint8_t)(COLOUR_FULL + lround(level)) : COLOUR_MAP;
}

static void draw_map(struct charts *c, const struct chart *x, bool live)
{
	const unsigned bins = x->last - x->first + 1;
	int above = x->y + x->height + font_height(FONT_SMALL);

	for (unsigned i = 0; i < bins; i++) {
		const int low = x->y + x->height - (int)((unsigned)x->height * i / bins);
		const int high = x->y + x->height - (int)((unsigned)x->height * (i + 1) / bins);

		for (size_t k = 0; k < c->l->count; k++) {
			const struct timeline_point *p = &c->l->point[k];
			const int left = (int)x_of(c, x, p->from);
			const int width = (int)x_of(c, x, p->to) - left;

			canvas_fill(&c->canvas, left, high, width > 0 ? width : 1, low - high,
				    map_colour(x, bins_of(p, live)[x->first + i]));
		}
		if (above - low < font_height(FONT_SMALL))
			continue;
		above = low;
		canvas_axis_text(&c->canvas, x->x - 6, low - font_height(FONT_SMALL),
				 size_text(x->first + i).s);
	}
	canvas_fill(&c->canvas, x->x, x->y + x->height, x->width, 1, COLOUR_OTHER);
}

/* Draws its title, and the names of its curves or the meaning of its colours. */
static void draw_caption(struct charts *c, const struct chart *x)
{
	const int y = x->y - ABOVE + 2;
	int at = canvas_text(&c->canvas, FONT_STRONG, MARGIN, y, COLOUR_INK, x->title) + 14;
	char text[96];

	for (size_t i = 0; i < x->curves; i++) {
		if (isnan(x->curve[i].most) || (!*x->curve[i].name))
			continue;
		if (x->kind == CHART_SIZES_TIME)
			snprintf(text, sizeof(text), "from blue for 1 to red for %s",
				 value_text(x, x->curve[i].most).s);
		else
			snprintf(text, sizeof(text), "%s: at most %s", x->curve[i].name,
				 value_text(x, x->curve[i].most).s);
		canvas_fill(&c->canvas, at, y + 3, SWATCH, SWATCH, x->curve[i].colour);
		at = canvas_text(&c->canvas, FONT_SMALL, at + SWATCH + 6, y + 1, COLOUR_INK, text) +
		     16;
	}
	if (x->curves == 1 && !*x->curve[0].name) {
		snprintf(text, sizeof(text), "at most %s", value_text(x, x->curve[0].most).s);
		canvas_text(&c->canvas, FONT_SMALL, at, y + 1, COLOUR_INK, text);
	}
}

static void draw_chart(struct charts *c, const struct chart *x)
{
	size_t row = 0;

	draw_caption(c, x);
	if (x->kind != CHART_SIZES_TIME)
		draw_grid(c, x);
	if (x->kind == CHART_BY_SIZE)
		draw_bars(c, x);
	else
		draw_times(c, x);
	if (x->kind == CHART_SIZES_TIME)
		draw_map(c, x, x == &c->chart[c->count - 1]);
	if (x->kind != CHART_OVER_TIME)
		return;
	while (rows[row].title != x->title)
		row++;
	for (size_t i = 0; i < x->curves; i++)
		if (isnan(x->curve[i].most))
			continue;
		else if (c->l->instants && c->l->count > 1 && !rows[row].rate &&
			 rows[row].curve[i].figure != MEAN)
			draw_line(c, x, row, i);
		else
			draw_curve(c, x, row, i);
}

static void draw_header(struct charts *c, const char *title)
{
	const struct timeline *l = c->l;
	const int most = c->canvas.width - 2 * MARGIN;
	char text[160], process[32] = "";

	if (l->of_all)
		snprintf(process, sizeof(process), "process %u, ", l->process);
	snprintf(text, sizeof(text), "%sover %s%s", process,
		 format_ns((uint64_t)llround(seconds_of(c) * NANO)).s,
		 l->estimated ? "; live bytes and blocks are estimates from samples" : "");
	canvas_text_cut(&c->canvas, FONT_TITLE, MARGIN, MARGIN - 2, most, COLOUR_INK, title);
	canvas_text_cut(&c->canvas, FONT_BODY, MARGIN, MARGIN + 20, most, COLOUR_MUTED, text);
}

/* ---- making one ---- */

/* Places the plots; returns the height of the picture, or -1 if it is too low. */
static int arrange(struct charts *c, int width, int height)
{
	const int around = HEADER + MARGIN, n = (int)c->count;
	const int plot = height ? (height - around - MARGIN) / n - ABOVE - BELOW : HEIGHT;
	int y = around + ABOVE;

	for (size_t i = 0; i < c->count; i++, y += ABOVE + plot + BELOW) {
		c->chart[i].x = MARGIN + AXIS;
		c->chart[i].width = width - 2 * MARGIN - AXIS;
		c->chart[i].y = y;
		c->chart[i].height = plot;
	}
	if (plot < HEIGHT_LEAST)
		return -1;
	return height ? height : y - ABOVE + MARGIN;
}

int charts_new(struct charts **out, const struct charts_options *o, const struct timeline *l,
	       struct error *err)
{
	struct charts *c = must_calloc(1, sizeof(*c));
	const int width = o->width ? o->width : WIDTH;
	int height, ret = canvas_start(err);

	c->l = l;
	choose(c);
	if (!ret && !c->count)
		ret = fail(err, -ENODATA, "no block was allocated, so there is nothing to draw");
	height = c->count ? arrange(c, width, o->height) : -1;
	if (!ret && height < 0)
		ret = fail(err, -E2BIG, "%zu charts need a height of %d pixels or more", c->count,
			   HEADER + 2 * MARGIN + (int)c->count * (ABOVE + HEIGHT_LEAST + BELOW));
	if (!ret && canvas_new(&c->canvas, o->format, width, height) < 0)
		ret = fail(err, -EINVAL, "cannot draw a picture of %d by %d", width, height);
	if (ret < 0) {
		free(c);
		return ret;
	}
	canvas_theme(&c->canvas, o->theme);
	draw_header(c, o->title);
	for (size_t i = 0; i < c->count; i++)
		draw_chart(c, &c->chart[i]);
	*out = c;
	return 0;
}

void charts_free(struct charts *c)
{
	if (c)
		canvas_free(&c->canvas);
	free(c);
}

struct canvas *charts_canvas(struct charts *c)
{
	return &c->canvas;
}

size_t charts_list(const struct charts *c, const struct chart **list)
{
	*list = c->chart;
	return c->count;
}
