// SPDX-License-Identifier: LGPL-3.0-or-later
/* json.c - strings that JSON accepts. */
#include "json.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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

const char *utf8_clean(const char *text, char **made)
{
	const unsigned char *s = (const unsigned char *)text;
	char *to;
	int n;

	*made = NULL;
	while ((n = *s ? utf8_at(s) : 0))
		s += n;
	if (!*s)
		return text;
	*made = to = malloc(3 * strlen(text) + 1);
	if (!to)
		return NULL;
	for (s = (const unsigned char *)text; *s; s += n ? n : 1) {
		n = utf8_at(s);
		memcpy(to, n ? (const char *)s : UTF8_REPLACEMENT, n ? (size_t)n : 3);
		to += n ? n : 3;
	}
	*to = '\0';
	return *made;
}

json *json_string(const char *text)
{
	char *made;
	const char *clean = utf8_clean(text, &made);
	json *o = clean ? json_object_new_string(clean) : NULL;

	free(made);
	return o;
}

void json_put(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text, *plain = s;
	int n;

	fputc('"', out);
	for (; *s; s += n ? n : 1) {
		n = utf8_at(s);
		if (n && *s >= ' ' && *s != 0x7f && *s != '"' && *s != '\\')
			continue;
		/* What needs nothing is written in one piece. */
		fwrite(plain, 1, (size_t)(s - plain), out);
		plain = s + 1;
		if (!n)
			fputs(UTF8_REPLACEMENT, out);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else
			fprintf(out, "\\u%04x", *s);
	}
	fwrite(plain, 1, (size_t)(s - plain), out);
	fputc('"', out);
}

int json_print(FILE *out, json *o, struct error *err)
{
	const char *text = o ? json_object_to_json_string_ext(o, JSON_C_TO_STRING_PRETTY |
								     JSON_C_TO_STRING_NOSLASHESCAPE)
			     : NULL;
	int ret = text ? 0 : fail(err, -ENOMEM, "no memory to print the answer");

	if (text)
		fprintf(out, "%s\n", text);
	json_object_put(o);
	return ret;
}
