/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * figures.h - values of profiles and lines of stacks, as text and as JSON, the same in every
 * answer.
 */
#pragma once

#include "../pass/interner.h"
#include "../profile/estimate.h"
#include "../profile/profile.h"
#include "json.h"
#include "text.h"

#define FIGURES_NAME 160 /* characters of a name that a line of text shows */

/* Returns text in the value's unit: "31.4 MiB", "1,234", "2.31 s". */
struct text figures_text(enum profile_value value, uint64_t n);
/* Says that figures are estimates, if they are. */
void figures_estimate(const struct profile *p, FILE *out);
/* Says why a profile has no block: "No allocation was recorded." */
void figures_nothing(const struct profile *p, FILE *out);
/* The mean distance between samples; a range for merged profiles with different ones. */
struct text figures_period(const struct sites *s);
/* Returns the 95 % confidence interval of an estimate: "1.2 MiB to 1.9 MiB", or once what both ends
 * are when rounded: "1.2 MiB". */
struct text figures_range(const struct site_values *v, enum profile_value value, uint64_t n);
/* Returns the text of such an interval; an end of UINT64_MAX is unknown. */
struct text figures_between(enum profile_value value, const struct estimate_range *range);
/* Returns text with a sign: "+1.2 MiB", "-3". */
struct text figures_signed(enum profile_value value, int64_t n);

/* Prints a name from a trace: cut at FIGURES_NAME, control characters shown as '?'. */
void figures_name(FILE *out, const char *name);

/* Prints "parse (parser.c:120)", "parse (parser.c)" without with_line, "parse [libx.so]" without
 * a known file; names as above. */
void figures_line(FILE *out, const struct sym_line *line, bool with_line);
/* Returns the same as a new string, which the caller frees. */
char *figures_line_text(const struct sym_line *line, bool with_line);
/* Puts ", mostly at line 6 (1.0 MiB of 1.5 MiB)": the line of a function with most of its figure.
 */
void figures_most_at(FILE *out, uint32_t line, bool mostly, const char *part, const char *whole);
/* Do both print the same with their lines?  Then a recursion is one line of a stack. */
bool figures_same_place(const struct sym_line *a, const struct sym_line *b);

/* Adds fields of JSON (json/lines.def): line may be NULL; null where lines that `same` treats as
 * equal may differ. */
void line_fields(json *to, const struct sym_line *line, enum line_same same);
void figures_fields(json *to, const uint64_t v[VALUE_COUNT]);
