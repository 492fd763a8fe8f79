// SPDX-License-Identifier: LGPL-3.0-or-later
/* json.c - strings that JSON accepts. */
#include "json.h"

#include <stdlib.h>
#include <string.h>

#include "../util/memory.h"

json *json_string(const char *text)
{
	char *made;
	const char *clean = utf8_clean(text, &made);
	json *o = json_object_new_string(clean);

	free(made);
	return o;
}

json *json_take(char *text)
{
	json *o = json_string(text);

	free(text);
	return o;
}

void add(json *o, const char *name, json *v)
{
	const char *dot = strchr(name, '.');
	char group[32];
	json *in = o;

	if (!o) {
		json_object_put(v);
		return;
	}
	if (dot) {
		snprintf(group, sizeof(group), "%.*s", (int)(dot - name), name);
		if (!json_object_object_get_ex(o, group, &in))
			json_object_object_add(o, group, in = json_object_new_object());
		name = dot + 1;
	}
	json_object_object_add(in, name, v);
}

void json_put(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text, *plain = s;
	int n;

	fputc('"', out);
	for (; *s; s += n ? n : 1) {
		n = utf8_at(s);
		if (n && *s >= ' ' && *s != 0x7f && *s != '"' && *s != '\\' && !utf8_is_control(s))
			continue;
		/* A run of plain characters is written in one piece. */
		fwrite(plain, 1, (size_t)(s - plain), out);
		plain = s + (n ? n : 1);
		if (!n)
			fputs(UTF8_REPLACEMENT, out);
		else if (*s == '"' || *s == '\\')
			fprintf(out, "\\%c", *s);
		else
			fprintf(out, "\\u%04x", s[n - 1]); /* U+0080: C2 80, and so on */
	}
	fwrite(plain, 1, (size_t)(s - plain), out);
	fputc('"', out);
}

void json_put_s(FILE *out, const char *name, const char *s)
{
	fprintf(out, ",\"%s\":", name);
	json_put(out, s);
}

void json_put_n(FILE *out, const char *name, uint64_t n)
{
	fprintf(out, ",\"%s\":%" PRIu64, name, n);
}

const char *json_text(json *o, int flags)
{
	const char *text = o ? json_object_to_json_string_ext(o, flags) : NULL;

	if (!text)
		memory_out();
	return text;
}

void json_print(FILE *out, json *o)
{
	fprintf(out, "%s\n",
		json_text(o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_NOSLASHESCAPE));
	json_object_put(o);
}
