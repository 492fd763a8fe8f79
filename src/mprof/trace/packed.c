// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * packed.c - the events of a compressed trace, group by group.
 *
 * The groups follow each other in the order of time.  If one cannot be read,
 * only its own events are lost: the next one lists the blocks that were live
 * when it began.
 */
#include "../util/order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "group.h"
#include "pack.h"
#include "reader.h"
#include "stack_map.h"

struct packed_group {
	uint64_t payload, seq, first_ticks;
	uint32_t bytes, check;
};

struct packed {
	struct sorts sorts;	 /* empty until something is read, see need_sorts() */
	struct extent *sorts_at; /* their extents; NULL when they have been read */
	size_t sorts_extents, sorts_room;
	uint64_t defined; /* offset of their first extent */
	struct packed_group *group;
	size_t groups, room, next;
	uint32_t skip; /* events of the next group that were delivered before */
	struct group_reader *reader;
	struct unpacker *unpacker;
	uint8_t *buf;
	size_t buf_room;
	uint8_t *plain[MPROF_GROUP_FRAMES];
	size_t plain_room[MPROF_GROUP_FRAMES];
};

static void note_bad(struct trace *t, uint64_t payload)
{
	trace_note_damage(t, &t->damage.chunks_bad, 1, payload - sizeof(struct mprof_extent));
}

/* Loads the payload of an extent into p->buf; false if it is incomplete or has a wrong checksum. */
static bool load(struct trace *t, uint64_t payload, uint32_t bytes, uint32_t check)
{
	struct packed *p = t->packed;

	return scratch_room(&p->buf, &p->buf_room, bytes) &&
	       trace_read(t, p->buf, bytes, payload) == bytes &&
	       mprof_checksum(p->buf, bytes) == check;
}

/* The same for a complete extent with at least this many bytes. */
static bool load_extent(struct trace *t, const struct extent *x, size_t least)
{
	return x->bytes == x->head.used && x->bytes >= least &&
	       load(t, x->payload, x->head.used, x->head.check);
}

bool packed_is_there(const struct extents *x)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->item[i].kind >= MPROF_EXTENT_GROUP &&
		    x->item[i].kind <= MPROF_EXTENT_THREADS)
			return true;
	return false;
}

/* ---- opening ---- */

/*
 * Numbers that an extent omits were in damaged ones. All sorts and stacks
 * differ, so each took at least an eighth of a byte of the file.
 */
static bool is_in_proportion(const struct trace *t, const struct mprof_sorts *head)
{
	const struct sorts *s = &t->packed->sorts;
	const uint64_t most = 8 * t->file_bytes;

	return head->first_sort <= s->n + most && head->first_stack <= s->stacks + most;
}

static bool take_sorts(struct trace *t, const struct extent *x)
{
	struct packed *p = t->packed;
	struct mprof_sorts head;

	if (!load_extent(t, x, sizeof(head)))
		return false;
	if (!p->defined)
		p->defined = x->head.offset;
	memcpy(&head, p->buf, sizeof(head));
	return head.frame_bytes <= x->bytes - sizeof(head) &&
	       head.plain_bytes <= GROUP_PLAIN_MOST && is_in_proportion(t, &head) &&
	       scratch_room(&p->plain[0], &p->plain_room[0], head.plain_bytes + 1) &&
	       unpacker_frames(p->unpacker, p->buf + sizeof(head), head.frame_bytes, p->plain[0],
			       head.plain_bytes) &&
	       sorts_take(&p->sorts, &head, p->plain[0]);
}

static bool take_threads(struct trace *t, const struct extent *x)
{
	struct mprof_threads head;
	struct mprof_thread_entry entry;
	size_t n;

	if (t->thread || !load_extent(t, x, sizeof(head)))
		return false;
	memcpy(&head, t->packed->buf, sizeof(head));
	n = (x->bytes - sizeof(head)) / sizeof(entry);
	t->thread = calloc(n + 1, sizeof(*t->thread));
	if (!t->thread)
		return false;
	for (; t->threads < n; t->threads++) {
		memcpy(&entry, t->packed->buf + sizeof(head) + t->threads * sizeof(entry),
		       sizeof(entry));
		t->thread[t->threads] = (struct trace_thread){ .number = entry.thread,
							       .process = entry.process,
							       .chunks = entry.chunks,
							       .first_ticks = entry.first_ticks,
							       .last_ticks = entry.last_ticks };
	}
	if (head.chunks_missing)
		trace_note_damage(t, &t->damage.chunks_missing, head.chunks_missing,
				  x->head.offset);
	if (head.stacks_missing)
		trace_note_damage(t, &t->damage.stacks_missing, head.stacks_missing,
				  x->head.offset);
	return true;
}

static void add_group(struct packed *p, const struct extent *x)
{
	struct packed_group *g = GROW_ONE(p->group, p->groups, p->room);

	/* A truncated extent has another checksum. */
	*g = (struct packed_group){ .payload = x->payload,
				    .seq = x->head.seq,
				    .first_ticks = x->head.first_ticks & MPROF_TICKS_MASK,
				    .bytes = (uint32_t)x->bytes,
				    .check = x->head.check };
}

ORDER(by_number, struct packed_group, RISING(seq) ?: RISING(payload))

/* Sorts groups and removes duplicates; reports missing numbers. */
static void order_groups(struct trace *t)
{
	struct packed *p = t->packed;
	uint64_t seq = 0;
	size_t kept = 0;

	SORT(p->group, p->groups, by_number);
	for (size_t i = 0; i < p->groups; i++) {
		const struct packed_group *g = &p->group[i];

		if (g->seq <= seq) {
			note_bad(t, g->payload);
			continue;
		}
		if (g->seq != seq + 1)
			trace_note_damage(t, &t->damage.chunks_missing, g->seq - seq - 1,
					  g->payload - sizeof(struct mprof_extent));
		seq = g->seq;
		p->group[kept++] = *g;
	}
	p->groups = kept;
}

/* Converts numbers of stacks to nodes of this trace's tree. */
static void find_nodes(struct trace *t)
{
	struct sorts *s = &t->packed->sorts;

	for (size_t i = 1; i < s->stacks; i++) {
		struct sorts_stack *k = &s->stack[i];
		const struct stack_map *m = NULL;

		if (k->process && k->image <= UINT16_MAX)
			m = stack_map_find(t, k->process, k->image);
		k->node = stack_map_node(m, k->id);
		if (k->node == STACK_UNDEFINED) {
			trace_note_damage(t, &t->damage.stacks_missing, 1, t->packed->defined);
			k->node = 0;
		}
	}
	for (size_t i = 1; i < s->n; i++)
		s->sort[i].stack =
		    s->sort[i].stack < s->stacks ? s->stack[s->sort[i].stack].node : 0;
}

/* Reads the sorts before the first group.  A walk whose end is known needs none. */
static void need_sorts(struct trace *t)
{
	struct packed *p = t->packed;

	if (!p->sorts_at)
		return;
	for (size_t i = 0; i < p->sorts_extents; i++)
		if (!take_sorts(t, &p->sorts_at[i]))
			note_bad(t, p->sorts_at[i].payload);
	free(p->sorts_at);
	p->sorts_at = NULL;
	find_nodes(t);
	t->damage_opened = t->damage; /* no group has been read before */
}

static void take_extent(struct trace *t, const struct extent *x)
{
	struct packed *p = t->packed;
	bool sound = true;

	switch (x->kind) {
	case MPROF_EXTENT_GROUP:
		if (!t->has_taken || x->head.seq <= t->taken_groups)
			add_group(p, x);
		break;
	case MPROF_EXTENT_SORTS:
		*GROW_ONE(p->sorts_at, p->sorts_extents, p->sorts_room) = *x;
		break;
	case MPROF_EXTENT_THREADS:
		sound = take_threads(t, x);
		break;
	case MPROF_EXTENT_EVENTS:
	case MPROF_EXTENT_SLOT:
		sound = t->has_taken; /* otherwise their position in time is unknown */
		break;
	}
	if (!sound)
		note_bad(t, x->payload);
}

int packed_open(struct trace *t, const struct extents *x)
{
	struct packed *p = t->packed = calloc(1, sizeof(*p));
	int ret = p ? sorts_start(&p->sorts, 0) : -ENOMEM;

	if (ret)
		return ret;
	p->unpacker = unpacker_new();
	p->reader = group_reader_new(&p->sorts);
	if (!p->unpacker || !p->reader)
		return -ENOMEM;
	for (size_t i = 0; i < x->n; i++)
		take_extent(t, &x->item[i]);
	order_groups(t);
	return 0;
}

void packed_close(struct packed *p)
{
	if (!p)
		return;
	group_reader_free(p->reader);
	unpacker_free(p->unpacker);
	sorts_free(&p->sorts);
	for (unsigned i = 0; i < MPROF_GROUP_FRAMES; i++)
		free(p->plain[i]);
	free(p->group);
	free(p->sorts_at);
	free(p->buf);
	free(p);
}

/* ---- reading ---- */

static bool unpack_frames(struct packed *p, const struct mprof_group *head, size_t bytes)
{
	const uint8_t *at = p->buf + sizeof(*head);

	bytes -= sizeof(*head);
	for (unsigned i = 0; i < MPROF_GROUP_FRAMES; i++) {
		if (head->frame_bytes[i] > bytes || head->plain_bytes[i] > GROUP_PLAIN_MOST ||
		    !scratch_room(&p->plain[i], &p->plain_room[i], head->plain_bytes[i] + 1) ||
		    !unpacker_frames(p->unpacker, at, head->frame_bytes[i], p->plain[i],
				     head->plain_bytes[i]))
			return false;
		at += head->frame_bytes[i];
		bytes -= head->frame_bytes[i];
	}
	return true;
}

static bool load_group(struct trace *t, const struct packed_group *g, struct mprof_group *head)
{
	if (g->bytes < sizeof(*head) || !load(t, g->payload, g->bytes, g->check))
		return false;
	memcpy(head, t->packed->buf, sizeof(*head));
	return head->events <= GROUP_EVENTS_MOST;
}

static bool open_group(struct trace *t, const struct packed_group *g)
{
	struct packed *p = t->packed;
	struct mprof_group head;

	return load_group(t, g, &head) && unpack_frames(p, &head, g->bytes) &&
	       group_open(p->reader, &head, g->first_ticks, p->plain);
}

/* Skips events delivered before by reading them, because later ones depend on the reader's
 * state. */
static void skip(struct packed *p)
{
	struct event unused[256];
	size_t got = 1;

	while (p->skip && got) {
		got = p->skip < 256 ? p->skip : 256;
		got = group_read(p->reader, unused, got);
		p->skip -= (uint32_t)got;
	}
	p->skip = 0;
}

/* Frees what the events at the end took: whoever has read all of them needs the memory. */
static void let_go(struct packed *p)
{
	struct group_reader *fresh = p->buf ? group_reader_new(&p->sorts) : NULL;

	if (!fresh)
		return;
	group_reader_free(p->reader);
	p->reader = fresh;
	for (unsigned i = 0; i < MPROF_GROUP_FRAMES; i++) {
		free(p->plain[i]);
		p->plain[i] = NULL;
		p->plain_room[i] = 0;
	}
	free(p->buf);
	p->buf = NULL;
	p->buf_room = 0;
}

size_t packed_next(struct trace *t, struct event *e, size_t n)
{
	struct packed *p = t->packed;
	size_t got = 0;

	need_sorts(t);
	for (;;) {
		if (__builtin_expect(p->skip && group_left(p->reader), 0))
			skip(p);
		got += group_read(p->reader, e + got, n - got);
		if (got == n)
			return got;
		if (group_left(p->reader)) {
			note_bad(t, p->group[p->next - 1].payload);
			group_skip(p->reader);
		}
		if (p->next == p->groups) {
			if (!got)
				let_go(p);
			return got;
		}
		if (!open_group(t, &p->group[p->next++])) {
			note_bad(t, p->group[p->next - 1].payload);
			group_skip(p->reader);
		}
	}
}

void packed_rewind(struct trace *t)
{
	t->packed->next = 0;
	t->packed->skip = 0;
	group_reader_rewind(t->packed->reader, 1);
}

void packed_skip(struct trace *t, uint64_t most, uint64_t *calls, uint64_t *events)
{
	struct packed *p = t->packed;
	struct mprof_group head;

	need_sorts(t);
	while (p->next < p->groups && load_group(t, &p->group[p->next], &head) && head.calls &&
	       head.calls < most - *calls) {
		*calls += head.calls;
		*events += head.events;
		p->next++;
	}
}

/* ---- places ---- */

bool packed_place(const struct packed *p, struct trace_place *place)
{
	if (!p->next || !group_left(p->reader))
		return false;
	*place = (struct trace_place){ .group = p->next - 1 };
	group_place(p->reader, place);
	return true;
}

void packed_go(struct trace *t, const struct trace_place *place)
{
	struct packed *p = t->packed;

	need_sorts(t);
	p->next = place->group;
	p->skip = place->events;
	group_reader_rewind(p->reader, place->whole ? place->first_event : 0);
}

bool packed_place_at(struct trace *t, uint64_t ticks, struct trace_place *place)
{
	const struct packed *p = t->packed;
	/* The last events of a group may have the time of the next one. */
	const size_t behind = FIRST_WHERE(i, p->groups, p->group[i].first_ticks >= ticks);
	struct mprof_group head;

	if (behind < 2 || !load_group(t, &p->group[behind - 1], &head))
		return false;
	*place = (struct trace_place){ .group = behind - 1, .first_event = head.first_event };
	return true;
}

bool packed_births(struct trace *t, const struct trace_place *near, uint64_t after, uint64_t to,
		   trace_birth_fn *tell, void *context)
{
	struct packed *p = t->packed;
	/* The position is that of the reader, which was ahead of the walk. */
	size_t group = near->group - (near->group && near->first_event > after + 1);
	bool sound = true;

	need_sorts(t);
	group_reader_rewind(p->reader, 0);
	for (; sound && group < p->groups; group++) {
		sound = open_group(t, &p->group[group]);
		if (sound && group_first_event(p->reader) > to)
			break;
		sound = sound && group_births(p->reader, after, to, tell, context);
	}
	group_skip(p->reader);
	return sound;
}

bool packed_set_address(struct packed *p, uint32_t process, uint32_t block, uint64_t addr)
{
	return group_set_address(p->reader, process, block - 1, addr);
}

uint64_t packed_address(const struct packed *p, uint32_t process, uint32_t block)
{
	return group_address(p->reader, process, block - 1);
}
