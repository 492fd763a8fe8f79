// SPDX-License-Identifier: LGPL-3.0-or-later
/* names_emacs.c - names of functions that Emacs compiled to native code. */
#include "names_forms.h"

#include <stdlib.h>
#include <string.h>

#define DIGITS "0123456789"
#define HEX    DIGITS "abcdef"

/* comp-c-func-name of comp.el writes F, the name in hexadecimal, its letters again with _ for -,
 * and a number. */
bool names_emacs_demangle(const char *raw, struct text *to)
{
	const char *hex = raw + 1, *readable, *number;
	size_t digits, i;

	if (*raw != 'F')
		return false;
	digits = strspn(hex, HEX);
	readable = hex + digits;
	number = strrchr(readable, '_');
	if (!digits || digits % 2 || *readable != '_' || number == readable || !number[1] ||
	    number[1 + strspn(number + 1, DIGITS)])
		return false;
	for (i = 0; i < digits; i += 2) {
		const char pair[] = { hex[i], hex[i + 1], '\0' };
		const char c = (char)strtoul(pair, NULL, 16);

		if (c >= 0 && (c < ' ' || c == 0x7f))
			break;
		text_add(to, &c, 1);
	}
	if (i < digits)
		text_clear(to);
	return i == digits;
}
