/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * spread.c - mean and standard deviation without keeping the figures.
 */
#include "spread.h"

/* Newton's method, so that libm is not needed for one root. */
static double root(double x)
{
	double r = x > 1 ? x : 1;
	int i;

	if (x <= 0)
		return 0;
	for (i = 0; i < 200 && r * r - x > 1e-12 * x; i++)
		r = (r + x / r) / 2;
	return r;
}

void spread_add(struct spread *s, double value)
{
	double from = value - s->mean;

	s->n++;
	s->mean += from / s->n;
	s->squares += from * (value - s->mean);
}

void spread_scale(struct spread *s, double factor)
{
	s->mean *= factor;
	s->squares *= factor * factor;
}

double spread_mean(const struct spread *s)
{
	return s->mean;
}

double spread_percent(const struct spread *s)
{
	if (s->n < 2 || s->mean <= 0)
		return 0;
	return 100 * root(s->squares / (s->n - 1)) / s->mean;
}
