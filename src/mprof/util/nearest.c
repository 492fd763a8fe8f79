/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * nearest.c - the similarity of two words (optimal string alignment distance).
 */
#include "nearest.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#define WORD_MAX 63

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static bool same(char a, char b)
{
	return tolower((unsigned char)a) == tolower((unsigned char)b);
}

unsigned nearest_distance(const char *a, const char *b)
{
	/* Three rows are enough: a swap looks two rows back. */
	unsigned row[3][WORD_MAX + 1];
	unsigned *two = row[0], *one = row[1], *now = row[2], *spare;
	size_t na = strnlen(a, WORD_MAX), nb = strnlen(b, WORD_MAX), i, j;

	for (j = 0; j <= nb; j++)
		now[j] = two[j] = (unsigned)j;
	for (i = 1; i <= na; i++) {
		spare = two;
		two = one;
		one = now;
		now = spare;
		now[0] = (unsigned)i;
		for (j = 1; j <= nb; j++) {
			now[j] = least(least(one[j] + 1, now[j - 1] + 1),
				       one[j - 1] + !same(a[i - 1], b[j - 1]));
			if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
				now[j] = least(now[j], two[j - 2] + 1);
		}
	}
	return now[nb];
}

unsigned nearest_misses(const char *word, const char *name)
{
	const size_t n = strlen(word);

	return n && !strncasecmp(word, name, n) ? 0 : nearest_distance(word, name);
}

unsigned nearest_limit(const char *word)
{
	size_t n = strnlen(word, WORD_MAX);

	return (unsigned)(n < 4 ? 2 : n / 2 + 1);
}

bool nearest_is_part(const char *word, const char *name)
{
	for (size_t n = strcspn(word, "-"), in; *name; name += in + (name[in] != '\0')) {
		in = strcspn(name, "-");
		if (n != in || strncasecmp(word, name, n))
			continue;
		if (!word[n])
			return n != 0;
		word += n + 1;
		n = strcspn(word, "-");
	}
	return false;
}
