// SPDX-License-Identifier: LGPL-3.0-or-later
/* sorts.c - sorts and stacks by number, and their definitions. */
#include "sorts.h"

#include <errno.h>

#include "../util/large.h"
#include "../util/order.h"
#include "stack_map.h"

#define TABLE_FIRST  4096u
#define TABLE_SPARSE 65536u /* 512 KB */

/* Returns the pile of a usable size, see group.h. */
static uint16_t sort_pile(uint64_t usable)
{
	if (usable < 8 * SORTS_PILES_EXACT)
		return (uint16_t)(usable >> 3);
	return (uint16_t)(SORTS_PILES_EXACT + (usable * 0x9e3779b97f4a7c15ull >> 54));
}

static void *grow(void *array, size_t n, size_t *room, size_t bytes)
{
	size_t more = *room ? *room : 256;
	void *bigger;

	if (n <= *room)
		return array;
	while (more < n)
		more *= 2;
	bigger = large_realloc(array, *room * bytes, more * bytes);
	if (bigger)
		*room = more;
	return bigger;
}

static bool room_for(struct sorts *s, size_t sorts, size_t stacks)
{
	void *sort = grow(s->sort, sorts, &s->room, sizeof(*s->sort)), *stack;

	if (!sort)
		return false;
	s->sort = sort;
	stack = grow(s->stack, stacks, &s->stacks_room, sizeof(*s->stack));
	if (!stack)
		return false;
	s->stack = stack;
	return true;
}

int sorts_start(struct sorts *s, size_t nodes)
{
	*s = (struct sorts){ .nodes = nodes };
	if (!room_for(s, 1, 1))
		return -ENOMEM;
	s->sort[0] = (struct sort){ .kind = UINT8_MAX };
	s->stack[0] = (struct sorts_stack){ 0 };
	s->n = s->stacks = s->told = s->stacks_told = 1;
	return 0;
}

void sorts_free(struct sorts *s)
{
	columns_free(s->column, SORTS_COLUMNS);
	large_free(s->sort, s->room * sizeof(*s->sort));
	large_free(s->large, s->larges_room * sizeof(*s->large));
	large_free(s->stack, s->stacks_room * sizeof(*s->stack));
	large_free(s->table, s->table_room * sizeof(*s->table));
	large_free(s->number, s->nodes * sizeof(*s->number));
	large_free(s->owner, s->nodes * sizeof(*s->owner));
}

static void put_sizes(struct sorts *t, struct sort *s, const struct sort_sizes *z)
{
	s->pile = sort_pile(z->usable);
	if ((z->size | z->arg) <= UINT32_MAX && z->usable - z->size < SORT_LARGE) {
		s->size = (uint32_t)z->size;
		s->slack = (uint32_t)(z->usable - z->size);
		s->arg = (uint32_t)z->arg;
		return;
	}
	t->large = grow(t->large, t->larges + 1, &t->larges_room, sizeof(*t->large));
	t->large[t->larges] = *z;
	s->size = (uint32_t)t->larges++;
	s->slack = SORT_LARGE;
}

/* ---- writing ---- */

static uint64_t hash_of(const struct sorts *t, const struct sort *s)
{
	const struct sort_sizes z = sort_sizes(t, s);

	return sort_hash(&(struct event){
	    .size = z.size, .usable = z.usable, .arg = z.arg, .stack = s->stack, .fn = s->fn });
}

static bool grow_table(struct sorts *s)
{
	size_t room = s->table_room ? 4 * s->table_room : TABLE_FIRST, at;
	uint64_t *bigger = large_extend(NULL, 0, room * sizeof(*bigger)), hash;

	if (!bigger)
		return false;
	large_free(s->table, s->table_room * sizeof(*s->table));
	s->table = bigger;
	s->table_room = room;
	for (size_t i = 1; i < s->n; i++) {
		hash = hash_of(s, &s->sort[i]);
		at = hash & (room - 1);
		while (bigger[at])
			at = (at + 1) & (room - 1);
		bigger[at] = hash >> 32 << 32 | i;
	}
	return true;
}

static uint32_t define(struct sorts *s, const struct event *e)
{
	const struct sort_sizes sizes = { e->size, e->usable, e->arg };

	if (sorts_stack(s, e->stack) == UINT32_MAX || s->n > UINT32_MAX - 2 ||
	    !room_for(s, s->n + 1, s->stacks))
		return 0;
	s->sort[s->n] = (struct sort){ .stack = e->stack,
				       .error = e->error,
				       .fn = e->fn,
				       .kind = e->kind,
				       .factors = e->factors };
	put_sizes(s, &s->sort[s->n], &sizes);
	return (uint32_t)s->n++;
}

int sorts_ready(struct sorts *s)
{
	/* In a table that a cache holds anyway, nearly all are found at once. */
	const size_t of_each = s->table_room < TABLE_SPARSE ? 8 : 2;

	return of_each * s->n < s->table_room || grow_table(s) ? 0 : -ENOMEM;
}

uint32_t sorts_search(struct sorts *s, const struct event *e, uint64_t hash)
{
	uint64_t found, *first;
	size_t at;
	uint32_t number;

	if (sorts_ready(s))
		return 0;
	at = hash & (s->table_room - 1);
	first = &s->table[at];
	for (; (found = s->table[at]); at = (at + 1) & (s->table_room - 1))
		if (found >> 32 == hash >> 32 && sort_is_of(s, &s->sort[(uint32_t)found], e)) {
			/* The next one like it is found at once. */
			s->table[at] = *first;
			*first = found;
			return (uint32_t)found;
		}
	number = define(s, e);
	if (number)
		s->table[at] = hash >> 32 << 32 | number;
	return number;
}

uint32_t sorts_stack(struct sorts *s, uint32_t node)
{
	if (!node || node >= s->nodes)
		return 0;
	if (!s->number) {
		s->number = large_extend(NULL, 0, s->nodes * sizeof(*s->number));
		if (!s->number)
			return UINT32_MAX;
	}
	if (!s->number[node]) {
		if (!room_for(s, s->n, s->stacks + 1))
			return UINT32_MAX;
		s->stack[s->stacks] = (struct sorts_stack){ .node = node };
		s->number[node] = (uint32_t)s->stacks++;
	}
	return s->number[node];
}

void sorts_name_stacks(struct sorts *s, const struct stack_map *map, size_t maps, size_t nodes)
{
	large_free(s->owner, s->nodes * sizeof(*s->owner));
	if (s->number && nodes > s->nodes)
		s->number = large_extend(s->number, s->nodes * sizeof(*s->number),
					 nodes * sizeof(*s->number));
	s->nodes = nodes;
	s->owner = large_extend(NULL, 0, s->nodes * sizeof(*s->owner));
	s->map = map;
	s->maps = maps;
	for (size_t k = 0; k < maps && map[k].before + map[k].nodes < UINT32_MAX; k++)
		for (uint32_t i = 0; i < map[k].nodes; i++)
			if (map[k].node[i] < s->nodes && !s->owner[map[k].node[i]])
				s->owner[map[k].node[i]] = (uint32_t)map[k].before + i + 1;
}

static struct sorts_stack owner_of(const struct sorts *s, uint32_t node)
{
	const uint64_t at = s->owner ? s->owner[node] : 0;
	const struct stack_map *m = s->map;

	if (!at)
		return (struct sorts_stack){ 0 };
	m += FIRST_WHERE(i, s->maps, m[i].before + m[i].nodes >= at);
	return (struct sorts_stack){ .process = m->process,
				     .image = m->image,
				     .id = m->base + (uint32_t)(at - m->before) };
}

static void tell_stacks(struct sorts *s)
{
	uint32_t process = 0, id = 0;

	for (size_t i = s->stacks_told; i < s->stacks; i++) {
		const struct sorts_stack k = owner_of(s, s->stack[i].node);

		column_varint(&s->column[SORTS_PROCESS], zigzag((uint64_t)k.process - process));
		column_varint(&s->column[SORTS_IMAGE], k.image);
		column_varint(&s->column[SORTS_ID], zigzag((uint64_t)k.id - id));
		process = k.process;
		id = k.id;
	}
}

static void tell_sorts(struct sorts *s)
{
	uint32_t before = 0;

	for (size_t i = s->told; i < s->n; i++) {
		const struct sort *k = &s->sort[i];
		const struct sort_sizes z = sort_sizes(s, k);
		const uint32_t stack = sorts_stack(s, k->stack); /* it has a number by now */

		column_put(&s->column[SORTS_FN], k->fn);
		column_put(&s->column[SORTS_WHAT], k->kind | k->factors << 4);
		column_varint(&s->column[SORTS_STACK], zigzag((uint64_t)stack - before));
		column_varint(&s->column[SORTS_SIZE], z.size);
		column_varint(&s->column[SORTS_SLACK], zigzag(z.usable - z.size));
		column_varint(&s->column[SORTS_ARG], z.arg);
		column_varint(&s->column[SORTS_ERROR], k->error);
		before = stack;
	}
}

int sorts_tell(struct sorts *s, struct mprof_sorts *head)
{
	*head = (struct mprof_sorts){ .first_sort = (uint32_t)s->told,
				      .sorts = (uint32_t)(s->n - s->told),
				      .first_stack = (uint32_t)s->stacks_told,
				      .stacks = (uint32_t)(s->stacks - s->stacks_told) };
	columns_clear(s->column, SORTS_COLUMNS);
	tell_stacks(s);
	tell_sorts(s);
	s->told = s->n;
	s->stacks_told = s->stacks;
	for (unsigned i = 0; i < SORTS_COLUMNS; i++) {
		s->length[i] = (uint32_t)s->column[i].n;
		if (s->column[i].failed)
			return -ENOMEM;
	}
	return 0;
}

bool sorts_piece(void *sorts, size_t i, const void **data, size_t *bytes)
{
	const struct sorts *s = sorts;

	if (i > SORTS_COLUMNS)
		return false;
	*data = i ? (const void *)s->column[i - 1].byte : s->length;
	*bytes = i ? s->column[i - 1].n : sizeof(s->length);
	return true;
}

/* ---- reading ---- */

/* Makes room for these numbers; false if they are beyond all possible ones. */
static bool reach(struct sorts *s, uint64_t sorts, uint64_t stacks)
{
	if (!room_for(s, sorts, stacks))
		return false;
	for (; s->n < sorts; s->n++)
		s->sort[s->n] = (struct sort){ .kind = UINT8_MAX };
	for (; s->stacks < stacks; s->stacks++)
		s->stack[s->stacks] = (struct sorts_stack){ 0 };
	return true;
}

static void take_stacks(struct sorts *s, const struct mprof_sorts *head, struct cursor *c)
{
	uint32_t process = 0, id = 0;

	for (uint32_t i = 0; i < head->stacks; i++) {
		process += (uint32_t)unzigzag(cursor_varint(&c[SORTS_PROCESS]));
		id += (uint32_t)unzigzag(cursor_varint(&c[SORTS_ID]));
		s->stack[head->first_stack + i] =
		    (struct sorts_stack){ .process = process,
					  .image = (uint32_t)cursor_varint(&c[SORTS_IMAGE]),
					  .id = id };
	}
}

static bool take_sort(struct sorts *s, struct sort *k, struct cursor *c, uint32_t *stack)
{
	struct sort_sizes z;
	unsigned what;

	*stack += (uint32_t)unzigzag(cursor_varint(&c[SORTS_STACK]));
	*k = (struct sort){ .fn = (uint8_t)cursor_get(&c[SORTS_FN]), .stack = *stack };
	what = (unsigned)cursor_get(&c[SORTS_WHAT]);
	k->kind = what & 15;
	k->factors = (uint8_t)(what >> 4);
	z.size = cursor_varint(&c[SORTS_SIZE]);
	z.usable = z.size + unzigzag(cursor_varint(&c[SORTS_SLACK]));
	z.arg = cursor_varint(&c[SORTS_ARG]);
	k->error = (uint16_t)cursor_varint(&c[SORTS_ERROR]);
	put_sizes(s, k, &z);
	return sorts_is_birth(k->kind, k->fn) && k->factors <= FACTORS_LOST;
}

bool sorts_take(struct sorts *s, const struct mprof_sorts *head, const uint8_t *plain)
{
	uint64_t sorts = (uint64_t)head->first_sort + head->sorts;
	uint64_t stacks = (uint64_t)head->first_stack + head->stacks;
	struct cursor c[SORTS_COLUMNS];
	uint32_t stack = 0;

	/* Each definition has at least one byte in a separate column; gaps come from damaged
	 * extents. */
	if (!head->first_sort || !head->first_stack ||
	    !cursors_find(c, SORTS_COLUMNS, plain, head->plain_bytes) ||
	    head->sorts > (size_t)(c[SORTS_FN].end - c[SORTS_FN].p) ||
	    head->stacks > (size_t)(c[SORTS_ID].end - c[SORTS_ID].p) || sorts > SORTS_MAX ||
	    stacks > SORTS_MAX || !reach(s, sorts, stacks))
		return false;
	take_stacks(s, head, c);
	for (uint32_t i = 0; i < head->sorts; i++) {
		struct sort *k = &s->sort[head->first_sort + i];

		if (!take_sort(s, k, c, &stack))
			*k = (struct sort){ .kind = UINT8_MAX };
	}
	return true;
}
