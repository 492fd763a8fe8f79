/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* utf8.h - validates UTF-8, because names in a trace can contain any bytes. */
#pragma once

/* Returns the bytes of the well-formed sequence at s (RFC 3629: no overlong forms, no
 * surrogates); 0 if invalid. */
int utf8_at(const unsigned char *s);
/* Is it a byte of a character after its first one? */
static inline int utf8_continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}
/* Is it one of U+0080 to U+009F, which a terminal interprets like ESC? */
static inline int utf8_is_control(const unsigned char *s)
{
	return s[0] == 0xc2 && s[1] >= 0x80 && s[1] < 0xa0;
}
/* Returns the bytes of the character at s if a terminal shows it as it is; 0 if it is a control
 * character or invalid. */
static inline int utf8_shown_at(const char *s)
{
	const unsigned char *u = (const unsigned char *)s;

	return *u < ' ' || *u == 0x7f || utf8_is_control(u) ? 0 : utf8_at(u);
}
#define UTF8_REPLACEMENT "\xef\xbf\xbd" /* U+FFFD, three bytes */

/*
 * Returns s itself if it is well-formed, else a copy with U+FFFD for each invalid byte (and for DEL
 * and U+0080 to U+009F, which JSON does not escape and a terminal obeys).  The caller frees the
 * copy from *made, which is NULL if s is returned.
 */
const char *utf8_clean(const char *s, char **made);
