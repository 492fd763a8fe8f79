// SPDX-License-Identifier: LGPL-3.0-or-later
/* retained.c - see retained.h. */
#include "retained.h"

#include <gnu/libc-version.h>
#include <stdlib.h>
#include <string.h>

#define TIME_PART   10u /* the least part of a process's time that counts */
#define THREAD_PART 8u	/* the least part of the mean of all threads, of a thread that counts */

/* ---- how long ---- */

/* Returns how long freed memory was held. */
static uint64_t held_ticks(const struct resident_parts *parts, const struct tree_process *p,
			   uint64_t end)
{
	const struct resident_parts_sample *s = parts->sample.item, *last = NULL;
	uint64_t sum = 0;

	for (size_t i = 0; i < parts->sample.count; i++) {
		if (s[i].process != p->number)
			continue;
		if (last && resident_is_freed(&s[i]) && s[i].ticks > last->ticks)
			sum += s[i].ticks - last->ticks;
		last = resident_is_freed(&s[i]) ? &s[i] : NULL;
	}
	return last && end > last->ticks ? sum + end - last->ticks : sum;
}

static uint64_t end_of(const struct tree_process *p, const struct analysis *a)
{
	return p->end_ticks ? p->end_ticks : a->tree.end_ticks;
}

static bool lasts(uint64_t held, const struct tree_process *p, const struct analysis *a)
{
	const uint64_t end = end_of(p, a);

	return held && end > p->start_ticks && held >= (end - p->start_ticks) / TIME_PART;
}

static bool has_c_library(const struct tree_process *p)
{
	const struct trace_fact *image = tree_image(p);

	return image && tree_has_c_library(image);
}

/* ---- who ---- */

/* Finds the function that has at least half of the shares of a sample. */
static struct profile_asked who_has(const struct resident_shares *all, size_t sample,
				    struct profile *names)
{
	struct line_interner functions = { .same = LINE_FUNCTION };
	struct array of = { .item = NULL };
	const struct resident_share *s = all->share.item;
	struct {
		uint64_t bytes, most;
		struct profile_asked who;
	} * x, *most = NULL;
	struct profile_asked who = { .line = NULL };
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < all->share.count; i++) {
		if (s[i].sample != sample)
			continue;
		sum += s[i].bytes;
		if (!s[i].stack || s[i].stack == RESIDENT_REST)
			continue;
		who = profile_asked(names, s[i].stack);
		if (!who.line)
			continue;
		x = array_at(&of, line_interner_id(&functions, who.line), sizeof(*x));
		x->bytes += s[i].bytes;
		if (s[i].bytes > x->most) {
			x->most = s[i].bytes;
			x->who = who;
		}
	}
	for (i = 0, x = of.item; i < of.count; i++)
		most = !most || x[i].bytes > most->bytes ? &x[i] : most;
	who = most && most->bytes >= sum / 2 ? most->who : (struct profile_asked){ .line = NULL };
	array_release(&of);
	line_interner_release(&functions);
	return who;
}

/* ---- the finding ---- */

/* Does the trace have every call?  Otherwise blocks may have been freed that it does not show. */
static bool is_whole(const struct analysis *a)
{
	return !analysis_is_cut(a) && !a->walk.input.header->dropped_bytes &&
	       !a->walk.input.reduced_count && !a->walk.input.log_end;
}

size_t retained_threads(const struct analysis *a, uint32_t process)
{
	const struct totals_thread *t = a->totals.thread.item;
	const size_t n = a->totals.thread.count;
	uint64_t all = 0;
	size_t threads = 0, its = 0, i;

	for (i = 0; i < n; i++) {
		its += t[i].process == process;
		all += t[i].process == process ? t[i].sum.allocated : 0;
	}
	for (i = 0; i < n; i++)
		threads += t[i].process == process && t[i].sum.allocated > all / its / THREAD_PART;
	return threads;
}

/* A trace does not have the version of glibc: our own counts. */
static uint64_t cache_count_default(void)
{
	return strverscmp(gnu_get_libc_version(), "2.43") < 0 ? RETAINED_COUNT
							      : RETAINED_COUNT_2_43;
}

/* Returns how many blocks of each size the caches of a process keep, as its program or that of the
 * process that it is a fork of was configured. */
static uint64_t cache_count(const struct analysis *a, uint32_t process)
{
	static const char name[] = "glibc.malloc.tcache_count=";
	const struct tree_process *p = tree_find(&a->tree, process);
	const struct trace_fact *image, *f = a->walk.input.facts;
	const char *value = NULL;

	while (p->forked && p->images == 1 && tree_parent(&a->tree, p))
		p = tree_parent(&a->tree, p);
	image = tree_image(p);
	for (size_t i = 0; image && i < a->walk.input.fact_count; i++)
		if (f[i].fact->what == MPROF_FACT_SET && f[i].process == p->number &&
		    f[i].image == image->image)
			value = strstr(f[i].set, name) ?: value;
	return value ? strtoull(value + strlen(name), NULL, 0) : cache_count_default();
}

/* Returns the threads that lived then, if their caches may hold half of what was freed. */
static size_t caching_threads(const struct analysis *a, const struct retained *f)
{
	const struct totals_thread *t = a->totals.thread.item, *end = t + a->totals.thread.count;
	uint64_t most = 0, bytes;
	size_t threads = 0;

	for (; f->c_library && f->cache && t < end; t++) {
		if (t->process != f->process || t->first_ticks > f->ticks ||
		    (t->ended && t->last_ticks < f->ticks))
			continue;
		bytes = t->sum.allocated;
		most += bytes < f->cache ? bytes : f->cache;
		threads++;
	}
	return most >= (f->beside + f->whole) / 2 ? threads : 0;
}

/* Returns the most by which the break moved: the first arena is not larger. */
static uint64_t first_arena(const struct analysis *a, uint32_t process)
{
	const struct walk_input *in = &a->walk.input;
	const struct mprof_sample *s = NULL;
	const size_t n = in->samples ? in->samples(in->context, process, &s) : 0;
	uint64_t most = 0;

	for (size_t i = 0; i < n; i++)
		most = s[i].arena > most ? s[i].arena : most;
	return most;
}

static size_t arena_threads(const struct analysis *a, const struct retained *f)
{
	const size_t threads = f->c_library ? retained_threads(a, f->process) : 0;

	if (threads < 2 || first_arena(a, f->process) > (f->live + f->beside + f->whole) / 2)
		return 0;
	return threads;
}

/* Does the alignment of live blocks explain half of it? */
static bool is_of_alignment(const struct resident_parts_sample *s, uint64_t ended)
{
	const uint64_t half = resident_freed(s) / 2;

	return s->aligned >= half || (ended != UINT64_MAX && s->aligned_most >= half);
}

/* Did three quarters of the heap have live blocks at one time? */
static bool was_live_at_once(const struct analysis *a, const struct retained *f)
{
	const struct residency_sample *s = &a->residency.fullest;
	const uint64_t heap = f->live + f->beside + f->whole;

	return s->process == f->process && s->under_live * a->walk.heap.page_size >= heap / 4 * 3;
}

static void take(struct retained *f, const struct resident_parts_sample *s, uint64_t held,
		 const struct tree_process *p, const struct analysis *a)
{
	const uint64_t ended =
	    s->ended < resident_freed(s) / 2 && is_whole(a) ? s->ended : UINT64_MAX;

	*f = (struct retained){
		.process = p->number,
		.ticks = s->ticks,
		.live = s->live + s->rounding,
		.beside = s->gaps,
		.whole = s->retained,
		.aligned = is_of_alignment(s, ended) ? s->aligned_blocks : 0,
		.ended = ended,
		.held_ns = walk_duration_ns(&a->walk, held),
		.of_ns = walk_duration_ns(&a->walk, end_of(p, a) - p->start_ticks),
		.c_library = has_c_library(p),
	};
}

void retained_find(struct retained *f, const struct analysis *a, struct profile *names)
{
	const struct resident_parts *parts = &a->resident_parts;
	const struct resident_parts_sample *s = parts->sample.item;
	const struct tree_process *p;
	size_t i, best = 0;
	uint64_t ticks;

	*f = (struct retained){ .process = 0 };
	for (p = a->tree.process; p < a->tree.process + a->tree.processes; p++) {
		ticks = held_ticks(parts, p, end_of(p, a));
		for (i = 0; lasts(ticks, p, a) && i < parts->sample.count; i++)
			if (s[i].process == p->number && resident_is_freed(&s[i]) &&
			    resident_freed(&s[i]) > f->beside + f->whole) {
				take(f, &s[i], ticks, p, a);
				best = i;
			}
	}
	if (f->process) {
		f->threads = arena_threads(a, f);
		f->at_once = f->threads && was_live_at_once(a, f);
		f->cache = cache_count(a, f->process) * RETAINED_CACHE;
		f->caches = f->aligned || f->ended != UINT64_MAX ? 0 : caching_threads(a, f);
	}
	if (f->process && names && (f->aligned || f->beside > f->whole))
		f->who = who_has(&parts->shares, best, names);
}
