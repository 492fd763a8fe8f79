// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * summary_read.c - reads this process's own part of the run's file.
 *
 * The file, or its parts that matter, are copied into memory first (summary_file.c).  The bounds of
 * every record are checked, as another process may have written there, or been killed while
 * writing.
 */
#include <mprof/module.h>

#include "core.h"
#include "file.h"
#include "lineage.h"
#include "local.h"
#include "summary.h"
#include "sys.h"
#include "text.h"

static int in_chain(const struct summary *s, const struct mprof_extent *x)
{
	for (unsigned i = 0; i < s->links; i++)
		if (x->process == s->chain[i].process && x->image == s->chain[i].image)
			return 1;
	return 0;
}

/* Lists this process, and those whose stacks it continues. */
static void find_chain(struct summary *s)
{
	const struct mp_lineage *l = mp_lineage();

	s->chain[s->links++] =
	    (struct summary_source){ mp_local->process, (uint16_t)mp_local->image, UINT32_MAX };
	for (uint32_t i = l->ancestors; i-- > 0; s->links++) {
		const struct mp_ancestor *a = &l->ancestor[i];
		const uint32_t most = s->chain[s->links - 1].most;

		s->chain[s->links] = (struct summary_source){ a->process, a->image,
							      a->most < most ? a->most : most };
	}
}

static void find_chunks(struct summary *s)
{
	const struct mprof_extent *x;
	struct summary_at at = { 0 };
	uint32_t n = 0;

	while ((x = summary_next(s, &at)))
		n += summary_is_stacks(x) && in_chain(s, x);
	s->chunk = summary_memory(s, n * sizeof(*s->chunk));
	for (at = (struct summary_at){ 0 };
	     s->chunk && s->chunks < n && (x = summary_next(s, &at));)
		if (summary_is_stacks(x) && in_chain(s, x))
			s->chunk[s->chunks++] = x;
}

/* ---- stack records ---- */

struct reading {
	struct summary *s;
	uint32_t most; /* larger numbers are not this process's */
	uint32_t frame, object;
	int fill;
};

/* Returns the object that is at this address now, the most recent one. */
static uint32_t object_at(const struct reading *r, uint64_t address)
{
	for (uint32_t i = r->object; i-- > r->s->first_object;) {
		const struct summary_object *o = &r->s->object[i];

		if (!o->gone && address >= o->first && address < o->end)
			return i + 1;
	}
	return 0;
}

static uint64_t place_of(uint64_t frame)
{
	return frame & MPROF_FRAME_EXACT ? frame & ~MPROF_FRAME_EXACT : frame - 1;
}

static void take_stack(struct reading *r, const uint64_t *w, uint32_t n)
{
	struct summary *s = r->s;
	const uint32_t id = (uint32_t)(w[0] >> 32);

	if (id > s->stacks && id <= r->most && !r->fill)
		s->stacks = id;
	for (uint32_t i = 0; i < n; i++, r->frame++) {
		if (!r->fill)
			continue;
		s->frame[r->frame].address = place_of(w[2 + i]);
		s->frame[r->frame].object = object_at(r, place_of(w[2 + i]));
	}
}

static void take_object(struct reading *r, const uint64_t *w, uint64_t words)
{
	const uint64_t path_bytes = w[0] >> 32, segments = w[5] & UINT32_MAX, id_bytes = w[5] >> 32;
	struct summary_object *o;

	r->object++;
	if (!r->fill || words < 1 + MPROF_OBJECT_WORDS + 3 * segments + (id_bytes + 7) / 8 +
				    (path_bytes + 7) / 8)
		return;
	o = &r->s->object[r->object - 1];
	o->bias = w[2];
	o->first = w[3];
	o->end = w[4];
	o->build_id = (const char *)(w + 6 + 3 * segments);
	o->id_bytes = (uint32_t)id_bytes;
	o->path = o->build_id + (id_bytes + 7) / 8 * 8;
	o->path_bytes = (uint32_t)path_bytes;
}

static void take_gone(struct reading *r, const uint64_t *w)
{
	const uint64_t number = w[0] >> 32;

	if (r->fill && number && number <= r->object - r->s->first_object)
		r->s->object[r->s->first_object + number - 1].gone = 1;
}

static void take_chunk(struct reading *r, const struct mprof_extent *x,
		       void (*stack)(struct reading *r, const uint64_t *w, uint32_t n))
{
	const uint64_t *w = (const void *)(x + 1);
	uint64_t n = (x->size - sizeof(*x)) / 8, words;

	if (x->kind == MPROF_EXTENT_STACKS && x->used / 8 < n)
		n = x->used / 8;
	for (uint64_t i = 0; i < n && w[i]; i += words) {
		const unsigned type = w[i] & 15;

		words = mprof_record_words(w[i]);
		if (!words || words > n - i)
			return;
		if (type == MPROF_RECORD_STACK)
			stack(r, w + i, (uint32_t)words - 2);
		else if (type == MPROF_RECORD_OBJECT && words > MPROF_OBJECT_WORDS)
			take_object(r, w + i, words);
		else if (type == MPROF_RECORD_GONE)
			take_gone(r, w + i);
	}
}

/* Reads all records: those of the oldest process first, in the order of its chunks. */
static void read_records(struct summary *s, int fill,
			 void (*stack)(struct reading *r, const uint64_t *w, uint32_t n))
{
	struct reading r = { .s = s, .fill = fill };

	for (unsigned i = s->links; i-- > 0;) {
		const struct summary_source *c = &s->chain[i];
		uint64_t seq = 0;

		s->first_object = r.object;
		r.most = c->most;
		for (;;) {
			const struct mprof_extent *next = NULL;

			for (uint32_t k = 0; k < s->chunks; k++)
				if (s->chunk[k]->process == c->process &&
				    s->chunk[k]->image == c->image && s->chunk[k]->seq > seq &&
				    (!next || s->chunk[k]->seq < next->seq))
					next = s->chunk[k];
			if (!next)
				break;
			seq = next->seq;
			take_chunk(&r, next, stack);
		}
	}
	s->frames = r.frame;
	s->objects = r.object;
}

/* ---- paths of names ---- */

static uint64_t mixed(uint64_t v)
{
	v *= 0x9e3779b97f4a7c15ull;
	return v ^ v >> 29;
}

static uint32_t child_of(struct summary *s, uint32_t parent, uint32_t name)
{
	uint32_t *head = &s->node_hash[mixed((uint64_t)parent << 32 | name) & s->node_mask], i;

	for (i = *head; i; i = s->node[i].next)
		if (s->node[i].parent == parent && s->node[i].name == name)
			return i;
	i = ++s->nodes;
	s->node[i] = (struct summary_node){
		.parent = parent, .name = name, .depth = s->node[parent].depth + 1, .next = *head
	};
	*head = i;
	return i;
}

/* A second pass, after the frames have names. */
static void place_stack(struct reading *r, const uint64_t *w, uint32_t n)
{
	struct summary *s = r->s;
	const uint32_t id = (uint32_t)(w[0] >> 32), joined = (uint32_t)w[1],
		       depth = (uint32_t)(w[1] >> 32);
	uint32_t node = joined && joined <= s->stacks ? s->node_of[joined] : 0;

	while (s->node[node].depth > depth)
		node = s->node[node].parent;
	for (uint32_t i = 0; i < n; i++, r->frame++)
		if (id <= r->most)
			node = child_of(s, node, s->frame[r->frame].name);
	if (id && id <= r->most && id <= s->stacks)
		s->node_of[id] = node;
}

uint32_t summary_name(struct summary *s, const char *name, size_t bytes)
{
	uint64_t hash = bytes;
	uint32_t at;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (unsigned char)name[i]) * 0x100000001b3ull;
	for (at = (uint32_t)mixed(hash) & s->name_mask; s->name_hash[at];
	     at = (at + 1) & s->name_mask) {
		const struct summary_name *n = &s->name[s->name_hash[at]];

		if (n->n == bytes && !__builtin_memcmp(n->s, name, bytes))
			return s->name_hash[at];
	}
	s->name[++s->names] = (struct summary_name){ name, (uint32_t)bytes };
	s->name_hash[at] = s->names;
	return s->names;
}

/* Returns a power of two above 2 * n, minus one. */
static uint32_t mask_for(uint64_t n)
{
	uint32_t mask = 63;

	while (mask < 2 * n)
		mask = 2 * mask + 1;
	return mask;
}

static void make_tables(struct summary *s)
{
	const uint64_t n = (uint64_t)s->frames + 8;

	s->name_mask = s->node_mask = mask_for(n);
	s->text_bytes = 160 * n;
	s->object = summary_memory(s, (s->objects + 1ul) * sizeof(*s->object));
	s->frame = summary_memory(s, n * sizeof(*s->frame));
	s->name = summary_memory(s, n * sizeof(*s->name));
	s->node = summary_memory(s, n * sizeof(*s->node));
	s->name_hash = summary_memory(s, (s->name_mask + 1ul) * sizeof(uint32_t));
	s->node_hash = summary_memory(s, (s->node_mask + 1ul) * sizeof(uint32_t));
	s->node_of = summary_memory(s, (s->stacks + 1ul) * sizeof(uint32_t));
	s->text = summary_memory(s, s->text_bytes);
}

/* ---- totals ---- */

static struct summary_values *values_of(struct summary *s, uint64_t id)
{
	if (s->sums_only)
		return &s->total;
	uint32_t node = id && id <= s->stacks ? s->node_of[id] : 0;

	/* Blocks without a stack have a node, too. */
	if (!node)
		node = child_of(s, 0, summary_name(s, "(no call stack)", 15));
	return &s->node[node].v;
}

static void add_cell(struct summary *s, const struct mprof_cell *c, uint64_t id)
{
	struct summary_values *v;

	if (!c->calls && !c->freed_calls)
		return;
	v = values_of(s, id);
	v->calls += (int64_t)c->calls;
	v->bytes += (int64_t)c->bytes;
	v->live_calls += (int64_t)(c->calls - c->freed_calls);
	v->live_bytes += (int64_t)(c->bytes - c->freed_bytes);
}

static int64_t whole(double v)
{
	return v > 0 && v < 0x1p62 ? (int64_t)(v + 0.5) : 0;
}

static void add_sample(struct summary *s, const struct mprof_sample_cell *c, uint64_t id)
{
	struct summary_values *v;

	s->estimated = 1;
	if (!c->made.samples && !c->freed.samples)
		return;
	v = values_of(s, id);
	v->calls += whole(c->made.calls);
	v->bytes += whole(c->made.bytes);
	v->elapsed += (int64_t)c->elapsed;
	v->live_calls += whole(c->made.calls) - whole(c->freed.calls);
	v->live_bytes += whole(c->made.bytes) - whole(c->freed.bytes);
}

static void add_site(struct summary *s, const struct mprof_site_live *l, uint64_t id)
{
	const int64_t bytes = l->stamp == s->heap.peak_bytes ? l->at_peak_bytes : l->live_bytes;

	if (!l->local_bytes)
		return;
	if (bytes > 0)
		values_of(s, id)->peak_bytes += bytes;
	if (l->local_bytes > 0)
		values_of(s, id)->local_bytes += l->local_bytes;
}

static void add_extent(struct summary *s, const struct mprof_extent *x)
{
	const void *data = x + 1;
	const struct mprof_lane *lane = data;

	if (x->kind == MPROF_EXTENT_LANE && x->used >= sizeof(*lane))
		for (unsigned i = 0; i < MPROF_SIZE_BINS; i++) {
			s->sizes[i] += lane->sizes[i];
			s->freed_sizes[i] += lane->freed_sizes[i];
		}
	for (unsigned i = 0; i < MPROF_CELLS; i++) {
		if (x->kind == MPROF_EXTENT_CELLS)
			add_cell(s, (const struct mprof_cell *)data + i, x->seq + i);
		else if (x->kind == MPROF_EXTENT_SAMPLES)
			add_sample(s, (const struct mprof_sample_cell *)data + i, x->seq + i);
		else if (x->kind == MPROF_EXTENT_SITES)
			add_site(s, (const struct mprof_site_live *)data + i, x->seq + i);
	}
}

static int is_mine(const struct mprof_extent *x)
{
	return x->process == mp_local->process && x->image == (uint16_t)mp_local->image;
}

static uint32_t payload_least(unsigned kind)
{
	return kind == MPROF_EXTENT_CELLS     ? sizeof(struct mprof_cells)
	       : kind == MPROF_EXTENT_SAMPLES ? MPROF_CELLS * sizeof(struct mprof_sample_cell)
	       : kind == MPROF_EXTENT_SITES   ? MPROF_CELLS * sizeof(struct mprof_site_live)
	       : kind == MPROF_EXTENT_HEAP    ? sizeof(struct mprof_heap_totals)
	       : kind == MPROF_EXTENT_LANE    ? sizeof(struct mprof_lane)
					      : UINT32_MAX - 64;
}

static void add_totals(struct summary *s)
{
	const struct mprof_extent *x;
	const struct mprof_heap_totals *h;
	struct summary_at at = { 0 };

	while ((x = summary_next(s, &at))) {
		h = (const void *)(x + 1);
		if (is_mine(x) && x->kind == MPROF_EXTENT_HEAP &&
		    x->size - sizeof(*x) >= sizeof(*h) && h->peak_bytes >= s->heap.peak_bytes)
			s->heap = *h;
	}
	for (at = (struct summary_at){ 0 }; (x = summary_next(s, &at));)
		if (is_mine(x) && x->size - sizeof(*x) >= payload_least(x->kind))
			add_extent(s, x);
	for (uint32_t i = 1; i <= s->nodes; i++) {
		const struct summary_values *v = &s->node[i].v;

		s->total.calls += v->calls;
		s->total.bytes += v->bytes;
		s->total.live_calls += v->live_calls;
		s->total.live_bytes += v->live_bytes;
		s->total.peak_bytes += v->peak_bytes;
	}
}

/* ---- all together ---- */

static struct summary *summary_new(void)
{
	struct summary *s;

	if (!mp_file_is_profile() || mp_file.broken)
		return NULL;
	s = sys_memory(sizeof(*s));
	if (!s)
		return NULL;
	s->fd = -1;
	s->began_ns = mp_clock_monotonic_ns();
	if (summary_read_file(s) < 0) {
		summary_end(s);
		return NULL;
	}
	return s;
}

struct summary *summary_sums(void)
{
	struct summary *s = summary_new();

	if (!s)
		return NULL;
	s->sums_only = 1;
	add_totals(s);
	return s;
}

struct summary *summary_begin(void)
{
	struct summary *s = summary_new();

	if (!s)
		return NULL;
	find_chain(s);
	find_chunks(s);
	if (s->failed)
		goto failed;
	read_records(s, 0, take_stack);
	make_tables(s);
	if (s->failed)
		goto failed;
	read_records(s, 1, take_stack);
	summary_names(s);
	if (s->failed)
		goto failed;
	read_records(s, 0, place_stack);
	add_totals(s);
	return s;
failed:
	summary_end(s);
	return NULL;
}

void summary_end(struct summary *s)
{
	while (s->maps)
		s->maps--, sys_munmap(s->map[s->maps].at, s->map[s->maps].bytes);
	sys_munmap(s, sizeof(*s));
}
