/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * heap.h - live blocks and their addresses: events are applied in order of time
 * to one table of live blocks per process, and each gets a note of its effect.
 *
 * Events say which block they are about (event.block, trace/block_numbers.h), so that the
 * table is an array.  Only inherited blocks, and those whose number was passed
 * on when an inversion was repaired, are found by address.
 *
 * Definitions.
 * - A block lives from the call that returned it to the call that frees it. A
 *   block passed to realloc lives until realloc has returned; while realloc runs,
 *   another thread may already own its address.
 * - A process's own blocks are those it allocated.  Blocks from before a fork
 *   are inherited: freeing them is not an error, but they are not counted.
 * - "All" figures are sums over processes of their own blocks.
 * - Exec and the end of the process end all blocks.
 *
 * Problems.  In a correct program, the event that ends a block always has an
 * earlier time than the one that reuses its address. Otherwise the window is
 * searched for the missing event of another thread, at most HEAP_INVERSION_NS
 * later. If found, it is pulled forward and counted as an inversion; of two
 * frees before an allocation, the later one is put behind it; any other event
 * is a double allocation (the older block is dropped) or an unmatched free.
 * Differences within HEAP_CLOCK_NS are not counted: a processor may read its
 * clock that much before an earlier load completes.
 *
 * Threads and processes are known here by index: dense, from 0, in the order
 * of their first event or fact.
 *
 * Ends: without memory the program (util/alloc.h).  Threads: one at a time.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "blocks.h"
#include "own_blocks.h"
#include "pages.h"
#include "space.h"
#include "window.h"

#define HEAP_INVERSION_NS 100000u
#define HEAP_CLOCK_NS	  500u
#define HEAP_PROBLEMS	  100u	     /* problems kept with details; all are counted */
#define HEAP_NUMBERS	  (1u << 22) /* greater numbers of a damaged trace share one index */

/* What is live at one time: bytes and pages. */
struct live {
	uint64_t bytes, blocks;
	uint64_t slack;	 /* usable bytes beyond the requested ones */
	uint64_t pages;	 /* touched by live blocks */
	uint64_t needed; /* pages, if the live bytes were packed: bytes / page size, upwards */
};

enum note_did {
	NOTE_BEGAN = 1,	    /* a block began: the event's addr, size, usable */
	NOTE_ENDED = 2,	    /* note.old ended and was the process's own */
	NOTE_INHERITED = 4, /* note.old ended and was inherited */
	NOTE_DROPPED = 8,   /* note.old was overwritten by a double allocation */
	NOTE_RESTORED = 16, /* realloc failed: the old block lives on */
	NOTE_HAD_OLD = 32,  /* end of a realloc of a block */
	NOTE_MAPPED = 64,   /* a call of the mmap family: note.space */
};

/* What an event did. */
struct note {
	uint32_t process, thread; /* indices */
	uint16_t did;		  /* enum note_did */
	uint16_t problem;	  /* enum heap_problem_kind + 1, or 0 */
	uint32_t ended;		  /* number of the block that ended, see event.block; 0: none */
	uint32_t taken;	  /* with NOTE_DROPPED, of the block that was overwritten; of the first half
			     of a realloc, of the block passed to it */
	struct block old; /* the block that ended */
	union {
		struct {			 /* after a block began or ended: */
			struct live own;	 /* of its process */
			const struct live *rest; /* of all others; valid until the next events */
		};
		struct space_note space; /* after a call of the mmap family */
	};
};

/* a + b - c */
static inline struct live live_sum(const struct live *a, const struct live *b, const struct live *c)
{
	return (struct live){
		.bytes = a->bytes + b->bytes - c->bytes,
		.blocks = a->blocks + b->blocks - c->blocks,
		.slack = a->slack + b->slack - c->slack,
		.pages = a->pages + b->pages - c->pages,
		.needed = a->needed + b->needed - c->needed,
	};
}

/* What is live in the whole run after a block began or ended. */
static inline struct live note_all(const struct note *n)
{
	return live_sum(&n->own, n->rest, &(const struct live){ .bytes = 0 });
}

static inline uint64_t note_all_bytes(const struct note *n)
{
	return n->own.bytes + n->rest->bytes;
}

enum heap_problem_kind {
	HEAP_DOUBLE_ALLOCATION,
	HEAP_UNMATCHED_FREE,
	HEAP_INVERSION,
	HEAP_PROBLEM_KINDS,
};

struct heap_problem {
	enum heap_problem_kind kind;
	uint64_t event; /* its number in the trace, from 1 */
	uint64_t ticks, addr;
	uint32_t process, thread; /* numbers of the run */
};

enum heap_state { HEAP_RUNNING, HEAP_ENDED };

struct heap_process {
	uint32_t number; /* in the run */
	uint32_t parent; /* index + 1 of the process it was forked from, 0: none */
	enum heap_state state;
	uint64_t fork_ticks, start_ticks; /* of a forked one */
	struct own_blocks own;		  /* by event.block */
	struct blocks others;		  /* by address: inherited, or without a number */
	struct blocks forked;		  /* of its parent, allocated while it forked */
	bool forked_known;
	struct pages pages; /* of own blocks */
	struct space space;
	struct live live;
	uint64_t most_bytes, most_blocks; /* live after any event so far */
	uint64_t left_bytes; /* of blocks that it allocated and that were live when it ended */
	uint64_t late;	     /* events after its end: ignored */
	uint64_t inversions; /* inversions repaired among its events since it began */
};

struct heap_thread {
	uint32_t number;
	uint32_t process;    /* index */
	bool pending;	     /* between the halves of a realloc */
	bool pending_old;    /* the known block passed to it: `old` */
	uint32_t number_old; /* its number; 0: none */
	struct block old;
};

struct heap_numbers {
	uint32_t *index; /* by number: index + 1, 0 unknown */
	size_t room;
};

struct heap {
	struct heap_process **process;
	struct heap_thread *thread;
	size_t processes, threads, process_room, thread_room;
	size_t reallocs; /* threads between the halves of one */
	struct heap_numbers process_index, thread_index;
	struct live all;
	uint64_t most_bytes, most_blocks; /* of `all` after any event so far */
	/* Results of the events that were applied last: */
	struct space_changes changes; /* note.space says which */
	struct live rest[WINDOW_BATCH];
	uint16_t end[WINDOW_BATCH]; /* those with NOTE_ENDED or NOTE_DROPPED, by place */
	size_t rests, ends;
	bool grew; /* `all` or a process had more bytes or blocks than ever before */
	uint64_t inversion_ticks;
	uint64_t clock_ticks; /* HEAP_CLOCK_NS */
	uint64_t number;      /* of the last event applied */
	uint64_t crossed;     /* of the last one that changed places with one of a later batch */
	uint64_t problems[HEAP_PROBLEM_KINDS];
	struct heap_problem problem[HEAP_PROBLEMS];
	size_t kept;
	bool from_the_middle; /* the trace has no earlier events: a free of an unknown block
				 is of an older one, and no problem */
	uint64_t older_frees; /* of these */
	uint32_t page_size;
	bool count_pages;
	bool no_runs; /* for tests: decide each event separately; the result is the same */
};

/* inversion_ticks: HEAP_INVERSION_NS in ticks.  count_pages: fill live.pages. */
void heap_init(struct heap *h, uint32_t page_size, uint64_t inversion_ticks, bool count_pages);
void heap_release(struct heap *h);

/* Indices, assigned when first requested. */
uint32_t heap_process(struct heap *h, uint32_t number);
uint32_t heap_thread(struct heap *h, uint32_t number, uint32_t process);

/*
 * Applies the events [first, first + n) of the window and fills note[0..n).
 * True if all of them are simple: calls that began or ended at most one block,
 * without realloc, ends of reallocated blocks, and the mmap family.
 */
bool heap_apply(struct heap *h, struct window *w, size_t first, size_t n, struct note *note);

/* The child begins with the parent's blocks, inherited. */
void heap_fork(struct heap *h, uint32_t parent, uint32_t child, uint64_t fork_ticks,
	       uint64_t start_ticks);
/* Before heap_clear: restores blocks passed to a realloc that never returned. */
void heap_settle(struct heap *h, uint32_t process);
/* Its blocks are gone: exec, or, with ended, the end of the process. */
void heap_clear(struct heap *h, uint32_t process, bool ended);

/* A round through the blocks of a process; zeroed at first, apart from `least`. */
struct heap_round {
	uint32_t number; /* of the block, see event.block; 0: it is found by its address */
	uint32_t least;	 /* leaves out own blocks of fewer bytes */
	struct block own;
	const struct block *other;
};

/* Returns the next block, own ones first, valid until the next call; NULL ends the round, and
 * another may begin. */
const struct block *heap_next_block(const struct heap_process *p, struct heap_round *r);

/* A round through all blocks of a process that count: those of heap_next_block(), then those that
 * a realloc has.  Zeroed at first. */
struct heap_live_round {
	struct heap_round round;
	size_t thread; /* the next whose realloc may have one; 0: not there yet */
};

/* Begins a round without the process's own blocks: only inherited ones, and any that a realloc has.
 */
static inline struct heap_live_round heap_without_own(const struct heap_process *p)
{
	return (struct heap_live_round){ .round.number = p->own.n };
}

/* Returns the next block, valid until the next call; NULL at the end. */
static inline const struct block *heap_next_live(const struct heap *h, uint32_t process,
						 struct heap_live_round *r)
{
	const struct block *b = r->thread ? NULL : heap_next_block(h->process[process], &r->round);

	while (!b && h->reallocs && r->thread < h->threads) {
		const struct heap_thread *t = &h->thread[r->thread++];

		if (t->process == process && t->pending && t->pending_old)
			b = &t->old;
	}
	return b;
}

/* Does the function take an alignment, or imply one? */
static inline bool heap_aligns(unsigned fn)
{
	return fn == MPROF_FN_MEMALIGN || fn == MPROF_FN_POSIX_MEMALIGN ||
	       fn == MPROF_FN_ALIGNED_ALLOC || fn == MPROF_FN_VALLOC || fn == MPROF_FN_PVALLOC;
}

/*
 * Did realloc move this block without a copy?  glibc gives a large block a mapping of
 * its own, with 16 bytes of it in front of the block and from 2.43 on 8 behind, and moves
 * one such block to another by moving its pages (mremap).  Other blocks of glibc's begin
 * and end so by chance only, one of 65,536.
 */
static inline bool heap_is_own_mapping(uint64_t addr, uint64_t usable, uint64_t page_size)
{
	const uint64_t last = (usable + 16) & (page_size - 1);

	return (addr & (page_size - 1)) == 16 && (!last || last == page_size - 8);
}

static inline bool heap_moved_pages(const struct block *old, const struct event *e,
				    uint64_t page_size)
{
	return old->addr != e->addr && old->slack != UINT32_MAX &&
	       heap_is_own_mapping(old->addr, old->size + old->slack, page_size) &&
	       heap_is_own_mapping(e->addr, e->usable, page_size);
}

/* Upper bound of the bytes that this end of a realloc copied. */
static inline uint64_t heap_copied(const struct block *old, const struct event *e,
				   uint64_t page_size)
{
	if (old->addr == e->addr || heap_moved_pages(old, e, page_size))
		return 0;
	return e->size < old->size ? e->size : old->size;
}
