// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * records.c - the extents that are not events: facts, samples, residency, counts.
 *
 * They are few and small, so they are copied out and checked when the file is
 * opened.  A copy is followed by a zero byte: the last string of a fact ends
 * even if the file is wrong.
 */
#include "../util/order.h"
#include "clock.h"
#include "reader.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

#define TURNS	100   /* of one with samples; trace_reread() limits those of others */
#define REREADS 10000 /* in one file: a damaged one may have any number */
#define ASKED	3     /* times, whether the file is locked */

/*
 * Samples of a process that runs may have been written over since their header was
 * read.  Both come from one write, so reading both at once shows it. The last
 * part of a live trace may be incomplete.
 */
static bool is_rewritten(struct trace *t, const struct extent *x, unsigned char *copy)
{
	struct mprof_extent head;

	if (t->header.flags & MPROF_FILE_COMPRESSED ||
	    !(x->kind == MPROF_EXTENT_SAMPLE || t->may_complete))
		return false;
	for (int turn = 0; (turn < TURNS || x->kind != MPROF_EXTENT_SAMPLE) && t->rereads < REREADS;
	     turn++, t->rereads++)
		if (trace_read(t, &head, sizeof(head), x->head.offset) == sizeof(head) &&
		    trace_read(t, copy, x->bytes, x->payload) == x->bytes &&
		    mprof_checksum(copy, x->bytes) == head.check)
			return true;
		else if (x->kind != MPROF_EXTENT_SAMPLE && !trace_reread(t))
			return false;
	return false;
}

size_t records_total_bytes(uint16_t kind)
{
	switch (kind) {
	case MPROF_EXTENT_HEAP:
		return sizeof(struct mprof_heap_totals);
	case MPROF_EXTENT_COURSE:
		return sizeof(struct mprof_course);
	case MPROF_EXTENT_LANE:
		return sizeof(struct mprof_lane);
	case MPROF_EXTENT_CELLS:
		return sizeof(struct mprof_cells);
	case MPROF_EXTENT_MORE:
		return MPROF_CELLS * sizeof(struct mprof_cell_more);
	case MPROF_EXTENT_CELL_SIZES:
		return MPROF_CELLS * sizeof(struct mprof_cell_sizes);
	case MPROF_EXTENT_SAMPLES:
		return MPROF_CELLS * sizeof(struct mprof_sample_cell);
	case MPROF_EXTENT_SITES:
		return MPROF_CELLS * sizeof(struct mprof_site_live);
	default:
		return 0;
	}
}

static bool is_total(uint16_t kind)
{
	return records_total_bytes(kind) != 0;
}

/* The least that such an extent has on disk. */
static size_t total_least(uint16_t kind)
{
	return kind == MPROF_EXTENT_COURSE ? MPROF_COURSE_BYTES(0) : records_total_bytes(kind);
}

void *records_payload(struct trace *t, const struct extent *x, size_t least)
{
	bool live = x->kind == MPROF_EXTENT_COUNTS || x->kind == MPROF_EXTENT_STACK_USE ||
		    x->kind == MPROF_EXTENT_TIMES || x->kind == MPROF_EXTENT_GUARDED ||
		    is_total(x->kind);
	const size_t whole = records_total_bytes(x->kind),
		     room = x->bytes > whole ? x->bytes : whole;
	unsigned char *copy;
	void **slot;

	if (x->bytes < least || (!live && x->bytes < x->head.used))
		goto bad;
	copy = must_malloc(room + 1);
	slot = GROW_ONE(t->copy, t->copies, t->copies_room);
	*slot = copy;
	memset(copy + x->bytes, 0, room + 1 - x->bytes);
	if (trace_read(t, copy, x->bytes, x->payload) != x->bytes)
		goto bad;
	if (live || mprof_checksum(copy, x->bytes) == x->head.check)
		return copy;
	if (is_rewritten(t, x, copy))
		return copy;
bad:
	trace_note_damage(t, &t->damage.chunks_bad, 1, x->head.offset);
	return NULL;
}

/* Returns the value if s is "key=value", else NULL. */
static const char *value_of(const char *s, const char *key)
{
	size_t n = strlen(key);

	return strncmp(s, key, n) || s[n] != '=' ? NULL : s + n + 1;
}

static void take_string(struct trace_fact *f, const char *s)
{
	struct {
		const char *key;
		const char **value;
	} known[] = {
		{ "exe", &f->exe },	{ "cwd", &f->cwd },
		{ "host", &f->host },	{ "allocator", &f->allocator },
		{ "init", &f->init },	{ "mode", &f->mode },
		{ "path", &f->path },	{ "why", &f->why },
		{ "job", &f->job },	{ "malloc", &f->malloc_of },
		{ "rank", &f->rank },	{ "held", &f->held },
		{ "freed", &f->freed }, { "kernel", &f->kernel },
		{ "cpus", &f->cpus },	{ "conf", &f->conf },
		{ "set", &f->set },
	};
	const char *value = value_of(s, "arg");

	if (value) {
		f->argv[f->argc++] = value;
		return;
	}
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		value = value_of(s, known[i].key);
		if (value)
			*known[i].value = value;
	}
}

static size_t count_args(const char *s, const char *end)
{
	size_t n = 0;

	for (; s < end; s += strlen(s) + 1)
		n += value_of(s, "arg") != NULL;
	return n;
}

/* Is it later than the picture of a live trace?  A fork comes before its START. */
static bool is_later(const struct trace *t, const struct extent *x, const struct mprof_fact *fact)
{
	uint64_t ticks = x->head.first_ticks;

	if (fact->fork_ticks && fact->fork_ticks < ticks)
		ticks = fact->fork_ticks;
	return t->until_ticks && (ticks & MPROF_TICKS_MASK) > t->until_ticks;
}

static struct trace_fact *add_fact(struct trace *t, const struct mprof_fact *fact)
{
	struct trace_fact *f = GROW_ONE(t->fact, t->facts, t->facts_room);

	*f = (struct trace_fact){ .fact = fact, TRACE_FACT_TEXTS };
	return f;
}

static void take_fact(struct trace *t, const struct extent *x)
{
	const struct mprof_fact *fact = records_payload(t, x, sizeof(*fact));
	const char *s, *end;
	struct trace_fact *f;

	if (!fact || is_later(t, x, fact))
		return;
	f = add_fact(t, fact);
	f->process = x->head.process;
	f->image = x->head.image;
	f->offset = x->head.offset;
	s = (const char *)(fact + 1);
	end = (const char *)fact + x->head.used;
	/* One more item than needed, so that argv is never NULL and ends like main's. */
	f->argv = must_calloc(count_args(s, end) + 1, sizeof(*f->argv));
	for (; s < end; s += strlen(s) + 1)
		take_string(f, s);
}

static void take_resident(struct trace *t, const struct extent *x, const struct mprof_sample *s)
{
	struct owned_sample *o = GROW_ONE(t->sample, t->samples, t->samples_room);

	*o = (struct owned_sample){ x->head.process, *s };
}

/* Takes a process's own reading of its high-water mark, which does not contain its resident size
 * then. */
static void take_look(struct trace *t, const struct extent *x, const struct mprof_sample *s)
{
	struct trace_peak *p = GROW_ONE(t->peak, t->peaks, t->peaks_room);

	*p = (struct trace_peak){
		.process = x->head.process,
		.image = x->head.image,
		.ticks = s->ticks,
		.rss = s->peak_rss,
		.cpu_ns = s->cpu_ns,
		.arena = s->arena,
	};
}

static void take_samples(struct trace *t, const struct extent *x)
{
	const struct mprof_sample *s = records_payload(t, x, sizeof(*s));

	for (size_t i = 0; s && i < x->head.used / sizeof(*s); i++) {
		if (s[i].peak_rss && !s[i].rss)
			take_look(t, x, &s[i]);
		else if (s[i].ticks)
			take_resident(t, x, &s[i]);
	}
}

static void take_system(struct trace *t, const struct extent *x)
{
	const struct mprof_system *s = records_payload(t, x, sizeof(*s));

	for (size_t i = 0; s && i < x->head.used / sizeof(*s); i++)
		*(struct mprof_system *)GROW_ONE(t->system, t->systems, t->systems_room) = s[i];
}

/*
 * How many pages can be resident, when the resident set had `rss` bytes a moment before.  Readers
 * allocate a byte for each, so a wrong number must not pass; but no machine's growth should fail.
 */
static uint64_t pages_most(const struct trace *t, uint64_t rss)
{
	const uint64_t most = 1ull << 32, pages = rss / t->header.page_size;

	return pages < most / 16 ? 16 * pages + (1u << 20) : most;
}

/* Returns the number of valid runs: ascending, not empty, not overlapping, `most` pages in all. */
static uint64_t good_runs(const struct mprof_page_run *run, uint64_t n, uint64_t most)
{
	uint64_t end = 0, i;

	for (i = 0; i < n; i++) {
		if (run[i].first < end || !run[i].count || run[i].count > most ||
		    run[i].count > UINT64_MAX - run[i].first)
			break;
		end = run[i].first + run[i].count;
		most -= run[i].count;
	}
	return i;
}

static void take_residency(struct trace *t, const struct extent *x)
{
	const bool variables = x->kind == MPROF_EXTENT_VARIABLES;
	const struct mprof_residency *head = records_payload(t, x, sizeof(*head));
	struct trace_residency *r;
	uint64_t room;

	if (!head)
		return;
	if (variables)
		r = GROW_ONE(t->variables, t->variables_n, t->variables_room);
	else
		r = GROW_ONE(t->residency, t->residencies, t->residencies_room);
	room = (x->bytes - sizeof(*head)) / sizeof(*r->run);
	r->process = x->head.process;
	r->head = head;
	r->run = (const struct mprof_page_run *)(head + 1);
	r->runs = good_runs(r->run, head->runs < room ? head->runs : room,
			    variables ? UINT64_MAX : pages_most(t, head->rss));
	if (r->runs != head->runs)
		trace_note_damage(t, &t->damage.chunks_bad, 1, x->head.offset);
}

static void take_own(struct trace *t, const struct extent *x)
{
	const struct mprof_page_run *run = records_payload(t, x, sizeof(*run));

	if (!run || !run->count || run->first + run->count < run->first)
		return;
	*GROW_ONE(t->own, t->owns, t->owns_room) = (struct own_memory){
		.process = x->head.process,
		.image = x->head.image,
		.ticks = x->head.last_ticks,
		.run = *run,
	};
}

/*
 * The thread may have written while the record was read: it sets `sized` to 0 first and to the
 * ever greater `deepest` last, so sizes are those of the call if it is the same before and after.
 */
static uint32_t good_sizes(struct trace *t, const struct extent *x, const struct mprof_stack_use *u)
{
	const uint32_t *size = (const uint32_t *)(u + 1);
	struct mprof_stack_use after;
	uint64_t sum = 0;

	if (!u->sized || u->sized != u->deepest ||
	    u->frames > (x->bytes - sizeof(*u)) / sizeof(*size))
		return 0;
	if (t->is_live && (trace_read(t, &after, sizeof(after), x->payload) != sizeof(after) ||
			   after.sized != u->sized))
		return 0;
	for (uint32_t i = 0; i < u->frames; i++)
		sum += size[i];
	return sum == u->deepest ? u->frames : 0;
}

/* Intervals, in order of time, are at the end of the record, the last one first. */
static uint32_t good_intervals(const struct mprof_stack_use *u, const uint64_t *first, size_t room)
{
	const unsigned shift = MPROF_INTERVAL_DEPTH_BITS;
	uint32_t n = u->intervals < room ? u->intervals : (uint32_t)room, i = 1;

	while (i < n && first[1 - (ptrdiff_t)i] >> shift <= first[-(ptrdiff_t)i] >> shift)
		i++;
	return i < n ? i : n;
}

static void take_stack_use(struct trace *t, const struct extent *x)
{
	struct trace_stack_use *to;
	const struct mprof_stack_use *u;
	const uint64_t *first;
	size_t words;

	if (!x->head.used)
		return;
	u = records_payload(t, x, sizeof(*u));
	if (!u || !u->high) /* its thread has not begun yet */
		return;
	words = (x->head.used < x->bytes ? x->head.used : x->bytes) / sizeof(*first);
	words = words > sizeof(*u) / sizeof(*first) ? words : sizeof(*u) / sizeof(*first);
	first = (const uint64_t *)u + words - 1;
	to = GROW_ONE(t->use, t->uses, t->uses_room);
	*to = (struct trace_stack_use){ u,
					x->head.process,
					x->head.image,
					x->head.thread,
					good_sizes(t, x, u),
					(const uint32_t *)(u + 1),
					first,
					good_intervals(u, first,
						       words - sizeof(*u) / sizeof(*first)) };
}

static void take_times(struct trace *t, const struct extent *x)
{
	const struct mprof_times *times = records_payload(t, x, sizeof(*times));

	if (times && times->hz)
		*GROW_ONE(t->times, t->times_n, t->times_room) =
		    (struct trace_times){ times, x->head.thread };
}

static bool reach_is_good(const struct trace_reach *r, uint64_t bytes)
{
	const struct mprof_reach *h = r->head;

	if (bytes < sizeof(*h) + h->rows * sizeof(*r->row) + h->roots * sizeof(*r->root) + h->text)
		return false;
	for (uint32_t i = 0; i < h->rows; i++)
		if (r->row[i].root > h->roots || r->row[i].unreachable_blocks > r->row[i].blocks ||
		    r->row[i].unreachable_bytes > r->row[i].bytes ||
		    r->row[i].below_blocks > r->row[i].unreachable_blocks ||
		    r->row[i].below_bytes > r->row[i].unreachable_bytes)
			return false;
	for (uint32_t i = 0; i < h->roots; i++)
		if (!r->root[i].kind || r->root[i].kind >= MPROF_REACH_BEHIND ||
		    (r->root[i].kind == MPROF_REACH_VARIABLE && r->root[i].path >= h->text))
			return false;
	return !h->text || !r->text[h->text - 1];
}

/* Takes the last one of an image: extents are in the order of the file.  False if it is damaged. */
static bool add_reach(struct trace *t, uint32_t process, const struct mprof_reach *head,
		      size_t bytes)
{
	struct trace_reach r = { .process = process, .head = head, .image = head->image };

	r.row = (const struct mprof_reach_row *)(r.head + 1);
	r.root = (const struct mprof_reach_root *)(r.row + r.head->rows);
	r.text = (const char *)(r.root + r.head->roots);
	if (!reach_is_good(&r, bytes))
		return false;
	for (size_t i = t->reaches; i-- > 0;)
		if (t->reach[i].process == r.process && t->reach[i].image == r.image) {
			t->reach[i] = r;
			return true;
		}
	*GROW_ONE(t->reach, t->reaches, t->reaches_room) = r;
	return true;
}

static void take_reach(struct trace *t, const struct extent *x)
{
	const struct mprof_reach *head = records_payload(t, x, sizeof(*head));

	if (head && !add_reach(t, x->head.process, head, x->bytes))
		trace_note_damage(t, &t->damage.chunks_bad, 1, x->head.offset);
}

void trace_add_reach(struct trace *t, uint32_t process, void *payload, size_t bytes)
{
	*GROW_ONE(t->copy, t->copies, t->copies_room) = payload;
	add_reach(t, process, payload, bytes);
}

static void take_misuse(struct trace *t, const struct extent *x)
{
	const struct mprof_misuse *m = records_payload(t, x, sizeof(*m));
	struct trace_misuse *to;

	if (!m)
		return;
	if (!m->what || m->what >= MPROF_MISUSE_BEHIND || m->seen_bytes > sizeof(m->seen)) {
		trace_note_damage(t, &t->damage.chunks_bad, 1, x->head.offset);
		return;
	}
	to = GROW_ONE(t->misuse, t->misuses, t->misuses_room);
	*to = (struct trace_misuse){ m, x->head.process, x->head.image, 0, 0, 0 };
}

/* Takes the last one of an image: extents are in the order of the file. */
static void take_guarded(struct trace *t, const struct extent *x)
{
	const struct mprof_guarded *g = records_payload(t, x, sizeof(*g));
	struct guarded_record *r;

	if (!g)
		return;
	for (size_t i = t->guarded_n; i-- > 0;)
		if (t->guarded[i].process == x->head.process &&
		    t->guarded[i].image == x->head.image) {
			t->guarded[i].guarded = g;
			return;
		}
	r = GROW_ONE(t->guarded, t->guarded_n, t->guarded_room);
	*r = (struct guarded_record){ x->head.process, x->head.image, g };
}

static void take_counts(struct trace *t, const struct extent *x)
{
	const struct mprof_counts *counts;
	struct counts_record *r;

	if (!x->head.thread) /* reserved for later threads */
		return;
	counts = records_payload(t, x, sizeof(*counts));
	if (!counts)
		return;
	r = GROW_ONE(t->counts, t->counts_n, t->counts_room);
	*r = (struct counts_record){ x->head.process, x->head.thread, x->head.image, counts };
}

static void take_total(struct trace *t, const struct extent *x)
{
	const void *data;
	struct trace_totals *r;

	/* In a counts file it has no meaning. */
	if (!memcmp(t->header.magic, MPROF_MAGIC_COUNTS, MPROF_MAGIC_SIZE) || !x->head.process ||
	    x->head.seq > UINT32_MAX - MPROF_CELLS) {
		trace_note_damage(t, &t->damage.chunks_bad, 1, x->head.offset);
		return;
	}
	data = records_payload(t, x, total_least(x->kind));
	if (!data)
		return;
	r = GROW_ONE(t->total, t->totals, t->totals_room);
	*r = (struct trace_totals){
		.kind = x->kind,
		.image = x->head.image,
		.process = x->head.process,
		.thread = x->head.thread,
		.first = (uint32_t)x->head.seq,
		.data = data,
	};
}

void records_take(struct trace *t, const struct extent *x)
{
	static void (*const take[])(struct trace * t, const struct extent *x) = {
		[MPROF_EXTENT_FACT] = take_fact,
		[MPROF_EXTENT_SAMPLE] = take_samples,
		[MPROF_EXTENT_SYSTEM] = take_system,
		[MPROF_EXTENT_RESIDENCY] = take_residency,
		[MPROF_EXTENT_VARIABLES] = take_residency,
		[MPROF_EXTENT_OWN] = take_own,
		[MPROF_EXTENT_STACK_USE] = take_stack_use,
		[MPROF_EXTENT_TIMES] = take_times,
		[MPROF_EXTENT_REACH] = take_reach,
		[MPROF_EXTENT_MISUSE] = take_misuse,
		[MPROF_EXTENT_GUARDED] = take_guarded,
		[MPROF_EXTENT_COUNTS] = take_counts,
	};

	if (is_total(x->kind))
		take_total(t, x);
	else if (x->kind < sizeof(take) / sizeof(take[0]) && take[x->kind])
		take[x->kind](t, x);
}

ORDER(by_fact, struct trace_fact, RISING(fact->ticks) ?: RISING(offset))

ORDER(by_sample, struct owned_sample, RISING(process) ?: RISING(s.ticks))

ORDER(by_time, struct mprof_system, RISING(ticks))

ORDER(by_residency, struct trace_residency, RISING(head->ticks_before) ?: RISING(process))

ORDER(by_misuse, struct trace_misuse, RISING(m->ticks) ?: RISING(process))

ORDER(by_thread, struct trace_stack_use, RISING(process) ?: RISING(image) ?: RISING(thread) ?: FALLING(u->deepest) ?: FALLING(frames))

ORDER(by_counts, struct counts_record, RISING(process) ?: RISING(thread))

ORDER(by_owner, struct trace_totals, RISING(process) ?: RISING(image) ?: RISING(kind) ?: RISING(first) ?: RISING(thread))

/* Sorts readings of one image by time; at equal times the highest comes last. */
ORDER(by_look, struct trace_peak, RISING(process) ?: RISING(image) ?: RISING(ticks) ?: RISING(rss))

/* Keeps, of the readings of each image, the first with the highest value, and the time of the
 * one before it. */
static void keep_rises(struct trace *t)
{
	struct trace_peak *to = t->peak, *look;
	uint64_t before = 0;

	for (look = t->peak; t->peaks && look < t->peak + t->peaks; look++) {
		bool same =
		    to > t->peak && to[-1].process == look->process && to[-1].image == look->image;

		if (!same) {
			*to++ = *look;
		} else if (look->rss > to[-1].rss) {
			to[-1] = *look;
			to[-1].from_ticks = before;
		}
		before = look->ticks;
	}
	t->peaks = t->peaks ? (size_t)(to - t->peak) : 0;
}

static bool is_of_other(const struct trace_stack_use *a, const struct trace_stack_use *b)
{
	return a->process != b->process || a->image != b->image || a->thread != b->thread;
}

/* A record that needs more room is copied: of two, the one that continues is first now. */
static void keep_uses(struct trace *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->uses; i++)
		if (!kept || is_of_other(&t->use[kept - 1], &t->use[i]))
			t->use[kept++] = t->use[i];
	t->uses = kept;
}

static bool is_of_image(const struct trace_totals *a, const struct trace_totals *b)
{
	return a->process == b->process && a->image == b->image;
}

/* Did a clear make the figures of its image void? */
static bool is_void(const struct trace *t, const struct trace_totals *heap)
{
	return ((const struct mprof_heap_totals *)heap->data)->began_ticks <
	       t->header.cleared_ticks;
}

/* Erases such figures, in the copies of records_payload().  Call it after sorting: HEAP is the
 * first kind of an image. */
static void erase_cleared(struct trace *t)
{
	const struct trace_totals *heap = NULL;

	for (size_t i = 0; t->header.cleared_ticks && i < t->totals; i++) {
		const struct trace_totals *x = &t->total[i];
		struct mprof_heap_totals *h = (struct mprof_heap_totals *)x->data;

		if (x->kind == MPROF_EXTENT_HEAP) {
			heap = x;
			if (is_void(t, x))
				*h = (struct mprof_heap_totals){ .began_ticks = h->began_ticks,
								 .sample_period = h->sample_period,
								 .sample_unit = h->sample_unit };
		} else if (heap && is_of_image(x, heap) && is_void(t, heap)) {
			memset((void *)x->data, 0, records_total_bytes(x->kind));
		}
	}
}

/* Likewise, counts by function. */
static void erase_counts(struct trace *t)
{
	for (size_t i = 0; t->header.cleared_ticks && i < t->counts_n; i++) {
		const struct counts_record *c = &t->counts[i];
		const struct trace_totals of = { .process = c->process, .image = c->image };

		for (size_t k = 0; k < t->totals; k++)
			if (t->total[k].kind == MPROF_EXTENT_HEAP &&
			    is_of_image(&t->total[k], &of) && is_void(t, &t->total[k]))
				memset((void *)c->counts, 0, sizeof(*c->counts));
	}
}

bool trace_host_is_here(const char *host)
{
	char here[256];

	return !gethostname(here, sizeof(here)) && !strcmp(here, host);
}

/* Did the run begin on this machine, as far as is known? */
static bool is_from_here(const struct trace *t)
{
	for (size_t i = 0; i < t->facts; i++)
		if (*t->fact[i].host)
			return trace_host_is_here(t->fact[i].host);
	return false;
}

/* Does another process hold the file's lock, and not only to ask the same? */
static bool is_locked(int fd)
{
	for (unsigned turn = 0; turn < ASKED; turn++) {
		if (turn)
			usleep(1000);
		if (!flock(fd, LOCK_EX | LOCK_NB)) {
			flock(fd, LOCK_UN);
			return false;
		}
		if (errno != EWOULDBLOCK)
			return false;
	}
	return true;
}

/* Does a process still record into the file?  Each one holds its lock. */
static bool goes_on(const struct trace *t)
{
	const uint32_t over = MPROF_FILE_COMPRESSED | MPROF_FILE_CLOSED | MPROF_FILE_RUNNING;

	return !(t->header.flags & over) && is_from_here(t) && is_locked(t->fd);
}

/*
 * A run that goes on lasts until now, even if its processes made no call for a long time.  The file
 * cannot say so; a fact about no process does, as in a dump.
 */
static void add_now(struct trace *t)
{
	if (!goes_on(t))
		return;
	clock_stamp(&t->header, &t->now);
	t->now.what = MPROF_FACT_OUTSIDE;
	add_fact(t, &t->now)->argv = must_calloc(1, sizeof(char *));
}

void records_finish(struct trace *t)
{
	add_now(t);
	SORT(t->fact, t->facts, by_fact);
	SORT(t->sample, t->samples, by_sample);
	SORT(t->system, t->systems, by_time);
	SORT(t->residency, t->residencies, by_residency);
	SORT(t->variables, t->variables_n, by_residency);
	SORT(t->use, t->uses, by_thread);
	keep_uses(t);
	SORT(t->misuse, t->misuses, by_misuse);
	SORT(t->peak, t->peaks, by_look);
	keep_rises(t);
	SORT(t->counts, t->counts_n, by_counts);
	SORT(t->total, t->totals, by_owner);
	erase_cleared(t);
	erase_counts(t);
	t->sample_flat = must_calloc(t->samples + 1, sizeof(*t->sample_flat));
	for (size_t i = 0; i < t->samples; i++)
		t->sample_flat[i] = t->sample[i].s;
}

ORDER(by_node, struct trace_reduced, RISING(node) ?: RISING(ticks))

static void find_reduced(struct trace *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->totals; i++) {
		const struct trace_totals *x = &t->total[i];
		const struct mprof_site_live *site = x->data;

		if (x->kind != MPROF_EXTENT_SITES)
			continue;
		for (uint32_t k = 0; k < MPROF_CELLS; k++) {
			struct trace_reduced *r;

			if (!site[k].log_end)
				continue;
			r = GROW_ONE(t->reduced, t->reduced_n, t->reduced_room);
			r->node = trace_stack_node(t, x->process, x->image, x->first + k);
			r->ticks = site[k].log_end & MPROF_TICKS_MASK;
		}
	}
	SORT(t->reduced, t->reduced_n, by_node);
	for (size_t i = 0; i < t->reduced_n; i++)
		if (!kept || t->reduced[kept - 1].node != t->reduced[i].node)
			t->reduced[kept++] = t->reduced[i];
	t->reduced_n = kept;
}

void records_find_stacks(struct trace *t)
{
	/* In a profile, the field has no meaning. */
	if (!memcmp(t->header.magic, MPROF_MAGIC_TRACE, MPROF_MAGIC_SIZE))
		find_reduced(t);
	for (size_t i = 0; i < t->misuses; i++) {
		struct trace_misuse *u = &t->misuse[i];

		u->found = trace_stack_node(t, u->process, u->image, u->m->found);
		u->allocated = trace_stack_node(t, u->process, u->image, u->m->allocated);
		u->freed = trace_stack_node(t, u->process, u->image, u->m->freed);
	}
}

void records_free(struct trace *t)
{
	for (size_t i = 0; i < t->facts; i++)
		free(t->fact[i].argv);
	for (size_t i = 0; i < t->copies; i++)
		free(t->copy[i]);
	free(t->copy);
	free(t->fact);
	free(t->sample);
	free(t->sample_flat);
	free(t->system);
	free(t->residency);
	free(t->variables);
	free(t->use);
	free(t->times);
	free(t->reach);
	free(t->misuse);
	free(t->guarded);
	free(t->peak);
	free(t->counts);
	free(t->total);
	free(t->own);
	free(t->reduced);
}

/* ---- lists for readers of the trace ---- */

#define LIST(name, type, member, count)                               \
	size_t trace_##name(const struct trace *t, const type **list) \
	{                                                             \
		*list = t->member;                                    \
		return t->count;                                      \
	}
LIST(totals, struct trace_totals, total, totals)
LIST(reduced, struct trace_reduced, reduced, reduced_n)
LIST(facts, struct trace_fact, fact, facts)
LIST(residencies, struct trace_residency, residency, residencies)
LIST(system, struct mprof_system, system, systems)
LIST(variables, struct trace_residency, variables, variables_n)
LIST(stack_uses, struct trace_stack_use, use, uses)
LIST(times, struct trace_times, times, times_n)
LIST(reaches, struct trace_reach, reach, reaches)
LIST(misuses, struct trace_misuse, misuse, misuses)
LIST(peaks, struct trace_peak, peak, peaks)

/* Returns the first sample of a process that is not below `process`. */
static size_t lower_sample(const struct trace *t, uint64_t process)
{
	return FIRST_WHERE(i, t->samples, t->sample[i].process >= process);
}

size_t trace_samples(const struct trace *t, uint32_t process, const struct mprof_sample **samples)
{
	const size_t first = lower_sample(t, process);
	const size_t n = lower_sample(t, (uint64_t)process + 1) - first;

	*samples = n ? t->sample_flat + first : NULL;
	return n;
}

bool trace_is_guarded(const struct trace *t)
{
	return t->guarded_n > 0;
}

void trace_guarded(const struct trace *t, struct mprof_guarded *sum, uint64_t *unchecked)
{
	*sum = (struct mprof_guarded){ 0 };
	*unchecked = 0;
	for (size_t i = 0; i < t->guarded_n; i++) {
		const struct mprof_guarded *g = t->guarded[i].guarded;

		sum->blocks += g->blocks;
		sum->freed += g->freed;
		sum->bare += g->bare;
		sum->strangers += g->strangers;
		sum->unwritten += g->unwritten;
		sum->guard_bytes = g->guard_bytes;
		if (!g->ended && g->blocks > g->freed)
			*unchecked += g->blocks - g->freed;
	}
	/* For a process that was killed, the errors in the file count. */
	sum->errors = t->misuses + sum->unwritten;
}

const struct mprof_counts *trace_counts(const struct trace *t, size_t i, uint32_t *process,
					uint32_t *thread)
{
	if (i >= t->counts_n)
		return NULL;
	*process = t->counts[i].process;
	*thread = t->counts[i].thread;
	return t->counts[i].counts;
}
