// SPDX-License-Identifier: LGPL-3.0-or-later
/* sentences.c - a list of sentences. */
#include "sentences.h"

#include <stdarg.h>
#include <stdlib.h>

#include "../util/alloc.h"

/* Command lines and output of allocators may contain control characters. */
static void clean(char *s)
{
	for (; *s; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			*s = ' ';
}

void sentence_add(struct sentences *w, const char *format, ...)
{
	va_list args;

	GROW(w->line, w->n + 1, w->room);
	va_start(args, format);
	w->line[w->n] = must_vprintf(format, args);
	va_end(args);
	clean(w->line[w->n++]);
}

void sentences_free(struct sentences *w)
{
	while (w->n)
		free(w->line[--w->n]);
	free(w->line);
	*w = (struct sentences){ 0 };
}
