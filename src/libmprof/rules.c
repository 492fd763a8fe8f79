// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * rules.c - maps code addresses to rules, one 8-byte word each.
 *
 * word = pc << 17 | code.  Almost every rule is "CFA = sp or fp + 8n, return address next to it, fp
 * saved in a known place or unchanged" and fits the code; all others are an index into an array.
 * Words are stored atomically, so a lookup needs no lock, and two threads that miss at once store
 * the same word twice.
 */
#include <errno.h>
#include <mprof/module.h>

#include "cfi.h"
#include "config.h"
#include "core.h"
#include "local.h"
#include "python.h"
#include "stack_parts.h"
#include "stop.h"
#include "sys.h"
#include "text.h"

#define ESCAPES	       65536u
#define ESCAPES_SHARED 256u /* shared by all addresses that need the same rule */
#define TABLE_FIRST    13   /* log2 of words: 64 KiB */
#define TABLE_MOST     20

struct rule_table *mp_rules MP_HIDDEN;
uint32_t mp_rules_generation MP_HIDDEN;
uint64_t mp_rules_shared[RULES_NEAR] MP_HIDDEN;
static struct eh_rule *escapes;
static uint32_t escapes_used;
static uint8_t escape_ready[ESCAPES_SHARED]; /* stored last: escapes[i] is complete */
static uint32_t forgetting;		     /* threads in mp_rules_forget() */
static int is_auto, is_fp;

static size_t rules_table_bytes(unsigned log2)
{
	return sizeof(struct rule_table) + ((size_t)8 << log2);
}

static struct rule_table *rules_table_new(unsigned log2)
{
	struct rule_table *t = sys_memory(rules_table_bytes(log2));

	if (!t)
		return NULL;
	mp_self_mapped(t, rules_table_bytes(log2));
	t->mask = (1u << log2) - 1;
	t->shift = 64 - log2;
	return t;
}

int mp_rules_start(void)
{
	is_auto = text_same(mp_config.unwind, "auto");
	is_fp = text_same(mp_config.unwind, "fp");
	escapes = sys_memory(ESCAPES * sizeof(*escapes));
	mp_rules = escapes ? rules_table_new(TABLE_FIRST) : NULL;
	return mp_rules ? 0 : -ENOMEM;
}

/*
 * A rule for unloaded code must not reappear: the storing thread checks the generation after a
 * fence, and this function raises it before a fence, so one of the two sees the other.
 */
void mp_rules_forget(void)
{
	struct rule_table *t;

	__atomic_fetch_add(&forgetting, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&mp_rules_generation, 1, __ATOMIC_RELAXED);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	t = __atomic_load_n(&mp_rules, __ATOMIC_ACQUIRE);
	/* Escapes stay, because a walk may be reading one.  There is space for many generations. */
	for (uint32_t i = 0; i <= t->mask; i++)
		__atomic_store_n(&t->word[i], 0, __ATOMIC_RELAXED);
	for (uint32_t i = 0; i < RULES_NEAR; i++)
		__atomic_store_n(&mp_rules_shared[i], 0, __ATOMIC_RELAXED);
	t->used = 0;
	cfi_forget();
	__atomic_fetch_add(&mp_rules_generation, RULES_FORGET - 1, __ATOMIC_RELEASE);
	__atomic_fetch_sub(&forgetting, 1, __ATOMIC_RELAXED);
}

void mp_rules_forked(void)
{
	if (!forgetting)
		return;
	forgetting = 0;
	mp_rules_forget();
}

const struct eh_rule *mp_rules_escaped(uint32_t code)
{
	return &escapes[code & 0xffff];
}

static uint32_t rule_escape(const struct eh_rule *r)
{
	uint32_t i = __atomic_fetch_add(&escapes_used, 1, __ATOMIC_RELAXED);

	/* All are used: further rules share the last one, which ends the walk. */
	if (i >= ESCAPES - 1) {
		escapes[ESCAPES - 1] = (struct eh_rule){ .stuck = 1 };
		return RULE_ESCAPE | (ESCAPES - 1);
	}
	escapes[i] = *r;
	/* Pairs with the acquire in rule_escape_once(): an incomplete rule may equal another
	 * one. */
	if (i < ESCAPES_SHARED)
		__atomic_store_n(&escape_ready[i], 1, __ATOMIC_RELEASE);
	return RULE_ESCAPE | i;
}

/* The same few rules recur: an array of 65536 suffices. */
static uint32_t rule_escape_once(const struct eh_rule *r)
{
	uint32_t n = __atomic_load_n(&escapes_used, __ATOMIC_RELAXED);

	for (uint32_t i = 0; i < n && i < ESCAPES_SHARED; i++)
		if (__atomic_load_n(&escape_ready[i], __ATOMIC_ACQUIRE) &&
		    !__builtin_memcmp(&escapes[i], r, sizeof(*r)))
			return RULE_ESCAPE | i;
	return rule_escape(r);
}

static uint32_t rule_encode(const struct eh_rule *r)
{
	int plain = !r->deref && !r->fp_by_fp && !r->signal && !r->end && !r->no_code &&
		    !r->stuck && !r->complex && !r->script;

	if (!plain || r->cfa < 0 || r->cfa >= 2048 * 8 || r->cfa & 7)
		return rule_escape_once(r);
#if defined(__x86_64__)
	/* fp is saved in units of 8 below the CFA; the first place there has the return address. */
	if (r->ra == -8 && r->fp <= 0 && r->fp >= -15 * 8 && !(r->fp & 7))
		return RULE_CODE(r->base, -r->fp / 8, r->cfa);
#else
	/* The frame record, two words, lies at the bottom of the frame. */
	if (r->fp == -r->cfa && r->ra == r->fp + 8 && r->cfa >= 16)
		return RULE_CODE(r->base, 1, r->cfa);
#endif
	return rule_escape_once(r);
}

/* Unwinds by frame pointers: [fp] has the caller's fp, followed by the return address. */
static const struct eh_rule by_fp = { .base = EH_FP, .cfa = 16, .ra = -8, .fp = -16 };

/* Is pc in executable memory?  Generated code lies in few mappings, so each thread remembers the
 * last one. */
static int rule_is_executable(uintptr_t pc)
{
	struct stack_cache *c = mprof_self->stack;
	struct area a;

	if (c && pc >= c->code.low && pc < c->code.high)
		return 1;
	if (mp_area(pc, &a) < 0 || !(a.flags & 1))
		return 0;
	if (c)
		c->code = a;
	return 1;
}

/* Chooses a rule for code without call frame information: generated code, hand-written assembly,
 * or no code at all. */
static struct eh_rule rule_guess(uintptr_t pc)
{
	if (!rule_is_executable(pc))
		return (struct eh_rule){ .no_code = 1 };
	return is_auto || is_fp ? by_fp : (struct eh_rule){ .stuck = 1 };
}

/*
 * One for each thread, so that no thread waits for another, nor for a thread whose signal handler
 * jumped out of here.  Stacks may be too small for it.
 */
static struct cfi_machine *rule_machine(void)
{
	struct stack_cache *c = mprof_self->stack;

	if (c && !c->machine)
		c->machine = mp_lines_take((sizeof(*c->machine) + 63) / 64);
	return c ? c->machine : NULL;
}

int mp_rules_find(const struct eh_object *o, uintptr_t pc, struct eh_rule *r)
{
	struct cfi_machine *m = rule_machine();

	return m ? eh_find(o, pc, m, r) : -ENOTSUP;
}

static struct eh_rule rule_compile(uintptr_t pc)
{
	struct eh_object o;
	struct eh_rule r;
	int ret, others;

	if (mp_script_is_stub(pc))
		return mp_script_rule;
	if (eh_object(pc, &o) < 0)
		return rule_guess(pc);
	mp_failed(mp_loaded_seen(&o, &others));
	if (others) {
		mp_rules_forget();
		mp_stacks_changed();
	}
	if (is_fp && o.start != mp_own.start) /* this library keeps no frame pointers */
		return by_fp;
	ret = mp_rules_find(&o, pc, &r);
	if (ret == 0 && mp_python_evaluates(&o, pc, &r))
		r.script = EH_EVALUATES;
	return ret == 0 ? r : ret == -ENOENT ? rule_guess(pc) : (struct eh_rule){ .stuck = 1 };
}

void mp_rules_keep(uint64_t *place, uint64_t word, uint32_t generation)
{
	/*
	 * Pairs with the fence in stream_claim_anywhere(): its object is recorded before its
	 * stacks.
	 */
	__atomic_store_n(place, word, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&mp_rules_generation, __ATOMIC_RELAXED) != generation)
		__atomic_store_n(place, 0, __ATOMIC_RELAXED);
}

static void rules_put(struct rule_table *t, uint64_t word, uint32_t generation)
{
	uint32_t at = RULE_HASH(word >> 17, t);
	uint64_t *place = &t->word[at]; /* all are taken: evict any */

	for (uint32_t n = 0; n < RULE_PROBES; n++)
		if (!__atomic_load_n(&t->word[RULE_PLACE(at, n, t)], __ATOMIC_RELAXED)) {
			place = &t->word[RULE_PLACE(at, n, t)];
			break;
		}
	mp_rules_keep(place, word, generation);
}

/* Doubles the table.  The old one stays: another thread may be reading it. */
static void rules_grow(struct rule_table *old)
{
	uint32_t generation = __atomic_load_n(&mp_rules_generation, __ATOMIC_ACQUIRE);
	unsigned log2 = 64 - old->shift + 1;
	struct rule_table *t = log2 > TABLE_MOST ? NULL : rules_table_new(log2);

	if (!t)
		return;
	for (uint32_t i = 0; i <= old->mask; i++)
		if (old->word[i])
			rules_put(t, old->word[i], generation);
	t->used = old->used;
	/* Two threads may do this at once: words that one of them stored may be looked up again
	 * later. */
	__atomic_store_n(&mp_rules, t, __ATOMIC_RELEASE);
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	if (__atomic_load_n(&mp_rules_generation, __ATOMIC_RELAXED) == generation)
		return;
	for (uint32_t i = 0; i <= t->mask; i++) /* mp_rules_forget() may have missed this table */
		__atomic_store_n(&t->word[i], 0, __ATOMIC_RELAXED);
}

uint32_t mp_rules_miss(uintptr_t pc)
{
	uint32_t generation = __atomic_load_n(&mp_rules_generation, __ATOMIC_ACQUIRE);
	struct eh_rule r = rule_compile(pc);
	uint32_t code = rule_encode(&r);
	struct rule_table *t = mp_rules;

	if (pc >> 47)
		return code;
	if (__atomic_add_fetch(&t->used, 1, __ATOMIC_RELAXED) == t->mask / 8 * 5)
		rules_grow(t);
	rules_put(mp_rules, (uint64_t)pc << 17 | code, generation);
	return code;
}
