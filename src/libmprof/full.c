// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * full.c - unwinds with all registers, for stacks with a frame that no rule can express: its CFA is
 * relative to another register than sp and fp (the loader while it binds a function, hand-written
 * assembly), or is an expression (a stub of the procedure linkage table that a signal interrupted).
 *
 * It starts in its own frame, whose registers are known, and keeps the frames from our caller's
 * outward.  Nothing is cached: each frame takes microseconds.
 */
#include <errno.h>
#include <mprof/module.h>

#include "cfi.h"
#include "stack_parts.h"

struct context {
	uint64_t reg[CFI_REGISTERS];
	uintptr_t low, high; /* bounds of the stack */
	uintptr_t cfa;
	int exact, bad;
	unsigned signals; /* frames of signal handlers so far */
};

static uint64_t full_load(struct context *x, uintptr_t at)
{
	if (!area_holds(x->low, x->high, at, 8)) {
		x->bad = 1;
		return 0;
	}
	return *(const uint64_t *)at;
}

/* ---- expressions (DWARF 5 section 2.5) ---- */

#define DEEPEST 16

struct expression {
	struct cursor c;
	uint64_t value[DEEPEST];
	unsigned n;
};

static uint64_t full_pop(struct context *x, struct expression *e)
{
	if (!e->n) {
		x->bad = 1;
		return 0;
	}
	return e->value[--e->n];
}

static void full_push(struct context *x, struct expression *e, uint64_t v)
{
	if (e->n == DEEPEST)
		x->bad = 1;
	else
		e->value[e->n++] = v;
}

static uint64_t full_reg_value(struct context *x, uint64_t dwarf)
{
	int i = cfi_register(dwarf);

	x->bad |= i < 0;
	return i < 0 ? 0 : x->reg[i];
}

static void full_binary(struct context *x, struct expression *e, unsigned op)
{
	uint64_t b = full_pop(x, e), a = full_pop(x, e), v = 0;

	switch (op) {
	case 0x1a:
		v = a & b;
		break;
	case 0x1c:
		v = a - b;
		break;
	case 0x1e:
		v = a * b;
		break;
	case 0x21:
		v = a | b;
		break;
	case 0x22:
		v = a + b;
		break;
	case 0x24:
		v = b < 64 ? a << b : 0;
		break;
	case 0x25:
		v = b < 64 ? a >> b : 0;
		break;
	case 0x26:
		v = (uint64_t)((int64_t)a >> (b < 64 ? b : 63));
		break;
	case 0x27:
		v = a ^ b;
		break;
	case 0x29:
		v = a == b;
		break;
	case 0x2a:
		v = (int64_t)a >= (int64_t)b;
		break;
	case 0x2b:
		v = (int64_t)a > (int64_t)b;
		break;
	case 0x2c:
		v = (int64_t)a <= (int64_t)b;
		break;
	case 0x2d:
		v = (int64_t)a < (int64_t)b;
		break;
	case 0x2e:
		v = a != b;
		break;
	default:
		x->bad = 1;
	}
	full_push(x, e, v);
}

static void full_constant(struct context *x, struct expression *e, unsigned op)
{
	unsigned bytes = op == 0x03 ? 8 : 1u << ((op - 0x08) / 2);
	uint64_t v = cursor_get(&e->c, bytes);

	if (op != 0x03 && op & 1 && bytes < 8) /* odd operations are signed */
		v = (uint64_t)((int64_t)(v << (64 - 8 * bytes)) >> (64 - 8 * bytes));
	full_push(x, e, v);
}

static void full_operation(struct context *x, struct expression *e, unsigned op)
{
	uint64_t a;

	if (op >= 0x30 && op <= 0x4f) { /* lit */
		full_push(x, e, op - 0x30);
	} else if (op >= 0x70 && op <= 0x8f) { /* breg */
		a = full_reg_value(x, op - 0x70);
		full_push(x, e, a + (uint64_t)cursor_sleb(&e->c));
	} else if (op == 0x03 || (op >= 0x08 && op <= 0x0f)) {
		full_constant(x, e, op);
	} else if (op == 0x10) { /* constu */
		full_push(x, e, cursor_uleb(&e->c));
	} else if (op == 0x11) { /* consts */
		full_push(x, e, (uint64_t)cursor_sleb(&e->c));
	} else if (op == 0x06) { /* deref */
		full_push(x, e, full_load(x, full_pop(x, e)));
	} else if (op == 0x12) { /* dup */
		a = full_pop(x, e);
		full_push(x, e, a);
		full_push(x, e, a);
	} else if (op == 0x23) { /* plus_uconst */
		a = full_pop(x, e);
		full_push(x, e, a + cursor_uleb(&e->c));
	} else if (op == 0x9c) { /* call_frame_cfa */
		full_push(x, e, x->cfa);
	} else if (op != 0x96) { /* nop */
		full_binary(x, e, op);
	}
}

/* Evaluates an expression.  For a register the initial stack is the CFA; for the CFA it is
 * empty. */
static uint64_t full_evaluate(struct context *x, const uint8_t *expression, int with_cfa)
{
	struct expression e = { .c = cfi_expression(expression) };

	if (with_cfa)
		full_push(x, &e, x->cfa);
	while (e.c.at < e.c.end && !e.c.bad && !x->bad)
		full_operation(x, &e, (unsigned)cursor_get(&e.c, 1));
	x->bad |= e.c.bad;
	return full_pop(x, &e);
}

/* ---- one frame outward ---- */

static uint64_t full_caller_value(struct context *x, int i, const struct cfi_cell *cell)
{
	switch (cell->how) {
	case CFI_AT_CFA:
		return full_load(x, x->cfa + (uint64_t)cell->offset);
	case CFI_IS_CFA:
		return x->cfa + (uint64_t)cell->offset;
	case CFI_IN:
		return full_reg_value(x, (uint64_t)cell->offset);
	case CFI_AT_EXPRESSION:
		return full_load(x, full_evaluate(x, cell->expression, 1));
	case CFI_IS_EXPRESSION:
		return full_evaluate(x, cell->expression, 1);
	default:
		return x->reg[i];
	}
}

/* Sets x->reg to the interrupted registers; offsets, by index, are those in the ucontext at sp. */
static int full_read_interrupted(struct context *x)
{
#if defined(__x86_64__)
	static const uint16_t offset[CFI_REGISTERS] = { 128, 120, 160, 56, 72, 80, 88, 96, 168 };
	uintptr_t at = x->reg[CFI_SP];
#else
	static const uint16_t offset[CFI_REGISTERS] = { 336, 344, 352, 360, 368, 376, 384,
							392, 400, 408, 416, 424, 432, 440 };
	uintptr_t at = x->reg[CFI_SP] + 128;
#endif

	for (int i = 0; i < CFI_REGISTERS; i++)
		x->reg[i] = full_load(x, at + offset[i]);
	x->exact = 1;
	return !x->bad;
}

static int full_leave_signal(struct context *x)
{
	struct area a;

	if (++x->signals > STACK_SIGNALS_MAX || !full_read_interrupted(x) ||
	    mp_area(x->reg[CFI_SP], &a) < 0 || !(a.flags & AREA_READABLE))
		return 0;
	x->low = a.low;
	x->high = a.high;
	return x->reg[CFI_PC] != 0;
}

/* Returns 1 if x is now the caller's frame, 0 after the outermost frame, -1 if unknown. */
static int full_leave(struct context *x, const struct cfi_row *row)
{
	struct context inner = *x;
	uint64_t caller[CFI_REGISTERS];

	if (row->cell[CFI_PC].how == CFI_UNDEFINED)
		return 0;
	x->cfa = row->cfa_expression
		     ? full_evaluate(x, row->cfa_expression, 0)
		     : full_reg_value(x, row->cfa_register) + (uint64_t)row->cfa_offset;
	/* The expression of a register may use all registers of this frame. */
	for (int i = 0; i < CFI_REGISTERS; i++)
		caller[i] = full_caller_value(x, i, &row->cell[i]);
	__builtin_memcpy(x->reg, caller, sizeof(caller));
#if defined(__aarch64__)
	if (row->cell[CFI_PC].how == CFI_SAME)
		x->reg[CFI_PC] = inner.reg[CFI_LR];
	x->reg[CFI_PC] &= 0xffffffffffffull;
#endif
	if (row->cell[CFI_SP].how == CFI_SAME)
		x->reg[CFI_SP] = x->cfa;
	x->exact = 0;
	if (x->bad || x->reg[CFI_SP] < inner.reg[CFI_SP] ||
	    (x->reg[CFI_SP] == inner.reg[CFI_SP] && !inner.exact))
		return -1;
	return x->reg[CFI_PC] != 0;
}

/* Follows the frame pointer through code without call frame information. */
static int full_leave_by_fp(struct context *x)
{
	uintptr_t fp = x->reg[CFI_FP];

	if (fp < x->reg[CFI_SP])
		return fp ? -1 : 0;
	x->reg[CFI_FP] = full_load(x, fp);
	x->reg[CFI_PC] = full_load(x, fp + 8);
	x->reg[CFI_SP] = fp + 16;
	x->exact = 0;
	return x->bad ? -1 : x->reg[CFI_PC] != 0;
}

static int full_step(struct context *x)
{
	uintptr_t pc = x->reg[CFI_PC] - !x->exact;
	struct eh_object o;
	struct cfi_machine m;
	int ret = eh_object(pc, &o) < 0 ? -ENOENT : cfi_find(&o, pc, &m);

	if (ret == -ENOENT)
		return full_leave_by_fp(x);
	if (ret < 0)
		return -1;
	if (m.row.signal)
		return full_leave_signal(x) ? 1 : -1;
	return full_leave(x, &m.row);
}

/* Reads the current registers. */
#if defined(__x86_64__)
#define READ_REGISTERS(r)                                                                   \
	__asm__ volatile("mov %%rbx, %0\n\tmov %%rbp, %1\n\tmov %%rsp, %2\n\t"              \
			 "mov %%r12, %3\n\tmov %%r13, %4\n\tmov %%r14, %5\n\tmov %%r15, %6" \
			 : "=m"((r)[CFI_RBX]), "=m"((r)[CFI_FP]), "=m"((r)[CFI_SP]),        \
			   "=m"((r)[CFI_R12]), "=m"((r)[CFI_R13]), "=m"((r)[CFI_R14]),      \
			   "=m"((r)[CFI_R15]));                                             \
	__asm__ volatile("lea 0(%%rip), %0" : "=r"((r)[CFI_PC]))
#else
#define READ_REGISTERS(r)                                                                       \
	__asm__ volatile("stp x19, x20, [%0]\n\tstp x21, x22, [%0, 16]\n\t"                     \
			 "stp x23, x24, [%0, 32]\n\tstp x25, x26, [%0, 48]\n\t"                 \
			 "stp x27, x28, [%0, 64]\n\tstp x29, x30, [%0, 80]\n\t"                 \
			 "mov x16, sp\n\tstr x16, [%0, 96]\n\tadr x16, .\n\tstr x16, [%0, 104]" \
			 :                                                                      \
			 : "r"(r)                                                               \
			 : "x16", "memory")
#endif

/* Keeps the frames from the place's caller outward.  0 if the walk never reached the caller. */
__attribute__((noinline)) static int walk_all(struct stack_cache *c, struct context *x,
					      uintptr_t pc, uintptr_t sp)
{
	int reached = 0, ret = 1;

	while (ret > 0) {
		uintptr_t at = x->reg[CFI_PC];

		reached |= at == pc && x->reg[CFI_SP] == sp;
		if (reached) {
			uint32_t code = mp_rule(at - !x->exact); /* records its object */

			if (code & RULE_ESCAPE && mp_rules_escaped(code)->no_code)
				break;
			if (!mp_fresh_add(c, x->exact ? at | MPROF_FRAME_EXACT : at,
					  x->reg[CFI_SP]))
				return reached;
		}
		ret = full_step(x);
	}
	if (ret)
		c->flags |= MPROF_STACK_LOST_WAY;
	return reached;
}

__attribute__((noinline)) uint32_t mp_capture_full(struct mprof_thread *t, uintptr_t pc,
						   uintptr_t sp)
{
	struct context x = { .exact = 1 };
	struct stack_cache *c;

	READ_REGISTERS(x.reg);
	c = mp_fresh_begin(t, sp);
	if (!c)
		return mp_stacks_none();
	/* Start from our own frame, which is below all callers. */
	x.low = c->area.high == c->home.high ? c->home.low : c->area.low;
	x.high = c->area.high;
	if (!walk_all(c, &x, pc, sp))
		mp_fresh_add(c, pc, sp);
	return mp_fresh_id(c);
}

int mp_full_interrupted(const struct area *stack, uintptr_t at, uintptr_t high, uintptr_t out[3])
{
	struct context x = { .low = at, .high = high };
	int ret;

	x.reg[CFI_SP] = at;
	if (!full_read_interrupted(&x))
		return -1;
	x.low = stack->low;
	x.high = stack->high;
	ret = full_step(&x);
	out[0] = x.reg[CFI_PC];
	out[1] = x.reg[CFI_SP];
	out[2] = x.reg[CFI_FP];
	if (x.exact || x.reg[CFI_SP] < stack->low || x.reg[CFI_SP] > stack->high)
		return -1;
	return ret;
}
