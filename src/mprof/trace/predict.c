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
	static uint16_t usual[USABLE_GROUPS];

	if (!usual[0])
		for (unsigned i = 0; i < USABLE_GROUPS; i++)
			usual[i] = usual_usable(8ull * i);
	p->addr = p->usable = p->given = p->carve = 0;
	p->places = p->free_places = p->items = 0;
	memcpy(p->usable_of, usual, sizeof(usual));
	memset(p->pile, 0, sizeof(p->pile));
}

static unsigned pile_of(uint64_t usable)
{
	if (usable < 8 * PILES_DIRECT)
		return (unsigned)(usable >> 3);
	return PILES_DIRECT + (unsigned)((usable * 0x9e3779b97f4a7c15ull) >> 54);
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

uint64_t predict_address(const struct predict *p, unsigned ref, uint64_t usable)
{
	uint32_t i = p->pile[pile_of(usable)];

	switch (ref) {
	case REF_GIVEN:
		return p->given;
	case REF_BEHIND:
		return p->addr + p->usable + 8;
	case REF_NEXT:
		return p->addr + p->usable;
	case REF_SPLIT:
		return p->carve;
	}
	while (i && ref--)
		i = p->item[i - 1].below;
	return i ? p->item[i - 1].addr : 0;
}

static void pile_remove(struct predict *p, unsigned pile, unsigned depth)
{
	uint32_t *link = &p->pile[pile];

	while (*link && depth--)
		link = &p->item[*link - 1].below;
	if (*link)
		*link = p->item[*link - 1].below;
}

uint32_t predict_took(struct predict *p, unsigned ref, uint64_t addr, uint64_t size,
		      uint64_t usable)
{
	uint32_t place;

	if (ref < PREDICT_DEPTH)
		pile_remove(p, pile_of(usable), ref);
	else
		p->carve = addr + usable + 8;
	if (size < 8 * (USABLE_GROUPS - 1) && usable < 65536)
		p->usable_of[(size + 7) >> 3] = (uint16_t)usable;
	p->addr = addr;
	p->usable = usable;
	place = p->free_places ? p->free_place[--p->free_places] : p->places++;
	p->place[place] = (struct place){ addr, usable };
	return place;
}

void predict_gave(struct predict *p, uint32_t place)
{
	struct place *b = &p->place[place];
	uint32_t *top = &p->pile[pile_of(b->usable)];

	p->item[p->items] = (struct pile_item){ b->addr, *top };
	*top = ++p->items;
	p->given = b->addr;
	p->free_place[p->free_places++] = place;
}

void predict_gave_unknown(struct predict *p, uint64_t addr)
{
	p->given = addr;
}
