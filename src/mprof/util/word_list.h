/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * word_list.h - values that are one of a list of words, and the sentence for one that is not.
 */
#ifndef MPROF_UTIL_WORD_LIST_H
#define MPROF_UTIL_WORD_LIST_H

#include <mprof/runner.h>

#include "error.h"

enum words {
#define WORDS(id, option, commands, ...) WORDS_##id,
#include "words.def"
#undef WORDS
	WORDS_COUNT,
};

/* The words of words.def, ending with NULL. */
const char *const *words_of(enum words list);
/* The number of the word in the list; -EINVAL with err, which names the option and the words. */
int words_find(enum words list, const char *word, struct error *err);

/* The same for a list that ends with NULL; what: the value's name in the sentence, "--sort". */
int words_among(const char *what, const char *word, const char *const *list, struct error *err);
/*
 * -EINVAL, and "invalid --sort 'x': expected a, b, c; did you mean 'a'?".
 */
int words_unknown(const char *what, const char *word, const char *const *list, struct error *err);

#endif
