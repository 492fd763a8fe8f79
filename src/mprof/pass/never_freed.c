// SPDX-License-Identifier: LGPL-3.0-or-later
/* never_freed.c - blocks that were never freed. */
#include "../util/order.h"
#include "never_freed.h"

#include <stdlib.h>

static void note_age(struct never_freed *s, const struct heap *h, uint32_t process,
		     const struct block *b)
{
	size_t i = s->oldest_count;

	if (i == NEVER_FREED_OLDEST) {
		if (b->start >= s->oldest[i - 1].ticks)
			return;
		i--;
	} else {
		s->oldest_count++;
	}
	for (; i && s->oldest[i - 1].ticks > b->start; i--)
		s->oldest[i] = s->oldest[i - 1];
	s->oldest[i] = (struct never_freed_block){
		.addr = b->addr,
		.size = b->size,
		.ticks = b->start,
		.process = h->process[process]->number,
		.thread = h->thread[b->owner & BLOCK_THREAD].number,
	};
}

static void gone(void *self, const struct heap *h, uint32_t process, enum process_gone why,
		 uint64_t ticks)
{
	struct never_freed *s = self;
	struct never_freed_process *p = array_at(&s->process, process, sizeof(*p));
	struct heap_round round = { 0 };
	const struct block *b;

	while ((b = heap_next_block(h->process[process], &round))) {
		if (b->owner & BLOCK_INHERITED)
			continue;
		if (why == GONE_EXEC) {
			p->exec_blocks++;
			p->exec_bytes += b->size;
			continue;
		}
		p->blocks++;
		p->bytes += b->size;
		size_table_add(&s->table, b->size, b->slack);
		note_age(s, h, process, b);
	}
}

ORDER(by_bytes, struct size_class, COMPARE(y->size * y->count, x->size * x->count) ?: RISING(size))

static void finish(void *self, struct walk *w)
{
	struct never_freed *s = self;
	struct never_freed_process *p;
	size_t i;

	if (w->heap.processes)
		array_at(&s->process, w->heap.processes - 1, sizeof(*p));
	p = s->process.item;
	for (i = 0; i < s->process.count; i++) {
		s->all.blocks += p[i].blocks;
		s->all.bytes += p[i].bytes;
		s->all.exec_blocks += p[i].exec_blocks;
		s->all.exec_bytes += p[i].exec_bytes;
	}
	s->class = size_table_sorted(&s->table, &s->classes);
	SORT(s->class, s->classes, by_bytes);
}

static const struct pass_part parts[] = {
	{ PASS_ARRAY(struct never_freed, process, struct never_freed_process) },
	{ PASS_LIST(struct never_freed, table.small, table.smalls, table.smalls,
		    struct size_class) },
	{ PASS_LIST(struct never_freed, table.large, table.larges, table.room, struct size_class) },
	{ PASS_FREED(struct never_freed, table.index) },
	{ PASS_FREED(struct never_freed, class) },
	{ .bytes = 0 },
};

const struct pass_ops never_freed_pass = {
	.name = "never freed",
	.bytes = sizeof(struct never_freed),
	.part = parts,
	.gone = gone,
	.finish = finish,
};
