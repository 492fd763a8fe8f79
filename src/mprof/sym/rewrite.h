/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * rewrite.h - the user's own rules for names: s/regex/text/flags, and patterns at
 * which stacks stop.
 *
 * Extended POSIX expressions.  Any character may replace the slash; \1 to \9 and & in
 * the text are the matched groups and match; flags: g every match, i ignore case.
 * Names of more than REWRITE_MAX bytes are not rewritten: the memory of libc's matcher grows
 * with the length of the text.
 */
#pragma once

#include "../util/error.h"
#include "sym_text.h"

#define REWRITE_MAX 16384

struct rewrite;

/* rules and stop end with NULL, and may be NULL.  0, or -EINVAL with err filled. */
int rewrite_make(struct rewrite **out, const char *const *rules, const char *const *stop,
		 struct error *err);
void rewrite_release(struct rewrite *r);

/* Returns 0, or -EINVAL with the valid form in *expected: "s/REGEX/TEXT/ or ...". */
int rewrite_check_rule(const char *rule, struct error *expected);
int rewrite_check_stop(const char *regex, struct error *expected);

/* Applies all rules in their order. */
void rewrite_name(struct rewrite *r, struct text *name);
bool rewrite_stops(struct rewrite *r, const char *name);
/* Returns the first rule or pattern that matched nothing, in r and in `other`, which has the same
 * rules (`other` can be r itself).  Returns NULL if every rule matched, or no name was tried. */
const char *rewrite_unused(const struct rewrite *r, const struct rewrite *other);
