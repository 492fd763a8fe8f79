// SPDX-License-Identifier: LGPL-3.0-or-later
/* estimate.c - the accuracy of estimated figures. */
#include "estimate.h"

#include <math.h>

#define Z ESTIMATE_Z

/* Returns the share of the variance of all bytes for a part of them. */
static double part_of(const struct site_values *v, uint64_t figure)
{
	return v->bytes ? v->error.bytes * ((double)figure / (double)v->bytes) : 0;
}

/* Returns the smallest plausible mean of a Poisson count, given the greatest of n observations: see
 * estimate.h. */
static double mean_of_greatest(double greatest, uint64_t n)
{
	const double most = log((double)n / ((1 - 0.95) / 2));
	double low = 0, high = greatest, mean;

	for (unsigned i = 0; i < 60; i++) {
		mean = (low + high) / 2;
		if (mean - greatest + greatest * log(greatest / mean) > most)
			low = mean;
		else
			high = mean;
	}
	return low;
}

/* Returns the low end of the range of a peak; low: that of a single estimate. */
static double low_of_peak(double low, double peak, double variance, uint64_t samples)
{
	const double unit = peak > 0 ? variance / peak : 0;

	return unit > 0 ? fmin(low, unit * mean_of_greatest(peak / unit, samples)) : low;
}

bool estimate_range(const struct site_values *v, enum profile_value value, uint64_t figure,
		    struct estimate_range *range)
{
	const struct site_error *e = &v->error;
	double variance, w = e->heaviest_bytes, centre, half, low, high;

	if (!e->samples || (e->by_calls && value != VALUE_CALLS))
		return false;
	switch (value) {
	case VALUE_CALLS:
		variance = e->calls;
		w = e->heaviest_calls;
		break;
	case VALUE_TOTAL:
		variance = e->bytes;
		break;
	case VALUE_LIVE:
	case VALUE_LEAKED:
		variance = e->live_bytes;
		break;
	case VALUE_PEAK:
	case VALUE_LOCAL:
		variance = part_of(v, figure);
		break;
	default:
		return false;
	}
	centre = (double)figure + Z * Z * w / 2;
	half = Z * sqrt(variance + Z * Z * w * w / 4);
	low = centre - half;
	high = centre + half;
	if (value == VALUE_PEAK || value == VALUE_LOCAL)
		low = low_of_peak(low, (double)figure, variance, e->samples);
	range->low = low > 0 ? (uint64_t)low : 0;
	range->high = high < 0x1p63 ? (uint64_t)high : UINT64_MAX;
	return true;
}
