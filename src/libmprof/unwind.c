// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * unwind.c - the caller's stack, from the thread's previous stack.
 *
 * A frame is (pc, sp, fp).  Its rule leads to the caller's by reading the words where the return
 * address and perhaps fp are saved.  So if a frame belongs to the previous stack, and these words
 * of all outer frames are unchanged, then the rest of the stack is unchanged.  Checking a frame is
 * one load and compare; only new frames are unwound by rules.  fp is compared only where it matters
 * (`needs`): elsewhere it is any value of the program's.
 *
 * Cost: about 0.6 ns to check a frame, 10 ns to unwind one. Reads only [sp, end of the mapping that
 * sp lies in), and there only words that unwinding this stack or the previous one reads.
 *
 * Not reused: stacks through a signal handler or from Go to C, and stacks that ended elsewhere
 * than at the outermost frame.
 */
#include <mprof/module.h>

#include "core.h"
#include "local.h"
#include "python.h"
#include "scopes.h"
#include "stack_parts.h"
#include "stack_use.h"
#include "sys.h"

struct eh_object mp_own MP_HIDDEN;

struct state {
	uintptr_t pc; /* pc for lookups: one byte before a return address */
	uintptr_t sp, fp;
	uintptr_t lr; /* return address of an interrupted frame if it is in a register, else 0 */
	uintptr_t at; /* where pc was saved */
	int exact;    /* a signal interrupted pc itself; the handler's frame has its sp at `uc` */
	uintptr_t uc, uc_high; /* and lies on a stack that ends here */
};

MPROF_HOT uintptr_t word_at(uintptr_t at)
{
	return *(const uintptr_t *)at;
}

/* Offset of the saved return address; where a plain rule has it and fp. */
#define RULE_FP_BITS (15u << 11)
#if defined(__x86_64__)
#define STRIP(address)	   (address)
#define RA_AT(frame)	   ((frame).sp - 8)
#define RA_OF(code, cfa)   ((cfa)-8)
#define SLOT_AT(code, cfa) ((cfa) - ((code) >> 11 & 15) * 8)
#else
#define STRIP(address)	   ((address)&0xffffffffffffull) /* pointer authentication */
#define RA_AT(frame)	   ((frame).at)
#define SLOT_AT(code, cfa) ((cfa) - ((code)&2047) * 8) /* the frame record is at the bottom */
#define RA_OF(code, cfa)   (SLOT_AT(code, cfa) + 8)
#endif

/* ---- one frame outward ---- */

/* Leaves a signal handler: the interrupted registers are in a ucontext at sp. */
static MPROF_COLD int unwind_leave_signal(struct stack_cache *c, struct state *s)
{
#if defined(__x86_64__)
	enum { BYTES = 176, FP = 120, SP = 160, PC = 168, LR = 0 };
	uintptr_t at = s->sp;
#else
	enum { BYTES = 448, FP = 416, LR = 424, SP = 432, PC = 440 };
	uintptr_t at = s->sp + 128; /* after siginfo */
#endif
	if (s->sp < c->area.low || !area_holds(c->area.low, c->area.high, at, BYTES))
		return 0;
	s->uc = s->sp;
	s->uc_high = c->area.high;
	s->fp = word_at(at + FP);
	s->lr = LR ? word_at(at + LR) : 0;
	s->pc = word_at(at + PC);
	s->sp = word_at(at + SP);
	s->exact = 1;
	if (s->sp - c->area.low < c->area.high - c->area.low)
		return s->pc != 0;
	return s->pc && mp_cache_area(c, s->sp); /* the handler ran on an alternate stack */
}

/* Applies a rule that is not a common one.  Returns 0 at the end, and sets *flags if that is not
 * the outermost frame. */
static MPROF_COLD int unwind_leave_escaped(struct stack_cache *c, const struct eh_rule *r,
					   struct state *s, struct stack_fresh *f, uint32_t *flags)
{
	uintptr_t cfa = (r->base == EH_FP ? s->fp : s->sp) + (uintptr_t)(intptr_t)r->cfa, at;
	uintptr_t lr = s->lr;

	if (r->end)
		return 0;
	*flags |= MPROF_STACK_LOST_WAY; /* unless it succeeds */
	if (r->script == EH_STUB && !s->exact) {
		f->deref_slot = mp_script_data(s->sp, s->fp, c->area.high);
		if (!f->deref_slot)
			return 0;
		f->how |= FRESH_SCRIPT;
	}
	c->complex = r->complex;
	if (r->stuck || r->no_code || r->complex)
		return 0;
	if (r->deref) {
		if (!area_holds(s->sp, c->area.high, cfa, 8))
			return 0;
		f->deref_slot = cfa;
		f->how |= FRESH_DEREF;
		cfa = word_at(cfa);
	}
	if (r->base == EH_FP || r->fp_by_fp)
		f->how |= FRESH_USES;
	if (cfa > c->area.high || cfa & 7 || cfa < s->sp)
		return 0;
	s->lr = 0;
	s->exact = 0;
	at = cfa + (uintptr_t)(intptr_t)r->ra;
	if (!r->ra && lr) {
		s->pc = STRIP(lr) - 1;
		s->at = 0;
	} else if (!r->ra || cfa == s->sp || !area_holds(s->sp, c->area.high, at, 8)) {
		return 0;
	} else {
		s->pc = STRIP(word_at(at)) - 1;
		s->at = at;
	}
	if (r->fp || r->fp_by_fp) {
		at = (r->fp_by_fp ? s->fp : cfa) + (uintptr_t)(intptr_t)r->fp;
		if (!area_holds(s->sp, c->area.high, at, 8))
			return 0;
		f->fp_slot = at;
		s->fp = word_at(at);
	}
	s->sp = cfa;
	*flags &= ~MPROF_STACK_LOST_WAY;
	return s->pc + 1 != 0;
}

/* ---- from C to Go ---- */

#if defined(__x86_64__)
/* Where runtime.asmcgocall keeps what it needs on its way back. */
struct go_way {
	unsigned routine, distance; /* bytes from sp */
	int frame;		    /* does it save the frame pointer? */
};

enum { GO_WAY_MOST = 48 }; /* bytes of code that are read */

/* Reads the code to which C returns:
 *	mov offset(%rip), %rcx     a shared library: the offset of a thread variable
 *	mov ROUTINE(%rsp), %rdi    48 until Go 1.21, then 8
 *	mov 8(%rdi), %rsi
 *	sub DISTANCE(%rsp), %rsi   40, then 0, which has no byte of its own
 *	mov %rdi, %fs:...
 *	mov %rsi, %rsp
 *	mov %eax, RESULT(%rsp)
 *	pop %rbp                   since Go 1.21
 *	ret
 * Returns 0 if it is other code. */
static MPROF_COLD int go_way_back(const uint8_t *at, struct go_way *way)
{
	static const uint8_t load[] = { 0x48, 0x8b, 0x0d };
	static const uint8_t routine[] = { 0x48, 0x8b, 0x7c, 0x24 };
	static const uint8_t high[] = { 0x48, 0x8b, 0x77, 0x08 };
	static const uint8_t near[] = { 0x48, 0x2b, 0x34, 0x24 };
	static const uint8_t far[] = { 0x48, 0x2b, 0x74, 0x24 };
	static const uint8_t leave[] = { 0x48, 0x89, 0xf4 };
	static const uint8_t result[] = { 0x89, 0x44, 0x24 };

	at += __builtin_memcmp(at, load, sizeof(load)) ? 0 : 7;
	if (__builtin_memcmp(at, routine, sizeof(routine)) ||
	    __builtin_memcmp(at + 5, high, sizeof(high)))
		return 0;
	way->routine = at[4];
	at += 9;
	way->distance = 0;
	if (!__builtin_memcmp(at, far, sizeof(far)))
		way->distance = at++[4];
	else if (__builtin_memcmp(at, near, sizeof(near)))
		return 0;
	at += 4;
	if (at[0] == 0x64) /* with an offset of 32 bits in the code, or in %rcx */
		at += at[3] == 0x3c ? 9 : 4;
	if (__builtin_memcmp(at, leave, sizeof(leave)))
		return 0;
	at += 3;
	at += __builtin_memcmp(at, result, sizeof(result)) ? 0 : 4;
	way->frame = at[0] == 0x5d;
	return way->frame || at[0] == 0xc3;
}
#endif

/*
 * Leaves runtime.asmcgocall, with which Go calls C: it runs on the thread's stack, for a goroutine
 * whose stack is elsewhere.  It has no call frame information, but returns to code that finds the
 * way back: from sp on it keeps the goroutine, which has the upper end of its stack 8 bytes from
 * there, and the distance from this end.
 */
static MPROF_COLD int unwind_leave_go(struct stack_cache *c, struct state *s)
{
#if defined(__x86_64__)
	const uintptr_t next = s->pc + 1;
	uintptr_t distance, routine, sp;
	struct dl_find_object found;
	struct go_way way;

	/* pc may be any word of the stack; an object's range has holes, and generated code goes. */
	if (!_dl_find_object || _dl_find_object((void *)next, &found) ||
	    !sys_readable((const void *)next) ||
	    !sys_readable((const void *)(next + GO_WAY_MOST)) ||
	    !go_way_back((const uint8_t *)next, &way) || way.routine > 64 || way.distance > 64 ||
	    !area_holds(s->sp, c->area.high, s->sp + way.routine, 8) ||
	    !area_holds(s->sp, c->area.high, s->sp + way.distance, 8))
		return 0;
	distance = word_at(s->sp + way.distance);
	routine = word_at(s->sp + way.routine);
	if (!mp_cache_area(c, routine) || !area_holds(c->area.low, c->area.high, routine + 8, 8))
		return 0;
	sp = word_at(routine + 8) - distance;
	if (!mp_cache_area(c, sp) || !area_holds(c->area.low, c->area.high, sp, 24))
		return 0;
	/* As behind a signal handler. */
	c->n = c->slots = 0;
	c->broken = c->fresh_n;
	*s = way.frame
		 ? (struct state){ .pc = word_at(sp + 8) - 1, .sp = sp + 16, .fp = word_at(sp) }
		 : (struct state){ .pc = word_at(sp) - 1, .sp = sp + 8, .fp = s->fp };
	return s->pc + 1 != 0;
#else
	(void)c;
	(void)s;
	return 0;
#endif
}

/* Applies a plain rule.  Returns 1 if *s is now the caller's frame. */
static MPROF_COLD int unwind_rule_step(struct stack_cache *c, uint32_t code, struct state *s,
				       struct stack_fresh *f)
{
	uintptr_t cfa = (code & RULE_FP_BASE ? s->fp : s->sp) + (code & 2047) * 8;
	uintptr_t slot = SLOT_AT(code, cfa);

	f->how = code & RULE_FP_BASE ? FRESH_USES : 0;
	/* A slot below sp is valid only in an epilogue, interrupted after it restored fp. */
	if (cfa <= s->sp || cfa > c->area.high || cfa & 7 || (slot < s->sp && !s->exact)) {
		if (f->how && c->fresh_n && unwind_leave_go(c, s))
			return 1;
		/* Generated code and assembly mark the outermost frame by a frame pointer of 0. */
		c->flags |= f->how && !s->fp ? 0 : MPROF_STACK_LOST_WAY;
		return 0;
	}
	if (code & RULE_FP_BITS && slot >= s->sp) {
		f->fp_slot = slot;
		s->fp = word_at(slot);
	}
	s->at = RA_OF(code, cfa);
	s->pc = STRIP(word_at(s->at)) - 1;
	s->sp = cfa;
	s->exact = 0;
	s->lr = 0;
	return s->pc + 1 != 0;
}

/* ---- the previous stack ---- */

/* [hot] Are the four frames from f on unchanged? */
MPROF_HOT int unwind_four(const struct stack_frame *f)
{
	return !STRIP((word_at(RA_AT(f[0])) ^ f[0].pc) | (word_at(RA_AT(f[1])) ^ f[1].pc) |
		      (word_at(RA_AT(f[2])) ^ f[2].pc) | (word_at(RA_AT(f[3])) ^ f[3].pc));
}

/*
 * [hot] Returns how many of the frames n - 1, n - 2, ... 0 are unchanged, up to the first changed
 * one.  The outermost four are always checked together: a loop over what remains of n / 4 would
 * cost a mispredicted branch.
 */
MPROF_HOT uint32_t unwind_verify(const struct stack_cache *c, uint32_t n)
{
	const struct stack_frame *const first = c->frame, *f = first + n - 4;
	uint32_t i = n, k = c->slots;

	if (mprof_likely(n >= 4)) {
		while (f > first && mprof_likely(unwind_four(f)))
			f -= 4;
		i = f <= first && mprof_likely(unwind_four(first)) ? 0 : (uint32_t)(f - first) + 4;
	}
	while (i && !STRIP(word_at(RA_AT(c->frame[i - 1])) ^ c->frame[i - 1].pc))
		i--;
	while (k && c->slot[k - 1].frame >= n)
		k--;
	for (; k && c->slot[k - 1].frame >= i; k--)
		if (mprof_unlikely(word_at(c->slot[k - 1].at) != c->slot[k - 1].value))
			return n - 1 - c->slot[k - 1].frame;
	return n - i;
}

/* Notes the words that led from `inner` to frame `frame`, whose fp is given. */
static void unwind_add_slots(struct stack_cache *c, const struct stack_fresh *inner, uint32_t frame,
			     uint32_t needs, uintptr_t fp)
{
	if (needs && inner->fp_slot)
		c->slot[c->slots++] = (struct stack_slot){ inner->fp_slot, fp, frame };
	if (mprof_unlikely(inner->how & FRESH_DEREF))
		c->slot[c->slots++] =
		    (struct stack_slot){ inner->deref_slot, c->frame[frame].sp, frame };
}

/*
 * The frame is a stub's or a call's: it stands for a line of a script as long as the same call
 * executes the same instruction.  Both are checked like a saved frame pointer, the call first,
 * because the data of a call that has ended may be gone; of several calls of a frame, the innermost
 * first.  No later stack joins at this frame, as no frame pointer has the value of such an address.
 * Returns that address, 0 without room.
 */
static MPROF_COLD uintptr_t unwind_add_script(struct stack_cache *c, const struct stack_fresh *f,
					      uint32_t frame)
{
	const uintptr_t data = word_at(f->deref_slot);
	uintptr_t at, shown;

	if (c->slots + 4 > 2 * c->room)
		return 0;
	shown =
	    f->how & FRESH_CALL ? mp_python_line(data, &at) : mp_script_line(f->pc - 1, data, &at);
	if (!shown)
		return 0;
	if (at)
		c->slot[c->slots++] = (struct stack_slot){ at, word_at(at), frame };
	c->slot[c->slots++] = (struct stack_slot){ f->deref_slot, data, frame };
	/* No word has another value than itself. */
	if (f->how & FRESH_UNSURE)
		c->slot[c->slots++] = (struct stack_slot){ RA_AT(c->frame[frame]), ~f->pc, frame };
	return shown;
}

/* [hot] Stores the new frames as frames [kept, n) of the cache.  Returns kept, minus truncated
 * frames. */
static uint32_t unwind_rebuild(struct stack_cache *c, uint32_t kept)
{
	const struct stack_fresh *f, *inner;
	struct stack_frame *frame;
	struct stack_meta *meta;
	uintptr_t fp = 0, shown;
	uint32_t needs = 0;
	uint64_t h;

	if (!kept)
		c->cut = c->flags & MPROF_STACK_TRUNCATED;
	if (mprof_unlikely(kept + c->fresh_n > STACK_DEEP && !c->budget))
		kept = mp_cache_cut(c, kept);
	c->sized = kept < c->sized ? kept : c->sized;
	h = c->cut ? ~mp_stacks_seed : mp_stacks_seed;

	/* The frame that was joined has a different inner frame now, or no inner frame; but a call
	 * has the same one. */
	while (c->slots && c->slot[c->slots - 1].frame + !c->joined >= kept)
		c->slots--;
	inner = c->fresh;
	frame = &c->frame[kept];
	meta = &c->meta[kept];
	if (kept) {
		h = meta[-1].hash;
		needs = meta[-1].needs;
		fp = meta[-1].fp;
	}
	for (f = inner + c->fresh_n; f-- > inner; frame++, meta++) {
		const uint32_t how = (uint32_t)f->how;

		if (mprof_unlikely((needs && f->fp_slot) || how & FRESH_DEREF) && frame > c->frame)
			unwind_add_slots(c, f, (uint32_t)(frame - c->frame) - 1, needs, fp);
		/* A frame that restores fp from the stack makes outer frames independent of its
		 * own. */
		needs = (how & NEEDS_FP) | (f->fp_slot ? 0 : needs & NEEDS_FP);
		frame->sp = f->sp;
		frame->pc = shown = f->pc;
#if !defined(__x86_64__)
		frame->at = f->at;
#endif
		meta->fp = fp = f->fp;
		meta->needs = needs;
		if (mprof_unlikely(how & (FRESH_SCRIPT | FRESH_CALL))) {
			const uintptr_t line =
			    unwind_add_script(c, f, (uint32_t)(frame - c->frame));

			if (line) {
				meta->fp = shown = line;
				meta->needs = needs | NEEDS_SCRIPT;
			}
		}
		meta->hash = h = mp_stack_hash(h, shown);
	}
	c->n = kept + c->fresh_n;
	c->fresh_n = 0;
	return kept;
}

/* Leaves an interrupted frame that no rule can express: a stub of the linkage table. */
static int unwind_leave_interrupted(struct stack_cache *c, struct state *s)
{
	uintptr_t out[3];
	int ret = mp_full_interrupted(&c->area, s->uc, s->uc_high, out);

	if (ret < 0)
		c->flags |= MPROF_STACK_LOST_WAY;
	if (ret <= 0)
		return 0;
	*s = (struct state){ .pc = out[0] - 1, .sp = out[1], .fp = out[2] };
	return 1;
}

/*
 * The C frame ends at cfa.  Returns how many frames of the previous stack are outside this call of
 * it, and unchanged; 0 if that stack did not have the call, or none of the same C frame outside.
 */
static MPROF_COLD uint32_t unwind_outside_call(const struct stack_cache *c, uintptr_t cfa,
					       uintptr_t call)
{
	const struct stack_slot *slot = c->slot + c->slots;

	while (slot-- > c->slot) {
		const uint32_t i = slot->frame;

		if (c->frame[i].sp > cfa)
			return 0;
		if (slot->value == call && c->frame[i].sp == cfa && i &&
		    c->frame[i - 1].sp == cfa && c->meta[i - 1].needs & NEEDS_SCRIPT)
			return unwind_verify(c, i) == i ? i : 0;
	}
	return 0;
}

/*
 * The last new frame, from sp to *s, evaluates calls of scripts: adds a frame for each, up to one
 * that is known.  They have the return address of the C frame, which stays as long as it: where it
 * is itself changes with each C function that it calls.
 */
static MPROF_COLD void unwind_add_calls(struct stack_cache *c, uintptr_t sp, const struct state *s)
{
	struct stack_fresh call = { .sp = s->sp, .pc = s->pc + 1, .fp = s->fp };
	uintptr_t link, at;
	int sure = 1;

#if !defined(__x86_64__)
	call.at = s->at;
#endif
	link = mp_python_first(&c->walk, &c->area, sp, s->sp, &sure);
	for (; link && !c->joined; link = mp_python_next(link), sure = 1) {
		if (c->fresh_n + c->n >= c->room && !mp_cache_grow(c)) {
			c->flags |= MPROF_STACK_TRUNCATED;
			return;
		}
		if (!mp_python_line(word_at(link), &at))
			continue;
		call.deref_slot = link;
		call.how = FRESH_CALL | (sure ? 0 : FRESH_UNSURE);
		c->fresh[c->fresh_n++] = call;
		c->joined = unwind_outside_call(c, call.sp, word_at(link));
	}
}

/* Adds the frame at *s as a new one, and moves *s to its caller.  Returns 0 if it was the last
 * one. */
static int unwind_walk_one(struct stack_cache *c, struct state *s)
{
	uint32_t code = mp_rule(s->pc);
	const struct eh_rule *r = code & RULE_ESCAPE ? mp_rules_escaped(code) : NULL;
	struct stack_fresh *f;

	if (r && r->no_code && c->fresh_n) {
		c->flags |= MPROF_STACK_LOST_WAY;
		return 0;
	}
	if (c->fresh_n + c->n >= c->room && !mp_cache_grow(c)) {
		mp_cache_spend(c, STACK_BUDGET);
		c->flags |= MPROF_STACK_TRUNCATED;
		return 0;
	}
	f = &c->fresh[c->fresh_n++];
	*f = (struct stack_fresh){ .sp = s->sp, .fp = s->fp };
	f->pc = s->exact ? s->pc | MPROF_FRAME_EXACT : s->pc + 1;
#if !defined(__x86_64__)
	f->at = s->at;
#endif
	if (!r)
		return unwind_rule_step(c, code, s, f);
	if (r->complex && s->exact)
		return unwind_leave_interrupted(c, s);
	if (r->script == EH_EVALUATES && !s->exact && !c->signals) {
		const uintptr_t sp = s->sp;

		if (!unwind_leave_escaped(c, r, s, f, &c->flags))
			return 0;
		unwind_add_calls(c, sp, s);
		return 1;
	}
	if (!r->signal)
		return unwind_leave_escaped(c, r, s, f, &c->flags);
	/* Cached frames beyond it are valid but must not be reused. */
	c->n = c->slots = 0;
	c->broken = c->fresh_n;
	if (++c->signals <= STACK_SIGNALS_MAX && unwind_leave_signal(c, s))
		return 1;
	c->flags |= MPROF_STACK_LOST_WAY;
	return 0;
}

/* Handles frames that the hot loop cannot unwind, and interrupted ones. */
static MPROF_COLD int unwind_slow_step(struct stack_cache *c, struct state *s)
{
	do
		if (!unwind_walk_one(c, s))
			return 0;
	while (s->exact);
	return 1;
}

/*
 * [hot] The frame *top - 1 of the previous stack recurs, its return address saved at `at`.  Returns
 * 1 if all frames outside it are unchanged.  Otherwise sets *top to the next candidate.
 */
MPROF_HOT int unwind_joins(struct stack_cache *c, uint32_t *top, uintptr_t at)
{
	uint32_t held;

#if !defined(__x86_64__)
	c->frame[*top - 1].at = at; /* it may have been the innermost */
#else
	(void)at;
#endif
	held = 1 + unwind_verify(c, *top - 1);
	if (held == *top)
		return 1;
	/* The frame that changed cannot recur, only those outside it. */
	*top -= held + 1;
	return 0;
}

/* Finds a rule that is not in the thread's own cache. */
static __attribute__((noinline)) uint64_t unwind_rule_far(struct stack_cache *c, uintptr_t pc)
{
	uint32_t generation = __atomic_load_n(&mp_rules_generation, __ATOMIC_ACQUIRE);
	uint64_t word = (uint64_t)pc << 17 | mp_rule(pc), *own;

	if (pc >> 47)
		return word; /* its address does not fit a word */
	if (c->near == mp_rules_shared && ++c->far == RULES_NEAR_AFTER) {
		own = mp_lines_take(RULES_NEAR * sizeof(*own) / 64);
		c->near = own ? own : c->near;
	}
	if (c->near == mp_rules_shared)
		mp_rules_keep(&c->near[RULE_NEAR(pc)], word, generation);
	else /* only for this thread; mp_cache_prepare() clears it with each generation */
		__atomic_store_n(&c->near[RULE_NEAR(pc)], word, __ATOMIC_RELAXED);
	return word;
}

/* [hot] Returns the rule for pc, in the lower 17 bits. */
MPROF_HOT uint64_t unwind_rule_word(struct stack_cache *c, uintptr_t pc)
{
	uint64_t word = __atomic_load_n(&c->near[RULE_NEAR(pc)], __ATOMIC_RELAXED);

	return mprof_likely(word >> 17 == pc) ? word : unwind_rule_far(c, pc);
}

/* [hot] Does a plain rule lead outward, by an fp that was saved at `slot`? */
MPROF_HOT int unwind_is_usual(uint64_t word, uintptr_t sp, uintptr_t high, uintptr_t cfa,
			      uintptr_t slot)
{
	return mprof_likely(!(word & RULE_ESCAPE)) && mprof_likely(cfa > sp) &&
	       mprof_likely(cfa <= high) && mprof_likely(!(cfa & 7)) && mprof_likely(slot >= sp);
}

/*
 * [hot] Unwinds from *s as long as rules are plain.  Returns 1 at the end, with *top frames of the
 * previous stack that are still valid; 0 if the frame at *s is unusual, with *top frames that may
 * recur.  Every new frame costs about 50 instructions, so nothing is computed twice: `recurs` is
 * the innermost frame that may recur (before the first one lies one that does not), f the place for
 * the next new frame, and `full` the place behind the last one.
 */
MPROF_HOT int unwind_plain(struct stack_cache *c, struct state *s, uint32_t *top)
{
	uintptr_t shown = s->pc + 1, sp = s->sp, fp = s->fp, at = s->at, high = c->area.high;
	const struct stack_frame *recurs = c->frame + *top - 1;
	struct stack_fresh *f = c->fresh + c->fresh_n, *full = c->fresh + (c->room - c->n);
	uintptr_t cfa, slot;
	uint64_t word;
	uint32_t n;

	for (; shown; f++) {
		while (recurs->sp < sp)
			recurs--;
		if (recurs->sp == sp && recurs->pc == shown) {
			n = (uint32_t)(recurs - c->frame) + 1;
			if ((!c->meta[n - 1].needs || c->meta[n - 1].fp == fp) &&
			    unwind_joins(c, &n, at)) {
				c->fresh_n = (uint32_t)(f - c->fresh);
				return *top = n, 1;
			}
			recurs = c->frame + n - 1;
		}
		word = unwind_rule_word(c, shown - 1);
		cfa = (word & RULE_FP_BASE ? fp : sp) + (word & 2047) * 8;
		slot = SLOT_AT(word, cfa);
		if (mprof_unlikely(!unwind_is_usual(word, sp, high, cfa, slot)) ||
		    mprof_unlikely(f >= full)) {
			*s = (struct state){ .pc = shown - 1, .sp = sp, .fp = fp, .at = at };
			*top = (uint32_t)(recurs - c->frame) + 1;
			c->fresh_n = (uint32_t)(f - c->fresh);
			return 0;
		}
		f->sp = sp;
		f->pc = shown;
		f->fp = fp;
		f->how = word & RULE_FP_BASE;
		f->fp_slot = 0;
		if (word & RULE_FP_BITS) {
			f->fp_slot = slot;
			fp = word_at(slot);
		}
#if !defined(__x86_64__)
		f->at = at;
		at = RA_OF(word, cfa);
#endif
		shown = STRIP(word_at(RA_OF(word, cfa)));
		sp = cfa;
	}
	c->fresh_n = (uint32_t)(f - c->fresh);
	*top = 0;
	return 1;
}

/* [hot] Unwinds from *s; returns how many outer frames of the previous stack are still valid. */
static uint32_t unwind_walk(struct stack_cache *c, struct state *s)
{
	uint32_t top = c->n;

	while (!unwind_plain(c, s, &top)) {
		if (!unwind_slow_step(c, s))
			return 0;
		if (c->joined)
			return c->joined;
		top = c->n < top ? c->n : top;
	}
	return top;
}

/* Steps from our own functions that made an event (mmap, operator new) to the program's caller. */
static MPROF_COLD void unwind_leave_own(struct stack_cache *c, struct state *s)
{
	struct stack_fresh f;
	uint32_t code;

	for (int i = 0; i < 8 && s->pc - mp_own.start < mp_own.end - mp_own.start; i++) {
		code = mp_rule(s->pc);
		if (code & RULE_ESCAPE || !unwind_rule_step(c, code, s, &f))
			return;
	}
}

/* Notes that the thread's own stack is deeper than ever; its stack `id` has the first n frames. */
static MPROF_COLD void unwind_note_depth(struct stack_cache *c, uintptr_t sp, uint32_t id,
					 uint32_t n)
{
	c->deeper = 0;
	c->sized = mp_stack_use_deeper(sp, id, c->frame, n, c->sized);
}

/* [hot] Is the innermost frame the one of the thread's previous stack, c->id?  Leaves deep stacks
 * to unwind_capture(), which counts what they cost. */
MPROF_HOT int unwind_begins_same(const struct stack_cache *c, uintptr_t pc, uintptr_t sp,
				 uintptr_t fp)
{
	const uint32_t last = c->n - 1;

	if (last >= STACK_DEEP || c->frame[last].pc != pc || c->frame[last].sp != sp)
		return 0;
	return c->id && !(c->dirty | (c->generation != mp_rules_generation)) &&
	       (!c->meta[last].needs || c->meta[last].fp == fp);
}

/* Returns the number of any stack, the previous one included. */
static __attribute__((noinline)) uint32_t unwind_capture(struct mprof_thread *t, uintptr_t pc,
							 uintptr_t sp, uintptr_t fp)
{
	struct stack_cache *c = t->stack;
	uint32_t kept, n, again = 0;

	do {
		struct state s = { .pc = pc - 1, .sp = sp, .fp = fp };

		if (mprof_unlikely(!c || sp - c->area.low >= c->area.high - c->area.low ||
				   c->dirty | (c->generation != mp_rules_generation)) &&
		    !(c = mp_cache_prepare(t, sp)))
			return mp_stacks_none();
		c->dirty = 1;
		compiler_barrier();
		c->broken = c->complex = c->signals = c->fresh_n = c->flags = 0;
		c->walk = c->joined = 0;
		if (mprof_unlikely(pc - mp_own.start < mp_own.end - mp_own.start)) {
			unwind_leave_own(c, &s);
			pc = s.pc + 1;
			sp = s.sp;
			fp = s.fp;
		}
		kept = unwind_walk(c, &s);
		compiler_barrier();
		c->dirty = 0;
	} while (mprof_unlikely(c->generation != mp_rules_generation) && ++again < 4);
	if (mprof_unlikely(c->n + c->fresh_n > STACK_DEEP))
		mp_cache_spend(c, c->n + 16ull * c->fresh_n);
	if (kept == c->n && !c->fresh_n && c->id)
		return c->id;
	if (mprof_unlikely(c->complex))
		return mp_capture_full(t, pc, sp);
	if (mprof_unlikely(c->broken && mp_stacks_signals())) {
		c->fresh_n = c->broken;
		c->flags |= MPROF_STACK_TRUNCATED;
	}
	c->dirty = 1;
	compiler_barrier();
	kept = unwind_rebuild(c, kept);
	kept = c->id = mp_stacks_id(c, kept);
	n = c->n;
	if (mprof_unlikely(c->flags & ~MPROF_STACK_TRUNCATED || c->broken || c->n > c->room))
		c->n = c->slots = c->id = 0;
	compiler_barrier();
	c->dirty = 0;
	if (mprof_unlikely(c->deeper))
		unwind_note_depth(c, sp, kept, n);
	return kept;
}

uint32_t mp_capture(struct mprof_thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	const struct stack_cache *c = t->stack;

	if (mprof_likely(c) && unwind_begins_same(c, pc, sp, fp) &&
	    unwind_verify(c, c->n - 1) == c->n - 1 && c->generation == mp_rules_generation)
		return c->id;
	return unwind_capture(t, pc, sp, fp);
}

/* ---- stacks from another unwinder: an empty cache ---- */

struct stack_cache *mp_fresh_begin(struct mprof_thread *t, uintptr_t sp)
{
	struct stack_cache *c = mp_cache_prepare(t, sp);

	if (!c)
		return NULL;
	c->dirty = 1;
	c->fresh_n = c->flags = 0;
	return c;
}

int mp_fresh_add(struct stack_cache *c, uintptr_t pc, uintptr_t sp)
{
	if (c->fresh_n == c->room && !mp_cache_grow(c)) {
		c->flags |= MPROF_STACK_TRUNCATED;
		return 0;
	}
	c->fresh[c->fresh_n++] = (struct stack_fresh){ .pc = pc, .sp = sp };
	return 1;
}

uint32_t mp_fresh_id(struct stack_cache *c)
{
	uint32_t id, n;

	unwind_rebuild(c, 0);
	id = mp_stacks_id(c, 0);
	n = c->n;
	c->n = c->slots = 0;
	c->dirty = 0;
	if (c->deeper && n)
		unwind_note_depth(c, c->frame[n - 1].sp, id, n);
	return id;
}
