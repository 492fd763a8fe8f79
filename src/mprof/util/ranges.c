// SPDX-License-Identifier: LGPL-3.0-or-later
/* ranges.c - sizes, times, and ranges of them. */
#include "ranges.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct unit {
	const char *name;
	double factor;
};

static const struct unit sizes[] = {
	{ "", 1 },	   { "B", 1 },	      { "K", 0x1p10 },	 { "KB", 0x1p10 },
	{ "KiB", 0x1p10 }, { "M", 0x1p20 },   { "MB", 0x1p20 },	 { "MiB", 0x1p20 },
	{ "G", 0x1p30 },   { "GB", 0x1p30 },  { "GiB", 0x1p30 }, { "T", 0x1p40 },
	{ "TB", 0x1p40 },  { "TiB", 0x1p40 }, { NULL, 0 },
};

static const struct unit times[] = {
	{ "", 1e9 },  { "ns", 1 },     { "us", 1e3 },	{ "ms", 1e6 },
	{ "s", 1e9 }, { "min", 6e10 }, { "h", 3.6e12 }, { NULL, 0 },
};

/* Parses n characters of text, which are a number and a unit. */
static int parse(const char *text, size_t n, const struct unit *unit, uint64_t *value)
{
	char copy[64], *end;
	double v;

	if (!n || n >= sizeof(copy) || (!isdigit((unsigned char)*text) && *text != '.'))
		return -EINVAL;
	memcpy(copy, text, n);
	copy[n] = 0;
	/* No user means hexadecimal numbers, "inf" and the like. */
	v = strtod(copy, &end);
	if (end == copy || strpbrk(copy, "xXeE"))
		return -EINVAL;
	while (*end == ' ')
		end++;
	for (; unit->name && strcasecmp(unit->name, end); unit++)
		;
	if (!unit->name || v * unit->factor >= 0x1p63)
		return -EINVAL;
	*value = (uint64_t)(v * unit->factor + 0.5);
	return 0;
}

int parse_whole(const char *text, uint64_t least, uint64_t most, uint64_t *n)
{
	unsigned long long value;

	if (!*text || text[strspn(text, "0123456789")])
		return -EINVAL;
	errno = 0;
	value = strtoull(text, NULL, 10);
	if (errno || value < least || value > most)
		return -EINVAL;
	*n = value;
	return 0;
}

int parse_fraction(const char *text, const char *suffix, double *value)
{
	const size_t n = strspn(text, "0123456789.");
	char *end;
	double v;

	if (!strpbrk(text, "0123456789") || (text[n] && strcmp(text + n, suffix)))
		return -EINVAL;
	v = strtod(text, &end);
	if (end != text + n)
		return -EINVAL;
	*value = v;
	return 0;
}

int parse_size(const char *text, uint64_t *bytes)
{
	return parse(text, strlen(text), sizes, bytes);
}

int parse_time(const char *text, uint64_t *ns)
{
	return parse(text, strlen(text), times, ns);
}

static int parse_range(const char *text, const struct unit *unit, uint64_t *least, uint64_t *most)
{
	const char *dots = strstr(text, ".."), *behind;
	uint64_t a = 0, b = UINT64_MAX;

	if (!dots) {
		if (parse(text, strlen(text), unit, &a))
			return -EINVAL;
		b = a;
	} else {
		behind = dots + 2;
		if ((dots == text && !*behind) ||
		    (dots != text && parse(text, (size_t)(dots - text), unit, &a)) ||
		    (*behind && parse(behind, strlen(behind), unit, &b)) || a > b)
			return -EINVAL;
	}
	*least = a;
	*most = b;
	return 0;
}

int parse_sizes(const char *text, uint64_t *least, uint64_t *most)
{
	return parse_range(text, sizes, least, most);
}

int parse_times(const char *text, uint64_t *least, uint64_t *most)
{
	return parse_range(text, times, least, most);
}
