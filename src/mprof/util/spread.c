/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* spread.c - mean and standard deviation without keeping the figures. */
#include "spread.h"

#include <math.h>

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
	return 100 * sqrt(s->squares / (s->n - 1)) / s->mean;
}
