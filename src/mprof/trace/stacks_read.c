// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * stacks_read.c - the stacks of all processes, read when the trace is opened.
 *
 * A source is one image of a process: its chunks of stack records, and what a
 * forked child began with.  A parent has a lower number than its child, so
 * going through the sources in their order finds every parent read.
 */
#include <stdlib.h>
#include <string.h>

#include "../util/order.h"
#include "reader.h"
#include "stack_map.h"
#include "stack_records.h"

#define CHAIN_MAX 4096u /* nested forks that defined stacks */

struct source {
	uint32_t process, image;
	size_t first, last;  /* its chunks: [first, last) */
	size_t parent;	     /* an earlier source; its own index = no parent */
	uint64_t fork_ticks; /* when it began as a copy of its parent */
	uint32_t inherited;  /* numbers up to this belong to its parent */
	struct loaded_list list;
};

struct stacks_read {
	struct stacks stacks; /* the interface */
	struct stack_code *code;
	size_t codes, code_room;
	struct stack_table table;
	struct source *source; /* only while reading */
	struct stack_map *map; /* one for each source */
	size_t n;
};

ORDER(by_owner, struct source, RISING(process) ?: RISING(image))

static bool begins_as_copy(const struct trace_fact *f)
{
	return f->fact->what == MPROF_FACT_START && f->fact->fork_ticks && f->process &&
	       f->fact->parent && f->fact->parent < f->process;
}

/* Lists every owner of chunks and every forked child, in order and without duplicates. */
static void list_sources(struct trace *t, struct stacks_read *r)
{
	r->source = must_calloc(t->stack_chunks + t->facts + 1, sizeof(*r->source));
	for (size_t i = 0; i < t->stack_chunks; i++) {
		const struct chunk *c = &t->stack_chunk[i];
		struct source *last = r->n ? &r->source[r->n - 1] : NULL;

		if (!last || last->process != c->process || last->image != c->thread)
			r->source[r->n++] = (struct source){ .process = c->process,
							     .image = c->thread,
							     .first = i };
		r->source[r->n - 1].last = i + 1;
	}
	for (size_t i = 0; i < t->facts; i++)
		if (begins_as_copy(&t->fact[i]))
			r->source[r->n++] = (struct source){ .process = t->fact[i].process,
							     .image = t->fact[i].image };
}

/* Keeps, of several sources with one owner, the one with chunks. */
static void sort_sources(struct stacks_read *r)
{
	size_t kept = 0;

	SORT(r->source, r->n, by_owner);
	for (size_t i = 0; i < r->n; i++) {
		struct source *last = kept ? &r->source[kept - 1] : NULL;

		if (!last || by_owner(last, &r->source[i]))
			r->source[kept++] = r->source[i];
		else if (r->source[i].last)
			*last = r->source[i];
	}
	r->n = kept;
	for (size_t i = 0; i < kept; i++)
		r->source[i].parent = i;
}

static struct source *find_source(const struct stacks_read *r, uint32_t process, uint32_t image)
{
	struct source key = { .process = process, .image = image };

	return r->n ? bsearch(&key, r->source, r->n, sizeof(key), by_owner) : NULL;
}

static void find_parents(struct trace *t, struct stacks_read *r)
{
	for (size_t i = 0; i < t->facts; i++) {
		const struct trace_fact *f = &t->fact[i];
		struct source *child, *parent;

		if (!begins_as_copy(f))
			continue;
		child = find_source(r, f->process, f->image);
		parent = find_source(r, f->fact->parent, f->fact->stacks_image);
		child->inherited = f->fact->stacks;
		child->fork_ticks = f->fact->fork_ticks;
		if (parent)
			child->parent = (size_t)(parent - r->source);
	}
}

/* Makes the map; skips a parent that defined nothing which the child can name. */
static void make_map(struct stacks_read *r, size_t i, uint32_t *chain)
{
	const struct source *s = &r->source[i];
	struct stack_map *m = &r->map[i];

	*m = (struct stack_map){ .process = s->process, .image = s->image, .base = s->inherited };
	if (s->parent == i)
		return;
	m->parent = &r->map[s->parent];
	while (m->parent && m->parent->base >= m->base)
		m->parent = m->parent->parent;
	if (m->parent)
		chain[i] = chain[m->parent - r->map] + 1;
	if (chain[i] > CHAIN_MAX)
		m->parent = NULL;
}

static void make_maps(struct stacks_read *r)
{
	uint32_t *chain = must_calloc(r->n + 1, sizeof(*chain));

	r->map = must_calloc(r->n + 1, sizeof(*r->map));
	for (size_t i = 0; i < r->n; i++)
		make_map(r, i, chain);
	free(chain);
}

/*
 * Copies the objects loaded in the ancestors when the child was forked, oldest first. `via` marks
 * the way from each ancestor to the child.
 */
static void inherit_objects(struct stacks_read *r, size_t child, struct loaded_ranges *ranges)
{
	size_t *path = NULL, n = 0, room = 0, at = child;

	for (; r->source[at].parent != at && n < CHAIN_MAX; at = r->source[at].parent) {
		GROW(path, n + 1, room);
		path[n++] = at;
	}
	while (n--) {
		const struct source *s = &r->source[path[n]];
		const struct loaded_list *list = &r->source[s->parent].list;

		for (size_t i = 0; i < list->n; i++)
			if (list->item[i].first < list->item[i].end &&
			    list->item[i].ticks <= s->fork_ticks &&
			    list->item[i].gone > s->fork_ticks)
				loaded_add(ranges, &list->item[i]);
	}
	free(path);
}

/* Reads one chunk; a bad one is a gap in the records. */
static void read_chunk(struct trace *t, struct stack_records *records, const struct chunk *c,
		       uint64_t **buf, size_t *room)
{
	size_t words = c->used || c->slot ? chunk_load(t, c, buf, room) : 0;
	uint64_t before = records->bad;

	if (chunk_is_cut(t, c) || (!words && (c->used || c->slot))) {
		trace_note_damage(t, &t->damage.chunks_bad, 1, chunk_offset(c));
		records->gap = true;
	}
	if (words)
		stack_records_take(records, *buf, words);
	if (records->bad > before)
		trace_note_damage(t, &t->damage.stacks_bad, records->bad - before, chunk_offset(c));
}

static void read_chunks(struct trace *t, struct stack_records *records, const struct source *s)
{
	uint64_t *buf = NULL, seq = 0;
	size_t room = 0;

	for (size_t i = s->first; i < s->last; i++) {
		const struct chunk *c = &t->stack_chunk[i];

		/* The process began while the file was read: some parts were not there yet. */
		if (c->seq != seq + 1 && t->is_growing)
			break;
		if (c->seq != seq + 1) {
			trace_note_damage(t, &t->damage.chunks_missing, c->seq - seq - 1,
					  chunk_offset(c));
			records->gap = true;
		}
		seq = c->seq + c->seqs - 1;
		read_chunk(t, records, c, &buf, &room);
	}
	free(buf);
}

static void read_source(struct trace *t, struct stacks_read *r, size_t i)
{
	struct source *s = &r->source[i];
	struct stack_records records = { .table = &r->table, .map = &r->map[i] };

	if (s->first == s->last)
		return;
	inherit_objects(r, i, &records.ranges);
	read_chunks(t, &records, s);
	r->stacks.definitions += records.defined;
	s->list = records.list;
	records.list = (struct loaded_list){ 0 };
	stack_records_free(&records);
}

static void forget_sources(struct stacks_read *r)
{
	for (size_t i = 0; i < r->n; i++)
		free(r->source[i].list.item);
	free(r->source);
	r->source = NULL;
}

/* Returns the most nodes that a file of this size can have: deep recursion packs best. */
static size_t most_nodes(const struct trace *t)
{
	return t->file_bytes < 1u << 25 ? (size_t)(4u << 20) + 64 * (size_t)t->file_bytes
					: STACK_NONE;
}

static void publish(struct stacks_read *r)
{
	r->stacks.object = r->table.object;
	r->stacks.objects = r->table.objects;
	r->stacks.frame = r->table.frame;
	r->stacks.frames = r->table.frames;
	r->stacks.node = r->table.node;
	r->stacks.nodes = r->table.nodes;
	for (size_t i = 1; i < r->n; i++)
		r->map[i].before = r->map[i - 1].before + r->map[i - 1].nodes;
}

ORDER(by_address, struct stack_code, RISING(address) ?: COMPARE(x->name, y->name))

/* If an address has several names, all but one belong to another process, so none fits all. */
static size_t keep_one_name(struct stack_code *code, size_t n)
{
	size_t to = 0, first, i;

	for (first = 0; first < n; first = i) {
		bool same = true;

		for (i = first + 1; i < n && code[i].address == code[first].address; i++)
			same &= !strcmp(code[i].name, code[first].name);
		if (same)
			code[to++] = code[first];
	}
	return to;
}

static void add_code(struct stacks_read *r, const char *text)
{
	struct stack_code code;
	char *end;

	code.address = strtoull(text, &end, 16);
	code.name = end + 1;
	if (end > text && *end == ' ')
		*GROW_ONE(r->code, r->codes, r->code_room) = code;
}

static void sort_code(struct stacks_read *r)
{
	SORT(r->code, r->codes, by_address);
	r->stacks.code = r->code;
	r->stacks.codes = r->codes = keep_one_name(r->code, r->codes);
}

/* Reads names of generated code from the facts. */
static void read_code(const struct trace *t, struct stacks_read *r)
{
	for (size_t i = 0; i < t->facts; i++)
		for (size_t k = 0; t->fact[i].fact->what == MPROF_FACT_CODE && k < t->fact[i].argc;
		     k++)
			add_code(r, t->fact[i].argv[k]);
	sort_code(r);
}

void trace_add_code(struct trace *t, char *text, size_t skip)
{
	*GROW_ONE(t->copy, t->copies, t->copies_room) = text;
	add_code(t->stacks, text + skip);
}

void trace_sort_code(struct trace *t)
{
	sort_code(t->stacks);
}

void stacks_read(struct trace *t)
{
	struct stacks_read *r = must_calloc(1, sizeof(*r));

	t->stacks = r;
	stack_table_start(&r->table, most_nodes(t));
	if (!t->without_stacks) {
		list_sources(t, r);
		sort_sources(r);
		find_parents(t, r);
	}
	make_maps(r);
	for (size_t i = 0; i < r->n; i++)
		read_source(t, r, i);
	forget_sources(r);
	stack_table_finish(&r->table);
	publish(r);
	read_code(t, r);
}

void stacks_free(struct trace *t)
{
	struct stacks_read *r = t->stacks;

	free(t->stack_chunk);
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++)
		free(r->map[i].node);
	free(r->map);
	free(r->code);
	stack_table_free(&r->table);
	free(r);
}

size_t stacks_maps(const struct trace *t, const struct stack_map **maps)
{
	*maps = t->stacks->map;
	return t->stacks->n;
}

const struct stack_map *stack_map_find(const struct trace *t, uint32_t process, uint32_t image)
{
	const struct stacks_read *r = t->stacks;
	const size_t i = FIRST_WHERE(k, r->n,
				     r->map[k].process > process || (r->map[k].process == process &&
								     r->map[k].image >= image));
	const struct stack_map *m = &r->map[i];

	return i < r->n && m->process == process && m->image == image ? m : NULL;
}

uint32_t trace_stack_node(const struct trace *t, uint32_t process, uint32_t image, uint32_t id)
{
	const uint32_t node = stack_map_node(stack_map_find(t, process, image), id);

	return node == STACK_UNDEFINED ? 0 : node;
}

const struct stacks *trace_stacks(const struct trace *t)
{
	return &t->stacks->stacks;
}

const char *stack_build_id(const struct stack_object *o, char to[STACK_BUILD_ID])
{
	size_t i;

	for (i = 0; o->build_id && i < o->build_id_bytes && 2 * i + 2 < STACK_BUILD_ID; i++) {
		to[2 * i] = "0123456789abcdef"[o->build_id[i] >> 4];
		to[2 * i + 1] = "0123456789abcdef"[o->build_id[i] & 15];
	}
	to[2 * i] = '\0';
	return to;
}
