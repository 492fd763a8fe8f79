// SPDX-License-Identifier: LGPL-3.0-or-later
/* predict.c - guessing the addresses of a chunk's events. */
#include "predict.h"

#include <string.h>

/* What glibc would give: the guess until a size has been seen. */
static uint16_t usual_usable(uint64_t size)
{
	return size <= 24 ? 24 : (uint16_t)(((size + 8 + 15) & ~15ull) - 8);
}

void predict_start(struct predict *p)
{
	p->addr = p->usable = p->given = p->carve = 0;
	p->places = p->free_places = p->items = 0;
	for (unsigned i = 0; i < USABLE_GROUPS; i++)
		p->usable_of[i] = usual_usable(8ull * i);
	memset(p->pile, 0, sizeof(p->pile));
}

unsigned predict_find(const struct predict *p, uint64_t addr, uint64_t usable)
{
	uint32_t i = p->pile[pile_of(usable)];

	for (unsigned depth = 0; i && depth < PREDICT_DEPTH; depth++) {
		if (p->item[i - 1].addr == addr)
			return depth;
		i = p->item[i - 1].below;
	}
	if (addr == p->given)
		return REF_GIVEN;
	if (addr == p->addr + p->usable + 8)
		return REF_BEHIND;
	if (addr == p->addr + p->usable)
		return REF_NEXT;
	return addr == p->carve ? REF_SPLIT : REF_NONE;
}
