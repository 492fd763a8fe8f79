/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* markup.c - text of a trace in HTML, SVG or XML, where a name can be anything. */
#include "markup.h"

#include "utf8.h"

void markup_text(const char *text, FILE *out)
{
	const unsigned char *s = (const unsigned char *)text;
	static const char *const name[] = {
		['&'] = "&amp;",  ['<'] = "&lt;",   ['>'] = "&gt;",
		['"'] = "&quot;", ['\n'] = "&#10;", ['\''] = "&#39;",
	};
	int n;

	for (; *s; s += n ? n : 1) {
		n = utf8_at(s);
		if (*s < sizeof(name) / sizeof(name[0]) && name[*s])
			fputs(name[*s], out);
		else if (!n || *s < ' ' || *s == 0x7f || utf8_is_control(s) ||
			 (n == 3 && s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe))
			fputs(UTF8_REPLACEMENT, out);
		else
			fwrite(s, 1, (size_t)n, out);
	}
}
