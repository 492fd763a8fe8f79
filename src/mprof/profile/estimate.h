/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * estimate.h - the accuracy of figures estimated from samples.
 *
 * A figure F is a sum of weights with variance V, of which one sample contributes up to w^2.  The
 * range is F + z^2 w/2 +- z sqrt(V + z^2 w^2/4), z = 1.96: the score interval of a Poisson count
 * (Wilson 1927, Garwood 1936) applied to weights.  In simulations it contains the true value in 95
 * of 100 cases, even with two samples, where F +- z sqrt(V) does in 86.
 *
 * Sampling one of N calls, whatever their size, may miss the largest blocks:
 * then only numbers of calls have a range. The relative variance of peaks is
 * assumed to be that of all bytes.
 *
 * A peak is the greatest of many estimates, one for each sample.  Its range begins at the mean
 * below which less than 2.5 % of runs have an estimate this great (Chernoff's bound for a Poisson
 * count, times the number of estimates).  If 4 of 3,500 samples are live then, that is a fiftieth
 * of it.
 */
#pragma once

#include "profile.h"

#define ESTIMATE_Z 1.96 /* the quantile for 95 of 100 */

struct estimate_range {
	uint64_t low, high;
};

/* Sets the 95 % range of the figure of v with this name.  False if it is exact, or if its range
 * is unknown. */
bool estimate_range(const struct site_values *v, enum profile_value value, uint64_t figure,
		    struct estimate_range *range);
