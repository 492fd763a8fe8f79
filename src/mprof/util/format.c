// SPDX-License-Identifier: LGPL-3.0-or-later
/* format.c - numbers as people read them. */
#include "format.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define LONG_NS UINT64_C(119500000000) /* longer times are shown in minutes */

struct text format_count(uint64_t n)
{
	char digits[24];
	struct text t;
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n), i, o = 0;

	for (i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			t.s[o++] = ',';
		t.s[o++] = digits[i];
	}
	t.s[o] = 0;
	return t;
}

struct text format_number(uint64_t n)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%" PRIu64, n);
	return t;
}

struct text format_address(uint64_t address)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%" PRIx64, address);
	return t;
}

struct text format_signed(int64_t n)
{
	struct text t = format_count(n < 0 ? -(uint64_t)n : (uint64_t)n);

	if (n < 0) {
		memmove(t.s + 1, t.s, strlen(t.s) + 1);
		t.s[0] = '-';
	}
	return t;
}

struct text format_bytes(uint64_t bytes)
{
	static const char *const unit[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double v = (double)bytes / 1024;
	struct text t;
	unsigned i = 0;

	if (bytes < 1024)
		return format_many(bytes, "byte", "bytes");
	for (; v >= 999.5 && i < 5; i++)
		v /= 1024;
	snprintf(t.s, sizeof(t.s), "%.*f %s", v < 99.95 ? 1 : 0, v, unit[i]);
	return t;
}

struct long_text format_exact(uint64_t bytes)
{
	struct long_text t;

	if (bytes < 10240)
		snprintf(t.s, sizeof(t.s), "%s byte%s", format_count(bytes).s,
			 bytes == 1 ? "" : "s");
	else
		snprintf(t.s, sizeof(t.s), "%s bytes (%s)", format_count(bytes).s,
			 format_bytes(bytes).s);
	return t;
}

/* Formats two minutes or more. */
static struct text long_time(uint64_t s)
{
	struct text t;

	if (s < 7200)
		snprintf(t.s, sizeof(t.s), "%" PRIu64 " min %" PRIu64 " s", s / 60, s % 60);
	else
		snprintf(t.s, sizeof(t.s), "%.30s h %" PRIu64 " min",
			 format_count((s + 30) / 3600).s, (s + 30) / 60 % 60);
	return t;
}

struct text format_ns(uint64_t ns)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" } };
	struct text t;
	unsigned i;
	double v;

	if (ns >= LONG_NS)
		return long_time((ns + 500000000) / 1000000000);
	for (i = 0; i < 3; i++) {
		v = (double)ns / units[i].ns;
		if (v < 0.9995)
			continue;
		snprintf(t.s, sizeof(t.s), "%.*f %s",
			 v < 9.995   ? 2
			 : v < 99.95 ? 1
				     : 0,
			 v, units[i].unit);
		return t;
	}
	snprintf(t.s, sizeof(t.s), "%" PRIu64 " ns", ns);
	return t;
}

struct text format_date(int64_t real_ns)
{
	const time_t seconds = real_ns / 1000000000;
	struct text t;
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(t.s, sizeof(t.s), "%Y-%m-%d %H:%M:%SZ", &tm))
		snprintf(t.s, sizeof(t.s), "unknown");
	return t;
}

struct text format_since(int64_t ns)
{
	return format_ns(ns > 0 ? (uint64_t)ns : 0);
}

struct text format_percent(uint64_t part, uint64_t of)
{
	double p = of ? 100.0 * (double)part / (double)of : 0;
	struct text t;

	if (!of)
		snprintf(t.s, sizeof(t.s), "-");
	else if (part && p < 1)
		snprintf(t.s, sizeof(t.s), "<1 %%");
	else if (part < of && p > 99)
		snprintf(t.s, sizeof(t.s), ">99 %%");
	else if (p < 999.5)
		snprintf(t.s, sizeof(t.s), "%.0f %%", p);
	else
		snprintf(t.s, sizeof(t.s), "%.58s %%",
			 format_count(p < 1e18 ? (uint64_t)(p + 0.5) : UINT64_MAX).s);
	return t;
}

struct text format_mean(uint64_t sum, uint64_t n)
{
	const uint64_t tenths = n ? (uint64_t)((double)sum * 10 / (double)n + 0.5) : 0;
	struct text t;

	snprintf(t.s, sizeof(t.s), "%.40s.%u", format_count(tenths / 10).s,
		 (unsigned)(tenths % 10));
	return t;
}

struct text format_ratio(double ratio)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%.2f", ratio);
	return t;
}

struct text format_many(uint64_t n, const char *one, const char *many)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%.30s %.30s", format_count(n).s, n == 1 ? one : many);
	return t;
}
