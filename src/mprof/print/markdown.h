/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* markdown.h - text for a cell of a Markdown table. */
#pragma once

#include <stdio.h>

/* Writes code, so that no part of a C++ name is taken for markup. */
void markdown_code(FILE *out, const char *s);
/* Writes text, with the special characters of Markdown and HTML escaped. */
void markdown_text(FILE *out, const char *s);
