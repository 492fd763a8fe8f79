/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* words.c - numbers as pictures say them. */
#include "words.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

struct words words_count(uint64_t n)
{
	struct words w = { "" };
	char digits[24];
	size_t length = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n), i, at = 0;

	for (i = 0; i < length; i++) {
		if (i && (length - i) % 3 == 0)
			w.s[at++] = ',';
		w.s[at++] = digits[i];
	}
	w.s[at] = 0;
	return w;
}

struct words words_bytes(uint64_t bytes)
{
	static const char *const unit[] = { "bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double value = (double)bytes;
	unsigned i = 0;
	struct words w;
	bool whole;

	for (; value >= 1000 && i < 6; i++)
		value /= 1024;
	whole = value == (double)(uint64_t)value;
	snprintf(w.s, sizeof(w.s), i && value < 99.95 && !whole ? "%.1f %s" : "%.0f %s", value,
		 unit[i]);
	return w;
}

struct words words_time(uint64_t ns)
{
	static const struct {
		uint64_t from;
		double by;
		const char *unit;
	} units[] = {
		{ 60000000000ull, 60e9, "min" },
		{ 1000000000, 1e9, "s" },
		{ 1000000, 1e6, "ms" },
		{ 1000, 1e3, "us" },
		{ 0, 1, "ns" },
	};
	unsigned i = 0;
	struct words w;
	double value;

	while (ns < units[i].from)
		i++;
	value = (double)ns / units[i].by;
	snprintf(w.s, sizeof(w.s), "%.*f %s",
		 units[i].by > 1 && value < 10	  ? 2
		 : units[i].by > 1 && value < 100 ? 1
						  : 0,
		 value, units[i].unit);
	return w;
}

struct words words_percent(uint64_t part, uint64_t of)
{
	struct words w = { "-" };

	if (part && (double)part < 0.005 * (double)of)
		return (struct words){ "< 1 %" };
	if (of)
		snprintf(w.s, sizeof(w.s), "%.0f %%", 100.0 * (double)part / (double)of);
	return w;
}
