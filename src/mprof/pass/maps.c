// SPDX-License-Identifier: LGPL-3.0-or-later
/* maps.c - address space that a process mapped directly. */
#include "maps.h"

#include <ctype.h>
#include <string.h>

#include "resident_pages.h"

static struct maps_of *process_at(struct maps *s, uint32_t process)
{
	return array_at(&s->process, process, sizeof(struct maps_of));
}

/* ---- who mapped ---- */

static struct maps_site *site_of(struct maps_of *p, uint32_t stack)
{
	uint32_t id = interner_id(&p->stacks, &stack, sizeof(stack));
	struct maps_site *site = array_at(&p->site, id - 1, sizeof(*site));

	site->stack = stack;
	return site;
}

/* The state at the last peak is the state until the first change after it. */
static void keep_peak(struct maps_site *site, uint64_t peaks)
{
	if (site->changed == peaks)
		return;
	site->changed = peaks;
	site->peak = site->now;
	site->peak_reserved = site->reserved;
}

static void keep_file_peak(struct maps_site *site, uint64_t peaks)
{
	if (site->file_changed == peaks)
		return;
	site->file_changed = peaks;
	site->file_peak = site->file_now;
}

static void change(struct maps_of *p, const struct space_change *c)
{
	struct maps_site *site;

	if (c->kind == SPACE_BREAK) {
		site = site_of(p, c->stack);
		site->break_now += (uint64_t)c->bytes;
		if (site->break_now > site->break_most)
			site->break_most = site->break_now;
		return;
	}
	if (c->kind == SPACE_FILE) {
		site = site_of(p, c->stack);
		keep_file_peak(site, p->file_peaks);
		site->file_now += (uint64_t)c->bytes;
		return;
	}
	if (c->kind != SPACE_MEMORY && c->kind != SPACE_RESERVED)
		return;
	site = site_of(p, c->stack);
	keep_peak(site, p->peaks);
	site->now += (uint64_t)c->bytes;
	if (c->kind == SPACE_RESERVED)
		site->reserved += (uint64_t)c->bytes;
}

/* ---- how much ---- */

static void take_stock(struct maps *s, struct maps_of *p, const uint64_t *bytes, uint64_t ticks)
{
	const uint64_t now = bytes[SPACE_MEMORY] + bytes[SPACE_RESERVED];

	s->all.now += now - p->now;
	s->all.file_now += bytes[SPACE_FILE] - p->file_now;
	p->now = now;
	p->file_now = bytes[SPACE_FILE];
	if (p->now > p->peak) {
		p->peak = p->now;
		p->peak_ticks = ticks;
		p->peaks++;
	}
	if (p->file_now > p->file_peak) {
		p->file_peak = p->file_now;
		p->file_peaks++;
	}
	if (s->all.now > s->all.peak) {
		s->all.peak = s->all.now;
		s->all.peak_ticks = ticks;
	}
	if (s->all.file_now > s->all.file_peak)
		s->all.file_peak = s->all.file_now;
}

static void mapped(struct maps *s, const struct event *e, const struct note *n)
{
	const struct space_change *c = s->walk->heap.changes.item;
	struct maps_of *p = process_at(s, n->process);
	size_t i;

	if (p->ended)
		return;
	for (i = n->space.first; i < n->space.first + n->space.changes; i++)
		change(p, &c[i]);
	p->unknown_unmapped += n->space.never_mapped;
	p->break_now = n->space.moved_break;
	if (p->break_now > p->break_peak)
		p->break_peak = p->break_now;
	take_stock(s, p, n->space.bytes, e->ticks);
}

/* Were functions of the program recorded (--wrap), which may map the memory of their blocks? */
static bool is_wrapped(const char *conf)
{
	const char *at = conf;

	while ((at = strstr(at, "WRAP=")) && at > conf && !isspace((unsigned char)at[-1]))
		at++;
	return at != NULL;
}

static void start(void *self, struct walk *w)
{
	struct maps *s = self;

	for (size_t i = 0; i < w->input.fact_count; i++)
		s->wrapped |= is_wrapped(w->input.facts[i].conf);
}

void maps_began(struct maps *s, uint32_t process, const struct event *e)
{
	const struct map_set *set = &s->walk->heap.process[process]->space.mapped;
	const struct map_range *range = set->count ? map_set_at(set, e->addr) : NULL;

	if (range && range->kind != SPACE_INHERITED)
		site_of(process_at(s, process), range->stack)->has_blocks = true;
}

static void batch(void *self, const struct batch *b)
{
	struct maps *s = self;
	size_t i;

	for (i = 0; i < b->count && !b->plain; i++)
		if (b->note[i].did & NOTE_MAPPED && !b->event[i].error)
			mapped(self, &b->event[i], &b->note[i]);
	for (i = 0; i < b->count && s->wrapped; i++)
		if (b->note[i].did & NOTE_BEGAN)
			maps_began(s, b->note[i].process, &b->event[i]);
}

/* ---- resident parts ---- */

static void residency(void *self, const struct heap *h, uint32_t process,
		      const struct trace_residency *r)
{
	const struct map_set *set = &h->process[process]->space.mapped;
	const unsigned shift = h->process[process]->pages.shift;
	const uint64_t all = resident_all(r) << shift;
	struct maps_of *p = process_at(self, process);
	const struct map_range *range;
	struct maps_site *site;
	uint64_t bytes, near = 0;
	size_t i;

	if (all <= p->resident_of)
		return;
	p->resident_of = all;
	p->looked = r->head->ticks_before;
	site = p->site.item;
	for (i = 0; i < p->site.count; i++) {
		site[i].resident = site[i].break_resident = 0;
		site[i].looked = site[i].now - site[i].reserved + site[i].break_now;
	}
	for (range = set->range; range < set->range + set->count; range++) {
		if (range->kind == SPACE_FILE || range->kind == SPACE_INHERITED)
			continue;
		bytes = resident_bytes(r, shift, range->start, range->end, &near);
		if (!bytes)
			continue;
		site = site_of(p, range->stack);
		*(range->kind == SPACE_BREAK ? &site->break_resident : &site->resident) += bytes;
		if (range->kind == SPACE_RESERVED) /* given access later */
			site->looked += bytes;
	}
}

/* ---- begin and end ---- */

static void forked(void *self, const struct heap *h, uint32_t parent, uint32_t child)
{
	(void)h;
	(void)parent;
	process_at(self, child)->copied = true;
}

static void close_peaks(struct maps_of *p)
{
	struct maps_site *site = p->site.item;
	size_t i;

	for (i = 0; i < p->site.count; i++) {
		keep_peak(&site[i], p->peaks);
		keep_file_peak(&site[i], p->file_peaks);
	}
}

/* Ends the mappings of a program. */
static void gone(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		 uint64_t ticks)
{
	static const uint64_t nothing[SPACE_KINDS];
	struct maps *s = self;
	struct maps_of *p = process_at(s, process);
	struct maps_site *site;
	size_t i;

	if (why == GONE_EXEC) {
		close_peaks(p);
		site = p->site.item;
		for (i = 0; i < p->site.count; i++) {
			site[i].now = site[i].reserved = site[i].file_now = 0;
			site[i].break_now = 0;
		}
		take_stock(s, p, nothing, ticks);
		p->break_now = 0;
		if (p->copied)
			p->looked = p->resident_of = 0;
		p->copied = false;
		return;
	}
	s->all.now -= p->now; /* the process's own "now" keeps its value at the end */
	s->all.file_now -= p->file_now;
	p->ended = true;
}

static void add_signed(int64_t *to, int64_t n)
{
	*to = (int64_t)((uint64_t)*to + (uint64_t)n);
}

static void finish(void *self, struct walk *w)
{
	struct maps *s = self;
	struct maps_of *p = s->process.item;
	size_t i;

	s->all.now = s->all.file_now = 0;
	for (i = 0; i < s->process.count; i++) {
		close_peaks(&p[i]);
		s->all.now += p[i].now;
		s->all.file_now += p[i].file_now;
		s->all.unknown_unmapped += p[i].unknown_unmapped;
		add_signed(&s->all.break_now, p[i].break_now);
		add_signed(&s->all.break_peak, p[i].break_peak);
	}
}

static const struct pass_part of_process[] = {
	{ PASS_ARRAY(struct maps_of, site, struct maps_site) },
	{ PASS_FREED(struct maps_of, stacks.text) },
	{ PASS_FREED(struct maps_of, stacks.string) },
	{ PASS_FREED(struct maps_of, stacks.last) },
	{ PASS_UNUSED(struct maps_of, stacks) },
	{ .bytes = 0 },
};

static const struct pass_part parts[] = {
	{ PASS_ARRAY(struct maps, process, struct maps_of), .inside = of_process },
	{ .bytes = 0 },
};

const struct pass_ops maps_pass = {
	.name = "maps",
	.bytes = sizeof(struct maps),
	.part = parts,
	.start = start,
	.batch = batch,
	.residency = residency,
	.forked = forked,
	.gone = gone,
	.finish = finish,
};
