/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* markup.h - text of a trace in HTML, SVG or XML, where a name can be anything. */
#pragma once

#include <stdio.h>

/*
 * Writes text, or the value of an attribute in double quotes.  Bytes that XML 1.0 (section 2.2)
 * does not allow, even escaped, become U+FFFD: invalid UTF-8, control characters, U+FFFE and
 * U+FFFF.
 */
void markup_text(const char *text, FILE *out);
