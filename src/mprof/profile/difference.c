// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * difference.c - two profiles side by side, and the names of their functions compared.
 *
 * Renames.  A path of one side is written as a pattern, with a hole for each
 * function that the other side does not have.  Equal patterns of both sides
 * propose that the functions in their holes are the same.  A proposal is
 * accepted if neither function has another one, both are in one source file,
 * and their figures are of the same order of magnitude.
 *
 * Lines.  The allocating lines of a function that both sides have are compared
 * in order.  They keep their numbers if one side has all lines of the other,
 * as then its source is probably the same.  Otherwise lines are paired from both
 * ends inward while the distances between them agree.  The remaining lines are
 * paired only if both sides have the same number of them.
 */
#include "difference.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/order.h"
#include "calltree.h"
#include "paths.h"

#define BOTH	       (1u << DIFF_BEFORE | 1u << DIFF_AFTER)
#define HOLE	       0x80000000u
#define AMBIGUOUS      UINT32_MAX
#define RESIDENT_LEAST (4u << 20) /* the least change of resident memory that counts, in bytes */
#define RESIDENT_PART  10u	  /* and its least part of what it was */
#define ALIKE	       4	  /* a renamed function's calls differ at most by this factor */

/* ---- spelling ---- */

/* Returns the length without one suffix that compilers add; 0 if there is none. */
static size_t without_suffix(const char *s, size_t n)
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

/* The same for "::h" and sixteen digits, Rust's hash of a crate's build. */
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

	while ((less = without_suffix(function, n)) || (less = without_rust_hash(function, n)))
		n = less;
	return n;
}

static size_t spell_module(const struct diff *d, enum diff_side side, const struct sym_line *l,
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

/* Spells a name so that two builds can be compared.  Like snprintf, this and the next ones return
 * the full length, whatever the size of the buffer. */
static size_t spell(const struct diff *d, enum diff_side side, const struct sym_line *l, char *to,
		    size_t room)
{
	char module[256], offset[32] = "";
	size_t n = diff_bare_name(l->function);

	spell_module(d, side, l, module, sizeof(module));
	if (l->known || l == &calltree_no_stack || l == &calltree_cut)
		return (size_t)snprintf(to, room, "%.*s\n%s", (int)n, l->function, module);
	if (interner_find(&d->stable, l->module, strlen(l->module)))
		snprintf(offset, sizeof(offset), "+0x%llx", (unsigned long long)l->offset);
	return (size_t)snprintf(to, room, "%s\n%s", offset, module);
}

/* Spells only the last part of the path, because builds are in different directories. */
static size_t spell_file(const struct diff *d, enum diff_side side, const struct sym_line *l,
			 char *to, size_t room)
{
	if (!*l->file)
		return spell_module(d, side, l, to, room);
	return (size_t)snprintf(to, room, "%s", sym_file(l));
}

ORDER(by_place, struct diff_place, RISING(function) ?: RISING(side) ?: RISING(line))

static struct diff_place place_of(const struct diff *d, const struct diff_site *s)
{
	const size_t leaf = s->first + s->count - 1;
	const uint32_t line = d->line[leaf]->line;

	return (struct diff_place){ d->renamed[d->id[leaf] - 1], s->side, line, line };
}

/* Spells the innermost line of a site with the other side's number.  Call it after find_lines. */
static size_t spell_line(const struct diff *d, const struct diff_site *s, char *to, size_t room)
{
	const struct sym_line *l = d->line[s->first + s->count - 1];
	const struct diff_place p = place_of(d, s);
	const size_t i = FIRST_WHERE(k, d->places, by_place(&d->place[k], &p) >= 0);
	char file[256];

	if (!*l->file)
		return spell(d, s->side, l, to, room);
	spell_file(d, s->side, l, file, sizeof(file));
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
	spell_file(d, DIFF_BEFORE, d->example[a - 1], x, sizeof(x));
	spell_file(d, DIFF_AFTER, d->example[b - 1], y, sizeof(y));
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

/* Returns the most lines of a stack; at least 1. */
static size_t deepest(const struct diff *d)
{
	size_t i, most = 1;

	for (i = 0; i < d->sites; i++)
		most = d->site[i].count > most ? d->site[i].count : most;
	return most;
}

/* Fills d->renamed and d->rename. */
static void find_renames(struct diff *d)
{
	struct renames r = { .d = d };
	size_t i;
	int side;

	r.work = must_calloc(deepest(d), sizeof(*r.work));
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

/* Fills d->place.  Call it after d->renamed is final. */
static void find_lines(struct diff *d)
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

/* ---- collecting ---- */

void diff_init(struct diff *d, const struct diff_options *o)
{
	*d = (struct diff){ .options = *o };
}

void diff_stable(struct diff *d, const char *module)
{
	interner_id(&d->stable, module, strlen(module));
}

static void more_names(struct diff *d)
{
	const size_t n = d->names.count;

	if (n <= d->name_room)
		return;
	GROW_ZEROED(d->on, n, d->name_room);
	d->example = must_reallocarray(d->example, d->name_room, sizeof(*d->example));
}

/* Returns the number of a name, which the function of this line has. */
static uint32_t number_name(struct diff *d, enum diff_side side, const struct sym_line *l,
			    const char *name, size_t n)
{
	const uint32_t id = interner_id(&d->names, name, n);

	more_names(d);
	if (!(d->on[id - 1] & 1u << side))
		d->example[id - 1] = l;
	d->on[id - 1] |= (uint8_t)(1u << side);
	return id;
}

/* Returns the number under which a line's function is compared. */
static uint32_t name_of(struct diff *d, enum diff_side side, const struct sym_line *l)
{
	char small[512], *s = small;
	size_t n = spell(d, side, l, small, sizeof(small));
	uint32_t id;

	if (n >= sizeof(small)) {
		s = must_malloc(n + 1);
		spell(d, side, l, s, n + 1);
	}
	id = number_name(d, side, l, s, n);
	if (s != small)
		free(s);
	return id;
}

static void more_ids(struct diff *d, size_t n)
{
	n += d->ids;
	if (n <= d->id_room)
		return;
	d->id_room = grow_room(n, d->id_room);
	d->id = must_reallocarray(d->id, d->id_room, sizeof(*d->id));
	d->line = must_reallocarray(d->line, d->id_room, sizeof(*d->line));
}

void diff_add(struct diff *d, enum diff_side side, const struct sym_line *const *line, size_t n,
	      const uint64_t v[VALUE_COUNT], const struct site_values *estimate)
{
	struct diff_site *s;
	uint32_t id;
	size_t i;

	if (!n)
		return;
	GROW(d->site, d->sites + 1, d->site_room);
	s = &d->site[d->sites];
	more_ids(d, n);
	*s = (struct diff_site){ .first = d->ids, .side = side, .estimate = estimate };
	memcpy(s->v, v, sizeof(s->v));
	for (i = 0; i < n; i++) {
		id = name_of(d, side, line[i]);
		/* In direct recursion the innermost line remains, because it allocates. */
		if (s->count && d->id[d->ids - 1] == id) {
			d->line[d->ids - 1] = line[i];
			continue;
		}
		d->id[d->ids] = id;
		d->line[d->ids++] = line[i];
		s->count++;
	}
	d->sites++;
	for (i = 0; i < VALUE_COUNT; i++)
		d->total[side][i] += v[i];
	if (estimate) {
		d->sampled[side] = true;
		site_values_add(&d->estimates[side], estimate);
	}
}

/* ---- functions of one name ---- */

/* Where the functions of one name are. */
struct name_files {
	const struct sym_line *first[DIFF_SIDES];
	bool several; /* in two files of one side */
	bool unknown; /* at least one is in no known file */
};

static void note_file(struct name_files *f, enum diff_side side, const struct sym_line *l)
{
	if (!*l->file)
		f->unknown = true;
	else if (!f->first[side])
		f->first[side] = l;
	else if (f->first[side]->file != l->file)
		f->several |= strcmp(sym_file(f->first[side]), sym_file(l)) != 0;
}

/* Gives a name of its own to each of several functions that have the same one in different files,
 * such as static functions of C and <module> of Python.  Call it after all diff_add(). */
static void tell_files_apart(struct diff *d)
{
	struct name_files *files = must_calloc(d->names.count + 1, sizeof(*files)), *f;
	const struct diff_site *s;
	char *name;
	size_t i;

	for (s = d->site; s < d->site + d->sites; s++)
		for (i = s->first; i < s->first + s->count; i++)
			note_file(&files[d->id[i] - 1], (enum diff_side)s->side, d->line[i]);
	for (s = d->site; s < d->site + d->sites; s++)
		for (i = s->first; i < s->first + s->count; i++) {
			f = &files[d->id[i] - 1];
			if (!f->several || f->unknown)
				continue;
			d->on[d->id[i] - 1] = 0;
			name = WRITTEN(to, fprintf(to, "%s\n%s", interner_text(&d->names, d->id[i]),
						   sym_file(d->line[i])));
			d->id[i] =
			    number_name(d, (enum diff_side)s->side, d->line[i], name, strlen(name));
			free(name);
		}
	free(files);
}

/* ---- grouping ---- */

/* The key of a group: numbers, so that every kind of group is looked up the same way. */
static uint32_t group_key(struct diff *d, struct interner *keys, const struct diff_site *s,
			  uint32_t *work)
{
	const struct sym_line *leaf = d->line[s->first + s->count - 1];
	char text[1024];
	size_t i, n;

	switch (d->options.by) {
	case DIFF_BY_STACK:
		for (i = 0; i < s->count; i++)
			work[i] = d->renamed[d->id[s->first + i] - 1];
		return interner_id(keys, work, s->count * sizeof(*work));
	case DIFF_BY_FUNCTION:
		work[0] = d->renamed[d->id[s->first + s->count - 1] - 1];
		return interner_id(keys, work, sizeof(*work));
	case DIFF_BY_MODULE:
		n = spell_module(d, s->side, leaf, text, sizeof(text));
		break;
	case DIFF_BY_FILE:
		n = spell_file(d, s->side, leaf, text, sizeof(text));
		break;
	default:
		n = spell_line(d, s, text, sizeof(text));
		break;
	}
	return interner_id(keys, text, n < sizeof(text) ? n : sizeof(text) - 1);
}

static void add_to_group(struct diff *d, struct diff_group *g, const struct diff_site *s)
{
	size_t i;

	/* Take lines of the later side, because a reader can look them up. */
	if (!g->lines || (s->side == DIFF_AFTER && !g->sites[DIFF_AFTER])) {
		g->line = d->line + s->first;
		g->lines = s->count;
	}
	g->sites[s->side]++;
	for (i = 0; i < VALUE_COUNT; i++)
		g->v[s->side][i] += s->v[i];
	if (s->estimate)
		site_values_add(&g->estimates[s->side], s->estimate);
}

/*
 * The 95 % range of a figure n, with the estimates of its group or of all; false: unknown.  A side
 * without a sample may have had blocks, of up to z^2 times the weight of one: that is the range of
 * estimate.h for a variance of 0.
 */
static bool range_of(const struct diff *d, const struct site_values of[DIFF_SIDES],
		     enum diff_side side, enum profile_value value, uint64_t n,
		     struct estimate_range *range)
{
	struct site_values none;

	*range = (struct estimate_range){ n, n };
	if (!d->sampled[side])
		return true;
	if (of[side].error.samples)
		return estimate_range(&of[side], value, n, range);
	none = of[!side].error.samples ? of[!side] : d->estimates[side];
	none.error.calls = none.error.bytes = none.error.live_bytes = 0;
	return estimate_range(&none, value, n, range);
}

bool diff_group_range(const struct diff *d, const struct diff_group *g, enum diff_side side,
		      struct estimate_range *range)
{
	const enum profile_value value = d->options.value;

	return range_of(d, g->estimates, side, value, g->v[side][value], range) && d->sampled[side];
}

/*
 * Two times of one run have the samples of blocks in common that were live, or allocated, at both.
 * So what was allocated between them is known as soon as one block was sampled.  The variance of
 * how much more is live is that of the blocks that were allocated or freed in between, those that
 * were both counted twice, and at most the sum of the variances of both sides.
 */
static bool live_may_be_same(const struct site_error *a, const struct site_error *b,
			     const uint64_t v[DIFF_SIDES])
{
	const double by = (double)v[DIFF_AFTER] - (double)v[DIFF_BEFORE];
	const double freed = b->bytes - b->live_bytes - (a->bytes - a->live_bytes);
	const double between = b->bytes - a->bytes + freed, both = b->live_bytes + a->live_bytes;
	const double heaviest = b->heaviest_bytes * b->heaviest_bytes;
	double variance = between < both ? between : both;

	variance = variance > heaviest ? variance : heaviest;
	return by * by < ESTIMATE_Z * ESTIMATE_Z * variance;
}

static bool may_be_same(const struct diff *d, const struct site_values of[DIFF_SIDES],
			enum profile_value value, const uint64_t v[DIFF_SIDES][VALUE_COUNT])
{
	const struct site_error *last = &of[DIFF_AFTER].error;
	struct estimate_range a, b;

	if (!diff_of_samples(d))
		return false;
	if (d->options.one_run &&
	    (value == VALUE_CALLS || (value == VALUE_TOTAL && !last->by_calls)))
		return v[DIFF_BEFORE][value] == v[DIFF_AFTER][value];
	if (d->options.one_run && (value == VALUE_LIVE || value == VALUE_LEAKED) && !last->by_calls)
		return live_may_be_same(
		    &of[DIFF_BEFORE].error, last,
		    (const uint64_t[]){ v[DIFF_BEFORE][value], v[DIFF_AFTER][value] });
	return !range_of(d, of, DIFF_BEFORE, value, v[DIFF_BEFORE][value], &a) ||
	       !range_of(d, of, DIFF_AFTER, value, v[DIFF_AFTER][value], &b) ||
	       (a.low <= b.high && b.low <= a.high);
}

bool diff_may_be_same(const struct diff *d, enum profile_value value)
{
	return may_be_same(d, d->estimates, value, d->total);
}

bool diff_group_may_be_same(const struct diff *d, const struct diff_group *g,
			    enum profile_value value)
{
	return may_be_same(d, g->estimates, value, g->v);
}

static enum diff_change change_of(const struct diff *d, const struct diff_group *g)
{
	const struct diff_options *o = &d->options;
	const uint64_t before = g->v[DIFF_BEFORE][o->value], after = g->v[DIFF_AFTER][o->value];
	const uint64_t by = diff_distance(g, o->value);

	if (!by || by < o->least)
		return DIFF_SAME;
	if (diff_group_may_be_same(d, g, o->value))
		return DIFF_UNCLEAR;
	if (!before)
		return DIFF_ADDED;
	if (!after)
		return DIFF_REMOVED;
	if ((double)by * 100 < o->least_percent * (double)before)
		return DIFF_SAME;
	return after > before ? DIFF_GROWN : DIFF_SHRUNK;
}

static int by_change(const void *a, const void *b, void *diff)
{
	const struct diff_group *x = a, *y = b;
	const enum profile_value value = ((const struct diff *)diff)->options.value;
	uint64_t dx = diff_distance(x, value), dy = diff_distance(y, value);

	if (x->change != y->change && (x->change > DIFF_REMOVED || y->change > DIFF_REMOVED))
		return x->change > y->change ? 1 : -1;
	if (dx != dy)
		return dx > dy ? -1 : 1;
	dx = x->v[DIFF_AFTER][value] + x->v[DIFF_BEFORE][value];
	dy = y->v[DIFF_AFTER][value] + y->v[DIFF_BEFORE][value];
	if (dx != dy)
		return dx > dy ? -1 : 1;
	return strcmp(x->line[x->lines - 1]->function, y->line[y->lines - 1]->function);
}

static void make_groups(struct diff *d)
{
	uint32_t *work = must_calloc(deepest(d), sizeof(*work)), key;
	struct interner keys = { .text = NULL };
	size_t i;

	d->group = must_calloc(d->sites + 1, sizeof(*d->group));
	for (i = 0; i < d->sites; i++) {
		key = group_key(d, &keys, &d->site[i], work);
		add_to_group(d, &d->group[key - 1], &d->site[i]);
	}
	d->groups = keys.count;
	interner_release(&keys);
	free(work);
}

/* Finds groups that differ in their modules only, such as a function that moved to a library. */
static void find_twins(struct diff *d)
{
	char **place = must_calloc(d->groups + 1, sizeof(*place));
	const struct sym_line *l;
	uint32_t line;
	bool *twin;
	size_t i;

	for (i = 0; i < d->groups; i++) {
		l = d->group[i].line[d->group[i].lines - 1];
		line = d->options.by == DIFF_BY_LINE ? l->line : 0;
		place[i] = must_printf("%s\n%s\n%" PRIu32, l->function,
				       *l->file ? sym_file(l) : l->module, line);
	}
	twin = interner_twins(place, d->groups);
	for (i = 0; i < d->groups; i++) {
		d->group[i].twin = twin[i];
		free(place[i]);
	}
	free(place);
	free(twin);
}

static void same_names(struct diff *d)
{
	size_t i;

	d->renamed = must_calloc(d->names.count + 1, sizeof(*d->renamed));
	for (i = 0; i < d->names.count; i++)
		d->renamed[i] = (uint32_t)i + 1;
}

void diff_finish(struct diff *d)
{
	size_t i;

	tell_files_apart(d);
	same_names(d);
	if (!d->options.no_renames)
		find_renames(d);
	if (d->options.by == DIFF_BY_LINE)
		find_lines(d);
	make_groups(d);
	for (i = 0; i < d->groups; i++) {
		d->group[i].change = change_of(d, &d->group[i]);
		d->changed[d->group[i].change]++;
	}
	SORT_IN(d->group, d->groups, by_change, d);
	if (d->options.by == DIFF_BY_FUNCTION || d->options.by == DIFF_BY_LINE)
		find_twins(d);
}

void diff_release(struct diff *d)
{
	interner_release(&d->names);
	interner_release(&d->stable);
	free(d->on);
	free(d->example);
	free(d->renamed);
	free(d->site);
	free(d->id);
	free(d->line);
	free(d->group);
	free(d->rename);
	free(d->place);
	*d = (struct diff){ .groups = 0 };
}

/* ---- from profiles ---- */

/* Returns the program that the run started; NULL if no fact names it. */
static const char *program_of(const struct profile *p)
{
	const struct tree_process *first = p->tree.processes ? &p->tree.process[0] : NULL;

	return first && first->images ? basename(first->image[0]->exe) : NULL;
}

static bool same_build(const struct stack_object *a, const struct stack_object *b)
{
	return a->build_id && b->build_id && a->build_id_bytes == b->build_id_bytes &&
	       !memcmp(a->build_id, b->build_id, a->build_id_bytes);
}

static void find_stable(struct diff *d, const struct stacks *a, const struct stacks *b)
{
	size_t i, k;

	for (i = 1; a && b && i < a->objects; i++)
		for (k = 1; k < b->objects; k++)
			if (same_build(&a->object[i], &b->object[k])) {
				diff_stable(d, basename(a->object[i].path));
				diff_stable(d, basename(b->object[k].path));
				break;
			}
}

static void add_profile(struct diff *d, enum diff_side side, struct profile *p)
{
	struct calltree_path path = { .line = NULL };
	const bool estimated = p->sites.totals.estimated;
	uint64_t v[VALUE_COUNT];
	size_t i, k, start;

	for (i = 0; i < p->count; i++) {
		calltree_path_of(&path, p, i);
		for (k = 0; k < VALUE_COUNT; k++)
			v[k] = diff_has(d, (enum profile_value)k)
				   ? profile_value(p, i, (enum profile_value)k)
				   : 0;
		start = paths_start_lines(path.line, path.count);
		diff_add(d, side, path.line + start, path.count - start, v,
			 estimated ? &p->site[i].v : NULL);
	}
	free(path.line);
}

static bool is_partial(const struct profile *p)
{
	return profile_is_part(p->trace) || p->tree.lost_all || p->tree.owns || p->tree.deepbinds ||
	       trace_lacks_events(trace_damage(p->trace));
}

bool diff_peaks_differ(const struct profile *before, const struct profile *after)
{
	const struct profile *trace = before->sites.totals.read ? after : before;

	return before->sites.totals.read != after->sites.totals.read && trace->tree.processes > 1 &&
	       !trace->sites.options.filter.process;
}

static uint64_t attached_ns(const struct profile *p)
{
	const struct tree *t = &p->tree;

	return t->processes && t->process[0].attached
		   ? walk_duration_ns(&p->walk, t->end_ticks - t->start_ticks)
		   : 0;
}

static uint64_t resident(const struct profile *p)
{
	const struct tree_process *most = tree_largest(&p->tree);

	if (!most || most->peak_rss_bytes < most->self_bytes || attached_ns(p) ||
	    !site_filter_is_plain(&p->sites.options.filter))
		return 0;
	return most->peak_rss_bytes - most->self_bytes;
}

bool diff_resident_moved(const struct diff *d)
{
	const uint64_t before = d->resident[DIFF_BEFORE], after = d->resident[DIFF_AFTER];
	const uint64_t by = after > before ? after - before : before - after;

	return before && after && !d->options.one_run && by >= RESIDENT_LEAST &&
	       by >= before / RESIDENT_PART;
}

void diff_make(struct diff *d, struct profile *before, struct profile *after,
	       const struct diff_options *o)
{
	diff_init(d, o);
	d->options.program[DIFF_BEFORE] = program_of(before);
	d->options.program[DIFF_AFTER] = program_of(after);
	d->totals = before->sites.totals.read || after->sites.totals.read;
	d->sampled[DIFF_BEFORE] = before->sites.totals.estimated;
	d->sampled[DIFF_AFTER] = after->sites.totals.estimated;
	d->peaks_differ = diff_peaks_differ(before, after);
	d->partial[DIFF_BEFORE] = is_partial(before);
	d->partial[DIFF_AFTER] = is_partial(after);
	if (before->sites.totals.read == after->sites.totals.read &&
	    before->sites.totals.estimated == after->sites.totals.estimated) {
		d->resident[DIFF_BEFORE] = resident(before);
		d->resident[DIFF_AFTER] = resident(after);
	}
	d->attached_ns[DIFF_BEFORE] = attached_ns(before);
	d->attached_ns[DIFF_AFTER] = attached_ns(after);
	d->left_open[DIFF_BEFORE] =
	    tree_left_open(&before->tree, &before->walk.heap, before->sites.options.filter.process);
	d->left_open[DIFF_AFTER] =
	    tree_left_open(&after->tree, &after->walk.heap, after->sites.options.filter.process);
	find_stable(d, before->stacks, after->stacks);
	add_profile(d, DIFF_BEFORE, before);
	add_profile(d, DIFF_AFTER, after);
	diff_finish(d);
	for (int side = 0; side < DIFF_SIDES; side++)
		d->left_open[side] &= d->total[side][VALUE_LEAKED] != 0;
}
