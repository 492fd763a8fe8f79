/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * print_check.h - the printers of checks: one line for each that failed, JSON, JUnit's
 * XML and a table in Markdown.
 */
#pragma once

#include <stdio.h>

#include "../profile/limits.h"
#include "json.h"

struct check_print {
	const char *name[DIFF_SIDES]; /* of the baseline (or NULL) and of the trace */
	bool all;		      /* also what passed */
};

void check_text(const struct checks *c, const struct check_print *o, FILE *out);
void check_markdown(const struct checks *c, const struct check_print *o, FILE *out);
/* For Jenkins, GitLab and GitHub Actions. */
void check_junit(const struct checks *c, const struct check_print *o, FILE *out);
/* Returns a new object, which the caller owns. */
json *check_json(const struct checks *c, const struct check_print *o);

/* ---- shared by them: new strings, the caller's ---- */

char *check_name(const struct check *k); /* max-peak, max-calls parse_*, baseline peak */
char *check_sentence(const struct check *k, const struct check_print *o); /* what was found */
#define CHECK_LEAKS 20 /* new leaks that are listed */
/* Returns one of the new leaks: "+4.0 KiB  parse (x.c:7) < main". */
char *check_leak(const struct checks *c, size_t i);
