/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* rewrite.c - the user's own rules for names. */
#include "rewrite.h"

#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"

#define GROUPS 10

struct rule {
	regex_t regex;
	char *text;	   /* NULL for a stop */
	const char *given; /* by the user */
	bool compiled, global;
	bool used; /* a name matched */
};

struct rewrite {
	struct rule *rule;
	size_t rules, stops; /* stops follow rules */
	bool named;	     /* there was a name */
};

static size_t count(const char *const *list)
{
	size_t n = 0;

	while (list && list[n])
		n++;
	return n;
}

/*
 * Copies up to the next unescaped `sign`, removing the backslashes of escaped ones. NULL if there
 * is none.
 */
static const char *take_part(const char *from, char sign, char *to)
{
	for (; *from && *from != sign; from++) {
		if (*from == '\\' && from[1] == sign)
			from++;
		else if (*from == '\\' && from[1])
			*to++ = *from++;
		*to++ = *from;
	}
	*to = '\0';
	return *from ? from + 1 : NULL;
}

/* From here on *err describes a valid expression: "a valid regular expression (...)". */
static int compile(struct rule *r, const char *regex, int flags, struct error *err)
{
	char why[200];
	int code = regcomp(&r->regex, regex, REG_EXTENDED | flags);

	if (!code) {
		r->compiled = true;
		return 0;
	}
	regerror(code, &r->regex, why, sizeof(why));
	return fail(err, -EINVAL, "a valid regular expression (%s)", why);
}

/* The text may only refer to groups of the expression. */
static int check_text(const struct rule *r, struct error *err)
{
	const char *p;

	for (p = r->text; *p; p++) {
		if (*p != '\\')
			continue;
		p++;
		if (*p >= '1' && *p <= '9' && (size_t)(*p - '0') > r->regex.re_nsub)
			return fail(err, -EINVAL, "at least %c groups in REGEX for \\%c, not %zu",
				    *p, *p, r->regex.re_nsub);
		if (!*p)
			break;
	}
	return 0;
}

static int parse_rule(struct rule *r, const char *what, struct error *err)
{
	size_t size = strlen(what) + 1;
	char *regex = must_malloc(size), *text = r->text = must_malloc(size);
	const char *at = what;
	int code, flags = 0;

	if (at[0] != 's' || !at[1] || strchr("\\\n \t", at[1]) ||
	    !(at = take_part(what + 2, what[1], regex)) || !(at = take_part(at, what[1], text)) ||
	    at[strspn(at, "gi")]) {
		free(regex);
		return fail(err, -EINVAL, "s/REGEX/TEXT/ or s/REGEX/TEXT/gi");
	}
	r->global = strchr(at, 'g');
	flags = strchr(at, 'i') ? REG_ICASE : 0;
	code = compile(r, regex, flags, err);
	free(regex);
	return code ? code : check_text(r, err);
}

static void release_rule(struct rule *r)
{
	if (r->compiled)
		regfree(&r->regex);
	free(r->text);
}

int rewrite_make(struct rewrite **out, const char *const *rules, const char *const *stop,
		 struct error *err)
{
	struct rewrite *r = must_calloc(1, sizeof(*r));
	const char *what = NULL;
	struct error expected;
	size_t i;
	int code = 0;

	r->rule = must_calloc(count(rules) + count(stop) + 1, sizeof(*r->rule));
	for (i = 0; !code && i < count(rules); i++) {
		r->rule[i].given = what = rules[i];
		code = parse_rule(&r->rule[r->rules++], what, &expected);
	}
	for (i = 0; !code && i < count(stop); i++) {
		r->rule[r->rules + i].given = what = stop[i];
		code = compile(&r->rule[r->rules + r->stops++], what, REG_NOSUB, &expected);
	}
	if (!code) {
		*out = r;
		return 0;
	}
	rewrite_release(r);
	return fail(err, code, "invalid rule '%s': expected %s", what, expected.text);
}

int rewrite_check_rule(const char *rule, struct error *expected)
{
	struct rule r = { 0 };
	int code = parse_rule(&r, rule, expected);

	release_rule(&r);
	return code;
}

int rewrite_check_stop(const char *regex, struct error *expected)
{
	struct rule r = { 0 };
	int code = *regex ? compile(&r, regex, REG_NOSUB, expected)
			  : fail(expected, -EINVAL, "a regular expression, such as ^parse");

	release_rule(&r);
	return code;
}

void rewrite_release(struct rewrite *r)
{
	size_t i;

	if (!r)
		return;
	for (i = 0; i < r->rules + r->stops; i++)
		release_rule(&r->rule[i]);
	free(r->rule);
	free(r);
}

static void add_match(struct text *to, const char *from, const regmatch_t *m)
{
	if (m->rm_so >= 0)
		text_add(to, from + m->rm_so, (size_t)(m->rm_eo - m->rm_so));
}

static void add_text(struct text *to, const char *text, const char *from, const regmatch_t *m)
{
	for (; *text; text++) {
		if (*text == '&')
			add_match(to, from, m);
		else if (*text == '\\' && text[1] >= '0' && text[1] <= '9')
			add_match(to, from, &m[*++text - '0']);
		else if (*text == '\\' && text[1])
			text_add(to, ++text, 1);
		else
			text_add(to, text, 1);
	}
}

/* Appends the rewritten name to `to`.  Returns whether there was a match. */
static bool apply(const struct rule *r, const char *from, struct text *to)
{
	regmatch_t m[GROUPS];
	bool any = false;
	int flags = 0;

	while (!regexec(&r->regex, from, GROUPS, m, flags)) {
		any = true;
		text_add(to, from, (size_t)m[0].rm_so);
		add_text(to, r->text, from, m);
		from += m[0].rm_eo;
		/* An empty match would recur at the same place for ever. */
		if (m[0].rm_eo == m[0].rm_so && *from)
			text_add(to, from++, 1);
		if (!r->global || !*from)
			break;
		flags = REG_NOTBOL;
	}
	if (any)
		text_add_string(to, from);
	return any;
}

void rewrite_name(struct rewrite *r, struct text *name)
{
	struct text next = { 0 }, old;
	size_t i;

	r->named = true;
	for (i = 0; i < r->rules && name->n && name->n <= REWRITE_MAX && !name->failed; i++) {
		text_clear(&next);
		if (!apply(&r->rule[i], text_string(name), &next))
			continue;
		r->rule[i].used = true;
		old = *name;
		*name = next;
		next = old;
	}
	text_release(&next);
}

bool rewrite_stops(struct rewrite *r, const char *name)
{
	struct rule *rule = r->rule + r->rules, *end = rule + r->stops;
	bool stops = false;

	for (; rule < end && strlen(name) <= REWRITE_MAX; rule++)
		if (!regexec(&rule->regex, name, 0, NULL, 0))
			rule->used = stops = true;
	return stops;
}

const char *rewrite_unused(const struct rewrite *r, const struct rewrite *other)
{
	size_t i = 0;

	while (i < r->rules + r->stops && (r->rule[i].used || other->rule[i].used))
		i++;
	return (r->named || other->named) && i < r->rules + r->stops ? r->rule[i].given : NULL;
}
