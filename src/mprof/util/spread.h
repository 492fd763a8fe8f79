/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * spread.h - mean and standard deviation of a few figures (Welford).
 */
#pragma once

struct spread {
	unsigned n;
	double mean, squares; /* sum of squared distances from the mean */
};

void spread_add(struct spread *s, double value);
void spread_scale(struct spread *s, double factor);
double spread_mean(const struct spread *s);
/* Sample standard deviation in percent of the mean; 0 for fewer than two figures. */
double spread_percent(const struct spread *s);
