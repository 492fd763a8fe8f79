/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * stack_parts.h - the interface between the files of call stacks.
 *
 *   unwind.c       a thread's stack, from its previous one and rules
 *   stack_cache.c  the memory of that previous one, and which mapping it is on
 *   rules.c        code address -> rule, one word each; misses compile
 *   eh.c           a rule from call frame information, which cfi_records.c finds and cfi.c reads
 *   eh_object.c    which object an address belongs to
 *   full.c         unwinding with all registers, where rules do not suffice
 *   loaded.c       which objects are mapped where: recorded before a stack refers to them
 *   stacks.c       a number for each distinct stack, and its definition
 *   areas.c        which mapping an address lies in
 *   scripts.c      which line of a script a stub's frame stands for
 *   python.c       which calls of scripts a frame of an interpreter evaluates
 *
 * The frequent paths take no lock: rules, numbers, and definitions of new stacks.
 * mp_local->stacks_lock, held with all signals blocked (a handler that jumps out must not leave it
 * held), protects objects and the growth of a table; stream_lock, likewise, possibly nested in the
 * other one, the next slot of records.  Neither is held while calling the loader.
 */
#pragma once

#include "eh.h"
#include "stacks.h"

/* ---- areas.c ---- */

struct area {
	uintptr_t low, high; /* [low, high) */
	unsigned flags;	     /* 4 readable, 2 writable, 1 executable */
};
/* Finds the mapping that contains addr.  0 or -errno (-ENOENT if none does). */
int mp_area(uintptr_t addr, struct area *out);
/* Stores the path of the file that is mapped there.  0, or -ENOENT. */
int mp_area_path(uintptr_t addr, char *path, size_t size);
#define AREA_READABLE 4u
/* Counts how many bytes of a range are mapped.  0 or -errno. */
int mp_areas_within(uintptr_t at, size_t bytes, uint64_t *mapped);

/*
 * [hot] Do `bytes` at an aligned `at` lie in [low, high)?  `at` is any value of a register or a
 * word on the stack: adding to it could overflow, so the code only subtracts.
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
 * pc << 17 | code; 0 = empty.  Kept small, because the cost of a walk is the cache lines that it
 * touches: a word is in the line of its hash or in the next one, and the table doubles when five
 * eighths are full.
 */
struct rule_table {
	uint32_t mask;	/* words - 1 */
	uint32_t shift; /* of the hash */
	uint32_t used, pad[13];
	uint64_t word[]; /* begins at a cache line */
};
#define RULE_LINE   8u /* words of a cache line */
#define RULE_PROBES (2 * RULE_LINE)
/* The n-th place for a word whose first place is `at`. */
#define RULE_PLACE(at, n, t) \
	((((at) & -RULE_LINE) + ((n)&RULE_LINE)) & (t)->mask) + (((at) + (n)) & (RULE_LINE - 1))

extern struct rule_table *mp_rules; /* set before the first capture */
extern uint32_t mp_rules_generation;

int mp_rules_start(void);
/* Compiles and stores the rule for pc. */
uint32_t mp_rules_miss(uintptr_t pc);
const struct eh_rule *mp_rules_escaped(uint32_t code);
/* Reads the rule for pc from the unwind information of its object.  Errors as of eh_find(). */
int mp_rules_find(const struct eh_object *o, uintptr_t pc, struct eh_rule *rule);
#define RULES_FORGET 2u /* mp_rules_forget() adds it to the generation */
/* Stores a word for all threads, unless rules were discarded since `generation`. */
void mp_rules_keep(uint64_t *place, uint64_t word, uint32_t generation);

#define RULE_HASH(pc, t) ((uint32_t)((pc)*0x9e3779b97f4a7c15ull >> (t)->shift))

/*
 * A thread caches the rules that it used last, each in the one place that its hash selects: the
 * global table exceeds the first-level caches.  Until it has missed often, it shares these, whose
 * words are stored atomically as in the table.
 */
#define RULES_NEAR_LOG2	 11u /* 16 KiB */
#define RULES_NEAR	 (1u << RULES_NEAR_LOG2)
#define RULES_NEAR_AFTER 1024u /* after this many misses a thread gets its own cache */
/* Hashes the return address: that is known one step before pc, and the next frame waits for it. */
#define RULE_NEAR(pc) (((pc) + 1) * 0x9e3779b97f4a7c15ull >> (64 - RULES_NEAR_LOG2))
extern uint64_t mp_rules_shared[RULES_NEAR];

/* [hot] Returns the rule for the instruction at pc: about 2 ns if it is known. */
MPROF_HOT uint32_t mp_rule(uintptr_t pc)
{
	/* Pairs with the release in rules.c: a table is filled before it is published. */
	const struct rule_table *t = __atomic_load_n(&mp_rules, __ATOMIC_ACQUIRE);
	uint32_t at = RULE_HASH(pc, t);

	for (uint32_t n = 0; n < RULE_PROBES; n++) {
		/* Words are atomic; no order with other accesses is needed. */
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
/* Returns t's cache when it does not fit: new, on another stack, or with old rules.  NULL
 * without memory. */
struct stack_cache *mp_cache_prepare(struct mprof_thread *t, uintptr_t sp);
/* Moves c to the mapping that sp lies in.  Returns 0 if it is unknown. */
int mp_cache_area(struct stack_cache *c, uintptr_t sp);
void mp_cache_start(void); /* called on the main stack */
/* Doubles the arrays.  Returns 0 without memory. */
int mp_cache_grow(struct stack_cache *c);
/* Counts checked frames; see STACK_BUDGET. */
void mp_cache_spend(struct stack_cache *c, uint64_t frames);
/* Kept and new frames exceed the limit: drops outer ones.  Returns how many are kept. */
uint32_t mp_cache_cut(struct stack_cache *c, uint32_t kept);

/* ---- scripts.c ---- */

extern const struct eh_rule mp_script_rule;
int mp_script_is_stub(uintptr_t pc);
/* Returns the address, in [sp, high), at which a stub's frame keeps the data of its call; 0 if the
 * frame is not a stub's. */
uintptr_t mp_script_data(uintptr_t sp, uintptr_t fp, uintptr_t high);
/* Returns the address that stands for the line, and in *instruction where the data of the call has
 * the instruction (0 without data). */
uintptr_t mp_script_line(uintptr_t pc, uintptr_t data, uintptr_t *instruction);

/* ---- unwind.c: for an unwinder that finds all frames itself, innermost first ---- */

struct stack_cache *mp_fresh_begin(struct mprof_thread *t, uintptr_t sp);
/* Adds a frame; as in struct stack_frame.  Returns 0 if the array is full. */
int mp_fresh_add(struct stack_cache *c, uintptr_t pc, uintptr_t sp);
uint32_t mp_fresh_id(struct stack_cache *c);

/* ---- full.c ---- */

/* Like mp_capture, but from scratch and with all registers. */
uint32_t mp_capture_full(struct mprof_thread *t, uintptr_t pc, uintptr_t sp);
/*
 * Leaves a frame on `stack` that a signal interrupted; the frame of its handler has its sp at `at`,
 * below high.  Sets *out to the caller's return address, sp and fp. Returns 1, 0 after the
 * outermost frame, or -1 if unknown.
 */
int mp_full_interrupted(const struct area *stack, uintptr_t at, uintptr_t high, uintptr_t out[3]);

/* ---- loaded.c ---- */

/*
 * Call this when an address of o was met: records o unless it is known.  Sets *others if another
 * object was there before, whose rules and numbers the caller has to discard.  0 or -errno.
 */
int mp_loaded_seen(const struct eh_object *o, int *others);
/* Finds the addresses of the variables of the i-th recorded object, an empty range if it was
 * unloaded.  Returns 0 after the last object. */
int mp_loaded_data(uint32_t i, uintptr_t *start, uintptr_t *end);
/* Records all loaded objects in a new stream.  The caller holds stacks_lock.  0 or -errno. */
int mp_loaded_again(void);

/* ---- stacks.c ---- */

/*
 * Checking costs time in proportion to the depth.  A thread that keeps allocating below more than
 * STACK_DEEP frames soon exhausts STACK_BUDGET.  From then on its cache drops all but the
 * innermost half of STACK_DEEP frames whenever it has more, and its stacks are marked as truncated.
 */
#define STACK_FRAMES_MAX 262143u
#define STACK_DEEP	 8192u
#define STACK_ROOM	 (STACK_DEEP * 3 / 2) /* kept frames then, and space for new ones */
#define STACK_BUDGET	 (1u << 27)	      /* frames checked; a walked one counts as 16 */

struct stack_frame {
	uintptr_t sp; /* after the return to pc: the CFA of the function that it called */
	uintptr_t pc; /* return address; MPROF_FRAME_EXACT: an interrupted instruction */
#if !defined(__x86_64__)
	uintptr_t at; /* where the return address is saved */
#endif
};

struct stack_meta {
	uint64_t hash;	/* hash of the frames up to this one */
	uintptr_t fp;	/* frame pointer in this frame; valid if `needs` */
	uint64_t needs; /* NEEDS_... */
};
#define NEEDS_FP     RULE_FP_BASE /* unwinding from here depends on fp */
#define NEEDS_SCRIPT 1u		  /* of a script: fp is the address that stands for its line */

/* [hot] The address that the stack's definition has for a frame. */
#define STACK_SHOWN(c, i) \
	(mprof_unlikely((c)->meta[i].needs & NEEDS_SCRIPT) ? (c)->meta[i].fp : (c)->frame[i].pc)

/* A word on the stack, besides return addresses, that led to frame `frame`. */
struct stack_slot {
	uintptr_t at, value;
	uint32_t frame;
};

/* A new frame.  The array has the innermost one first. */
struct stack_fresh {
	uintptr_t sp, pc, fp;
	uintptr_t fp_slot;    /* the next outer frame's fp came from here; 0: unchanged */
	uintptr_t deref_slot; /* with FRESH_DEREF, its sp came from here */
	uint64_t how;	      /* FRESH_... */
#if !defined(__x86_64__)
	uintptr_t at; /* where pc was saved */
#endif
};
#define FRESH_USES   NEEDS_FP /* its rule starts from fp */
#define FRESH_DEREF  2u
#define FRESH_SCRIPT 4u	 /* a stub's frame: deref_slot has the interpreter's data of the call */
#define FRESH_CALL   8u	 /* likewise, of a call that the next inner frame evaluates (python.h) */
#define FRESH_UNSURE 16u /* this may be another call later, unnoticed */

#define STACK_AREAS 16u

/*
 * The step from a handler's frame to the interrupted one may lead inward: a stack with more of them
 * than this is circular.
 */
#define STACK_SIGNALS_MAX 64u

#define STACK_MOVING	   2u
#define compiler_barrier() __asm__ volatile("" ::: "memory")

/* A thread's previous stack, outermost frame first.  It has its own mapping, and only its thread
 * uses it. */
struct stack_cache {
	uint32_t generation; /* generation of rules; another thread's munmap invalidates it */
	uint32_t n, slots, fresh_n, room;
	uint32_t id;	  /* of this stack, 0 unknown */
	uint32_t flags;	  /* MPROF_STACK_...: outer frames are missing */
	uint32_t broken;  /* frames up to here lead through a signal handler, or from Go to C */
	uint32_t complex; /* 1 if it leads through a frame that no rule can express */
	uint32_t signals; /* frames of handlers in it */
	uintptr_t walk;	  /* of mp_python_first() */
	uint32_t joined;  /* frames outside the last new call, which are unchanged */
	uint32_t budget;
	uint32_t listens; /* 1 if it is in mp_local->listening */
	uint32_t cut;	  /* 1 if outer frames are missing, because it was too deep */
	uint32_t dirty;	  /* 1 while it is changed; STACK_MOVING = while its arrays are moved */
	uint32_t areas, next_area;
	uint32_t blind, blind_left; /* see cache_find_area() */
	uint32_t deeper;	    /* 1 if sp is lower than ever on the thread's own stack */
	uint32_t sized;		    /* frames that are unchanged since their sizes were recorded */
	uint32_t owner, owned;	    /* a stack, whose first frames are the first `owned` here */
	struct area area;	    /* has the stack; on its own stack, from the lowest sp so far */
	struct area home;	    /* the thread's own stack, as mapped */
	struct stack_frame *frame;  /* frame[-1] is none: its sp is above all others */
	struct stack_meta *meta;
	struct stack_slot *slot; /* ascending by frame; room for 2 * room */
	struct stack_fresh *fresh;
	struct stack_cache *next;      /* in mp_local->listening */
	uint64_t *near;		       /* recently used rules; mp_rules_shared, or its own */
	uint32_t far;		       /* misses of those, up to RULES_NEAR_AFTER */
	uint32_t last, follower;       /* the last stack's number, and the one expected next */
	struct cfi_machine *machine;   /* for compiling rules; NULL until needed */
	struct area code;	       /* executable mapping where a rule was last guessed */
	struct area seen[STACK_AREAS]; /* mappings where this thread has been before */
};

extern uint64_t mp_stacks_seed; /* hash of an empty stack */

/* [hot] Hash of a frame and all frames outside it. */
MPROF_HOT uint64_t mp_stack_hash(uint64_t outer, uintptr_t pc)
{
	unsigned __int128 wide = (unsigned __int128)(outer ^ pc) * 0x9e3779b97f4a7c15ull;

	return (uint64_t)wide ^ (uint64_t)(wide >> 64);
}

/* Returns the number of the stack in c, of which `kept` frames are unchanged. */
uint32_t mp_stacks_id(struct stack_cache *c, uint32_t kept);
/*
 * A signal may arrive anywhere, so nearly every stack through a handler is new.  Returns 1 if this
 * process has had too many of them; from then on stacks end at the handler.
 */
int mp_stacks_signals(void);
/* Counts a missing stack; returns 0. */
uint32_t mp_stacks_none(void);
/* Called before the first record of a process: a forked child first lists the loaded objects. */
int mp_stacks_begin(void);
/* Appends a record of words to the process's stream.  0 or -errno. */
int mp_stacks_record(const uint64_t *words, uint32_t n);
void mp_stacks_lock(uint64_t *signals);
void mp_stacks_unlock(const uint64_t *signals);
/* From now on, stacks with the same addresses as earlier ones are different stacks. */
void mp_stacks_changed(void);
