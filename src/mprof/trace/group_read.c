// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * group_read.c - the columns of a group to events (FORMAT.md 8.3).
 *
 * The columns are not trusted: reading beyond the end of one returns zeros, and
 * a reference to an unknown lane, sort, slot or address ends the group.
 */
#include "../util/inline.h"
#include "../util/large.h"
#include "group.h"
#include "group_times.h"

/* The parts of KIND_BIRTH and KIND_END, by kind. */
struct parts {
	uint8_t major, minor;
	uint8_t what; /* enum kind_is */
};

enum kind_is { IS_BIRTH, IS_END, IS_ODD_END, IS_NEITHER };

/* Four columns joined: one value each, followed by zeros. */
struct wide {
	const uint32_t *p, *end;
	uint32_t *value;
	size_t room;
};

/* The last fields of an event. */
struct event_what {
	uint16_t error;
	uint8_t kind, fn;
	uint8_t rest[4];
};
_Static_assert(sizeof(struct event_what) == sizeof(struct event) - offsetof(struct event, error) &&
		   offsetof(struct event_what, fn) ==
		       offsetof(struct event, fn) - offsetof(struct event, error),
	       "it is copied to one");

/* Names of blocks and sorts: by then, memory has responded. */
#define AHEAD	   16u
#define AHEAD_SORT 8u	 /* the block is in a cache, and names its sort */
#define SORTS_NEAR 4096u /* as many stay in the caches without that */

struct group_reader {
	/* Members that nearly every event needs come first. */
	struct sort *sorts_at; /* the array in sorts, while a group is read: */
	size_t sorts_n;
	uint32_t again;	  /* slot + 1 of the next block; 0 if it was not coded */
	uint64_t touched; /* of the block that ends next */
	struct wide slot, sort, near;
	struct slots slots;
	/* The current lane, and its kinds until its turn ends. */
	struct lane *lane;
	uint32_t run;
	uint32_t left;	  /* events */
	uint64_t first;	  /* number of the group's first event */
	uint64_t after;	  /* number of the event after the group */
	uint64_t follows; /* the group up to which all groups were read; otherwise 0 */
	bool whole;	  /* all groups before this one were read */
	bool bad;
	/* The last values of fields stored as differences. */
	uint64_t far, other_addr, other_usable, other_arg;
	struct cursor column[GROUP_COLUMNS];
	struct sorts *sorts;
	struct group_times times;
	struct parts parts[256];
	struct event_what op[OPS];
	struct group_guesses guesses;
	struct piles piles;
};

static inline uint64_t get_varint(struct group_reader *r, unsigned column)
{
	return cursor_varint(&r->column[column]);
}

static inline uint32_t get_wide(struct wide *w)
{
	return w->p < w->end ? *w->p++ : 0;
}

static inline uint32_t joined(const struct cursor *column, size_t k)
{
	return column[0].p[k] | (uint32_t)column[1].p[k] << 8 | (uint32_t)column[2].p[k] << 16 |
	       (uint32_t)column[3].p[k] << 24;
}

#define TOGETHER 16u /* values: with a fixed number, compilers make vectors at -O2 */

/* Joins the values that all four columns have. */
static __attribute__((noinline)) void join_four(uint32_t *restrict to, const struct cursor *column,
						size_t n)
{
	size_t k, i;

	for (k = 0; n - k >= TOGETHER; k += TOGETHER)
		for (i = 0; i < TOGETHER; i++)
			to[k + i] = joined(column, k + i);
	for (; k < n; k++)
		to[k] = joined(column, k);
}

/* False without memory. */
static bool join(struct wide *w, const struct cursor *column)
{
	size_t n = 0, all = SIZE_MAX, length[4];

	for (unsigned i = 0; i < 4; i++) {
		length[i] = (size_t)(column[i].end - column[i].p);
		n = length[i] > n ? length[i] : n;
		all = length[i] < all ? length[i] : all;
	}
	if (n + AHEAD + 1 > w->room) {
		large_free(w->value, w->room * sizeof(*w->value));
		w->room = n + AHEAD + 1;
		w->value = large_realloc(NULL, 0, w->room * sizeof(*w->value));
		w->room = w->value ? w->room : 0;
	}
	w->p = w->value;
	w->end = w->value + n;
	if (!w->value)
		return false;
	memset(w->value + all, 0, (n - all + AHEAD + 1) * sizeof(*w->value));
	join_four(w->value, column, all);
	for (unsigned i = 0; i < 4; i++) {
		const uint8_t *from = column[i].p;
		uint8_t *to = (uint8_t *)w->value + i; /* little-endian, as the file is */

		for (size_t k = all; k < length[i]; k++)
			to[4 * k] = from[k];
	}
	return true;
}

/* ---- blocks ---- */

/* Returns an address for a block that was allocated in a group that was not read. */
static __attribute__((noinline, cold)) uint64_t unknown_address(uint32_t slot)
{
	return EVENT_STAND_IN | (uint64_t)slot << 4;
}

static uint64_t get_near(struct group_reader *r, const struct lane *l)
{
	uint32_t eights = get_wide(&r->near);

	if (eights == UINT32_MAX)
		return l->last + unzigzag(get_varint(r, GROUP_FAR));
	return l->last + (unzigzag(eights) << 3);
}

/* Returns 0 if there is no such address. */
ALWAYS_INLINE uint64_t get_address(struct group_reader *r, const struct lane *l,
				   const struct sort *s, unsigned name)
{
	struct pile *p;

	if (name < GROUP_PILE_DEPTH) {
		p = pile_of(&r->piles, l, s->pile);
		return name < p->n ? pile_pull(p, name) : 0;
	}
	switch (name) {
	case NAME_GIVEN:
		return l->given;
	case NAME_BEHIND:
		return l->last + l->usable + 8;
	case NAME_NEXT:
		return l->last + l->usable;
	case NAME_CARVED:
		return l->carve;
	default:
		return get_near(r, l);
	}
}

/* A program may have millions of sorts, which no cache holds. */
PREFETCHES prefetch_sort(const struct group_reader *r, uint32_t number)
{
	if (number < r->sorts_n)
		__builtin_prefetch(&r->sorts_at[number], 1);
}

/* Returns NULL if there is no such sort. */
ALWAYS_INLINE struct sort *get_sort(struct group_reader *r, struct lane *l, enum group_guess how,
				    uint32_t *number)
{
	uint32_t *of_two = guess_of_two(&r->guesses, &l->sorts);

	*number = *of_two;
	if (how == GUESS_OF_ONE)
		*number = guess_of_one(&r->guesses, r->sorts_at, &l->sorts);
	else if (how == GUESS_NONE) {
		prefetch_sort(r, r->sort.p[AHEAD]);
		*number = get_wide(&r->sort);
	}
	if (*number >= r->sorts_n || r->sorts_at[*number].kind == UINT8_MAX)
		return NULL; /* 0 means none, too */
	guess_learn(&r->guesses, r->sorts_at, &l->sorts, of_two, *number);
	return &r->sorts_at[*number];
}

ALWAYS_INLINE uint32_t get_fresh_slot(struct group_reader *r, struct lane *l)
{
	uint32_t slot;

	if (__builtin_expect(!r->again, 1))
		return slots_take(l);
	slot = r->again - 1;
	r->again = 0;
	return slot;
}

ALWAYS_INLINE bool birth(struct group_reader *r, struct lane *l, struct event *e, struct parts how)
{
	uint32_t number, slot;
	const struct sort *s = get_sort(r, l, how.major, &number);
	struct sort_sizes sizes;
	struct slot *b;
	uint64_t addr;

	if (!s)
		return false;
	if (s->kind == EVENT_REALLOC_END)
		slots_settle(&r->slots, l);
	slot = get_fresh_slot(r, l);
	if (slot == SLOT_NONE || !slots_born(&r->slots, l, slot))
		return false;
	addr = get_address(r, l, s, how.minor);
	if (!addr)
		return false;
	sizes = sort_sizes(r->sorts, s);
	lane_handed(l, how.minor, addr, sizes.usable);
	b = &l->home->slot[slot];
	b->addr = addr;
	b->sort = number;
	e->addr = addr;
	e->size = sizes.size;
	e->usable = sizes.usable;
	e->arg = sizes.arg;
	e->stack = s->stack;
	sort_copy(e, s);
	e->block = slot + 1;
	memcpy(&e->process, &l->process, 2 * sizeof(e->process));
	return true;
}

/* Prefetches a slot that is used soon, and the sort of one that is used sooner. */
PREFETCHES look_ahead(const struct group_reader *r, const struct home *h, uint32_t slot,
		      uint32_t sooner)
{
	if (slot < h->n)
		__builtin_prefetch(&h->slot[slot], 1);
	if (r->sorts_n >= SORTS_NEAR && sooner < h->n)
		prefetch_sort(r, h->slot[sooner].sort);
}

/* Returns the slot of a block that ends; SLOT_NONE if there is none. */
ALWAYS_INLINE uint32_t get_slot(struct group_reader *r, const struct lane *l, enum group_how how)
{
	const struct lane *owner = l;
	uint32_t slot, born;

	if (how == HOW_SLOT) {
		look_ahead(r, l->home, r->slot.p[AHEAD], r->slot.p[AHEAD_SORT]);
		slot = get_wide(&r->slot);
	} else if (how >= HOW_BESIDE) {
		slot = l->freed_slot + how - HOW_BESIDE - 3 + (how >= HOW_BESIDE + 3);
	} else {
		if (how < HOW_NEAR) {
			born = l->births - 1 - how;
		} else {
			owner = r->slots.lane[l->freed_lane];
			born = l->freed_born + how - HOW_NEAR - 4 + (how >= HOW_NEAR + 4);
		}
		if (born >= owner->births || owner->home != l->home)
			return SLOT_NONE;
		slot = owner->born[born];
		/* Blocks often end in the order in which they began. */
		if (born + AHEAD < owner->births)
			look_ahead(r, l->home, owner->born[born + AHEAD],
				   owner->born[born + AHEAD_SORT]);
	}
	return slot_is_live(l->home, slot) ? slot : SLOT_NONE;
}

/* Reads the fields of an end that its kind does not define. */
static bool get_odd_end(struct group_reader *r, struct event *e)
{
	uint64_t what = get_varint(r, GROUP_OTHER);

	e->fn = what & 31;
	e->kind = what >> 5 & 7;
	e->factors = (uint8_t)(what >> 8 & 7);
	e->error = (uint16_t)get_varint(r, GROUP_OTHER);
	e->size = get_varint(r, GROUP_OTHER);
	e->arg = get_varint(r, GROUP_OTHER);
	return sorts_is_end(e->kind, e->fn) && function_class[e->fn] && e->factors <= FACTORS_LOST;
}

/* Puts the event of an end, except for its time. */
ALWAYS_INLINE void put_end(const struct group_reader *r, const struct lane *l, struct event *e,
			   unsigned op)
{
	e->addr = e->size = e->usable = e->arg = 0;
	e->stack = l->free_stack;
	e->block = 0;
	memcpy(&e->process, &l->process, 2 * sizeof(e->process));
	memcpy(&e->error, &r->op[op], sizeof(*e) - offsetof(struct event, error));
}

ALWAYS_INLINE struct slot *put_block(const struct lane *l, struct event *e, uint32_t slot)
{
	struct slot *b = &l->home->slot[slot];

	e->block = slot + 1;
	e->addr = b->addr;
	if (__builtin_expect(!e->addr, 0)) /* a branch does not wait for the block */
		e->addr = unknown_address(slot);
	return b;
}

/* Returns false without memory. */
ALWAYS_INLINE bool block_ends(struct group_reader *r, struct lane *l, const struct slot *b,
			      uint32_t slot, struct birth birth, uint64_t addr)
{
	l->freed_slot = slot;
	if (birth.lane == LANE_NONE)
		return true;
	l->freed_lane = birth.lane;
	l->freed_born = birth.born;
	l->given = addr;
	return pile_push(pile_of(&r->piles, l, r->sorts_at[b->sort].pile), addr);
}

/* Reads the end of a known block without further fields. */
ALWAYS_INLINE bool end(struct group_reader *r, struct lane *l, struct event *e, struct parts how)
{
	const uint32_t slot = get_slot(r, l, how.major);
	const struct slot *b;
	struct birth birth;

	if (slot == SLOT_NONE)
		return false;
	put_end(r, l, e, how.minor);
	b = put_block(l, e, slot);
	birth = slots_birth(&r->slots, b);
	if (!block_ends(r, l, b, slot, birth, e->addr))
		return false;
	slots_give(&r->slots, l, slot, birth);
	return true;
}

/* Reads any other end. */
static __attribute__((noinline)) bool odd_end(struct group_reader *r, struct event *e,
					      struct parts how)
{
	struct lane *l = r->lane;
	uint32_t slot = SLOT_NONE;
	struct slot *b = NULL;
	struct birth birth;

	put_end(r, l, e, how.minor);
	e->usable = r->touched;
	r->touched = 0;
	if (how.major <= HOW_SLOT) {
		slot = get_slot(r, l, how.major);
		if (slot == SLOT_NONE)
			return false;
		b = put_block(l, e, slot);
		if (group_ops[how.minor].sized)
			e->size = sort_sizes(r->sorts, &r->sorts_at[b->sort]).size;
	}
	if (how.minor == OP_OTHER && !get_odd_end(r, e))
		return false;
	if (how.major == HOW_FAR)
		l->given = e->addr = r->far += unzigzag(get_varint(r, GROUP_FAR));
	if (!b)
		return true;
	birth = slots_birth(&r->slots, b);
	if (!block_ends(r, l, b, slot, birth, e->addr))
		return false;
	if (e->kind == EVENT_REALLOC_BEGIN) {
		slots_settle(&r->slots, l);
		l->pending = slot + 1;
	} else {
		slots_give(&r->slots, l, slot, birth);
	}
	return true;
}

/* ---- what is neither ---- */

static uint64_t get_stack(struct group_reader *r)
{
	uint64_t number = get_varint(r, GROUP_STACK);

	return number < r->sorts->stacks ? r->sorts->stack[number].node : 0;
}

static bool is_sound(const struct event *e)
{
	unsigned class = e->fn < MPROF_FN_MAX ? function_class[e->fn] : 0;

	switch (e->kind) {
	case EVENT_CONTROL:
		return e->control >= MPROF_CONTROL_THREAD_CREATE &&
		       e->control <= MPROF_CONTROL_EXEC;
	case EVENT_LOST:
		return e->control < MPROF_LOST_REASONS;
	case EVENT_CALL:
		return (class == MPROF_CLASS_ALLOC && !e->addr) || class == MPROF_CLASS_MAP;
	case EVENT_REALLOC_END:
		return class == MPROF_CLASS_REALLOC && !e->addr;
	default:
		return false;
	}
}

static bool other(struct group_reader *r, struct event *e, bool gone)
{
	struct lane *l = r->lane;
	uint64_t what;

	*e = (struct event){ .process = l->process, .thread = l->thread };
	what = get_varint(r, GROUP_OTHER);
	e->kind = what & 7;
	e->fn = what >> 3 & 31;
	e->factors = (uint8_t)(what >> 8 & 7);
	e->control = (uint8_t)(what >> 11);
	if (e->kind == EVENT_CONTROL || e->kind == EVENT_LOST) {
		e->value = get_varint(r, GROUP_OTHER);
		return is_sound(e);
	}
	e->stack = (uint32_t)get_stack(r);
	e->error = (uint16_t)get_varint(r, GROUP_OTHER);
	e->size = get_varint(r, GROUP_OTHER);
	e->addr = r->other_addr += unzigzag(get_varint(r, GROUP_OTHER));
	e->usable = r->other_usable += unzigzag(get_varint(r, GROUP_OTHER));
	e->arg = r->other_arg += unzigzag(get_varint(r, GROUP_OTHER));
	if (e->kind == EVENT_REALLOC_END) {
		if (gone || !e->size)
			slots_settle(&r->slots, l);
		e->block = l->pending; /* it stays live, at its place */
		l->pending = 0;
	}
	return is_sound(e) && e->factors <= FACTORS_LOST;
}

/* Kinds that are not events but describe the next one. */
static bool remark(struct group_reader *r, unsigned kind)
{
	uint32_t slot;

	switch (kind) {
	case KIND_AGAIN:
		slot = get_wide(&r->slot);
		r->again = slot + 1;
		return slot_is_live(r->lane->home, slot);
	case KIND_TOUCHED:
		r->touched = get_varint(r, GROUP_OTHER);
		return true;
	case KIND_FREE_STACK:
		r->lane->free_stack = (uint32_t)get_stack(r);
		return true;
	default:
		return false;
	}
}

/* ---- the loop ---- */

static bool next_turn(struct group_reader *r)
{
	uint64_t lane = get_varint(r, GROUP_TURN), run = get_varint(r, GROUP_RUN);

	if (lane >= r->slots.lanes || !run)
		return false;
	r->lane = r->slots.lane[lane];
	if (run > (size_t)(r->lane->kinds.end - r->lane->kinds.p))
		return false;
	r->run = (uint32_t)run;
	return true;
}

/* Appends e, unless its kind is valid but not an event. */
static __attribute__((noinline)) bool odd_kind(struct group_reader *r, unsigned kind,
					       struct event **e)
{
	if (kind < KIND_OTHER && remark(r, kind))
		return true;
	++*e;
	return kind >= KIND_OTHER && kind < KINDS && other(r, *e - 1, kind == KIND_OTHER_GONE);
}

/* Reads up to n events of the current lane, within its turn. */
static inline size_t read_turn(struct group_reader *r, struct event *const first, size_t n)
{
	struct lane *const l = r->lane;
	const uint8_t *kind = l->kinds.p, *const behind = kind + r->run, *stop;
	struct event *e = first;
	bool sound = true;

	/* Some kinds are not events, so there may be more kinds than events. */
	while (kind < behind && e < first + n && sound) {
		const size_t room = (size_t)(first + n - e), kinds = (size_t)(behind - kind);

		for (stop = kind + (kinds < room ? kinds : room); kind < stop; kind++) {
			const struct parts *const of = &r->parts[*kind];
			const struct parts how = { of->major, of->minor, of->what };

			if (how.what == IS_BIRTH)
				sound = birth(r, l, e++, how);
			else if (__builtin_expect(how.what == IS_END && !r->touched, 1))
				sound = end(r, l, e++, how);
			else if (how.what != IS_NEITHER)
				sound = odd_end(r, e++, how);
			else
				sound = odd_kind(r, *kind, &e);
			if (!sound)
				break;
		}
	}
	r->run = (uint32_t)(behind - kind);
	l->kinds.p = kind;
	r->bad |= !sound;
	return (size_t)(e - first) - !sound;
}

size_t group_read(struct group_reader *r, struct event *e, size_t n)
{
	size_t got = 0;

	if (n > r->left)
		n = r->left;
	while (got < n && !r->bad) {
		if (!r->run && !next_turn(r))
			r->bad = true;
		else
			got += read_turn(r, e + got, n - got);
	}
	times_put(&r->times, e, got);
	r->left -= (uint32_t)got;
	if (!r->left && !r->bad)
		r->follows = r->after;
	return got;
}

/* ---- only births ---- */

static void put_birth(const struct group_reader *r, const struct lane *l, const struct sort *s,
		      struct event *e)
{
	const struct sort_sizes sizes = sort_sizes(r->sorts, s);

	e->size = sizes.size;
	e->arg = sizes.arg;
	e->stack = s->stack;
	sort_copy(e, s);
	memcpy(&e->process, &l->process, 2 * sizeof(e->process));
}

/* One event or remark; *number: of the event, or of the last one. */
ALWAYS_INLINE bool look_at_birth(struct group_reader *r, unsigned kind, uint64_t *number,
				 struct event *e)
{
	const struct parts how = r->parts[kind];
	const struct sort *s;
	uint32_t sort;

	e->stack = 0;
	e->kind = EVENT_CONTROL;
	if (how.what == IS_NEITHER && kind < KIND_OTHER)
		return true;
	++*number;
	e->ticks = times_next(&r->times);
	if (how.what != IS_BIRTH)
		return true;
	s = get_sort(r, r->lane, how.major, &sort);
	if (s)
		put_birth(r, r->lane, s, e);
	return s;
}

bool group_births(struct group_reader *r, uint64_t after, uint64_t to, trace_birth_fn *tell,
		  void *context)
{
	const uint64_t last = r->first - 1 + r->left, end = to < last ? to : last;
	struct event e = { .ticks = 0 };
	uint64_t number = r->first - 1;
	bool sound = true;

	while (number < end && sound) {
		sound = r->run || next_turn(r);
		for (; sound && r->run && number < end; r->run--) {
			sound = look_at_birth(r, *r->lane->kinds.p++, &number, &e);
			if (sound && e.kind != EVENT_CONTROL && number > after)
				tell(context, &e);
		}
	}
	r->left = 0;
	return sound;
}

uint64_t group_first_event(const struct group_reader *r)
{
	return r->first;
}

uint32_t group_left(const struct group_reader *r)
{
	return r->left;
}

void group_skip(struct group_reader *r)
{
	r->left = 0;
}

/* ---- beginning ---- */

/* Takes the live slots of the group.  Slots that we do not know were allocated before we began. */
static void sync_live(struct home *h, uint32_t n, const uint8_t *bits)
{
	for (uint32_t i = 0; i < (n + 63) / 64 || i < (h->n + 63) / 64; i++) {
		size_t from = 8 * (size_t)i, bytes = (n + 7) / 8;
		uint64_t word = 0, differ;

		if (from < bytes)
			memcpy(&word, bits + from, bytes - from < 8 ? bytes - from : 8);
		if (from + 8 >= bytes && n & 63 && i == n / 64)
			word &= (1ull << (n & 63)) - 1;
		for (differ = h->live[i] ^ word; differ; differ &= differ - 1)
			h->slot[64 * i + (unsigned)__builtin_ctzll(differ)] =
			    (struct slot){ .addr = 0 };
		h->live[i] = h->old[i] = word;
	}
	h->n = h->old_n = n;
}

static bool get_home(struct group_reader *r, uint32_t index)
{
	uint64_t process = get_varint(r, GROUP_HOME), n = get_varint(r, GROUP_HOME);
	struct cursor *live = &r->column[GROUP_LIVE];
	struct home *h;

	if (!process || process > UINT32_MAX || n > SLOTS_MAX ||
	    (n + 7) / 8 > (size_t)(live->end - live->p))
		return false;
	h = slots_home(&r->slots, (uint32_t)process);
	if (!h || h->index != index || !home_room(h, (uint32_t)n))
		return false;
	sync_live(h, (uint32_t)n, live->p);
	live->p += (n + 7) / 8;
	return true;
}

static bool get_lane(struct group_reader *r, uint32_t number, const struct mprof_group *head)
{
	uint64_t home = get_varint(r, GROUP_LANE), thread = get_varint(r, GROUP_LANE);
	uint64_t kinds = get_varint(r, GROUP_LANE);
	struct cursor *kind = &r->column[GROUP_KIND];
	struct lane *l;

	if (home >= head->homes || !thread || thread > UINT32_MAX ||
	    kinds > (size_t)(kind->end - kind->p))
		return false;
	l = slots_lane(&r->slots, r->slots.here[home]->process, (uint32_t)thread);
	if (!l || l->number != number)
		return false;
	l->kinds = (struct cursor){ kind->p, kind->p + kinds };
	kind->p += kinds;
	return true;
}

/* Handles missing events: a slot that was live before and is live now may belong to another
 * block. */
static void forget(struct group_reader *r)
{
	uint32_t group = r->slots.group;

	slots_free(&r->slots);
	r->slots.group = group;
}

bool group_open(struct group_reader *r, const struct mprof_group *head, uint64_t first_ticks,
		uint8_t *const *plain)
{
	r->whole = head->first_event == r->follows;
	if (!r->whole)
		forget(r);
	r->follows = 0;
	r->first = head->first_event;
	r->after = head->first_event + head->events;
	r->left = head->events;
	r->bad = true;
	if (head->shift > 32 || (head->exact && head->shift > 8))
		return false;
	for (unsigned i = 0; i < MPROF_GROUP_FRAMES; i++)
		if (!cursors_find(r->column + group_first[i], group_first[i + 1] - group_first[i],
				  plain[i], head->plain_bytes[i]))
			return false;
	if (!join(&r->sort, &r->column[GROUP_SORT]) || !join(&r->slot, &r->column[GROUP_SLOT]) ||
	    !join(&r->near, &r->column[GROUP_NEAR]))
		return false;
	if (head->homes > (size_t)(r->column[GROUP_HOME].end - r->column[GROUP_HOME].p) ||
	    head->lanes > (size_t)(r->column[GROUP_LANE].end - r->column[GROUP_LANE].p))
		return false;
	r->sorts_at = r->sorts->sort;
	r->sorts_n = r->sorts->n;
	slots_begin(&r->slots);
	for (uint32_t i = 0; i < head->homes; i++)
		if (!get_home(r, i))
			return false;
	for (uint32_t i = 0; i < head->lanes; i++)
		if (!get_lane(r, i, head))
			return false;
	guesses_begin(&r->guesses, r->slots.group);
	piles_begin(&r->piles);
	r->lane = NULL;
	r->run = r->again = 0;
	r->touched = 0;
	times_begin(&r->times, r->column, first_ticks, head->shift, head->exact);
	r->far = r->other_addr = r->other_usable = r->other_arg = 0;
	r->bad = false;
	return true;
}

static struct parts parts_of(unsigned kind)
{
	struct parts p = { .what = IS_NEITHER };

	if (kind < KIND_END) {
		p = (struct parts){ (uint8_t)(kind / NAMES), (uint8_t)(kind % NAMES), IS_BIRTH };
	} else if (kind < KIND_AGAIN) {
		kind -= KIND_END;
		p = (struct parts){ (uint8_t)(kind / OPS), (uint8_t)(kind % OPS), IS_END };
		if (p.major > HOW_SLOT || p.minor == OP_OTHER || p.minor == OP_BEGIN ||
		    group_ops[p.minor].sized)
			p.what = IS_ODD_END;
	}
	return p;
}

struct group_reader *group_reader_new(struct sorts *sorts)
{
	struct group_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->sorts = sorts;
	r->follows = r->after = 1;
	r->slots.lists_births = true;
	for (unsigned i = 0; i < OPS; i++)
		r->op[i] = (struct event_what){ .kind = group_ops[i].kind, .fn = group_ops[i].fn };
	for (unsigned i = 0; i < 256; i++)
		r->parts[i] = parts_of(i);
	return r;
}

void group_reader_rewind(struct group_reader *r, uint64_t follows)
{
	forget(r); /* sorts know the number of their group, so their guesses are void, too */
	r->left = 0;
	r->follows = r->after = follows;
}

void group_place(const struct group_reader *r, struct trace_place *place)
{
	place->first_event = r->first;
	place->events = (uint32_t)(r->after - r->first) - r->left;
	place->whole = r->whole;
}

bool group_set_address(struct group_reader *r, uint32_t process, uint32_t slot, uint64_t addr)
{
	struct home *h = slots_home(&r->slots, process);

	if (!h || !home_room(h, slot + 1))
		return false;
	if (slot >= h->n)
		h->n = slot + 1;
	h->slot[slot].addr = addr;
	h->live[slot >> 6] |= 1ull << (slot & 63);
	return true;
}

uint64_t group_address(const struct group_reader *r, uint32_t process, uint32_t slot)
{
	const struct home *h = slots_known(&r->slots, process);

	return h && slot_is_live(h, slot) ? h->slot[slot].addr : 0;
}

void group_reader_free(struct group_reader *r)
{
	if (!r)
		return;
	slots_free(&r->slots);
	piles_free(&r->piles);
	large_free(r->sort.value, r->sort.room * sizeof(*r->sort.value));
	large_free(r->slot.value, r->slot.room * sizeof(*r->slot.value));
	large_free(r->near.value, r->near.room * sizeof(*r->near.value));
	free(r);
}
