/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* sentences.h - a list of sentences, made before the output format is known. */
#pragma once

#include <stddef.h>

/* Each is the list's. */
struct sentences {
	char **line;
	size_t n, room;
};
void sentence_add(struct sentences *w, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void sentences_free(struct sentences *w);
