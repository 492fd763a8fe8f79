// SPDX-License-Identifier: LGPL-3.0-or-later
/* peak.c - finds the moments of most live bytes and most live blocks. */
#include "peak.h"

static inline void look(struct peak_of *p, const struct live *now, uint64_t ticks, uint64_t event)
{
	if (__builtin_expect(now->bytes <= p->at.bytes && now->blocks <= p->blocks, 1))
		return;
	if (now->bytes > p->at.bytes) {
		p->at = *now;
		p->ticks = ticks;
		p->event = event;
	}
	if (now->blocks > p->blocks) {
		p->blocks = now->blocks;
		p->block_ticks = ticks;
	}
}

/* The run is no longer just its first process: there is another one. */
static void part(struct peak *s)
{
	if (!s->apart && s->process.count)
		s->all = *(const struct peak_of *)s->process.item;
	s->apart = true;
}

void peak_look(struct peak *s, uint32_t process, const struct live *own, const struct live *all,
	       const struct event *e, uint64_t number)
{
	struct peak_of *p = array_at(&s->process, process, sizeof(*p));

	if (s->walk->heap.processes > 1)
		part(s);
	p = s->process.item;
	look(&p[process], own, e->ticks, number);
	if (s->apart)
		look(&s->all, all, e->ticks, number);
}

static void batch(void *self, const struct batch *b)
{
	struct live all;
	size_t i;

	for (i = 0; b->grew && i < b->count; i++) {
		const struct note *n = &b->note[i];

		if (!(n->did & NOTE_BEGAN))
			continue;
		all = note_all(n);
		peak_look(self, n->process, &n->own, &all, &b->event[i], b->number + i);
	}
}

static void finish(void *self, struct walk *w)
{
	struct peak *s = self;

	part(s);
	if (w->heap.processes)
		array_at(&s->process, w->heap.processes - 1, sizeof(struct peak_of));
}

static const struct pass_part parts[] = {
	{ PASS_ARRAY(struct peak, process, struct peak_of) },
	{ .bytes = 0 },
};

const struct pass_ops peak_pass = {
	.name = "peak",
	.bytes = sizeof(struct peak),
	.part = parts,
	.batch = batch,
	.finish = finish,
};
