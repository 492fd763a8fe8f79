/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * word_list.h - values that are one of a list of words, and the sentence for one that is not.
 */
#pragma once

#include <mprof/exit_forms.h>
#include <mprof/runner.h>

#include "error.h"

/* The words of words.def, ending with NULL: words_TOUCH[] and so on. */
#define WORDS(id, ...) extern const char *const words_##id[];
#include "words.def"
#undef WORDS

/*
 * Returns the number of the word in a list that ends with NULL.  what: the value's name for the
 * error, such as "--sort".  -EINVAL with err as below.
 */
int words_among(const char *what, const char *word, const char *const *list, struct error *err);
/* Returns -EINVAL with "invalid --sort 'x': expected a, b, c; did you mean 'a'?".  Of a list that
 * is too long, only the word that was meant, or if there is none, the first. */
int words_unknown(const char *what, const char *word, const char *const *list, struct error *err);
