/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * sites_count.h - adds the beginning and the end of a block to the figures of its call stack:
 * inlined into the loops of sites.c, and of analysis.c, which knows at compile time that sites are
 * counted as usual.  Only sites_state.c includes it as well.
 */
#pragma once

#include "../heap/event_run.h"
#include "rss.h"
#include "site_accumulators.h"
#include "site_rows.h"
#include "sites.h"

struct work {
	struct site_accumulators accumulators;
	bool plain;	    /* every block passes the filter, ignoring lifetimes */
	bool all_lifetimes; /* and every lifetime passes, too */
	bool usual;	    /* both, sites are whole stacks, and no other options are set */
	uint64_t peak_number;
	uint64_t peak_event;	    /* number of the peak's event in the trace */
	uint64_t epoch, epoch_ends; /* the current epoch, and its end in ticks */
	uint64_t epoch_share;	    /* of an epoch that a tick is, times 2^64, rounded down */
	uint64_t look_back;	    /* calls within which a block is temporary */
	struct array recent;	    /* by thread: struct recent, each with look_back addresses */
	struct rss_moment rss;	    /* the time in which the greatest RSS is searched */
	uint64_t rss_number, rss_event; /* of the moments in that time; 0 = its beginning */
	uint64_t rss_live, rss_most;	/* live bytes now; with mapped ones, at the latest moment */
	uint64_t rss_later;		/* the most after that time */
	uint64_t rss_near; /* while it still grows: the kernel's mark may be the same up to here */
	uint64_t rss_mapped, rss_break; /* bytes mapped now; bytes by which the break was moved */
	struct site_rows rows;		/* the result, when all events were counted */
	struct array groups;		/* uint32_t by stack: see sites_end_get() */
	uint8_t *saved;			/* where they are, if another walk left them */
	bool has_rows;
};

/* Blocks that a thread's last calls returned, 0 if none: a ring. */
struct recent {
	uint64_t next; /* place for the next one */
	uint64_t addr[];
};

/* LEFT: never freed either, but its process ended before the last epoch. */
enum ending { FREED, GONE_WITH_EXEC, LEFT, NEVER_FREED };

struct end {
	const struct block *block;
	uint32_t process, number; /* of its process: index, number in the run */
	uint64_t ticks;
	enum ending how;
	uint64_t ns;		    /* its lifetime; UINT64_MAX if it was not freed */
	bool foreign;		    /* another thread freed it */
	bool resized;		    /* by a realloc, so it is not temporary */
	bool temporary;		    /* freed soon enough, if its own thread did it */
	bool of_no_peak, of_no_rss; /* known not to have been live at those times */
};

/* Passes the end by value, so that struct end stays in registers. */
void sites_add_epochs(const struct sites *s, struct accumulator *accumulator, uint64_t began,
		      uint64_t bytes, enum ending how);
void sites_add_remains(struct work *k, struct accumulator *accumulator, const struct block *b,
		       enum ending how);
uint64_t sites_part(const struct sites *s, const struct block *b);
struct recent *sites_recent(struct sites *s, uint32_t thread);
/* When all events were counted: makes rows of accumulators, and local peaks of groups, once. */
void sites_make_rows(struct sites *s);
void sites_make_local(struct sites *s);
void sites_resized(struct sites *s, struct accumulator *a, const struct event *e,
		   const struct block *old);
void sites_next_epoch(const struct sites *s, uint64_t ticks);
void sites_rss_moment(struct sites *s, uint64_t ticks, uint64_t number, bool within);
void sites_rss_later(struct sites *s, uint64_t ticks, uint64_t number, uint64_t now);

/* ---- which blocks count; usual: it is known that struct work.usual is set ---- */

ALWAYS_INLINE bool passes(const struct sites *s, const struct block *b, uint32_t process,
			  bool usual)
{
	const struct work *k = s->work;

	return usual || k->plain || site_filter_passes(&s->options.filter, s->walk, b, process);
}

ALWAYS_INLINE struct accumulator *accumulator_of(struct sites *s, const struct block *b, bool usual)
{
	struct work *k = s->work;
	const bool whole = usual || __builtin_expect(s->options.part == SITE_WHOLE, 1);

	return whole ? site_accumulator_whole(&k->accumulators, b->stack)
		     : site_accumulator_by_part(&k->accumulators, b->stack, sites_part(s, b));
}

/* ---- a block ends ---- */

ALWAYS_INLINE bool lived_at_rss(const struct sites *s, const struct end *e)
{
	const struct work *k = s->work;

	if (e->number != s->rss.process)
		return false;
	if (k->rss_number) /* that time is over, so blocks that end only now were live then */
		return block_began_by(e->block, s->rss.ticks, k->rss_event);
	return e->block->start <= s->rss.ticks && e->ticks > s->rss.ticks;
}

ALWAYS_INLINE void add_peak(const struct sites *s, struct accumulator *accumulator,
			    const struct block *b)
{
	const struct work *k = s->work;

	if (!k->peak_number || !block_began_by(b, s->peak.ticks, k->peak_event))
		return;
	if (accumulator->peak_number != k->peak_number) {
		accumulator->peak_number = k->peak_number;
		accumulator->peak_calls = accumulator->peak_bytes = accumulator->peak_slack = 0;
	}
	accumulator->peak_calls++;
	accumulator->peak_bytes += b->size;
	accumulator->peak_slack += b->slack;
}

static inline void add_rss(struct work *k, struct accumulator *accumulator, const struct block *b)
{
	struct accumulator_rare *rare = site_accumulator_rare(&k->accumulators, accumulator);

	if (rare->rss_number != k->rss_number) {
		rare->rss_number = k->rss_number;
		rare->rss_calls = rare->rss_bytes = 0;
	}
	rare->rss_calls++;
	rare->rss_bytes += b->size;
}

ALWAYS_INLINE void add_block(struct accumulator *accumulator, const struct block *b)
{
	accumulator->calls++;
	accumulator->bytes += b->size;
	accumulator->slack += b->slack;
	if (b->size < accumulator->size_min)
		accumulator->size_min = b->size;
	if (b->size > accumulator->size_max)
		accumulator->size_max = b->size;
}

ALWAYS_INLINE void add_free(const struct sites *s, struct accumulator *accumulator,
			    const struct end *e, bool usual)
{
	const uint64_t ns = e->ns;

	accumulator->lifetime_ns += ns;
	if (ns < accumulator->lifetime_min_ns)
		accumulator->lifetime_min_ns = ns;
	if (ns > accumulator->lifetime_max_ns)
		accumulator->lifetime_max_ns = ns;
	if (e->foreign) {
		accumulator->foreign_frees++;
	} else if (e->temporary || (!usual && !e->resized && ns < s->options.temporary_ns)) {
		accumulator->temporary_calls++;
		accumulator->temporary_bytes += e->block->size;
	}
}

ALWAYS_INLINE void block_ends(struct sites *s, const struct end *e, bool usual)
{
	const struct site_filter *f = &s->options.filter;
	const struct block *b = e->block;
	struct work *k = s->work;
	struct accumulator *accumulator;
	const bool at_rss = !e->of_no_rss && lived_at_rss(s, e);

	if (at_rss) {
		s->rss.calls++;
		s->rss.bytes += b->size;
	}
	if (!passes(s, b, e->process, usual))
		return;
	accumulator = accumulator_of(s, b, usual);
	site_accumulator_live(&k->accumulators, accumulator, -1, b->size);
	if (!usual && !k->all_lifetimes &&
	    (e->ns < f->lifetime_min_ns || e->ns > f->lifetime_max_ns))
		return;
	add_block(accumulator, b);
	if (!e->of_no_peak)
		add_peak(s, accumulator, b);
	if (at_rss)
		add_rss(k, accumulator, b);
	if (e->how == FREED)
		add_free(s, accumulator, e, usual);
	else
		sites_add_remains(k, accumulator, BLOCK_APART(b), e->how);
	if (e->how == NEVER_FREED || b->start < s->epoch_ticks[k->epoch])
		sites_add_epochs(s, accumulator, b->start, b->size, e->how);
}

/* ---- one event ---- */

/* Did one of the last calls of its thread return the block?  Times cannot decide, because
 * several calls may have the same one. */
static inline bool is_recent(const struct work *k, const struct recent *r, const struct block *b)
{
	uint64_t i;

	for (i = 0; i < k->look_back; i++)
		if (r->addr[i] == b->addr)
			return true;
	return false;
}

static inline void note_call(const struct work *k, struct recent *r, uint64_t addr)
{
	r->addr[r->next] = addr;
	if (k->look_back > 1)
		r->next = r->next + 1 < k->look_back ? r->next + 1 : 0;
}

ALWAYS_INLINE void block_begins(struct sites *s, const struct event *e, uint32_t process,
				uint32_t thread, const struct block *resized, bool usual)
{
	const struct block b = {
		.size = e->size,
		.start = e->ticks,
		.owner = thread & BLOCK_THREAD,
		.stack = e->stack,
		.fn = e->fn,
	};
	struct work *k = s->work;
	struct accumulator *accumulator;

	if (!passes(s, &b, process, usual))
		return;
	accumulator = accumulator_of(s, &b, usual);
	site_accumulator_live(&k->accumulators, accumulator, 1, e->size);
	site_accumulator_called(accumulator, e->ticks);
	if (resized)
		sites_resized(s, accumulator, e, resized);
}

static inline void note_rss(struct sites *s, uint64_t ticks, uint64_t number)
{
	struct work *k = s->work;
	const uint64_t now = k->rss_live + k->rss_mapped + k->rss_break;
	const bool within = ticks > k->rss.from_ticks;

	if (ticks > k->rss.to_ticks)
		sites_rss_later(s, ticks, number, now);
	else if (!within || now >= k->rss_most)
		sites_rss_moment(s, ticks, number, within);
	else
		k->rss_near = 0;
}

/* own: the live blocks of the event's process; all: of the run. */
static inline void note_peak(struct sites *s, const struct event *e, const struct live *own,
			     const struct live *all, uint64_t number)
{
	const uint32_t process = s->options.filter.process;
	const struct live *now = process ? own : all;
	struct work *k = s->work;

	if (now->bytes <= s->peak.bytes || s->options.until.set ||
	    (process && process != e->process))
		return;
	k->peak_number++;
	s->peak.bytes = now->bytes;
	s->peak.calls = now->blocks;
	s->peak.ticks = e->ticks;
	k->peak_event = number;
}

#define SITES_AHEAD 6u /* in events */
