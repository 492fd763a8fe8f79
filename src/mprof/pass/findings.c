// SPDX-License-Identifier: LGPL-3.0-or-later
/* findings.c - what call stacks say that a reader should know first. */
#include "findings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "keys.h"

#define COVERED	     98u   /* percent of a figure whose sites are given names, */
#define NAMED_SITES  2000u /* at most so many */
#define TOPS	     3u	   /* functions of one kind at most */
#define GROWN_LOOKED 64u   /* places */
#define EPOCH_PART   (SITE_EPOCHS / 4)

/* A kind: its figure of a site, the least part that is told, what it weighs. */
static const struct {
	size_t field; /* in struct site_values */
	unsigned least_percent;
	uint64_t least; /* less is not worth telling, whatever part it is */
	unsigned most;
	double weight;
} kinds[FINDING_KINDS] = {
	[FINDING_PEAK] = { offsetof(struct site_values, peak_bytes), 10, 1024, 3, 1.0 },
	[FINDING_LEAK] = { offsetof(struct site_values, live_bytes), 1, 1024, 3, 1.2 },
	[FINDING_HOT] = { offsetof(struct site_values, calls), 15, 100, 2, 0.5 },
	[FINDING_TEMPORARY] = { offsetof(struct site_values, temporary_calls), 5, 100, 2, 0.9 },
	[FINDING_GROWN] = { 0, 1, 8, 2, 0.9 },
	[FINDING_WASTE] = { offsetof(struct site_values, peak_slack), 3, 4096, 1, 1.0 },
	[FINDING_THREADS] = { offsetof(struct site_values, foreign_frees), 10, 10, 1, 0.3 },
};

static uint64_t value_of(const struct site *s, enum finding_kind kind)
{
	return *(const uint64_t *)((const char *)&s->v + kinds[kind].field);
}

/* What a kind's parts are parts of. */
static uint64_t whole_of(const struct analysis *a, enum finding_kind kind)
{
	const struct site_values *v = &a->sites.total;

	switch (kind) {
	case FINDING_HOT:
	case FINDING_TEMPORARY:
		return v->calls;
	case FINDING_THREADS:
		return v->freed_calls;
	default:
		return v->peak_bytes;
	}
}

/* ---- functions ---- */

bool findings_is_library(const struct sym_line *l)
{
	static const char *const module[] = { "libc.so",    "libstdc++.so", "libc++.so",
					      "ld-linux",   "libgcc_s",	    "libm.so",
					      "libpthread", "libglib-2",    "libmprof.so" };
	static const char *const name[] = { "std::",	"__gnu_cxx::", "alloc::",
					    "<alloc::", "core::",      "<core::" };
	size_t i;

	for (i = 0; i < sizeof(module) / sizeof(module[0]); i++)
		if (!strncmp(l->module, module[i], strlen(module[i])))
			return true;
	for (i = 0; i < sizeof(name) / sizeof(name[0]); i++)
		if (!strncmp(l->function, name[i], strlen(name[i])))
			return true;
	return l->known && strcasestr(l->function, "alloc");
}

static bool is_library_or_unknown(const struct sym_line *l)
{
	return !l->known || findings_is_library(l);
}

struct top {
	uint64_t part, most; /* most: of one site */
	const struct site *largest;
	struct site_values v;
	size_t sites;
};

struct tops {
	struct line_keys functions;
	struct top *top; /* by id - 1 */
	size_t room;
};

static struct top *top_at(struct tops *t, uint32_t id)
{
	size_t room = t->room ? 2 * t->room : 64;
	struct top *grown;

	if (id > t->room) {
		grown = reallocarray(t->top, room, sizeof(*grown));
		if (!grown)
			return NULL;
		memset(grown + t->room, 0, (room - t->room) * sizeof(*grown));
		t->top = grown;
		t->room = room;
	}
	return &t->top[id - 1];
}

static bool add_to_tops(struct tops *t, struct profile *names, const struct site *s, uint64_t part)
{
	const struct sym_line *leaf = profile_leaf(names, s->key, findings_is_library);
	uint32_t id = leaf ? line_keys_id(&t->functions, leaf) : 0;
	struct top *top;

	if (!leaf)
		return true;
	top = id ? top_at(t, id) : NULL;
	if (!top)
		return false;
	if (!top->largest || part > top->most) {
		top->largest = s;
		top->most = part;
	}
	top->part += part;
	top->sites++;
	site_values_add(&top->v, &s->v);
	return true;
}

struct order {
	enum finding_kind kind;
	const struct site **site;
	size_t count;
	uint64_t sum;
};

static int by_value(const void *a, const void *b, void *kind)
{
	const struct site *x = *(const struct site *const *)a, *y = *(const struct site *const *)b;
	uint64_t vx = value_of(x, *(enum finding_kind *)kind),
		 vy = value_of(y, *(enum finding_kind *)kind);

	if (vx != vy)
		return vx > vy ? -1 : 1;
	return (x->key > y->key) - (x->key < y->key);
}

/* Sites with any of it, most first; the array is o->site's. */
static void put_in_order(struct order *o, const struct sites *s)
{
	size_t i;

	for (i = 0, o->count = 0, o->sum = 0; i < s->count; i++) {
		if (!value_of(&s->site[i], o->kind))
			continue;
		o->site[o->count++] = &s->site[i];
		o->sum += value_of(&s->site[i], o->kind);
	}
	qsort_r(o->site, o->count, sizeof(*o->site), by_value, &o->kind);
}

static bool is_left_out(struct profile *names, enum finding_kind kind, const struct site *s)
{
	return kind == FINDING_LEAK &&
	       profile_suppresses(names, s->key, s->v.size_min, s->v.size_max);
}

static bool make_tops(struct tops *t, struct profile *names, const struct order *o)
{
	uint64_t seen = 0;
	size_t i;

	for (i = 0; i < o->count && i < NAMED_SITES; i++) {
		uint64_t part = value_of(o->site[i], o->kind);

		if (seen > o->sum / 100 * COVERED && i)
			break;
		seen += part;
		if (!is_left_out(names, o->kind, o->site[i]) &&
		    !add_to_tops(t, names, o->site[i], part))
			return false;
	}
	return true;
}

/* ---- leaks ---- */

static enum finding_growth growth_of(const struct site_values *v)
{
	const uint64_t *e = v->epoch_bytes, end = e[SITE_EPOCHS - 1];
	unsigned rising = 0, i;

	if (v->calls == 1)
		return GROWTH_ONCE;
	for (i = 1; i < SITE_EPOCHS; i++)
		rising += e[i] > e[i - 1];
	if (rising >= SITE_EPOCHS * 3 / 4)
		return GROWTH_STEADY;
	if (e[EPOCH_PART - 1] >= end)
		return GROWTH_EARLY;
	if (end > e[SITE_EPOCHS - 1 - EPOCH_PART])
		return GROWTH_GOES_ON;
	return GROWTH_OTHER;
}

/* ---- findings ---- */

/* Fills who asked for the finding's stack; false: nobody is known. */
static bool find_who(struct profile *names, struct finding *f)
{
	const struct sym_line *leaf = profile_leaf(names, f->stack, NULL);

	f->line = profile_leaf(names, f->stack, findings_is_library);
	if (leaf != f->line)
		f->through = leaf;
	if (f->line && !f->line->known) {
		f->caller = profile_leaf(names, f->stack, is_library_or_unknown);
		if (is_library_or_unknown(f->caller))
			f->caller = NULL;
	}
	return f->line;
}

static void insert(struct findings *f, const struct finding *new)
{
	size_t i = f->count;

	if (i == FINDINGS) {
		if (new->rank <= f->item[i - 1].rank)
			return;
		i--;
	} else {
		f->count++;
	}
	for (; i && f->item[i - 1].rank < new->rank; i--)
		f->item[i] = f->item[i - 1];
	f->item[i] = *new;
}

static void add_finding(struct findings *f, const struct analysis *a, enum finding_kind kind,
			const struct top *t)
{
	const uint64_t whole = whole_of(a, kind);
	struct finding new = {
		.kind = kind,
		.stack = t->largest->key,
		.part = t->part,
		.of = whole,
		.calls = t->v.calls,
		.sites = t->sites,
	};

	if (!whole || (double)t->part * 100 < kinds[kind].least_percent * (double)whole)
		return;
	if (t->part < kinds[kind].least)
		return;
	new.blocks = kind == FINDING_LEAK ? t->v.live_calls : t->v.peak_calls;
	new.growth = growth_of(&t->v);
	if (kind == FINDING_PEAK && !is_left_out(&f->names, FINDING_LEAK, t->largest))
		new.left = t->v.live_bytes;
	new.rank = kinds[kind].weight *(double)t->part / (double)whole;
	if (new.rank > kinds[kind].weight)
		new.rank = kinds[kind].weight;
	/* What is still growing will be worse in a longer run; what came once will not. */
	if (kind == FINDING_LEAK && (new.growth == GROWTH_ONCE || new.growth == GROWTH_EARLY))
		new.rank /= 4;
	if (find_who(&f->names, &new))
		insert(f, &new);
}

static bool find_kind(struct findings *f, const struct analysis *a, struct order *o)
{
	struct tops tops = { .functions = { .same = LINE_FUNCTION } };
	struct top *best;
	bool good;
	size_t i, n;

	put_in_order(o, &a->sites);
	good = make_tops(&tops, &f->names, o);
	for (n = 0; good && n < kinds[o->kind].most; n++) {
		for (best = NULL, i = 0; i < tops.functions.keys.count; i++)
			if (tops.top[i].part && (!best || tops.top[i].part > best->part))
				best = &tops.top[i];
		if (!best)
			break;
		add_finding(f, a, o->kind, best);
		best->part = 0;
	}
	line_keys_release(&tops.functions);
	free(tops.top);
	return good;
}

/* Part of all calls, or of all copied and allocated bytes, whichever is more. */
static double rank_of_growth(const struct analysis *a, const struct growth_site *s)
{
	const struct site_values *all = &a->sites.total;
	double calls = (double)s->saved_steps / (double)(all->calls ? all->calls : 1);
	double bytes = (double)s->saved_copied / (double)(all->bytes ? all->bytes : 1);

	return calls > bytes ? calls : bytes;
}

static bool has_grown(const struct findings *f, const struct sym_line *line)
{
	const struct finding *x;

	for (x = f->item; x < f->item + f->count; x++)
		if (x->kind == FINDING_GROWN && !strcmp(x->line->function, line->function))
			return true;
	return false;
}

/* False: nothing of what follows is worth telling either. */
static bool add_grown(struct findings *f, const struct analysis *a, const struct growth_site *s)
{
	struct finding new = {
		.kind = FINDING_GROWN,
		.stack = s->stack,
		.grown = s,
		.part = s->saved_steps,
		.of = a->sites.total.calls,
		.rank = rank_of_growth(a, s),
	};

	if (new.rank * 100 < kinds[FINDING_GROWN].least_percent)
		return false;
	if (s->saved_steps < kinds[FINDING_GROWN].least || !find_who(&f->names, &new) ||
	    has_grown(f, new.line))
		return true;
	new.rank *= kinds[FINDING_GROWN].weight;
	insert(f, &new);
	return true;
}

static int by_growth(const void *a, const void *b, void *analysis)
{
	double x = rank_of_growth(analysis, *(const struct growth_site *const *)a);
	double y = rank_of_growth(analysis, *(const struct growth_site *const *)b);

	return (x < y) - (x > y);
}

/* The best place of each of the best functions. */
static bool find_grown(struct findings *f, const struct analysis *a)
{
	const struct growth *g = &a->growth;
	const struct growth_site **site = calloc(g->sites + 1, sizeof(*site));
	size_t i, before = f->count;

	for (i = 0; site && i < g->sites; i++)
		site[i] = &g->site[i];
	if (site)
		qsort_r(site, g->sites, sizeof(*site), by_growth, (void *)a);
	for (i = 0; site && i < g->sites && i < GROWN_LOOKED; i++)
		if (!add_grown(f, a, site[i]) || f->count >= before + kinds[FINDING_GROWN].most)
			break;
	free(site);
	return site;
}

static bool same_function(const struct finding *a, const struct finding *b)
{
	return !strcmp(a->line->function, b->line->function) &&
	       !strcmp(a->line->module, b->line->module);
}

/* Does x say what y says, and more? */
static bool says_more(const struct finding *x, const struct finding *y)
{
	/* Why a function calls so often is more than that it does. */
	if (y->kind == FINDING_HOT)
		return (x->kind == FINDING_TEMPORARY || x->kind == FINDING_GROWN) &&
		       x->part >= y->part / 2 && same_function(x, y);
	/* What came once and stayed is told with the peak. */
	if (y->kind == FINDING_LEAK)
		return x->kind == FINDING_PEAK && x->left && x->left >= x->part / 2 &&
		       (y->growth == GROWTH_ONCE || y->growth == GROWTH_EARLY) &&
		       same_function(x, y);
	return false;
}

static void drop_told(struct findings *f)
{
	size_t i, k, n;

	for (i = n = 0; i < f->count; i++) {
		for (k = 0; k < f->count; k++)
			if (k != i && says_more(&f->item[k], &f->item[i]))
				break;
		/* What was dropped from before i told no more than what stays. */
		if (k == f->count)
			f->item[n++] = f->item[i];
	}
	f->count = n;
}

int findings_make(struct findings *f, const struct analysis *a, struct trace *t,
		  const struct profile_options *o, struct error *err)
{
	struct order order;
	bool good = true;
	int ret, kind;

	f->count = 0;
	f->named = false;
	if (!a->has_stacks)
		return 0;
	ret = profile_names(&f->names, t, o, err);
	if (ret < 0)
		return ret;
	f->named = true;
	order.site = calloc(a->sites.count + 1, sizeof(*order.site));
	for (kind = 0; kind < FINDING_KINDS && order.site && good; kind++) {
		order.kind = (enum finding_kind)kind;
		if (kind == FINDING_GROWN)
			good = find_grown(f, a);
		else
			good = find_kind(f, a, &order);
	}
	good = good && order.site;
	drop_told(f);
	free(order.site);
	return good ? 0 : fail(err, -ENOMEM, "no memory for the findings of '%s'", a->path);
}

void findings_release(struct findings *f)
{
	if (f->named)
		profile_release(&f->names);
	f->named = false;
	f->count = 0;
}
