// SPDX-License-Identifier: LGPL-3.0-or-later
/* outside.c - memory of a process that was not allocated through malloc. */
#include "outside.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/order.h"

#define HEADER	     16u    /* the most bytes that an allocator keeps beside a block */
#define SITES_NAMED  10000u /* further ones are not added up */
#define CALLERS_NEAR 4u

static const struct mapper mappers[] = {
#define MAPPER(module, library, variable, value, whose, remedy) \
	{ module, library, variable, value, whose, remedy },
#include "../pass/mappers.def"
#undef MAPPER
	{ NULL, NULL, NULL, NULL, NULL, NULL },
};

const struct mapper *mapper_next(const struct mapper *m)
{
	m = m ? m + 1 : mappers;
	return m->module ? m : NULL;
}

const struct mapper *mapper_of_module(const char *module)
{
	const struct mapper *m = NULL;

	while ((m = mapper_next(m)))
		if (!fnmatch(m->module, module, 0))
			return m;
	return NULL;
}

/* Is the data of the process complete?  Otherwise it does not show how much its malloc can have
 * needed. */
static bool is_whole(const struct tree_process *p)
{
	size_t i;

	if (p->forked && p->images < 2)
		return false;
	for (i = 0; i < p->images; i++)
		if (*p->image[i]->malloc_of)
			return false;
	for (i = 0; i < MPROF_LOST_REASONS; i++)
		if (p->lost[i])
			return false;
	return !p->stopped && !p->deepbind;
}

static uint64_t needed_by_malloc(const struct live *at)
{
	return at->bytes + at->slack + HEADER * at->blocks;
}

static uint64_t bytes_of(const struct outside *o, const struct maps_site *site)
{
	return o->looked ? site->resident : site->peak - site->peak_reserved;
}

/* One process while it is examined. */
struct look {
	const struct maps_of *maps;
	const struct live *peak;
	const struct tree_process *process;
	const struct resident_parts *pages;
	struct profile *names; /* NULL without call stacks */
	bool all_calls;	       /* none was dropped (--last) */
};

/* Did an allocator whose blocks are recorded map it?  Of the one that serves malloc, only named
 * calls of mmap are recorded. */
static bool is_allocators(const struct look *l, const struct maps_site *site)
{
	const struct trace_fact *image = tree_image(l->process);
	const char *path_of = !image		  ? ""
			      : *image->malloc_of ? tree_own_malloc(image)
						  : image->allocator;
	const char *allocator = basename(path_of);
	const struct profile_path *path;

	if (site->has_blocks)
		return true;
	if (!*allocator || tree_has_c_library(image))
		return false;
	path = l->names && site->stack ? profile_path(l->names, site->stack) : NULL;
	return !path || !path->all || !strcmp(path->line[path->all - 1]->module, allocator);
}

static uint64_t mapped_by_program(const struct outside *o, const struct look *l)
{
	const struct maps_site *site = l->maps->site.item;
	uint64_t sum = 0, bytes;
	size_t i;

	for (i = 0; i < l->maps->site.count; i++) {
		bytes = bytes_of(o, &site[i]);
		if (bytes && !is_allocators(l, &site[i]))
			sum += bytes;
	}
	return sum;
}

/* Returns what was in memory when the pages were read; NULL if it was not found. */
static const struct resident_parts_sample *parts_of(const struct outside *o, const struct look *l)
{
	const struct resident_parts_sample *s = l->pages->sample.item;

	for (size_t i = 0; i < l->pages->sample.count; i++)
		if (s[i].found && s[i].process == l->process->number && s[i].ticks == o->ticks)
			return &s[i];
	return NULL;
}

static inline uint64_t less(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

static inline uint64_t at_most(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Sets how much memory there was, and how much of it was certainly mapped. */
static void measure_memory(struct outside *o, const struct look *l)
{
	const struct tree_process *p = l->process;
	const uint64_t code = stacks_object_bytes(l->names ? l->names->stacks : NULL),
		       files = tree_files(p);
	const uint64_t largest =
	    less(p->peak_rss_bytes, p->self_bytes + (code > files ? code : files));
	uint64_t mapped, most;

	/* In a run of some milliseconds, pages may have been read while there were few. */
	o->looked = l->maps->looked && l->maps->resident_of >= largest / 2;
	o->memory = o->looked ? l->maps->resident_of : largest;
	mapped = mapped_by_program(o, l);
	most = less(o->memory, o->looked ? 0 : l->peak->bytes);
	o->mapped = at_most(mapped, most);
}

/* A block is not in memory as a whole, as long as the program has not written to all of it. */
static void measure_unseen(struct outside *o, const struct look *l)
{
	const struct resident_parts_sample *s = parts_of(o, l);
	const uint64_t malloced = needed_by_malloc(l->peak), own = l->process->self_bytes;
	uint64_t most = less(less(o->memory, o->mapped), own);

	o->unseen = less(most, malloced);
	if (s) {
		most = less(s->other, resident_own(s, l->process));
		o->unseen = at_most(o->unseen > most ? o->unseen : most, s->other);
	}
	o->at_least = o->unseen < most / 16 * 15;
}

static void measure(struct outside *o, const struct look *l)
{
	const struct tree_process *p = l->process;

	o->ticks = l->maps->looked;
	measure_memory(o, l);
	measure_unseen(o, l);
	/* The RSS includes pages of files. */
	if (!o->looked || !l->all_calls || !is_whole(p) || o->unseen < OUTSIDE_UNSEEN ||
	    o->unseen < o->memory / 2) {
		o->unseen = 0;
		o->at_least = false;
	}
	o->outside = o->mapped + o->unseen;
	o->process = p->number;
}

/* The most memory that the process is known to have had: pages may have been read too early to see
 * it, in a run of some milliseconds. */
static uint64_t most_memory(const struct outside *o, const struct look *l)
{
	const uint64_t malloced = needed_by_malloc(l->peak), rss = l->process->peak_rss_bytes;
	const uint64_t seen = malloced < rss ? malloced : rss;

	return o->memory > seen ? o->memory : seen;
}

/* ---- who ---- */

/* A function that mapped memory or moved the break, or a runtime; first by stack. */
struct who {
	const struct sym_line *function; /* NULL if unknown */
	const struct mapper *mapper;
	const struct sym_line *caller; /* profile_caller(), NULL if unknown */
	uint32_t line;		       /* number in its file; 0 if unknown */
	bool many_lines;	       /* of the function; `line` has most of the bytes */
	uint32_t stack;		       /* the one with most bytes of this line */
	uint64_t bytes, line_bytes;
	uint64_t caller_bytes; /* of `caller`, where find_caller() found it */
};

static const char *name_of_runtime(const struct who *w)
{
	return w->mapper ? w->mapper->whose : "";
}

/* All runtimes come first, one after the other. */
ORDER(by_runtime, struct who, strcmp(name_of_runtime(y), name_of_runtime(x)))
ORDER(by_name, struct who, sym_order_functions(x->function, y->function) ?: FALLING(bytes))
ORDER(by_caller, struct who, sym_order_functions(x->caller, y->caller) ?: FALLING(bytes))

enum of { OF_MAPPED, OF_MOVED, OF_FILES };

static uint64_t bytes_by(const struct outside *o, const struct maps_site *site, enum of of)
{
	return of == OF_MOVED	? site->break_most
	       : of == OF_FILES ? site->file_peak
				: bytes_of(o, site);
}

/* Finds the runtime with the call of mmap, or one of its functions that called this; NULL if there
 * is none, or it is unknown (names may be NULL). */
static const struct mapper *mapper_of_stack(struct profile *names, uint32_t stack)
{
	const struct profile_path *path = names && stack ? profile_path(names, stack) : NULL;
	const size_t all = path ? path->all : 0;
	const struct mapper *m = all ? mapper_of_module(path->line[all - 1]->module) : NULL;

	for (size_t i = all; i && all - i < CALLERS_NEAR && !m; i--)
		m = mapper_of_module(path->line[i - 1]->function);
	return m;
}

/* What one runtime mapped. */
struct mapped {
	const struct mapper *mapper;
	uint64_t bytes;
};

ORDER(by_mapper, struct mapped, RISING(mapper))

const struct mapper *mapper_of_sites(const struct sites *all, struct profile *names, uint64_t least)
{
	struct mapped *sum = must_calloc(all->count + 1, sizeof(*sum)), most = { .bytes = least };
	size_t n = 0, k;
	struct site site;

	for (size_t i = 0; i < all->count; i++) {
		sites_site(all, i, &site);
		if (site.v.map_bytes)
			sum[n++] =
			    (struct mapped){ mapper_of_stack(names, site.key), site.v.map_bytes };
	}
	SORT(sum, n, by_mapper);
	for (size_t i = 0; i < n; i = k) {
		for (k = i + 1; k < n && sum[k].mapper == sum[i].mapper; k++)
			sum[i].bytes += sum[k].bytes;
		if (sum[i].mapper && sum[i].bytes >= most.bytes)
			most = sum[i];
	}
	free(sum);
	return most.mapper;
}

static void name_who(struct who *w, const struct look *l)
{
	const struct sym_line *line =
	    l->names && w->stack ? profile_asked(l->names, w->stack).line : NULL;

	w->mapper = mapper_of_stack(l->names, w->stack);
	w->function = line;
	w->line = line ? line->line : 0;
	if (line)
		w->caller = profile_caller(l->names, w->stack, line);
}

/* Takes the n stacks of one function.  Sets the caller with more than half of the bytes, or NULL:
 * the function has only one caller, or none has more than half. */
static void find_caller(struct who *most, struct who *who, size_t n)
{
	size_t i, k;
	uint64_t bytes;

	most->caller = NULL;
	SORT(who, n, by_caller);
	for (i = 0; i < n; i = k) {
		for (bytes = 0, k = i; k < n && !sym_order_functions(who[k].caller, who[i].caller);
		     k++)
			bytes += who[k].bytes;
		if (bytes <= most->bytes / 2)
			continue;
		most->caller = k - i < n ? who[i].caller : NULL;
		most->caller_bytes = bytes;
	}
}

ORDER(by_line, struct who, FALLING(line) ?: FALLING(bytes))

/* Takes the n stacks of one function, and sets its line with most bytes. */
static void find_line(struct who *most, struct who *who, size_t n)
{
	size_t i, k;
	uint64_t sum;

	SORT(who, n, by_line);
	for (i = 0; i < n; i = k) {
		for (sum = 0, k = i; k < n && who[k].line == who[i].line; k++)
			sum += who[k].bytes;
		most->many_lines |= k - i < n;
		if (sum <= most->line_bytes)
			continue;
		most->line_bytes = sum;
		most->stack = who[i].stack;
	}
}

/* Returns the function with most bytes, and its main caller; its bytes are 0 if there is none. */
static struct who most_of_functions(struct who *who, size_t count)
{
	struct who most = { .bytes = 0 };
	size_t i, k, first = 0, last = 0;
	uint64_t sum;

	SORT(who, count, by_name);
	for (i = 0; i < count; i = k) {
		for (sum = 0, k = i;
		     k < count && !sym_order_functions(who[k].function, who[i].function); k++)
			sum += who[k].bytes;
		if (sum <= most.bytes)
			continue;
		most = who[i];
		most.bytes = sum;
		first = i;
		last = k;
	}
	find_caller(&most, who + first, last - first);
	find_line(&most, who + first, last - first);
	return most;
}

/* Sets `most` to the runtime or the function outside all runtimes with most bytes.  Returns, of a
 * runtime, the function with most bytes; otherwise the same again. */
static struct who most_of_runtimes(struct who *who, size_t count, struct who *most)
{
	struct who function = { .bytes = 0 };
	size_t i, k;
	uint64_t sum;

	*most = function;
	SORT(who, count, by_runtime);
	for (i = 0; i < count && who[i].mapper; i = k) {
		for (sum = 0, k = i;
		     k < count && !strcmp(name_of_runtime(&who[k]), name_of_runtime(&who[i])); k++)
			sum += who[k].bytes;
		if (sum <= most->bytes)
			continue;
		function = most_of_functions(who + i, k - i);
		*most = function;
		most->bytes = sum;
	}
	if (i < count) {
		const struct who other = most_of_functions(who + i, count - i);

		if (other.bytes > most->bytes)
			function = *most = other;
	}
	return function;
}

/* Finds who mapped most, or moved the break most. */
static struct who find_most(const struct outside *o, const struct look *l, enum of of,
			    struct who *most)
{
	const size_t n = l->maps->site.count < SITES_NAMED ? l->maps->site.count : SITES_NAMED;
	struct who *who = must_calloc(n + 1, sizeof(*who)), function;
	const struct maps_site *site = l->maps->site.item;
	size_t i, count = 0;
	uint64_t bytes;

	for (i = 0; i < n; i++) {
		bytes = bytes_by(o, &site[i], of);
		if (!bytes || is_allocators(l, &site[i]))
			continue;
		who[count] = (struct who){ .stack = site[i].stack, .bytes = bytes };
		name_who(&who[count++], l);
	}
	function = most_of_runtimes(who, count, most);
	free(who);
	return function;
}

/* Returns the function, with its main caller. */
static struct outside_place place_of(const struct who *most, const struct look *l)
{
	struct outside_place place = { .bytes = most->bytes,
				       .line_bytes = most->line_bytes,
				       .many_lines = most->many_lines,
				       .mostly_line = most->line_bytes > most->bytes / 2 };

	if (!l->names || !most->stack)
		return place;
	place.asked = profile_asked(l->names, most->stack);
	if (!place.asked.caller && most->caller && !most->mapper) {
		place.asked.caller = most->caller;
		place.asked.mostly = true;
	}
	return place;
}

/* If it mapped more than was resident, it is unknown which lines this belongs to. */
static void limit_place(struct outside_place *place, uint64_t most)
{
	if (place->bytes <= most)
		return;
	place->bytes = most;
	place->line_bytes = 0;
}

static void find_who(struct outside *o, const struct look *l)
{
	struct who most;
	const struct who function = find_most(o, l, OF_MAPPED, &most);
	const struct trace_fact *image = tree_image(l->process);

	o->by_who = at_most(most.bytes, o->mapped);
	o->mapper = most.mapper;
	o->who = place_of(&function, l);
	limit_place(&o->who, o->by_who);
	/* Without the call, the runtime may be the program's. */
	if (image && (!l->names || !function.stack))
		o->mapper = mapper_of_module(basename(image->exe));
}

static void find_moved(struct outside *o, const struct look *l)
{
	struct who most;
	const struct who function = find_most(o, l, OF_MOVED, &most);
	const uint64_t moved = most.bytes ? (uint64_t)l->maps->break_peak : 0;

	o->moved = at_most(moved, o->unseen);
	if (o->moved)
		o->mover = place_of(&function, l);
	limit_place(&o->mover, o->moved);
}

/* Finds the stacks at the time at which the pages were read. */
static void find_stacks(struct outside *o, const struct trace *t, const struct stack_uses *stacks)
{
	const struct trace_residency *r;
	size_t n = trace_residencies(t, &r), i;

	for (i = 0; i < n && o->looked && o->unseen; i++)
		if (r[i].process == o->process && r[i].head->ticks_before == o->ticks)
			o->stacks = stack_uses_resident(stacks, t, &r[i]);
}

void outside_find(struct outside *o, const struct analysis *a, const struct trace *t,
		  const struct stack_uses *stacks, struct profile *names)
{
	static const struct maps_of no_maps;
	static const struct live no_blocks;
	const struct maps_of *m = a->maps.process.item;
	const struct peak_of *peak = a->peak.process.item;
	struct look l = { .pages = &a->resident_parts,
			  .names = names,
			  .all_calls = !a->walk.input.header->dropped_bytes },
		    best = l;
	struct outside now;
	size_t i;

	*o = (struct outside){ .process = 0 };
	for (i = 0; i < a->walk.heap.processes; i++) {
		l.maps = i < a->maps.process.count ? &m[i] : &no_maps;
		l.peak = i < a->peak.process.count ? &peak[i].at : &no_blocks;
		l.process = tree_find(&a->tree, a->walk.heap.process[i]->number);
		if (!l.process)
			continue;
		now = (struct outside){ .process = 0 };
		measure(&now, &l);
		if (now.outside < OUTSIDE_LEAST || now.outside < most_memory(&now, &l) / 4 ||
		    now.outside <= o->outside)
			continue;
		*o = now;
		best = l;
	}
	if (!o->process)
		return;
	find_stacks(o, t, stacks);
	find_who(o, &best);
	find_moved(o, &best);
}

/* Is the rest of all as much as half of what is resident? */
static bool leaves(uint64_t all, uint64_t bytes, uint64_t half)
{
	return all >= bytes + half;
}

void outside_find_files(struct outside_place *place, const struct analysis *a,
			struct profile *names)
{
	const struct maps_of *maps = a->maps.process.item;
	struct look l = { .names = names };
	struct who most, function;
	uint64_t half;

	*place = (struct outside_place){ .bytes = 0 };
	/* Others tell only how large one of them was. */
	if (a->tree.processes != 1 || a->maps.process.count != 1 || a->walk.input.log_end)
		return;
	l.process = a->tree.process;
	l.maps = maps;
	function = find_most(NULL, &l, OF_FILES, &most);
	half = tree_files(l.process) / 2;
	if (maps->file_peak < half || most.bytes <= maps->file_peak / 2)
		return;
	/* What others mapped may all be resident, and most of this not. */
	if (leaves(maps->file_peak, function.bytes, half) ||
	    (function.many_lines && leaves(maps->file_peak, function.line_bytes, half)))
		return;
	if (leaves(maps->file_peak, function.caller_bytes, half))
		function.caller = NULL;
	*place = place_of(&function, &l);
}
