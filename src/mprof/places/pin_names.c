// SPDX-License-Identifier: LGPL-3.0-or-later
/* pin_names.c - functions that pin pages. */
#include "pin_names.h"

#include <stdlib.h>
#include <string.h>

#include "../pass/interner.h"
#include "../util/alloc.h"
#include "../util/order.h"

ORDER(by_pages, struct pin_name, FALLING(pages) ?: FALLING(bytes) ?: RISING(stack))

void pin_names_make(struct pin_names *to, const struct pins *pins, struct profile *names)
{
	struct line_interner functions = { .same = LINE_FUNCTION };
	const struct sym_line *line;
	struct pin_name *name;
	uint32_t id;
	size_t i;

	/* Row 0 is for blocks of unknown sites, row i for function i. */
	*to = (struct pin_names){ .name = must_calloc(pins->sites + 1, sizeof(*to->name)) };
	for (i = 0; i < pins->sites; i++) {
		line = names ? profile_asked(names, pins->site[i].site).line : NULL;
		id = line ? line_interner_id(&functions, line) : 0;
		name = &to->name[id];
		/* Sites are sorted by pages: the first one represents its function. */
		if (!name->blocks) {
			name->line = id ? line : NULL;
			name->stack = pins->site[i].site;
		}
		name->pages += pins->site[i].pages;
		name->bytes += pins->site[i].bytes;
		name->blocks += pins->site[i].blocks;
		to->n = id + 1 > to->n ? id + 1 : to->n;
	}
	line_interner_release(&functions);
	if (to->n && !to->name[0].blocks)
		to->name[0] = to->name[--to->n];
	SORT(to->name, to->n, by_pages);
}

void pin_names_release(struct pin_names *p)
{
	free(p->name);
	memset(p, 0, sizeof(*p));
}
