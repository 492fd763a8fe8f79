// SPDX-License-Identifier: LGPL-3.0-or-later
/* finding_sums.c - see finding_sums.h. */
#include "finding_sums.h"

#include <stdlib.h>
#include <string.h>

#include "../sym/interpreters.h"
#include "../util/alloc.h"
#include "../util/rank.h"
#include "leaks.h"
#include "paths.h"

/* ---- by function ---- */

static const size_t fields[FINDING_KINDS] = {
#define FINDING(id, name, sentence, brief, figure, ...) \
	[FINDING_##id] = offsetof(struct site_brief, figure),
#include "finding_kinds.def"
};

/* Rounding up to more than the page where a block ends takes address space, and memory only where
 * it is written to. */
static uint64_t wasted(const struct site_brief *v, uint64_t page)
{
	return v->peak_slack < v->peak_calls * page ? v->peak_slack : v->peak_calls * page;
}

static inline uint64_t value_of(const struct finding_sums *s, size_t i, unsigned kind)
{
	const struct site_brief *v = &s->sites->brief[i];

	if (kind == FINDING_WASTE)
		return wasted(v, s->page);
	return *(const uint64_t *)((const char *)v + fields[kind]);
}

static void add_up(struct finding_sums *s)
{
	for (size_t i = 0; i < s->sites->count; i++) {
		const uint32_t function = s->askers.of[i].function;
		uint64_t *most = s->most + function - 1;

		if (!function)
			continue;
		s->calls[function - 1] += s->sites->brief[i].calls;
		for (unsigned kind = 0; kind < FINDING_KINDS; kind++, most += s->functions)
			*most += value_of(s, i, kind);
	}
}

void finding_sums_make(struct finding_sums *s, const struct sites *sites, struct profile *names)
{
	const struct walk *w = sites->walk;

	*s = (struct finding_sums){ .sites = sites,
				    .names = names,
				    .page = w->heap.page_size,
				    .ends_early = w->input.log_end && !sites->totals.read };
	askers_find(&s->askers, sites, names);
	s->functions = s->askers.functions.keys.count;
	s->calls = must_calloc(s->functions + 1, sizeof(*s->calls));
	s->most = must_calloc(FINDING_KINDS * s->functions + 1, sizeof(*s->most));
	s->exact = must_calloc(s->functions + 1, sizeof(*s->exact));
	s->part = must_calloc(sites->count + 1, sizeof(*s->part));
	add_up(s);
}

void finding_sums_release(struct finding_sums *s)
{
	askers_release(&s->askers);
	free(s->calls);
	free(s->most);
	free(s->exact);
	free(s->part);
}

void finding_sums_begin(struct finding_sums *s, enum finding_kind kind)
{
	s->kind = kind;
	memset(s->exact, 0, s->functions);
}

/* The indices of a function's sites. */
#define EACH_SITE(s, function, i)                                             \
	size_t n_ = (s)->askers.first[(function)-1], i = 0;                   \
	n_ < (s)->askers.first[function] && (i = (s)->askers.site[n_], true); \
	n_++

static bool leaks(struct finding_sums *s, size_t i)
{
	/* Blocks that were live when events ended may have been freed later. */
	return s->sites->brief[i].live_calls && !s->ends_early &&
	       askers_leaks(&s->askers, s->sites, s->names, i);
}

static bool is_left_out(struct finding_sums *s, size_t i)
{
	if (s->kind == FINDING_LEAK)
		return !leaks(s, i);
	if (s->kind == FINDING_PEAK || s->kind == FINDING_WASTE)
		return askers_kept(&s->askers, s->sites, s->names, i);
	/* Nobody can change how an interpreter starts. */
	return profile_is_start(s->names, s->sites->brief[i].key);
}

static uint64_t exact_part(struct finding_sums *s, uint32_t function)
{
	uint64_t sum = 0;

	for (EACH_SITE(s, function, i)) {
		const uint64_t value = value_of(s, i, s->kind);

		s->part[i] = value && !is_left_out(s, i) ? value : 0;
		sum += s->part[i];
	}
	return sum;
}

/* Are all blocks of the site of 0 bytes?  They add nothing to the figure, but they count as blocks.
 */
static bool is_of_no_bytes(struct finding_sums *s, size_t i)
{
	const struct site_brief *v = &s->sites->brief[i];
	const bool any = s->kind == FINDING_PEAK   ? !v->peak_bytes && v->peak_calls
			 : s->kind == FINDING_LEAK ? !v->live_bytes && v->live_calls
						   : false;

	return any && !is_left_out(s, i);
}

static void fill_top(struct finding_sums *s, uint32_t function, struct finding_top *top)
{
	*top = (struct finding_top){ .calls = s->calls[function - 1] };
	for (EACH_SITE(s, function, i)) {
		const struct site_brief *site = &s->sites->brief[i];

		if (!s->part[i] && !is_of_no_bytes(s, i))
			continue;
		top->part += s->part[i];
		top->own_calls += site->calls;
		top->live_calls += site->live_calls;
		top->peak_calls += site->peak_calls;
		top->peak_slack += site->peak_slack;
		top->reduced |= sites_kept_until(s->sites->walk, site->key) > 0;
		if (s->kind == FINDING_PEAK && leaks(s, i))
			top->left += site->live_bytes;
	}
}

void finding_sums_values(struct finding_sums *s, uint32_t function, struct site_values *v)
{
	struct site site;

	*v = (struct site_values){ .calls = 0 };
	for (EACH_SITE(s, function, i))
		if (s->part[i]) {
			sites_site(s->sites, i, &site);
			site.v.leaked_calls = site.v.live_calls;
			site.v.leaked_bytes = site.v.live_bytes;
			reachable_count(s->names->reachable, &site);
			site_values_add(v, &site.v);
		}
}

void finding_sums_curve(struct finding_sums *s, uint32_t function, uint64_t live[SITE_EPOCHS])
{
	const uint64_t *ticks = s->sites->epoch_ticks;
	const uint64_t run_ns = walk_duration_ns(s->sites->walk, ticks[SITE_EPOCHS] - ticks[0]);
	struct site site;

	memset(live, 0, SITE_EPOCHS * sizeof(*live));
	for (EACH_SITE(s, function, i)) {
		if (!s->part[i])
			continue;
		sites_site(s->sites, i, &site);
		if (leak_is_replaced(&site.v, ticks, run_ns))
			continue;
		for (unsigned k = 0; k < SITE_EPOCHS; k++)
			live[k] += site.v.epoch_bytes[k];
	}
}

const struct growth_calls *finding_sums_calls(struct finding_sums *s)
{
	if (!s->when.all)
		growth_calls_make(&s->when, s->sites);
	return &s->when;
}

uint32_t finding_sums_next(struct finding_sums *s, struct finding_top *top)
{
	uint64_t *most = s->most + s->kind * s->functions;
	size_t best;

	for (;;) {
		best = 0;
		for (size_t i = 1; i < s->functions; i++)
			if (most[i] > most[best])
				best = i;
		if (!s->functions || !most[best])
			return 0;
		if (s->exact[best])
			break;
		most[best] = exact_part(s, (uint32_t)best + 1);
		s->exact[best] = true;
	}
	fill_top(s, (uint32_t)best + 1, top);
	most[best] = 0;
	return (uint32_t)best + 1;
}

/* ---- where it is ---- */

/* A name and its part of a finding. */
struct share {
	struct finding_part p;
	uint64_t most; /* the largest part of one site */
	const struct sym_line *line;
	size_t site; /* that has it; of equal ones the first */
};

static void add_share(struct array *shares, uint32_t id, const struct finding_sums *s, size_t i,
		      const struct sym_line *line)
{
	struct share *share = array_at(shares, id, sizeof(*share));
	const struct site_brief *site = &s->sites->brief[i];
	const uint64_t part = s->part[i];

	if (!share->line || part > share->most || (part == share->most && i < share->site)) {
		share->most = part;
		share->site = i;
		share->p.stack = site->key;
		share->line = line;
	}
	share->p.part += part;
	share->p.calls += site->calls;
	if (site->size_max > share->p.largest)
		share->p.largest = site->size_max;
}

static const struct share *largest(const struct array *shares, size_t *count)
{
	const struct share *s = shares->item, *best = s;
	size_t i;

	*count = 0;
	for (i = 0; i < shares->count; i++) {
		*count += s[i].p.part > 0;
		if (s[i].p.part > best->p.part)
			best = &s[i];
	}
	return best;
}

/* Finds which of the function's lines has most. */
static void find_line(struct finding *f, const struct finding_sums *s, uint32_t function)
{
	const struct askers *t = &s->askers;
	struct array shares = { .item = NULL };
	const struct share *best;

	for (EACH_SITE(s, function, i))
		add_share(&shares, t->of[i].line, s, i,
			  line_interner_line(&t->lines, t->of[i].line));
	best = largest(&shares, &f->lines);
	f->line = best->line;
	f->at_line = best->p;
	array_release(&shares);
}

#define WRAPPERS 8u /* of malloc that call each other, at most */

/* Names that some of the sites of a line share. */
struct around {
	struct array shares;
	struct line_interner names;
};

static const struct sym_line nothing = { .function = "", .raw = "", .file = "", .module = "" };

static void add_around(struct around *a, const struct finding_sums *s, size_t i,
		       const struct sym_line *line)
{
	add_share(&a->shares, line ? line_interner_id(&a->names, line) : 0, s, i,
		  line ? line : &nothing);
}

/* Returns the line that has more than half of `whole`, or NULL; all: nothing else has any. */
static const struct sym_line *most_around(struct around *a, uint64_t whole, bool *all)
{
	const struct sym_line *line = NULL;
	const struct share *best;
	size_t n;

	if (a->shares.count) {
		best = largest(&a->shares, &n);
		if (best->line != &nothing && best->p.part > whole / 2)
			line = best->line;
		*all = n == 1;
	}
	array_release(&a->shares);
	line_interner_release(&a->names);
	return line;
}

static bool tells_more(const struct sym_line *line)
{
	return line->known && strcmp(line->function, "main") != 0 &&
	       paths_part(line) == PATHS_PROGRAM;
}

/* Is it called by way of itself? */
static bool is_among(const struct sym_line *line, const struct sym_line *const *of, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!sym_order_functions(line, of[i]))
			return true;
	return false;
}

/* Is the site's block allocated by way of these functions?  caller: of the last one, or NULL. */
static bool is_by_way_of(const struct finding *f, struct finding_sums *s, size_t site,
			 const struct sym_line *const *wrapper, size_t n,
			 const struct sym_line **caller)
{
	const struct sym_line *outward[WRAPPERS];
	const size_t known =
	    profile_callers(s->names, s->sites->brief[site].key, f->line, outward, n + 1);
	size_t k = 0;

	while (k < n && k < known && !sym_order_functions(outward[k], wrapper[k]))
		k++;
	*caller = n < known ? outward[n] : NULL;
	return k == n;
}

/* Does another function call wrapper[n - 1] for blocks that are not of the finding? */
static bool has_other_caller(const struct finding *f, struct finding_sums *s, uint32_t function,
			     const struct sym_line *const *wrapper, size_t n,
			     const struct sym_line *caller)
{
	const struct sym_line *other;

	for (EACH_SITE(s, function, i))
		if (!s->part[i] && is_by_way_of(f, s, i, wrapper, n, &other) &&
		    (!other || sym_order_functions(other, caller)))
			return true;
	return false;
}

/* Returns the function that calls wrapper[n - 1] for more than half of the finding, of all its
 * lines, or NULL.  all: no other function calls that for blocks of the finding. */
static const struct sym_line *caller_of(const struct finding *f, struct finding_sums *s,
					uint32_t function, const struct sym_line *const *wrapper,
					size_t n, bool *all)
{
	struct around around = { .names.same = LINE_FUNCTION };
	struct ranked *r = must_malloc(
	    (s->askers.first[function] - s->askers.first[function - 1] + 1) * sizeof(*r));
	const struct sym_line *caller;
	uint64_t whole = 0;
	size_t sites = 0;

	for (EACH_SITE(s, function, i))
		if (s->part[i])
			r[sites++] = (struct ranked){ s->sites->brief[i].key, i };
	rank(r, sites); /* stacks that follow each other share most of their frames */
	for (size_t k = 0; k < sites; k++) {
		whole += s->part[r[k].item];
		if (is_by_way_of(f, s, r[k].item, wrapper, n, &caller))
			add_around(&around, s, r[k].item, caller);
	}
	free(r);
	return most_around(&around, whole, all);
}

/* If several functions call it, because the program wraps malloc in it, finds the one to which most
 * of the finding belongs; if that is such a wrapper, too, also the first one that is not.  Those
 * none of whose blocks the finding has, such as blocks that were freed, are among them: they are
 * not at fault. */
static void find_caller(struct finding *f, struct finding_sums *s, uint32_t function)
{
	const struct sym_line *wrapper[WRAPPERS];
	bool all_by_first = false;
	size_t n;

	for (n = 0; n < WRAPPERS; n++) {
		bool all = false;

		wrapper[n] = caller_of(f, s, function, wrapper, n, &all);
		if (!wrapper[n] || is_among(wrapper[n], wrapper, n) ||
		    !sym_order_functions(wrapper[n], f->line))
			break;
		all_by_first |= all && !n;
		if (all && !has_other_caller(f, s, function, wrapper, n, wrapper[n]))
			break;
	}
	f->caller = n ? wrapper[0] : NULL;
	f->all_by_caller = n && all_by_first;
	f->beyond = n > 1 ? wrapper[n - 1] : NULL;
}

/* Finds the innermost function with a name that is on the stacks of more than half of the finding's
 * line, if any. */
static void find_common(struct finding *f, struct finding_sums *s, uint32_t function, uint32_t line)
{
	struct line_interner names = { .same = LINE_FUNCTION };
	struct array shares = { .item = NULL };
	size_t least = SIZE_MAX;

	for (EACH_SITE(s, function, i)) {
		const struct profile_path *path;

		if (s->askers.of[i].line != line || !s->part[i])
			continue;
		path = profile_path_once(s->names, s->sites->brief[i].key);
		for (size_t k = path->asked; k--;) {
			struct share *share;

			if (!tells_more(path->line[k]))
				continue;
			share = array_at(&shares, line_interner_id(&names, path->line[k]),
					 sizeof(*share));
			if (share->p.stack == i + 1) /* of a recursion */
				continue;
			share->p.stack = (uint32_t)i + 1;
			share->p.part += s->part[i];
			/* p.largest: how far out it is at most */
			if (path->asked - k > share->p.largest)
				share->p.largest = path->asked - k;
			share->line = path->line[k];
		}
	}
	for (size_t k = 0; k < shares.count; k++) {
		const struct share *share = (const struct share *)shares.item + k;

		if (share->p.part > f->at_line.part / 2 && share->p.largest < least) {
			least = share->p.largest;
			f->source = share->line;
			f->all_from_source = share->p.part == f->at_line.part;
		}
	}
	array_release(&shares);
	line_interner_release(&names);
}

bool finding_is_of_shared(const struct sym_line *line)
{
	return strstr(line->module, ".so") != NULL;
}

bool finding_is_of_panic(const struct sym_line *through)
{
	return through && (!strncmp(through->function, "core::panicking::", 17) ||
			   !strncmp(through->function, "std::panicking::", 16));
}

bool finding_is_theirs(const struct sym_line *line)
{
	return (finding_is_of_shared(line) && strncmp(line->function, "std::", 5) != 0) ||
	       sym_interpreter(line->module) || finding_is_of_panic(line);
}

/* Finds the function that this line called, its caller, and its source, if one of them has most of
 * it. */
static void find_around(struct finding *f, struct finding_sums *s, uint32_t function)
{
	struct around through = { .names.same = LINE_FUNCTION };
	struct around caller = { .names.same = LINE_FUNCTION };
	struct around source = { .names.same = LINE_LINE };
	const uint32_t line = line_interner_id(&s->askers.lines, f->line);
	uint64_t theirs = 0;
	const bool has_source = *f->line->file && !sym_interpreter(f->line->module) &&
				strncmp(f->line->file, "node:", 5) != 0;

	for (EACH_SITE(s, function, i)) {
		const struct asker *a = &s->askers.of[i];

		if (a->line != line || !s->part[i])
			continue;
		add_around(&through, s, i, a->who.through);
		theirs += a->who.through && finding_is_theirs(a->who.through) ? s->part[i] : 0;
		add_around(&caller, s, i, a->who.caller);
		if (!has_source)
			add_around(&source, s, i, profile_source(s->names, s->sites->brief[i].key));
	}
	f->by_library = theirs > f->at_line.part / 2;
	f->through = most_around(&through, f->at_line.part, &f->all_through);
	f->caller = most_around(&caller, f->at_line.part, &f->all_by_caller);
	f->source = most_around(&source, f->at_line.part, &f->all_from_source);
	if (!f->source && !f->caller && !f->line->known && !sym_interpreter(f->line->module))
		find_common(f, s, function, line);
	else if (!f->caller && f->line->known)
		find_caller(f, s, function);
}

/* Finds the stack, as views show it, with most of it; of equal ones the first site's. */
static void find_stack(struct finding *f, struct finding_sums *s, uint32_t function)
{
	struct array shares = { .item = NULL }, order = { .item = NULL };
	uint32_t *place, count = 0;
	size_t n;

	askers_number_paths(&s->askers, s->sites, s->names, function);
	for (EACH_SITE(s, function, i)) {
		place = array_at(&order, s->askers.of[i].path, sizeof(*place));
		if (!*place)
			*place = ++count;
		add_share(&shares, *place, s, i, f->line);
	}
	f->at_stack = largest(&shares, &n)->p;
	array_release(&order);
	array_release(&shares);
}

void finding_sums_place(struct finding_sums *s, uint32_t function, struct finding *f)
{
	find_line(f, s, function);
	find_around(f, s, function);
	find_stack(f, s, function);
}

void finding_sums_twin(const struct finding_sums *s, struct finding *f)
{
	const struct sym_line *other;

	for (uint32_t i = 1; i <= s->functions && !f->has_twin; i++) {
		other = line_interner_line(&s->askers.functions, i);
		f->has_twin = *f->line->file && *other->file &&
			      !strcmp(other->function, f->line->function) &&
			      strcmp(basename(other->file), basename(f->line->file)) != 0;
	}
}
