// SPDX-License-Identifier: LGPL-3.0-or-later
/* maps.c - address space that a process mapped itself. */
#include "maps.h"

#include <sys/mman.h>

static void start(void *self, struct walk *w)
{
	((struct maps *)self)->walk = w;
}

/* One past the last byte, in whole pages; 0 for a range that no machine has. */
static uint64_t end_of(const struct walk *w, uint64_t start, uint64_t size)
{
	const uint64_t mask = w->heap.page_size - 1;

	if (size > UINT64_MAX / 2 || start > UINT64_MAX / 2 - mask)
		return 0;
	return (start + size + mask) & ~mask;
}

static void map(struct walk *w, struct maps_of *p, const struct event *e, bool file)
{
	if (map_set_add(&p->set, e->addr, end_of(w, e->addr, e->size), file) < 0)
		pass_failed(w);
}

static void unmap(struct walk *w, struct maps_of *p, uint64_t start, uint64_t size)
{
	uint64_t end = end_of(w, start, size);
	int64_t known = map_set_remove(&p->set, start, end);

	if (known < 0)
		pass_failed(w);
	else if (end > start)
		p->unknown_unmapped += end - start - (uint64_t)known;
}

static void move_break(struct maps_of *p, const struct event *e)
{
	/* Unsigned, as a damaged trace may move it anywhere. */
	p->break_now = (int64_t)((uint64_t)p->break_now + e->addr - e->usable);
	if (p->break_now > p->break_peak)
		p->break_peak = p->break_now;
}

void maps_apply(struct walk *w, struct maps_of *p, const struct event *e)
{
	bool file;

	switch (e->fn) {
	case MPROF_FN_MMAP:
		map(w, p, e, !(e->usable >> 32 & MAP_ANONYMOUS));
		break;
	case MPROF_FN_MUNMAP:
		unmap(w, p, e->addr, e->size);
		break;
	case MPROF_FN_MREMAP:
		file = map_set_is_file(&p->set, e->usable);
		unmap(w, p, e->usable, e->arg);
		map(w, p, e, file);
		break;
	case MPROF_FN_BRK:
	case MPROF_FN_SBRK:
		move_break(p, e);
		break;
	}
}

static void take_stock(struct maps *s, struct maps_of *p, uint64_t ticks)
{
	s->all.now += p->set.bytes[false] - p->now;
	s->all.file_now += p->set.bytes[true] - p->file_now;
	p->now = p->set.bytes[false];
	p->file_now = p->set.bytes[true];
	if (p->now > p->peak) {
		p->peak = p->now;
		p->peak_ticks = ticks;
	}
	if (p->file_now > p->file_peak)
		p->file_peak = p->file_now;
	if (s->all.now > s->all.peak) {
		s->all.peak = s->all.now;
		s->all.peak_ticks = ticks;
	}
	if (s->all.file_now > s->all.file_peak)
		s->all.file_peak = s->all.file_now;
}

static void batch(void *self, const struct batch *b)
{
	struct maps *s = self;
	struct maps_of *p;
	size_t i;

	for (i = 0; i < b->count; i++) {
		const struct event *e = &b->event[i];

		if (e->kind != EVENT_CALL || e->fn < MPROF_FN_MMAP || e->fn > MPROF_FN_SBRK ||
		    e->error)
			continue;
		p = array_at(&s->process, b->note[i].process, sizeof(*p));
		if (!p) {
			pass_failed(s->walk);
			return;
		}
		if (p->ended)
			continue;
		maps_apply(s->walk, p, e);
		take_stock(s, p, e->ticks);
	}
}

/* What is mapped ends with the program that mapped it. */
static void gone(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		 uint64_t ticks)
{
	struct maps *s = self;
	struct maps_of *p = array_at(&s->process, process, sizeof(*p));

	(void)h;
	if (!p) {
		pass_failed(s->walk);
		return;
	}
	map_set_release(&p->set);
	if (why == GONE_EXEC) {
		take_stock(s, p, ticks);
		p->break_now = 0;
		return;
	}
	s->all.now -= p->now; /* its own "now" stays what it was at the end */
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

	(void)w;
	s->all.now = s->all.file_now = 0;
	for (i = 0; i < s->process.count; i++) {
		s->all.now += p[i].now;
		s->all.file_now += p[i].file_now;
		s->all.unknown_unmapped += p[i].unknown_unmapped;
		add_signed(&s->all.break_now, p[i].break_now);
		add_signed(&s->all.break_peak, p[i].break_peak);
	}
}

static void release(void *self)
{
	struct maps *s = self;
	struct maps_of *p = s->process.item;
	size_t i;

	for (i = 0; i < s->process.count; i++)
		map_set_release(&p[i].set);
	array_release(&s->process);
}

const struct pass_ops maps_pass = {
	.name = "maps",
	.start = start,
	.batch = batch,
	.gone = gone,
	.finish = finish,
	.release = release,
};
