/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* markdown.h - text as it must stand in a cell of a Markdown table. */
#ifndef MPROF_PRINT_MARKDOWN_H
#define MPROF_PRINT_MARKDOWN_H

#include <stdio.h>

/* In code marks, so that nothing of a C++ name means anything. */
void markdown_code(FILE *out, const char *s);
/* As it is, with what Markdown or HTML would take for itself marked as text. */
void markdown_text(FILE *out, const char *s);

#endif
