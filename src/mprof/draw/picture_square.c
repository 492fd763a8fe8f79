/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* picture_square.c - several pages as one square of a picture, and its colour. */
#include "picture_parts.h"

void square_add(struct square *s, const struct film_cell *cell)
{
	bool resident = cell->flags & FILM_RESIDENT;

	s->pages++;
	s->resident += resident;
	s->mapped += cell->flags & FILM_MAPPED || cell->live;
	if (!cell->live || (s->residency && !resident))
		return;
	s->live_pages++;
	s->pinned += cell->live < FILM_PIN_BYTES;
	s->live += cell->live;
	if (!s->top || cell->live > s->top->live)
		s->top = cell;
}

uint8_t picture_colour(struct picture *p, const struct film *f, const struct square *s,
		       uint64_t now, bool *pin)
{
	*pin = false;
	if (!s->live) {
		if (!s->residency)
			return COLOUR_UNKNOWN;
		return s->resident ? COLOUR_RETAINED : s->mapped ? COLOUR_MAPPED : COLOUR_MAP;
	}
	if (p->o.by != PICTURE_BY_OCCUPANCY)
		return classes_colour(&p->classes, s->top, now, f->ops);
	*pin = s->pinned == s->live_pages;
	return palette_full(s->live,
			    (uint64_t)(s->residency ? s->resident : s->live_pages) * FILM_PAGE);
}
