// SPDX-License-Identifier: LGPL-3.0-or-later
/* outside.c - memory of a process that was not allocated through malloc. */
#include "outside.h"

#include <fnmatch.h>
#include <string.h>

#define HEADER	    16u	   /* the most bytes that an allocator keeps beside a block */
#define SITES_NAMED 10000u /* further ones are not added up */

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
	const struct resident_look *pages; /* NULL without a look */
	struct profile *names;		   /* NULL without call stacks */
};

/* Did the allocator that serves malloc map it?  Only named calls of mmap are recorded. */
static bool is_allocators(const struct look *l, uint32_t stack)
{
	const struct trace_fact *image = tree_image(l->process);
	const char *allocator = image ? basename(image->allocator) : "";
	const struct profile_path *path;

	if (!*allocator || !strncmp(allocator, "libc.so", 7))
		return false;
	path = l->names && stack ? profile_path(l->names, stack) : NULL;
	return !path || !path->all || !strcmp(path->line[path->all - 1]->module, allocator);
}

static uint64_t mapped_by_program(const struct outside *o, const struct look *l)
{
	const struct maps_site *site = l->maps->site.item;
	uint64_t sum = 0, bytes;
	size_t i;

	for (i = 0; i < l->maps->site.count; i++) {
		bytes = bytes_of(o, &site[i]);
		if (bytes && !is_allocators(l, site[i].stack))
			sum += bytes;
	}
	return sum;
}

/* Returns by how much the program moved its break, and the stack of most of it. */
static uint64_t moved_by_program(const struct look *l, uint32_t *stack)
{
	const struct maps_site *site = l->maps->site.item;
	int64_t sum = 0, most = 0;
	size_t i;

	for (i = 0; i < l->maps->site.count; i++) {
		if (site[i].break_most <= 0 || is_allocators(l, site[i].stack))
			continue;
		sum += site[i].break_most;
		if (site[i].break_most <= most)
			continue;
		most = site[i].break_most;
		*stack = site[i].stack;
	}
	return (uint64_t)(sum < l->maps->break_peak ? sum : l->maps->break_peak);
}

/* Returns the bytes far from all blocks, when the pages were read. */
static uint64_t far_from_blocks(const struct outside *o, const struct look *l)
{
	const struct resident_parts_sample *s = l->pages ? l->pages->parts.sample.item : NULL;

	for (size_t i = 0; s && i < l->pages->parts.sample.count; i++)
		if (s[i].process == l->process->number && s[i].ticks == o->ticks)
			return s[i].other;
	return UINT64_MAX;
}

static void measure(struct outside *o, const struct look *l)
{
	const struct tree_process *p = l->process;
	const struct maps_of *m = l->maps;
	uint64_t malloced = needed_by_malloc(l->peak) + p->self_bytes;

	o->looked = m->looked != 0;
	o->ticks = m->looked;
	o->memory = o->looked ? m->resident_of : p->peak_rss_bytes;
	o->mapped = mapped_by_program(o, l);
	o->memory -= p->self_bytes < o->memory ? p->self_bytes : o->memory;
	if (o->mapped > o->memory)
		o->mapped = o->memory;
	o->unseen = o->memory - o->mapped;
	o->unseen -= malloced < o->unseen ? malloced : o->unseen;
	if (o->unseen > far_from_blocks(o, l))
		o->unseen = far_from_blocks(o, l);
	/* The RSS includes pages of files. */
	if (!o->looked || !is_whole(p) || o->unseen < OUTSIDE_UNSEEN || o->unseen < o->memory / 2)
		o->unseen = 0;
	o->outside = o->mapped + o->unseen;
	o->process = p->number;
}

static void find_most(struct outside *o, const struct look *l)
{
	const struct maps_site *site = l->maps->site.item;
	uint64_t most = 0;
	size_t i;

	for (i = 0; i < l->maps->site.count; i++) {
		if (bytes_of(o, &site[i]) <= most || is_allocators(l, site[i].stack))
			continue;
		most = bytes_of(o, &site[i]);
		o->stack = site[i].stack;
	}
	o->by_who = most < o->mapped ? most : o->mapped;
}

/* Are both by one function, or by one module if that is a runtime? */
static bool same_who(const struct outside *o, const struct sym_line *line)
{
	return line && !strcmp(line->module, o->who.line->module) &&
	       (o->mapper || !strcmp(line->function, o->who.line->function));
}

/* Adds up everything that the function mapped, whatever its caller. */
static void add_up(struct outside *o, const struct look *l)
{
	const struct maps_site *site = l->maps->site.item;
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < l->maps->site.count && i < SITES_NAMED; i++)
		if (bytes_of(o, &site[i]) &&
		    same_who(o, profile_asked(l->names, site[i].stack).line))
			bytes += bytes_of(o, &site[i]);
	if (bytes > o->by_who)
		o->by_who = bytes < o->mapped ? bytes : o->mapped;
}

/* Finds the runtime with the call of mmap, if it is known; otherwise the one of the program. */
static const struct mapper *find_mapper(const struct outside *o, const struct look *l)
{
	const struct profile_path *path =
	    l->names && o->stack ? profile_path(l->names, o->stack) : NULL;
	const struct trace_fact *image = tree_image(l->process);

	const struct sym_line *line;

	if (path && path->all) {
		line = path->line[path->all - 1];
		return mapper_of_module(line->module) ?: mapper_of_module(line->function);
	}
	return image ? mapper_of_module(basename(image->exe)) : NULL;
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

static void find_moved(struct outside *o, const struct look *l)
{
	uint32_t stack = 0;
	const uint64_t moved = moved_by_program(l, &stack);

	o->moved = moved < o->unseen ? moved : o->unseen;
	if (o->moved && l->names && stack)
		o->mover = profile_asked(l->names, stack);
}

void outside_find(struct outside *o, const struct analysis *a, const struct trace *t,
		  const struct stack_uses *stacks, const struct resident_look *look,
		  struct profile *names)
{
	static const struct maps_of no_maps;
	static const struct live no_blocks;
	const struct maps_of *m = a->maps.process.item;
	const struct peak_of *peak = a->peak.process.item;
	struct look l = { .pages = look, .names = names }, best = l;
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
		if (now.outside < OUTSIDE_LEAST || now.outside < now.memory / 4 ||
		    now.outside <= o->outside)
			continue;
		*o = now;
		best = l;
	}
	if (!o->process)
		return;
	find_stacks(o, t, stacks);
	find_most(o, &best);
	find_moved(o, &best);
	if (names && o->stack)
		o->who = profile_asked(names, o->stack);
	o->mapper = find_mapper(o, &best);
	if (o->who.line)
		add_up(o, &best);
}
