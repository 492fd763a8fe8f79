/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * unwind.h - what the files of call stacks know of each other.
 *
 *   unwind.c  a thread's stack, from its previous one and rules
 *   stack_cache.c  the memory of that previous one, and which mapping it is on
 *   rules.c   code address -> rule, one word each; misses compile
 *   eh.c      a rule from call frame information, which cfi_records.c finds and cfi.c reads
 *   full.c    a walk with all registers, for what rules cannot say
 *   loaded.c  which objects are where: recorded before a stack names them
 *   stacks.c  a number for each different stack, and its definition
 *   areas.c   which mapping an address lies in
 *
 * No lock on the frequent paths: rules, numbers, and definitions of new
 * stacks.  mp_local->stacks_lock, held with all signals blocked (a handler that jumps
 * out must not leave it held), for objects and for a table that grows; stream_lock
 * likewise, maybe under the other one, for the next slot of records.  Neither is held
 * while calling the loader.
 */
#ifndef MP_UNWIND_H
#define MP_UNWIND_H

#include "eh.h"
#include "stacks.h"

/* ---- areas.c ---- */

struct area {
	uintptr_t low, high; /* [low, high) */
	unsigned flags;	     /* 4 readable, 2 writable, 1 executable */
};
/* The mapping that holds addr.  0 or -errno (-ENOENT: none). */
int mp_area(uintptr_t addr, struct area *out);
#define AREA_READABLE 4u
/* How many bytes of a range are mapped.  0 or -errno. */
int mp_areas_within(uintptr_t at, size_t bytes, uint64_t *mapped);

/*
 * [hot] Do `bytes` at an aligned `at` lie in [low, high)?  `at` is any value that a
 * register or a word on the stack has: a sum with it may wrap, so there is none here.
 */
MPROF_HOT int area_holds(uintptr_t low, uintptr_t high, uintptr_t at, uintptr_t bytes)
{
	return at >= low && at <= high && high - at >= bytes && !(at & 7);
}

/* ---- rules.c ---- */

/*
 * A rule in 17 bits: escape 16 | base 15 | fp 11..14 | CFA / 8 0..10.  fp: 0 unchanged,
 * else saved RULE_FP_UNIT * fp below the CFA.  With escape: index of a struct eh_rule.
 */
#define RULE_ESCAPE  (1u << 16)
#define RULE_FP_BASE (1u << 15)
#define RULE_CODE(base, fp, cfa) \
	((unsigned)(base) << 15 | (unsigned)(fp) << 11 | (unsigned)(cfa) / 8)

/*
 * pc << 17 | code; 0: empty.  Kept small, because what a walk costs is the cache
 * lines it touches: a word is looked for in the line of its hash and in the next one,
 * and the table doubles when five eighths are full.
 */
struct rule_table {
	uint32_t mask;	/* words - 1 */
	uint32_t shift; /* of the hash */
	uint32_t used, pad[13];
	uint64_t word[]; /* from the beginning of a cache line on */
};
#define RULE_LINE   8u /* words of a cache line */
#define RULE_PROBES (2 * RULE_LINE)
/* The n-th place for a word, where at is its first one. */
#define RULE_PLACE(at, n, t) \
	((((at) & -RULE_LINE) + ((n)&RULE_LINE)) & (t)->mask) + (((at) + (n)) & (RULE_LINE - 1))

extern struct rule_table *mp_rules; /* set before the first capture */
extern uint32_t mp_rules_generation;

int mp_rules_start(void);
/* Compiles and keeps the rule for pc. */
uint32_t mp_rules_miss(uintptr_t pc);
const struct eh_rule *mp_rules_escaped(uint32_t code);
/* Code went away: every rule is looked up anew.  Adds RULES_FORGET to the generation. */
void mp_rules_forget(void);
#define RULES_FORGET 2u
/* Stores a word where other threads look, unless rules were forgotten since `generation`. */
void mp_rules_keep(uint64_t *place, uint64_t word, uint32_t generation);

#define RULE_HASH(pc, t) ((uint32_t)((pc)*0x9e3779b97f4a7c15ull >> (t)->shift))

/*
 * A thread caches the rules that it used last, each in the one place
 * that its hash gives it: the table of all is too large for the first caches.  Until it
 * has met many it shares these, whose words are whole as those of the table are.
 */
#define RULES_NEAR_LOG2	 11u /* 16 KiB */
#define RULES_NEAR	 (1u << RULES_NEAR_LOG2)
#define RULES_NEAR_AFTER 1024u /* of which there was no copy: a thread gets its own */
#define RULE_NEAR(pc)	 ((pc)*0x9e3779b97f4a7c15ull >> (64 - RULES_NEAR_LOG2))
extern uint64_t mp_rules_shared[RULES_NEAR];

/* [hot] The rule for the instruction at pc: about 2 ns when it is known. */
MPROF_HOT uint32_t mp_rule(uintptr_t pc)
{
	/* Pairs with the release in rules.c: a table is filled before it is published. */
	const struct rule_table *t = __atomic_load_n(&mp_rules, __ATOMIC_ACQUIRE);
	uint32_t at = RULE_HASH(pc, t);

	for (uint32_t n = 0; n < RULE_PROBES; n++) {
		/* Words are whole: no order with anything else is needed. */
		uint64_t word = __atomic_load_n(&t->word[RULE_PLACE(at, n, t)], __ATOMIC_RELAXED);

		if (mprof_likely(word >> 17 == pc))
			return (uint32_t)word & 0x1ffff;
		if (!word)
			break;
	}
	return mp_rules_miss(pc);
}

extern struct eh_object mp_own; /* this library */

/* ---- stack_cache.c ---- */

struct stack_cache;
/* t's cache where it does not fit: new, on another stack, or made by old rules.  NULL: none. */
struct stack_cache *mp_cache_prepare(struct mprof_thread *t, uintptr_t sp);
/* c is on the mapping of sp from now on.  0: nobody knows it. */
int mp_cache_area(struct stack_cache *c, uintptr_t sp);
void mp_cache_start(void); /* on the main stack */
/* Doubles the arrays.  0 if memory ran out. */
int mp_cache_grow(struct stack_cache *c);
/* So many frames were checked; see STACK_PATIENCE. */
void mp_cache_spend(struct stack_cache *c, uint64_t frames);
/* What is kept and what is fresh are too many frames: drops outer ones.  How many are kept. */
uint32_t mp_cache_cut(struct stack_cache *c, uint32_t kept);

/* ---- unwind.c: for an unwinder that finds all frames itself, innermost first ---- */

struct stack_cache *mp_fresh_begin(struct mprof_thread *t, uintptr_t sp);
/* pc as in struct stack_frame.  0 if the array is full. */
int mp_fresh_add(struct stack_cache *c, uintptr_t pc);
uint32_t mp_fresh_id(struct stack_cache *c);

/* ---- full.c ---- */

/* As mp_capture, from scratch and with all registers. */
uint32_t mp_capture_full(struct mprof_thread *t, uintptr_t pc, uintptr_t sp);
/*
 * Out of a frame on `stack` that a signal interrupted, whose handler's frame has its sp
 * at `at`, below high: out is the caller's return address, sp and fp.  1; 0: there is
 * none; -1: nobody knows.
 */
int mp_full_interrupted(const struct area *stack, uintptr_t at, uintptr_t high, uintptr_t out[3]);

/* ---- loaded.c ---- */

/*
 * An address of o was met: record it unless it is known.  *others: other code was there
 * before, whose rules and numbers the caller has to forget.  0 or -errno.
 */
int mp_loaded_seen(const struct eh_object *o, int *others);
/* Addresses of the variables of the i-th object that was met, none if it is gone.  0: no more. */
int mp_loaded_data(uint32_t i, uintptr_t *start, uintptr_t *end);
/* All that is loaded, into a stream that begins.  stacks_lock held.  0 or -errno. */
int mp_loaded_again(void);

/* ---- stacks.c ---- */

/*
 * Checking costs by depth.  A thread that allocates again and again beneath more
 * frames than STACK_DEEP has spent STACK_PATIENCE on it after a moment.  From then
 * on its cache loses all but the innermost half of so many frames whenever it has
 * more, and its stacks are marked as truncated.
 */
#define STACK_FRAMES_MAX 262143u
#define STACK_DEEP	 8192u
#define STACK_ROOM	 (STACK_DEEP * 3 / 2) /* then: those, and as many fresh ones as stay */
#define STACK_PATIENCE	 (1u << 27)	      /* frames checked; a walked one counts as 16 */

struct stack_frame {
	uintptr_t sp; /* after the return to pc: the CFA of what it called */
	uintptr_t pc; /* return address; MPROF_FRAME_EXACT: it ran itself */
#if !defined(__x86_64__)
	uintptr_t at; /* where the return address is saved */
#endif
};

struct stack_meta {
	uint64_t hash;	/* of the frames up to this one */
	uintptr_t fp;	/* frame pointer in this frame; right if `needs` */
	uint32_t owner; /* a stack that has all frames up to this one */
	uint32_t needs; /* walking outward from here depends on fp */
};

/* A word on the stack that frame `frame` was found by, beside its return address. */
struct stack_slot {
	uintptr_t at, value;
	uint32_t frame;
};

/* A frame just walked.  Innermost first. */
struct stack_fresh {
	uintptr_t sp, pc, fp;
	uintptr_t fp_slot;    /* the next outer frame's fp came from here; 0: unchanged */
	uintptr_t deref_slot; /* its sp came from here, if FRESH_DEREF */
	uint64_t how;	      /* FRESH_... */
#if !defined(__x86_64__)
	uintptr_t at; /* where pc was saved */
#endif
};
#define FRESH_USES  1u /* its rule starts from fp */
#define FRESH_DEREF 2u

#define STACK_AREAS 16u

/*
 * From a handler's frame to what it interrupted is the one step that may lead inward: a
 * stack with more of them than this goes in a circle.
 */
#define STACK_SIGNALS_MAX 64u

#define STACK_MOVING	   2u
#define compiler_barrier() __asm__ volatile("" ::: "memory")

/* A thread's last stack, outermost frame first.  Mapped apart; the thread's only. */
struct stack_cache {
	uint32_t generation; /* of rules; another thread's munmap makes it wrong */
	uint32_t n, slots, fresh_n, room;
	uint32_t id;	  /* of the stack in here, 0 not known */
	uint32_t flags;	  /* MPROF_STACK_...: outer frames are missing */
	uint32_t broken;  /* it leads through a signal handler: frames up to there */
	uint32_t complex; /* it leads through a frame that a rule cannot say */
	uint32_t signals; /* frames of handlers in it */
	uint32_t budget;
	uint32_t listens; /* among mp_local->listening */
	uint32_t cut;	  /* outer frames are missing: it was too deep */
	uint32_t dirty;	  /* being changed; STACK_MOVING: the arrays are */
	uint32_t areas, next_area;
	uint32_t blind, blind_left; /* see cache_find_area() */
	uint32_t deeper;	    /* sp is lower than ever on the thread's own stack */
	struct area area;	    /* that the stack lies in; of its own, no lower than sp was */
	struct area home;	    /* its own stack as it is mapped */
	struct stack_frame *frame;
	struct stack_meta *meta;
	struct stack_slot *slot; /* ascending by frame; room for 2 * room */
	struct stack_fresh *fresh;
	struct stack_cache *next;      /* of those that listen */
	uint64_t *near;		       /* rules met last; mp_rules_shared, or its own */
	uint32_t far;		       /* that were not among those, up to RULES_NEAR_AFTER */
	uint32_t found;		       /* where the last stack's number is in the table */
	struct cfi_machine *machine;   /* for rules; NULL: none was needed yet */
	struct area code;	       /* executable: where a rule was last guessed */
	struct area seen[STACK_AREAS]; /* where this thread has been before */
};

extern uint64_t mp_stacks_seed; /* hash of no frames */

/* [hot] Of a frame and all that are outside of it. */
MPROF_HOT uint64_t mp_stack_hash(uint64_t outer, uintptr_t pc)
{
	unsigned __int128 wide = (unsigned __int128)(outer ^ pc) * 0x9e3779b97f4a7c15ull;

	return (uint64_t)wide ^ (uint64_t)(wide >> 64);
}

/* The number of the stack in c, of which `kept` frames were there before. */
uint32_t mp_stacks_id(struct stack_cache *c, uint32_t kept);
/*
 * Where a signal comes is anywhere, so that nearly every stack through a handler is a
 * new one.  1: this process has had so many that they end at the handler from now on.
 */
int mp_stacks_signals(void);
/* There is none, and that is counted. */
uint32_t mp_stacks_none(void);
/* Before the first record of a process: a forked child's begins with what is loaded. */
int mp_stacks_begin(void);
/* Puts a record of words into the process's stream.  0 or -errno. */
int mp_stacks_record(const uint64_t *words, uint32_t n);
void mp_stacks_lock(uint64_t *signals);
void mp_stacks_unlock(const uint64_t *signals);
/* Stacks with the same addresses as before are other ones from now on. */
void mp_stacks_changed(void);

#endif
