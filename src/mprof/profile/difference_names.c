// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * difference_names.c - names of two builds, compared.
 *
 * Renames.  A path of one side is written as a pattern, with a hole for each
 * function that the other side does not have.  Equal patterns of both sides
 * propose that the functions in their holes are the same.  A proposal is
 * accepted if neither function has another one, both are in one source file,
 * and their figures are of the same order of magnitude.
 *
 * Lines.  The allocating lines of a function that both sides have are compared
 * in order.  They keep their numbers if one side has all lines of the other,
 * as then its source is probably the same.  Otherwise lines are paired from the
 * first and from the last one on, as long as they are as far apart on both
 * sides; of the others, all are paired if there are equally many, else none.
 */
#include "difference_names.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "calltree.h"
#include "../util/alloc.h"
#include "../util/order.h"

#define BOTH	  (1u << DIFF_BEFORE | 1u << DIFF_AFTER)
#define HOLE	  0x80000000u
#define AMBIGUOUS UINT32_MAX
#define ALIKE	  4 /* a renamed function's calls differ at most by this factor */

/* ---- spelling ---- */

static size_t ends_with_suffix(const char *s, size_t n)
{
	static const char *const added[] = { ".constprop", ".isra",	  ".part", ".cold",
					     ".lto_priv",  ".localalias", ".llvm", ".clone" };
	size_t digits = n, i, k;

	while (digits && isdigit((unsigned char)s[digits - 1]))
		digits--;
	if (digits < n && digits && s[digits - 1] == '.')
		n = digits - 1;
	for (i = 0; i < sizeof(added) / sizeof(added[0]); i++) {
		k = strlen(added[i]);
		if (n > k && !strncmp(s + n - k, added[i], k))
			return n - k;
	}
	return 0;
}

/* Returns the length without "::h" and sixteen digits, Rust's hash of a crate's build. */
static size_t without_rust_hash(const char *s, size_t n)
{
	size_t i;

	if (n < 20 || strncmp(s + n - 19, "::h", 3))
		return 0;
	for (i = n - 16; i < n; i++)
		if (!isxdigit((unsigned char)s[i]))
			return 0;
	return n - 19;
}

size_t diff_bare_name(const char *function)
{
	size_t n = strlen(function), less;

	while ((less = ends_with_suffix(function, n)) || (less = without_rust_hash(function, n)))
		n = less;
	return n;
}

size_t diff_spell_module(const struct diff *d, enum diff_side side, const struct sym_line *l,
			 char *to, size_t room)
{
	const char *so = strstr(l->module, ".so");
	size_t n = strlen(l->module);

	if (d->options.program[side] && !strcmp(d->options.program[side], l->module))
		return (size_t)snprintf(to, room, "/");
	if (so && (so[3] == '.' || !so[3]))
		n = (size_t)(so - l->module);
	return (size_t)snprintf(to, room, "%.*s", (int)n, l->module);
}

size_t diff_spell(const struct diff *d, enum diff_side side, const struct sym_line *l, char *to,
		  size_t room)
{
	char module[256], offset[32] = "";
	size_t n = diff_bare_name(l->function);

	diff_spell_module(d, side, l, module, sizeof(module));
	if (l->known || l == &calltree_no_stack || l == &calltree_cut)
		return (size_t)snprintf(to, room, "%.*s\n%s", (int)n, l->function, module);
	if (interner_find(&d->stable, l->module, strlen(l->module)))
		snprintf(offset, sizeof(offset), "+0x%llx", (unsigned long long)l->offset);
	return (size_t)snprintf(to, room, "%s\n%s", offset, module);
}

size_t diff_spell_file(const struct diff *d, enum diff_side side, const struct sym_line *l,
		       char *to, size_t room)
{
	if (!*l->file)
		return diff_spell_module(d, side, l, to, room);
	return (size_t)snprintf(to, room, "%s", basename(l->file));
}

ORDER(by_place, struct diff_place, RISING(function) ?: RISING(side) ?: RISING(line))

static struct diff_place place_of(const struct diff *d, const struct diff_site *s)
{
	const size_t leaf = s->first + s->count - 1;
	const uint32_t line = d->line[leaf]->line;

	return (struct diff_place){ d->renamed[d->id[leaf] - 1], s->side, line, line };
}

size_t diff_spell_line(const struct diff *d, const struct diff_site *s, char *to, size_t room)
{
	const struct sym_line *l = d->line[s->first + s->count - 1];
	const struct diff_place p = place_of(d, s);
	const size_t i = FIRST_WHERE(k, d->places, by_place(&d->place[k], &p) >= 0);
	char file[256];

	if (!*l->file)
		return diff_spell(d, s->side, l, to, room);
	diff_spell_file(d, s->side, l, file, sizeof(file));
	return (size_t)snprintf(to, room, d->place[i].is ? "%s:%u" : "%s:%u, gone", file,
				d->place[i].is ? d->place[i].is : l->line);
}

/* ---- renames ---- */

struct renames {
	struct diff *d;
	struct interner patterns;
	const struct diff_site **of; /* by pattern: an earlier site with it */
	uint32_t *proposed;	     /* by name: its counterpart, 0 if none, or AMBIGUOUS */
	uint64_t *calls;	     /* by name */
	uint32_t *work;
};

static bool alone(const struct diff *d, uint32_t name)
{
	return d->on[name - 1] != BOTH;
}

/* Returns the hash of the module's part of a spelt name. */
static uint32_t module_hash(const struct diff *d, uint32_t name)
{
	const char *s = strchr(interner_text(&d->names, name), '\n');
	uint32_t h = 5381;

	for (; s && *s; s++)
		h = h * 33 + (unsigned char)*s;
	return h;
}

/* Writes the pattern of a site; false if it has no hole. */
static bool pattern_of(struct renames *r, const struct diff_site *s)
{
	const uint32_t *id = r->d->id + s->first;
	bool hole = false;
	size_t i;

	for (i = 0; i < s->count; i++) {
		r->work[i] = id[i];
		if (!alone(r->d, id[i]))
			continue;
		r->work[i] = HOLE | module_hash(r->d, id[i]);
		hole = true;
	}
	return hole;
}

static void propose_one(struct renames *r, uint32_t a, uint32_t b)
{
	uint32_t *p = &r->proposed[a - 1];

	*p = !*p || *p == b ? b : AMBIGUOUS;
}

/* Proposes the functions in the holes of two sites with one pattern. */
static void propose(struct renames *r, const struct diff_site *a, const struct diff_site *b)
{
	const uint32_t *x = r->d->id + a->first, *y = r->d->id + b->first;
	size_t i;

	for (i = 0; i < a->count; i++) {
		if (!alone(r->d, x[i]))
			continue;
		propose_one(r, x[i], y[i]);
		propose_one(r, y[i], x[i]);
	}
}

static void count_calls(struct renames *r, const struct diff_site *s)
{
	size_t i;

	for (i = 0; i < s->count; i++)
		r->calls[r->d->id[s->first + i] - 1] += s->v[VALUE_CALLS];
}

/* Represents several earlier paths with one pattern, none of which is likelier. */
static const struct diff_site undecided;

static bool same_path(const struct diff *d, const struct diff_site *a, const struct diff_site *b)
{
	return a != &undecided &&
	       !memcmp(d->id + a->first, d->id + b->first, a->count * sizeof(*d->id));
}

static void look_at_site(struct renames *r, const struct diff_site *s)
{
	uint32_t key;

	count_calls(r, s);
	if (!pattern_of(r, s))
		return;
	if (s->side == DIFF_BEFORE) {
		key = interner_id(&r->patterns, r->work, s->count * sizeof(*r->work));
		if (!r->of[key - 1])
			r->of[key - 1] = s;
		else if (!same_path(r->d, r->of[key - 1], s))
			r->of[key - 1] = &undecided;
		return;
	}
	key = interner_find(&r->patterns, r->work, s->count * sizeof(*r->work));
	if (key && r->of[key - 1] && r->of[key - 1] != &undecided)
		propose(r, r->of[key - 1], s);
}

static bool same_file(const struct diff *d, uint32_t a, uint32_t b)
{
	char x[256], y[256];

	if (!*d->example[a - 1]->file || !*d->example[b - 1]->file)
		return false;
	diff_spell_file(d, DIFF_BEFORE, d->example[a - 1], x, sizeof(x));
	diff_spell_file(d, DIFF_AFTER, d->example[b - 1], y, sizeof(y));
	return !strcmp(x, y);
}

static bool alike(const struct renames *r, uint32_t a, uint32_t b)
{
	uint64_t x = r->calls[a - 1], y = r->calls[b - 1];

	return same_file(r->d, a, b) && x <= ALIKE * y && y <= ALIKE * x;
}

static void accept_renames(struct renames *r)
{
	struct diff *d = r->d;
	uint32_t a, b;

	for (a = 1; a <= d->names.count; a++) {
		b = r->proposed[a - 1];
		if (d->on[a - 1] != 1u << DIFF_BEFORE || !b || b == AMBIGUOUS ||
		    r->proposed[b - 1] != a || !alike(r, a, b))
			continue;
		d->renamed[a - 1] = b;
		d->rename[d->renames++] = (struct diff_rename){
			.line = { d->example[a - 1], d->example[b - 1] },
		};
	}
}

void diff_find_renames(struct diff *d)
{
	struct renames r = { .d = d };
	size_t i, most = 1;
	int side;

	for (i = 0; i < d->sites; i++)
		most = d->site[i].count > most ? d->site[i].count : most;
	r.work = must_calloc(most, sizeof(*r.work));
	r.of = must_calloc(d->sites + 1, sizeof(*r.of));
	r.proposed = must_calloc(d->names.count + 1, sizeof(*r.proposed));
	r.calls = must_calloc(d->names.count + 1, sizeof(*r.calls));
	d->rename = must_calloc(d->names.count + 1, sizeof(*d->rename));
	for (side = 0; side < DIFF_SIDES; side++)
		for (i = 0; i < d->sites; i++)
			if (d->site[i].side == (uint32_t)side)
				look_at_site(&r, &d->site[i]);
	accept_renames(&r);
	interner_release(&r.patterns);
	free(r.work);
	free(r.of);
	free(r.proposed);
	free(r.calls);
}

/* ---- lines ---- */

/* Does b have all lines of a? */
static bool has_all(const struct diff_place *b, size_t nb, const struct diff_place *a, size_t na)
{
	size_t i, k;

	for (i = k = 0; i < na && k < nb; k++)
		i += a[i].line == b[k].line;
	return i == na;
}

static void pair_lines(struct diff_place *a, size_t na, const struct diff_place *b, size_t nb)
{
	size_t first = 0, last = 0, i;

	if (has_all(a, na, b, nb) || has_all(b, nb, a, na))
		return;
	while (first < na && first < nb && a[first].line - a->line == b[first].line - b->line)
		first++;
	while (last < na - first && last < nb - first &&
	       a[na - 1].line - a[na - 1 - last].line == b[nb - 1].line - b[nb - 1 - last].line)
		last++;
	for (i = 0; i < na; i++)
		a[i].is = i < first || na == nb ? b[i].line
			  : i >= na - last	? b[i + nb - na].line
						: 0;
}

/* Sorts the places and removes duplicates. */
static void find_places(struct diff *d)
{
	size_t i, n = 0;

	d->place = must_calloc(d->sites + 1, sizeof(*d->place));
	for (i = 0; i < d->sites; i++)
		d->place[i] = place_of(d, &d->site[i]);
	SORT(d->place, d->sites, by_place);
	for (i = 0; i < d->sites; i++)
		if (!n || by_place(&d->place[n - 1], &d->place[i]))
			d->place[n++] = d->place[i];
	d->places = n;
}

void diff_find_lines(struct diff *d)
{
	struct diff_place *a, *b, *after, *end;

	find_places(d);
	end = d->place + d->places;
	for (a = d->place; a < end; a = after) {
		for (b = a; b < end && b->function == a->function && b->side == DIFF_BEFORE; b++)
			;
		for (after = b; after < end && after->function == a->function; after++)
			;
		if (a < b && b < after)
			pair_lines(a, (size_t)(b - a), b, (size_t)(after - b));
	}
}
