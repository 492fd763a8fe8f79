// SPDX-License-Identifier: LGPL-3.0-or-later
/* site_totals.c - sites of a profile. */
#include "site_totals.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/at_once.h"
#include "../util/hash.h"
#include "../util/order.h"
#include "tamed.h"

/* Sums of samples, while they are added. */
struct estimate {
	double calls, bytes, freed_calls, freed_bytes, live_calls, live_bytes, lifetime;
	double live_calls_variance, live_bytes_variance;
	uint64_t calls_so_far; /* of samples, already included in site_values.calls */
};

/* Used while sites are made. */
/* What the process whose cells are being added has left of a site. */
struct left {
	uint32_t process;
	int64_t bytes;
};

struct making {
	struct array estimate, left; /* by index of s->site */
	struct sites *s;
	const struct trace *t;
	const struct trace_totals *part;
	size_t parts;
	struct hash index; /* by node and part: index of s->site + 1 */
};

/* One image of a process, with its consecutive parts. */
struct owner {
	size_t first, last;
	uint32_t process, image;
	const struct mprof_heap_totals *heap; /* NULL if it was killed before it had one */
	const struct mprof_course *course;    /* likewise */
	bool replaced;			      /* the process called exec, so its blocks are gone */
	bool gone;			      /* the process ended before its server (tree.h) */
	bool at_peak;			      /* its peak is the one shown */
	bool grows; /* its growth is known: it has past_bytes, and lasted */
};

static bool has_sizes(const struct trace *t)
{
	const struct trace_totals *part;

	for (size_t i = 0, n = trace_totals(t, &part); i < n; i++)
		if (part[i].kind == MPROF_EXTENT_CELL_SIZES)
			return true;
	return false;
}

const char *site_totals_lack(const struct sites_options *o, const struct trace *t)
{
	const struct site_filter all = SITE_FILTER_ALL, *f = &o->filter;

	if (o->part == SITE_BY_SIZE && !has_sizes(t))
		return "by size";
	if (o->until.set)
		return "of a moment";
	if (thread_is_chosen(&f->thread))
		return "of some threads";
	if (f->size_min != all.size_min || f->size_max != all.size_max)
		return "of some sizes";
	if (f->lifetime_min_ns != all.lifetime_min_ns || f->lifetime_max_ns != all.lifetime_max_ns)
		return "of some lifetimes";
	if (f->from_ns != all.from_ns || f->to_ns != all.to_ns)
		return "of a part of the run";
	if (f->functions)
		return "of some functions of the allocator";
	if (o->temporary_ns || o->temporary_events > SITE_TEMPORARY_EVENTS)
		return "with another meaning of temporary";
	return NULL;
}

static void add_lane(struct site_lanes *to, const struct mprof_lane *from)
{
	unsigned i;

	to->threads += from->threads;
	to->missed += from->missed;
	to->strange += from->strange;
	to->unmap_calls += from->unmap_calls;
	to->unmap_bytes += from->unmap_bytes;
	for (i = 0; i < MPROF_SIZE_BINS; i++) {
		to->sizes[i] += from->sizes[i];
		to->freed_sizes[i] += from->freed_sizes[i];
	}
}

void site_lanes_read(struct site_lanes *lanes, const struct trace *t)
{
	const struct trace_totals *part;
	const struct mprof_counts *c;
	uint32_t process, thread;
	const struct trace_totals *last = NULL; /* lane */
	size_t i, k, n = trace_totals(t, &part);

	*lanes = (struct site_lanes){ .calls = 0 };
	for (i = 0; i < n; i++)
		if (part[i].kind == MPROF_EXTENT_LANE) {
			add_lane(lanes, part[i].data);
			/* The thread that called exec was counted in the image before. */
			if (last && last->process == part[i].process &&
			    last->image != part[i].image)
				lanes->threads -= lanes->threads > 0;
			last = &part[i];
		} else if (part[i].kind == MPROF_EXTENT_MORE)
			for (k = 0; k < MPROF_CELLS; k++)
				lanes->realloc_grown +=
				    ((const struct mprof_cell_more *)part[i].data)[k].realloc_grown;
	for (i = 0; (c = trace_counts(t, i, &process, &thread)); i++)
		for (k = 0; k < MPROF_FN_MAX; k++) {
			lanes->fn[k].calls += c->fn[k].calls;
			lanes->fn[k].bytes += c->fn[k].bytes;
			lanes->fn[k].failed += c->fn[k].failed;
			lanes->calls += c->fn[k].calls;
		}
}

/* ---- whose parts ---- */

static uint64_t peak_of(const struct owner *o)
{
	return o->heap ? above(o->heap->peak_bytes) : 0;
}

static bool is_longer(const struct mprof_course *a, const struct mprof_course *b)
{
	return a->steps > b->steps;
}

/* The last image that each process called exec for, by process. */
static struct hash last_images(const struct trace *t)
{
	struct hash last = { 0 };
	const struct trace_fact *fact;
	const size_t n = trace_facts(t, &fact);
	uint64_t *image;

	for (size_t i = 0; i < n; i++) {
		if (fact[i].fact->what != MPROF_FACT_EXEC || !fact[i].image)
			continue;
		image = hash_at(&last, fact[i].process);
		if (*image < fact[i].image)
			*image = fact[i].image;
	}
	return last;
}

/* only: the process that the filter names, or 0. */
static void find_ended(struct owner *list, size_t n, const struct trace *t, const struct tree *tree,
		       uint32_t only)
{
	struct hash last = last_images(t);

	for (struct owner *o = list; o < list + n; o++) {
		const struct tree_process *p = tree_find(tree, o->process);

		o->replaced = hash_get(&last, o->process) > o->image;
		o->gone = !o->replaced && o->process != only && p && p->gone;
	}
	hash_release(&last);
}

/* Counts what each process left, and those that ended. */
static void find_left(const struct owner *list, size_t n, struct tree *tree, struct sites *s)
{
	uint64_t *start = must_calloc(n + 1, sizeof(*start)),
		 *end = must_calloc(n + 1, sizeof(*end));
	struct tree_process *p;
	size_t left = 0;

	for (size_t i = 0; i < tree->processes; i++)
		tree->process[i].left_bytes = 0;
	for (const struct owner *o = list; o < list + n; o++) {
		p = (struct tree_process *)tree_find(tree, o->process);
		if (!p || p->gone || o->replaced || !o->heap || o->heap->live_bytes <= 0)
			continue;
		p->left_bytes = (uint64_t)o->heap->live_bytes;
		s->totals.leaving += p->end != TREE_UNKNOWN;
		start[left] = p->start_ticks;
		end[left++] = p->end_ticks ? p->end_ticks : UINT64_MAX;
	}
	s->totals.together = most_at_once(start, end, left);
	free(start);
	free(end);
}

static struct owner *list_owners(const struct making *m, size_t *n)
{
	struct owner *list = must_calloc(m->parts + 1, sizeof(*list)), *o = NULL;
	size_t i;

	*n = 0;
	for (i = 0; i < m->parts; i++) {
		const struct trace_totals *x = &m->part[i];

		if (!o || o->process != x->process || o->image != x->image) {
			o = &list[(*n)++];
			*o = (struct owner){ .first = i, .process = x->process, .image = x->image };
		}
		o->last = i + 1;
		/* If two were made at the same time, one stayed unused. */
		if (x->kind == MPROF_EXTENT_HEAP &&
		    (!o->heap ||
		     above(((const struct mprof_heap_totals *)x->data)->peak_bytes) > peak_of(o)))
			o->heap = x->data;
		if (x->kind == MPROF_EXTENT_COURSE && (!o->course || is_longer(x->data, o->course)))
			o->course = x->data;
	}
	return list;
}

/* Finds the peak of each process, of any of its programs. */
static void rank_images(struct owner *list, size_t n)
{
	struct owner *best = list;

	for (struct owner *o = list; o < list + n; o++) {
		if (o->process != best->process)
			best = o;
		if (peak_of(o) > peak_of(best))
			best->at_peak = false, best = o;
		best->at_peak = true;
	}
}

/* Finds whose peak is shown. */
static void rank_owners(struct owner *list, size_t n, const struct sites_options *options)
{
	const uint32_t process = options->filter.process;
	struct owner *best = NULL, *o;

	for (o = list; o < list + n; o++)
		if ((!process || o->process == process) && (!best || peak_of(o) > peak_of(best)))
			best = o;
	if (best)
		best->at_peak = true;
	if (options->part == SITE_BY_PROCESS)
		rank_images(list, n);
}

/* ---- growth ---- */

/* Returns the last time at which the program may have made calls: the first one after a step ends
 * it. */
static uint64_t active_until(const struct owner *o, uint64_t end)
{
	const uint64_t closed =
	    o->course->began_ticks + (o->course->steps + 1ull) * o->course->step_ticks;

	return closed < end ? closed : end;
}

/* Adds the live bytes of a process between its two earlier times, and later. */
static void add_between(const struct owner *o, struct sites *s)
{
	const uint64_t first = s->totals.past_ticks[0],
		       eighth = (s->totals.past_ticks[1] - first) / 8;
	const struct mprof_course *c = o->course;
	uint64_t least = UINT64_MAX, most = above(o->heap->live_bytes), ticks, live;

	for (uint32_t i = 0; i < c->steps; i++) {
		ticks = c->began_ticks + i * c->step_ticks;
		live = above(c->step[i].live_bytes);
		if (ticks >= first + 3 * eighth && ticks <= first + 5 * eighth && live < least)
			least = live;
		if (ticks >= first + 7 * eighth && live > most)
			most = live;
	}
	s->totals.midway_bytes += least == UINT64_MAX ? 0 : least;
	s->totals.late_bytes += most;
}

/* Finds whose growth is known, after rank_owners(). */
static void find_growth(struct owner *list, size_t n, const struct trace *t, struct sites *s)
{
	const uint64_t start = trace_header(t)->start_ticks, end = trace_totals_end(t);
	const struct owner *best = NULL;

	if (memcmp(trace_header(t)->magic, MPROF_MAGIC_PROFILE, MPROF_MAGIC_SIZE))
		return;
	for (struct owner *o = list; o < list + n; o++) {
		const struct mprof_course *c = o->course;

		if ((s->options.filter.process && o->process != s->options.filter.process) ||
		    o->replaced || o->gone || !o->heap || !c || c->steps > MPROF_STEPS ||
		    !c->past_ticks[0] || c->past_ticks[0] >= c->past_ticks[1] ||
		    c->past_ticks[1] > end)
			continue;
		o->grows = n == 1 || active_until(o, end) - c->began_ticks >= (end - start) / 2;
		if (o->grows && (!best || o->heap->live_bytes > best->heap->live_bytes))
			best = o;
	}
	if (!best)
		return;
	for (unsigned k = 0; k < SITE_PASTS; k++)
		s->totals.past_ticks[k] = best->course->past_ticks[k];
	s->totals.active_ticks = active_until(best, end);
	s->totals.course = best->course;
	for (const struct owner *o = list; o < list + n; o++) {
		if (!o->grows)
			continue;
		add_between(o, s);
		if (o != best)
			s->totals.course = NULL;
	}
}

/* ---- sites ---- */

/* Returns the least size that struct mprof_lane counts there. */
static uint64_t size_of_bin(uint64_t bin)
{
	return bin ? 1ull << (bin - 1) : 0;
}

static struct site *site_with(struct making *m, const struct trace_totals *x, uint32_t i,
			      uint32_t part)
{
	const uint32_t node = trace_stack_node(m->t, x->process, x->image, x->first + i);
	struct sites *s = m->s;
	uint64_t *index = hash_at(&m->index, (uint64_t)part << 32 | node);

	if (*index)
		return &s->site[*index - 1];
	if ((s->count + 1) * sizeof(*s->site) > s->bytes) {
		const size_t more = grow_room(s->count + 1, s->count) * sizeof(*s->site);

		s->site = large_realloc(s->site, s->bytes, more);
		s->bytes = more;
	}
	s->site[s->count] = (struct site){ .key = node, .part = part };
	*index = ++s->count;
	return &s->site[s->count - 1];
}

static struct site *site_of(struct making *m, const struct trace_totals *x, uint32_t i)
{
	const enum site_part part = m->s->options.part;

	return site_with(m, x, i,
			 part == SITE_BY_THREAD	   ? trace_thread(m->t, x->thread)
			 : part == SITE_BY_PROCESS ? x->process
						   : 0);
}

/* Ends the sum of a process, of which one cell may free what another one allocated. */
static void settle_left(struct making *m, size_t index)
{
	struct left *l = array_at(&m->left, index, sizeof(*l));
	struct site_values *v = &m->s->site[index].v;

	if (l->bytes > 0 && (uint64_t)l->bytes > v->left_most)
		v->left_most = (uint64_t)l->bytes;
	l->bytes = 0;
}

static void add_left(struct making *m, const struct site *site, uint32_t process, int64_t bytes)
{
	struct left *l = array_at(&m->left, (size_t)(site - m->s->site), sizeof(*l));

	if (l->process != process)
		settle_left(m, (size_t)(site - m->s->site));
	l->process = process;
	l->bytes += bytes;
}

static void add_cell(struct making *m, const struct owner *o, const struct trace_totals *x,
		     uint32_t i)
{
	const struct mprof_cell *c = (const struct mprof_cell *)x->data + i;
	struct site_values v = {
		.calls = c->calls,
		.bytes = c->bytes,
		.slack = ((const struct mprof_cells *)x->data)->waste[i],
		.freed_calls = c->freed_calls,
		.freed_bytes = c->freed_bytes,
		.lifetime_ns = walk_duration_ns(m->s->walk, c->lifetime),
		.size_min = c->size_least ? mprof_unrounded(~c->size_least) : 0,
		.size_max = mprof_unrounded(c->size_most),
	};
	struct site *site;

	if (!c->calls && !c->freed_calls)
		return;
	if (c->lifetime_least) {
		v.lifetime_min_ns =
		    walk_duration_ns(m->s->walk, mprof_unrounded(~c->lifetime_least));
		v.lifetime_max_ns = walk_duration_ns(m->s->walk, mprof_unrounded(c->lifetime_most));
	}
	/* One cell may free what another allocated: only the sum cannot be negative. */
	if (o->replaced) {
		m->s->totals.exec_blocks += c->calls - c->freed_calls;
		m->s->totals.exec_bytes += c->bytes - c->freed_bytes;
	} else if (o->gone) {
		m->s->totals.gone_blocks += c->calls - c->freed_calls;
		m->s->totals.gone_bytes += c->bytes - c->freed_bytes;
	} else if (m->s->options.part != SITE_BY_THREAD) {
		v.live_calls = c->calls - c->freed_calls;
		v.live_bytes = c->bytes - c->freed_bytes;
		for (unsigned k = 0; k < SITE_PASTS; k++)
			v.past_bytes[k] = o->grows ? 0 : v.live_bytes;
	}
	site = site_of(m, x, i);
	site_values_add(&site->v, &v);
	if (v.live_bytes) /* of a cell alone, without blocks, too */
		add_left(m, site, x->process, (int64_t)v.live_bytes);
}

static double variance(double v)
{
	return v > 0 && v < 1e38 ? v : 0;
}

/* Adds up fractions, which are rounded once all parts of a site are added. */
static void add_sample(struct making *m, const struct owner *o, const struct trace_totals *x,
		       uint32_t i)
{
	const struct mprof_sample_cell *c = (const struct mprof_sample_cell *)x->data + i;
	struct estimate *e;
	struct site *site;
	struct site_values v = {
		.calls = rounded(c->made.calls),
		.size_min = c->size_least ? mprof_unrounded(~c->size_least) : 0,
		.size_max = mprof_unrounded(c->size_most),
		.error = { .samples = c->made.samples,
			   .by_calls = o->heap && o->heap->sample_unit == MPROF_SAMPLE_CALLS,
			   .calls = variance(c->made.calls_variance),
			   .bytes = variance(c->made.bytes_variance),
			   .heaviest_calls = tamed(c->heaviest_calls),
			   .heaviest_bytes = tamed(c->heaviest_bytes) },
	};

	if (!c->made.samples && !c->freed.samples)
		return;
	m->s->totals.estimated = true;
	site = site_of(m, x, i);
	e = array_at(&m->estimate, (uint32_t)(site - m->s->site), sizeof(*e));
	for (unsigned k = 0; k < SITE_PASTS && !o->grows && !o->replaced && !o->gone; k++)
		v.past_bytes[k] =
		    rounded(c->made.bytes) - rounded(c->freed.bytes); /* the sum is not negative */
	site_values_add(&site->v, &v);
	e->calls_so_far += v.calls;
	e->calls += tamed(c->made.calls);
	e->bytes += tamed(c->made.bytes);
	e->freed_calls += tamed(c->freed.calls);
	e->freed_bytes += tamed(c->freed.bytes);
	e->lifetime += tamed(c->lifetime);
	if (o->replaced || o->gone || m->s->options.part == SITE_BY_THREAD)
		return;
	e->live_calls += tamed(c->made.calls) - tamed(c->freed.calls);
	e->live_bytes += tamed(c->made.bytes) - tamed(c->freed.bytes);
	e->live_calls_variance +=
	    variance(c->made.calls_variance) - variance(c->freed.calls_variance);
	e->live_bytes_variance +=
	    variance(c->made.bytes_variance) - variance(c->freed.bytes_variance);
}

/* Rounds the figures of a site, summed over its cells.  v has what was counted exactly before. */
static void round_estimate(const struct sites *s, struct site_values *v, const struct estimate *e)
{
	v->calls += rounded(e->calls) - e->calls_so_far;
	v->bytes += rounded(e->bytes);
	v->freed_calls += rounded(e->freed_calls);
	v->freed_bytes += rounded(e->freed_bytes);
	v->live_calls += rounded(e->live_calls);
	v->live_bytes += rounded(e->live_bytes);
	v->lifetime_ns += walk_duration_ns(s->walk, rounded(e->lifetime));
	v->error.live_calls = variance(e->live_calls_variance);
	v->error.live_bytes = variance(e->live_bytes_variance);
}

static void add_more(struct making *m, const struct trace_totals *x, uint32_t i)
{
	const struct mprof_cell_more *c = (const struct mprof_cell_more *)x->data + i;
	const struct site_values v = {
		.temporary_calls = c->temporary_calls,
		.temporary_bytes = c->temporary_bytes,
		.reallocs = c->reallocs,
		.realloc_moved = c->realloc_moved,
		.realloc_bytes = c->realloc_bytes,
		.map_calls = c->map_calls,
		.map_bytes = c->map_bytes,
	};

	if (!c->temporary_calls && !c->reallocs && !c->map_calls)
		return;
	site_values_add(&site_of(m, x, i)->v, &v);
}

static void add_live(struct making *m, const struct owner *o, const struct trace_totals *x,
		     uint32_t i)
{
	const struct mprof_site_live *l = (const struct mprof_site_live *)x->data + i;
	struct site_values v = { .local_bytes = above(l->local_bytes),
				 .local_calls = above(l->local_calls) };
	bool is_past;

	if ((!l->local_bytes && !l->live_calls && !l->stamp) ||
	    m->s->options.part == SITE_BY_THREAD)
		return;
	if (o->at_peak && o->heap) {
		is_past = l->stamp == o->heap->peak_bytes;
		v.peak_bytes = above(is_past ? l->at_peak_bytes : l->live_bytes);
		v.peak_calls = above(is_past ? l->at_peak_calls : l->live_calls);
	}
	for (unsigned k = 0; k < SITE_PASTS && o->grows; k++)
		v.past_bytes[k] = mprof_unrounded(l->past[k]);
	site_values_add(&site_of(m, x, i)->v, &v);
}

/* Divides a stack by the sizes of its blocks: its part is the least size of a class, but while
 * sites are made, the number of the class. */
static void add_sizes(struct making *m, const struct owner *o, const struct trace_totals *x,
		      uint32_t i)
{
	const struct mprof_cell_sizes *c = (const struct mprof_cell_sizes *)x->data + i;

	for (uint32_t k = 0; k < MPROF_SIZE_BINS; k++) {
		struct site_values v = {
			.calls = c->bin[k].calls,
			.bytes = c->bin[k].bytes,
			.freed_calls = c->bin[k].freed_calls,
			.freed_bytes = c->bin[k].freed_bytes,
		};

		if (!v.calls && !v.freed_calls)
			continue;
		if (!o->replaced && !o->gone) {
			v.live_calls = v.calls - v.freed_calls;
			v.live_bytes = v.bytes - v.freed_bytes;
		}
		site_values_add(&site_with(m, x, i, k)->v, &v);
	}
}

static void add_part(struct making *m, const struct owner *o, const struct trace_totals *x)
{
	const bool by_size = m->s->options.part == SITE_BY_SIZE;
	uint32_t i;

	if (by_size != (x->kind == MPROF_EXTENT_CELL_SIZES))
		return;
	for (i = 0; i < MPROF_CELLS; i++) {
		if (by_size)
			add_sizes(m, o, x, i);
		else if (x->kind == MPROF_EXTENT_CELLS)
			add_cell(m, o, x, i);
		else if (x->kind == MPROF_EXTENT_SAMPLES)
			add_sample(m, o, x, i);
		else if (x->kind == MPROF_EXTENT_MORE)
			add_more(m, x, i);
		else if (x->kind == MPROF_EXTENT_SITES)
			add_live(m, o, x, i);
	}
}

static void add_period(struct sites *s, const struct owner *o)
{
	const uint64_t period = o->heap ? o->heap->sample_period : 0;

	if (!period)
		return;
	if (!s->totals.period || period < s->totals.period)
		s->totals.period = period;
	if (period > s->totals.period_most)
		s->totals.period_most = period;
	s->totals.unit = o->heap->sample_unit;
}

static void add_peak(struct sites *s, const struct owner *o, bool only)
{
	if (!o->at_peak || !o->heap || (s->peak.ticks && peak_of(o) <= s->peak.bytes))
		return;
	s->peak.ticks = o->heap->peak_ticks;
	s->peak.bytes = peak_of(o);
	s->peak.calls = above(o->heap->peak_calls);
	s->totals.bound = o->heap->peak_bound;
	s->totals.process = only ? 0 : o->process;
}

static void add_owner(struct making *m, const struct owner *o, bool only)
{
	const struct site_filter *f = &m->s->options.filter;
	size_t i;

	add_period(m->s, o);
	add_peak(m->s, o, only);
	for (i = o->first; i < o->last && (!f->process || f->process == o->process); i++)
		add_part(m, o, &m->part[i]);
}

/* ---- the whole ---- */

ORDER(by_bytes, struct site, FALLING(v.bytes) ?: RISING(key))

/* Corrects figures: while the program runs, or if it was killed within a call, a free may have
 * been counted first. */
static void tame(struct site_values *v, bool foreign)
{
	v->live_calls = above((int64_t)v->live_calls);
	v->live_bytes = above((int64_t)v->live_bytes);
	for (unsigned k = 0; k < SITE_PASTS; k++)
		v->past_bytes[k] = above((int64_t)v->past_bytes[k]);
	if (foreign)
		return;
	if (v->freed_calls > v->calls)
		v->freed_calls = v->calls;
	if (v->freed_bytes > v->bytes)
		v->freed_bytes = v->bytes;
}

/* Returns an upper bound of the bytes live at any time, in all processes together. */
static uint64_t most_live(const struct sites *s, const struct owner *list, size_t n)
{
	const uint32_t process = s->options.filter.process;
	uint64_t sum = 0;

	for (const struct owner *o = list; o < list + n; o++)
		if (o->heap && (!process || process == o->process))
			sum += peak_of(o) + o->heap->peak_bound;
	return sum > s->peak.bytes ? sum : s->peak.bytes;
}

/* Only the peaks of single stacks are known: their sum is an upper bound, and so is `most`. */
static void make_groups(struct sites *s, uint64_t most)
{
	const struct sites_options *o = &s->options;
	struct site *site;

	for (site = s->site; site < s->site + s->count && o->part == SITE_BY_SIZE; site++)
		site->part = size_of_bin(site->part);
	for (site = s->site; site < s->site + s->count && o->group; site++) {
		site->group = o->group(o->group_context, site->key, site->part);
		if (site->group >= s->groups)
			s->groups = (size_t)site->group + 1;
	}
	free(s->local);
	s->local = must_calloc(s->groups + 1, sizeof(*s->local));
	for (site = s->site; site < s->site + s->count; site++) {
		s->local[site->group].bytes += site->v.local_bytes;
		s->local[site->group].calls += site->v.local_calls;
	}
	for (size_t i = 0; i < s->groups; i++)
		if (s->local[i].bytes > most)
			s->local[i].bytes = most;
}

static void finish(struct sites *s, struct making *m)
{
	const struct estimate *e = m->estimate.item;
	uint64_t placed = 0;
	size_t i;

	for (i = 0; i < s->count; i++) {
		if (i < m->estimate.count && s->site[i].v.error.samples)
			round_estimate(s, &s->site[i].v, &e[i]);
		settle_left(m, i);
		tame(&s->site[i].v, s->options.part == SITE_BY_THREAD);
		s->site[i].v.kept_until_ns = sites_kept_until(s->walk, s->site[i].key);
		site_values_add(&s->total, &s->site[i].v);
		placed += s->site[i].v.peak_bytes;
	}
	s->totals.exec_blocks = above((int64_t)s->totals.exec_blocks);
	s->totals.exec_bytes = above((int64_t)s->totals.exec_bytes);
	s->totals.gone_blocks = above((int64_t)s->totals.gone_blocks);
	s->totals.gone_bytes = above((int64_t)s->totals.gone_bytes);
	SORT(s->site, s->count, by_bytes);
	s->peak.ns = s->peak.ticks ? walk_ns(s->walk, s->peak.ticks) : 0;
	if (s->options.part == SITE_WHOLE)
		s->totals.unplaced = (int64_t)(s->peak.bytes - placed);
}

/*
 * A peak lacks what a thread has not gathered yet.  Where more is live when the recording of the
 * only process ends, the peak is at its end.
 */
static void end_may_be_peak(struct sites *s, const struct owner *only, const struct tree *tree)
{
	const struct tree_process *p = tree_find(tree, only->process);
	const enum site_part part = s->options.part;

	if ((part != SITE_WHOLE && part != SITE_BY_PROCESS) || s->totals.period || !only->at_peak ||
	    only->replaced || only->gone || !s->peak.bytes || s->total.live_bytes <= s->peak.bytes)
		return;
	s->peak.ticks = p && p->end_ticks ? p->end_ticks : tree->end_ticks;
	s->peak.bytes = s->total.live_bytes;
	s->peak.calls = s->total.live_calls;
	for (struct site *x = s->site; x < s->site + s->count; x++) {
		x->v.peak_bytes = x->v.live_bytes;
		x->v.peak_calls = x->v.live_calls;
		if (x->v.local_bytes < x->v.live_bytes) {
			x->v.local_bytes = x->v.live_bytes;
			x->v.local_calls = x->v.live_calls;
		}
	}
	s->total.peak_bytes = s->total.live_bytes;
	s->total.peak_calls = s->total.live_calls;
	s->peak.ns = walk_ns(s->walk, s->peak.ticks);
	s->totals.unplaced = 0;
}

void site_now_read(struct site_now *now, const struct trace *t, const struct tree *tree)
{
	struct making m = { .t = t };
	struct owner *list, *o;
	size_t n;

	*now = (struct site_now){ .processes = 0 };
	m.parts = trace_totals(t, &m.part);
	list = list_owners(&m, &n);
	find_ended(list, n, t, tree, 0);
	for (o = list; o < list + n; o++) {
		if (peak_of(o) > now->peak_bytes)
			now->peak_bytes = peak_of(o);
		if (o->replaced || o->gone)
			continue;
		now->processes++;
		now->live_bytes += o->heap ? above(o->heap->live_bytes) : 0;
	}
	free(list);
}

void site_totals_read(struct sites *s, const struct trace *t, struct tree *tree)
{
	struct making m = { .s = s, .t = t };
	struct owner *list;
	size_t i, n;

	m.parts = trace_totals(t, &m.part);
	list = list_owners(&m, &n);
	s->count = s->groups = 0;
	s->totals.read = true;
	find_ended(list, n, t, tree, s->options.filter.process);
	find_left(list, n, tree, s);
	rank_owners(list, n, &s->options);
	find_growth(list, n, t, s);
	for (i = 0; i < n; i++)
		add_owner(&m, &list[i], n == 1);
	finish(s, &m);
	if (n == 1)
		end_may_be_peak(s, list, tree);
	make_groups(s, most_live(s, list, n));
	array_release(&m.estimate);
	array_release(&m.left);
	hash_release(&m.index);
	free(list);
}
