// SPDX-License-Identifier: LGPL-3.0-or-later
/* word_list.c - words of a list. */
#include "word_list.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "nearest.h"

#define WORDS(id, ...) const char *const words_##id[] = { __VA_ARGS__, NULL };
#include "words.def"
#undef WORDS

int words_unknown(const char *what, const char *word, const char *const *list, struct error *err)
{
	unsigned d, least = nearest_limit(word);
	const char *best = NULL;
	char all[384];
	size_t n = 0, whole = 0; /* whole: up to the last word that fits */

	for (size_t i = 0; list[i]; i++) {
		d = nearest_misses(word, list[i]);
		if (d < least) {
			least = d;
			best = list[i];
		}
		if (n < sizeof(all))
			n += (size_t)snprintf(all + n, sizeof(all) - n, "%s%s", n ? ", " : "",
					      list[i]);
		if (n < sizeof(all))
			whole = n;
	}
	if (best && whole < n)
		return fail(err, -EINVAL, "invalid %s '%.40s': did you mean '%s'?", what, word,
			    best);
	return fail(err, -EINVAL, "invalid %s '%.40s': expected %.*s%s%s%s%s", what, word,
		    (int)whole, all, whole < n ? " ..." : "", best ? "; did you mean '" : "",
		    best ? best : "", best ? "'?" : "");
}

int words_among(const char *what, const char *word, const char *const *list, struct error *err)
{
	for (int i = 0; list[i]; i++)
		if (!strcmp(list[i], word))
			return i;
	return words_unknown(what, word, list, err);
}
