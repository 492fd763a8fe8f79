// SPDX-License-Identifier: LGPL-3.0-or-later
/* merged.c - sites whose stacks read the same. */
#include "merged.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/order.h"

size_t merged_depth(const struct merged *m, const struct merged_row *row)
{
	return interner_bytes(&m->stacks, row->stack) / sizeof(uint32_t);
}

uint32_t merged_id(const struct merged *m, const struct merged_row *row, size_t i)
{
	uint32_t id;

	memcpy(&id, interner_text(&m->stacks, row->stack) + i * sizeof(id), sizeof(id));
	return id;
}

const struct sym_line *merged_line(const struct merged *m, const struct merged_row *row, size_t i)
{
	return line_interner_line(&m->lines, merged_id(m, row, i));
}

/* Returns the row of a known stack, or a new one. */
static struct merged_row *row_of(struct merged *m, uint32_t stack)
{
	/* Rows are made in the order of ids. */
	if (stack <= m->count)
		return &m->row[stack - 1];
	GROW(m->row, m->count + 1, m->room);
	m->row[m->count] = (struct merged_row){ .stack = stack };
	return &m->row[m->count++];
}

void merged_add(struct merged *m, const struct sym_line *const *line, size_t n,
		const uint64_t v[VALUE_COUNT])
{
	struct merged_row *row;
	size_t k;

	GROW(m->id, n, m->id_room);
	for (k = 0; k < n; k++)
		m->id[k] = line_interner_id(&m->lines, line[k]);
	row = row_of(m, interner_id(&m->stacks, m->id, n * sizeof(*m->id)));
	for (k = 0; k < VALUE_COUNT; k++)
		row->v[k] += v[k];
}

void merged_make(struct merged *m, struct profile *p)
{
	struct calltree_path path = { .line = NULL };
	uint64_t v[VALUE_COUNT];
	size_t i, k;

	*m = (struct merged)MERGED_EMPTY;
	for (i = 0; i < p->count; i++) {
		for (k = 0; k < VALUE_COUNT; k++)
			v[k] = profile_value(p, i, (enum profile_value)k);
		calltree_path_of(&path, p, i);
		merged_add(m, path.line, path.count, v);
	}
	free(path.line);
}

static int by_stack(const void *a, const void *b, void *merged)
{
	const struct merged *m = merged;
	const struct merged_row *x = a, *y = b;
	size_t nx = merged_depth(m, x), ny = merged_depth(m, y), i;
	uint32_t ix, iy;

	for (i = 0; i < nx && i < ny; i++) {
		ix = merged_id(m, x, i);
		iy = merged_id(m, y, i);
		if (ix != iy)
			return ix < iy ? -1 : 1;
	}
	return (nx > ny) - (nx < ny);
}

void merged_sort(struct merged *m)
{
	SORT_IN(m->row, m->count, by_stack, m);
}

void merged_release(struct merged *m)
{
	line_interner_release(&m->lines);
	interner_release(&m->stacks);
	free(m->row);
	free(m->id);
	*m = (struct merged){ .row = NULL };
}
