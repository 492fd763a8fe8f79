// SPDX-License-Identifier: LGPL-3.0-or-later
/* text.c - numbers and words as a reader likes them. */
#include "text.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "../util/terminal.h"

struct text text_count(uint64_t n)
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

struct text text_signed(int64_t n)
{
	struct text t = text_count(n < 0 ? -(uint64_t)n : (uint64_t)n);

	if (n < 0) {
		memmove(t.s + 1, t.s, strlen(t.s) + 1);
		t.s[0] = '-';
	}
	return t;
}

struct text text_bytes(uint64_t bytes)
{
	static const char *const unit[] = { "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
	double v = (double)bytes / 1024;
	struct text t;
	unsigned i = 0;

	if (bytes < 1024) {
		snprintf(t.s, sizeof(t.s), "%" PRIu64 " byte%s", bytes, bytes == 1 ? "" : "s");
		return t;
	}
	for (; v >= 999.5 && i < 5; i++)
		v /= 1024;
	snprintf(t.s, sizeof(t.s), "%.*f %s", v < 99.95 ? 1 : 0, v, unit[i]);
	return t;
}

struct long_text text_exact(uint64_t bytes)
{
	struct long_text t;

	if (bytes < 10240)
		snprintf(t.s, sizeof(t.s), "%s byte%s", text_count(bytes).s, bytes == 1 ? "" : "s");
	else
		snprintf(t.s, sizeof(t.s), "%s bytes (%s)", text_count(bytes).s,
			 text_bytes(bytes).s);
	return t;
}

struct text text_ns(uint64_t ns)
{
	static const struct {
		double ns;
		const char *unit;
	} units[] = { { 1e9, "s" }, { 1e6, "ms" }, { 1e3, "us" } };
	struct text t;
	unsigned i;
	double v;

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

struct text text_percent(uint64_t part, uint64_t of)
{
	double p = of ? 100.0 * (double)part / (double)of : 0;
	struct text t;

	if (!of)
		snprintf(t.s, sizeof(t.s), "-");
	else if (part && p < 1)
		snprintf(t.s, sizeof(t.s), "<1 %%");
	else if (part < of && p > 99)
		snprintf(t.s, sizeof(t.s), ">99 %%");
	else
		snprintf(t.s, sizeof(t.s), "%.0f %%", p);
	return t;
}

struct text text_ratio(double ratio)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%.2f", ratio);
	return t;
}

struct text text_many(uint64_t n, const char *one, const char *many)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%.30s %.30s", text_count(n).s, n == 1 ? one : many);
	return t;
}

/* n eighths of a column, the last of them as a block of its own. */
static void put_blocks(char *to, unsigned n)
{
	for (; n >= 8; n -= 8, to += strlen(to))
		strcpy(to, "\u2588");
	if (n)
		sprintf(to, "\xe2\x96%c", (char)(0x90 - (int)n));
}

struct long_text text_bar(uint64_t part, uint64_t of, int width)
{
	struct long_text t = { "" };
	const unsigned parts = terminal_unicode() ? 8 : 1;
	unsigned n;

	if (width > LONGEST_BAR)
		width = LONGEST_BAR;
	/* Sums of a damaged trace may have overflowed: a part may be more than all. */
	if (part >= of)
		n = part ? (unsigned)width * parts : 0;
	else
		n = (unsigned)((double)width * parts * (double)part / (double)of + 0.5);
	if (!n && part)
		n = 1;
	if (parts == 8)
		put_blocks(t.s, n);
	else
		memset(t.s, '#', n);
	return t;
}

/* Appends s with whatever a terminal would act upon made visible; false: no more room. */
static bool append(struct long_text *t, size_t *n, size_t room, const char *s)
{
	for (; *s; s++) {
		if (*n + 4 >= room)
			return false;
		t->s[(*n)++] = (unsigned char)*s < ' ' || *s == 0x7f ? ' ' : *s;
	}
	return true;
}

struct long_text text_command(const struct trace_fact *image, unsigned room)
{
	struct long_text t;
	bool whole = true;
	size_t n = 0, i;

	if (room > sizeof(t.s))
		room = sizeof(t.s);
	if (!image)
		whole = append(&t, &n, room, "(unknown)");
	else if (!image->argc)
		whole = append(&t, &n, room, *image->exe ? image->exe : "(unknown)");
	for (i = 0; image && i < image->argc && whole; i++)
		whole = (!i || append(&t, &n, room, " ")) && append(&t, &n, room, image->argv[i]);
	strcpy(t.s + n, whole ? "" : "...");
	return t;
}

struct text text_end(const struct tree_process *p)
{
	const char *signal = sigabbrev_np(p->status);
	struct text t;

	switch (p->end) {
	case TREE_EXITED:
		snprintf(t.s, sizeof(t.s), "exited with status %d", p->status);
		break;
	case TREE_KILLED:
		if (signal)
			snprintf(t.s, sizeof(t.s), "was killed by SIG%s", signal);
		else
			snprintf(t.s, sizeof(t.s), "was killed by signal %d", p->status);
		break;
	case TREE_BECAME:
		snprintf(t.s, sizeof(t.s), "became a program that is not recorded");
		break;
	default:
		snprintf(t.s, sizeof(t.s), "was not seen to end (killed, or still running)");
	}
	return t;
}

const char *text_base(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

struct text text_power(unsigned power)
{
	const uint64_t low = power ? 1ull << (power - 1) : 0, high = power ? 2 * low - 1 : 0;
	struct text t;

	if (low < 2)
		snprintf(t.s, sizeof(t.s), "%" PRIu64, low);
	else if (low < 1024)
		snprintf(t.s, sizeof(t.s), "%" PRIu64 " - %" PRIu64, low, high);
	else
		snprintf(t.s, sizeof(t.s), "from %.58s", text_bytes(low).s);
	return t;
}
