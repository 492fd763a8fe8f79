/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * rewrite.h - the user's own rules for names: s/regex/text/flags, and patterns at
 * which stacks stop.
 *
 * Extended POSIX expressions.  Any letter may stand for the slash; \1 to \9 and & in
 * the text are what matched; flags: g every match, i upper and lower case alike.
 * Names of more than REWRITE_MAX bytes are left alone: libc's matcher takes memory
 * with the length of the text.
 */
#ifndef MPROF_SYM_REWRITE_H
#define MPROF_SYM_REWRITE_H

#include "../util/error.h"
#include "sym_text.h"

#define REWRITE_MAX 16384

struct rewrite;

/* rules, stop: NULL-ended, may be NULL.  0, or -EINVAL with err filled. */
int rewrite_make(struct rewrite **out, const char *const *rules, const char *const *stop,
		 struct error *err);
void rewrite_release(struct rewrite *r);

/* 0, or -EINVAL with *expected: what would be right, "s/REGEX/TEXT/ or ...". */
int rewrite_check_rule(const char *rule, struct error *expected);
int rewrite_check_stop(const char *regex, struct error *expected);

/* Applies all rules in their order. */
void rewrite_name(const struct rewrite *r, struct text *name);
bool rewrite_stops(const struct rewrite *r, const char *name);

#endif
