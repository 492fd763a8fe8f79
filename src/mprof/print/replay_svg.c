// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * replay_svg.c - curves of memory over the calls of a playback: resident bytes on each allocator,
 * and the program's live bytes.
 */
#include <math.h>

#include "../util/markup.h"
#include "replay_html.h"
#include "text.h"

enum { WIDTH = 1180, HEIGHT = 330, LEFT = 74, RIGHT = 8, TOP = 10, BOTTOM = 26, TICKS = 4 };

/* Returns the colours of films in the movie's player (src/web/player.ts). */
static const char *replay_colour(size_t i)
{
	static const char *const colour[] = {
		"#3b82f6", "#f97316", "#10b981", "#d946ef", "#eab308",
		"#06b6d4", "#ef4444", "#84cc16", "#8b5cf6", "#f472b6"
	};

	return colour[i % (sizeof(colour) / sizeof(*colour))];
}

struct axes {
	double calls, bytes; /* at the ends of the axes */
};

static double x_of(const struct axes *x, uint64_t op)
{
	return LEFT + (double)op / x->calls * (WIDTH - LEFT - RIGHT);
}

static double y_of(const struct axes *x, uint64_t bytes)
{
	return HEIGHT - BOTTOM - (double)bytes / x->bytes * (HEIGHT - TOP - BOTTOM);
}

/* Returns a round number of MiB or KiB, at least a quarter of the maximum. */
static double step_of(double most)
{
	const double least = most / TICKS, unit = exp2(10 * floor(log2(fmax(least, 1)) / 10));
	static const double round[] = { 1,  2,	3,  4,	5,   6,	  8,   10,  15,	 20,  25,  30,
					40, 50, 60, 80, 100, 150, 200, 250, 300, 400, 500, 1024 };
	size_t i = 0;

	while (round[i] < 1024 && round[i] * unit < least)
		i++;
	return round[i] * unit;
}

static struct axes axes_of(const struct replay_answer *a)
{
	struct axes x = { (double)a->plan->head->sum.calls + 1,
			  (double)a->plan->head->sum.peak_bytes };
	size_t i;

	for (i = 0; i < a->runs->n; i++)
		if (!a->runs->row[i].status)
			x.bytes = fmax(x.bytes, (double)runs_peak(&a->runs->row[i]));
	x.bytes = fmax(x.bytes, 1);
	return x;
}

static void put_grid(const struct axes *x, FILE *out)
{
	const double step = step_of(x->bytes);
	double b;

	for (b = 0; b <= x->bytes; b += step)
		fprintf(out,
			"<path d=\"M%d %.1fH%d\" class=\"rule\"/><text "
			"x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n",
			LEFT, y_of(x, (uint64_t)b), WIDTH - RIGHT, LEFT - 8,
			y_of(x, (uint64_t)b) + 4, format_bytes((uint64_t)b).s);
	fprintf(out,
		"<text x=\"%d\" y=\"%d\">0</text><text x=\"%d\" "
		"y=\"%d\" text-anchor=\"end\">%s</text>\n",
		LEFT, HEIGHT - 8, WIDTH - RIGHT, HEIGHT - 8,
		format_many((uint64_t)x->calls - 1, "call", "calls").s);
}

/* Puts the program's live bytes, which any heap has. */
static void put_live(const struct replay_answer *a, const struct axes *x, FILE *out)
{
	const struct memory *m = NULL;
	size_t i;

	for (i = 0; i < a->runs->n && a->heap && !m; i++)
		if (a->heap[i] && !a->heap[i]->status)
			m = &a->heap[i]->memory;
	if (!m || !m->points)
		return;
	fprintf(out, "<path class=\"area\" d=\"M%.1f %d", x_of(x, m->point[0].op), HEIGHT - BOTTOM);
	for (i = 0; i < m->points; i++)
		fprintf(out, "L%.1f %.1f", x_of(x, m->point[i].op), y_of(x, m->point[i].requested));
	fprintf(out, "L%.1f %dZ\"><title>requested and not freed</title></path>\n",
		x_of(x, m->point[m->points - 1].op), HEIGHT - BOTTOM);
}

static void put_curve(const struct runs_row *row, size_t i, const struct axes *x, FILE *out)
{
	size_t k;

	fprintf(out,
		"<path fill=\"none\" stroke=\"%s\" stroke-width=\"2\" "
		"stroke-linejoin=\"round\" d=\"M%d %.1f",
		replay_colour(i), LEFT, y_of(x, row->startup));
	for (k = 0; k < row->samples; k++)
		fprintf(out, "L%.1f %.1f", x_of(x, row->sample[k].op),
			y_of(x, row->sample[k].rss + row->startup));
	fputs("\"><title>", out);
	markup_text(row->variant->name, out);
	fputs("</title></path>\n", out);
}

void replay_svg(const struct replay_answer *a, FILE *out)
{
	const struct axes x = axes_of(a);
	size_t i;

	fprintf(out,
		"<div class=\"scroll\"><svg viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"Memory "
		"over the run\">\n",
		WIDTH, HEIGHT);
	put_live(a, &x, out);
	put_grid(&x, out);
	for (i = 0; i < a->runs->n; i++)
		if (!a->runs->row[i].status)
			put_curve(&a->runs->row[i], i, &x, out);
	fputs("</svg></div>\n<p>Lines: resident memory, in the colours of the table. Area: "
	      "requested by the program and not yet freed.</p>\n",
	      out);
}
