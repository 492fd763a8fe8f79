// SPDX-License-Identifier: LGPL-3.0-or-later
/* utf8.c - see utf8.h. */
#include "utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "alloc.h"

int utf8_at(const unsigned char *s)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	int n = *s < 0x80 ? 1 : *s >> 5 == 6 ? 2 : *s >> 4 == 14 ? 3 : *s >> 3 == 30 ? 4 : 0, i;
	uint32_t c = n > 1 ? *s & (0xffu >> (n + 1)) : *s;

	for (i = 1; i < n; i++) {
		if (s[i] >> 6 != 2)
			return 0;
		c = c << 6 | (s[i] & 0x3f);
	}
	if (n > 1 && (c < least[n] || c > 0x10ffff || (c >= 0xd800 && c < 0xe000)))
		return 0;
	return n;
}

/* Like utf8_at(), but 0 also for DEL and control characters of UTF-8. */
static int kept_at(const unsigned char *s)
{
	return *s == 0x7f || utf8_is_control(s) ? 0 : utf8_at(s);
}

const char *utf8_clean(const char *text, char **made)
{
	const unsigned char *s = (const unsigned char *)text;
	char *to;
	int n;

	*made = NULL;
	while ((n = *s ? kept_at(s) : 0))
		s += n;
	if (!*s)
		return text;
	*made = to = must_malloc(3 * strlen(text) + 1);
	for (s = (const unsigned char *)text; *s; s += n ? n : 1) {
		n = kept_at(s);
		memcpy(to, n ? (const char *)s : UTF8_REPLACEMENT, n ? (size_t)n : 3);
		to += n ? n : 3;
	}
	*to = '\0';
	return *made;
}
