// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * eh.c - reads .eh_frame_hdr and runs call frame programs, for the three
 * registers that a walk needs.  Everything is bounds-checked by the FDE's own
 * lengths; what it does not know ends in -ENOTSUP, never in a guess.
 *
 * Called on the first sight of an address only: its cost (about 1 us) does not
 * matter beside what the rule cache saves.
 */
#include "eh.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>

#include "internal.h"

#if defined(__x86_64__)
enum { REG_FP = 6, REG_SP = 7, REG_RA = 16 };
#elif defined(__aarch64__)
enum { REG_FP = 29, REG_SP = 31, REG_RA = 30 };
#endif

/* glibc 2.35 and later: no lock, no allocation. */
extern int _dl_find_object(void *, struct dl_find_object *) __attribute__((weak));

struct cursor {
	const uint8_t *at, *end;
	int bad;
};

static uint64_t get(struct cursor *c, unsigned bytes)
{
	uint64_t v = 0;

	if ((size_t)(c->end - c->at) < bytes) {
		c->bad = 1;
		return 0;
	}
	__builtin_memcpy(&v, c->at, bytes);
	c->at += bytes;
	return v;
}

static uint64_t uleb(struct cursor *c)
{
	uint64_t v = 0, byte;
	unsigned shift = 0;

	do {
		byte = get(c, 1);
		if (shift < 64)
			v |= (byte & 127) << shift;
		shift += 7;
	} while (byte & 128 && !c->bad);
	return v;
}

static int64_t sleb(struct cursor *c)
{
	uint64_t v = 0, byte;
	unsigned shift = 0;

	do {
		byte = get(c, 1);
		if (shift < 64)
			v |= (byte & 127) << shift;
		shift += 7;
	} while (byte & 128 && !c->bad);
	if (shift < 64 && byte & 64)
		v |= ~0ull << shift;
	return (int64_t)v;
}

/* A pointer in one of the encodings of the LSB; base is what DW_EH_PE_datarel counts from. */
static uintptr_t encoded(struct cursor *c, uint8_t encoding, uintptr_t base)
{
	uintptr_t here = (uintptr_t)c->at, v;

	switch (encoding & 15) {
	case 0:	 /* absptr */
	case 4:	 /* udata8 */
	case 12: /* sdata8 */
		v = get(c, 8);
		break;
	case 2:
		v = get(c, 2);
		break;
	case 10:
		v = (uintptr_t)(int64_t)(int16_t)get(c, 2);
		break;
	case 3:
		v = get(c, 4);
		break;
	case 11:
		v = (uintptr_t)(int64_t)(int32_t)get(c, 4);
		break;
	default:
		c->bad = 1;
		return 0;
	}
	if ((encoding & 0x70) == 0x10)
		v += here;
	else if ((encoding & 0x70) == 0x30)
		v += base;
	else if (encoding & 0xf0)
		c->bad = 1;
	return v;
}

struct lookup {
	uintptr_t pc;
	struct eh_object *out;
};

static int visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct lookup *l = arg;
	struct eh_object o = { .bias = info->dlpi_addr, .name = info->dlpi_name };
	int inside = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD) {
			inside |= l->pc - start < p->p_memsz;
			o.start = !o.end || start < o.start ? start : o.start;
			o.end = start + p->p_memsz > o.end ? start + p->p_memsz : o.end;
		} else if (p->p_type == PT_GNU_EH_FRAME) {
			o.header = (const uint8_t *)start;
		}
	}
	if (inside)
		*l->out = o;
	return inside;
}

int eh_object(uintptr_t pc, struct eh_object *out)
{
	struct lookup l = { pc, out };
	struct dl_find_object found;

	if (!_dl_find_object)
		return dl_iterate_phdr(visit, &l) ? 0 : -ENOENT;
	if (_dl_find_object((void *)pc, &found))
		return -ENOENT;
	*out = (struct eh_object){
		.header = found.dlfo_eh_frame,
		.start = (uintptr_t)found.dlfo_map_start,
		.end = (uintptr_t)found.dlfo_map_end,
		.bias = found.dlfo_link_map->l_addr,
		.name = found.dlfo_link_map->l_name,
	};
	return 0;
}

/* The FDE in whose range pc may lie, by the sorted table of .eh_frame_hdr. */
static const uint8_t *find_fde(const struct eh_object *o, uintptr_t pc)
{
	const uint8_t *h = o->header;
	uintptr_t base = (uintptr_t)h;
	struct cursor c = { h + 4, h + 4 + 32, 0 };
	uint64_t count, low, high;
	const int32_t *table;

	if (!h || h[0] != 1 || h[3] != 0x3b) /* version; datarel sdata4, as every linker writes */
		return NULL;
	encoded(&c, h[1], base);
	count = encoded(&c, h[2], base);
	if (c.bad || !count)
		return NULL;
	table = (const int32_t *)c.at;
	for (low = 0, high = count; high - low > 1;) {
		uint64_t mid = low + (high - low) / 2;

		if (base + (uintptr_t)(intptr_t)table[2 * mid] <= pc)
			low = mid;
		else
			high = mid;
	}
	if (base + (uintptr_t)(intptr_t)table[2 * low] > pc)
		return NULL;
	return (const uint8_t *)(base + (uintptr_t)(intptr_t)table[2 * low + 1]);
}

struct cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;
	uint8_t pointer_encoding;
	uint8_t has_length, signal;
	struct cursor program;
};

/* A record's bytes behind its length; NULL cursor when it is the terminator or 64-bit. */
static struct cursor record(const uint8_t *at)
{
	uint32_t length;

	__builtin_memcpy(&length, at, 4);
	if (!length || length == 0xffffffffu)
		return (struct cursor){ at, at, 1 };
	return (struct cursor){ at + 4, at + 4 + length, 0 };
}

static int read_cie(const uint8_t *at, struct cie *cie)
{
	struct cursor c = record(at), skip;
	const char *augmentation;
	uint64_t version, length;

	*cie = (struct cie){ .pointer_encoding = 0 };
	get(&c, 4);
	version = get(&c, 1);
	augmentation = (const char *)c.at;
	while (get(&c, 1) && !c.bad)
		;
	cie->code_align = uleb(&c);
	cie->data_align = sleb(&c);
	cie->ra = version == 1 ? get(&c, 1) : uleb(&c);
	if (*augmentation == 'z') {
		length = uleb(&c);
		skip = c;
		cie->has_length = 1;
		for (augmentation++; *augmentation && !c.bad; augmentation++) {
			if (*augmentation == 'R')
				cie->pointer_encoding = (uint8_t)get(&c, 1);
			else if (*augmentation == 'P')
				encoded(&c, (uint8_t)get(&c, 1) & 0x7f, 0);
			else if (*augmentation == 'L')
				get(&c, 1);
			else if (*augmentation == 'S')
				cie->signal = 1;
			else
				break;
		}
		c.at = skip.at + length;
	}
	cie->program = c;
	return c.bad || c.at > c.end || (version != 1 && version != 3) ? -ENOTSUP : 0;
}

enum how { HOW_SAME, HOW_AT_CFA, HOW_UNDEFINED, HOW_OTHER };

struct row {
	uint64_t cfa_register;
	int64_t cfa_offset;
	uint8_t cfa_expression; /* 1: more than register + offset */
	struct cursor expression;
	struct {
		enum how how;
		int64_t offset;
	} fp, ra;
};

static void set(struct row *row, const struct cie *cie, uint64_t reg, enum how how, int64_t offset)
{
	if (reg == REG_FP) {
		row->fp.how = how;
		row->fp.offset = offset;
	} else if (reg == cie->ra) {
		row->ra.how = how;
		row->ra.offset = offset;
	}
}

static void restore(struct row *row, const struct row *initial, const struct cie *cie, uint64_t reg)
{
	if (reg == REG_FP)
		row->fp = initial->fp;
	else if (reg == cie->ra)
		row->ra = initial->ra;
}

#define REMEMBERED 8

struct machine {
	const struct cie *cie;
	struct row row, initial, stack[REMEMBERED];
	unsigned depth;
	uintptr_t at, pc;
};

static int cfa_operation(struct machine *m, struct cursor *c, unsigned op)
{
	struct row *row = &m->row;

	switch (op) {
	case 0x0c: /* def_cfa */
		row->cfa_register = uleb(c);
		row->cfa_offset = (int64_t)uleb(c);
		row->cfa_expression = 0;
		return 0;
	case 0x12: /* def_cfa_sf */
		row->cfa_register = uleb(c);
		row->cfa_offset = sleb(c) * m->cie->data_align;
		row->cfa_expression = 0;
		return 0;
	case 0x0d: /* def_cfa_register */
		row->cfa_register = uleb(c);
		row->cfa_expression = 0;
		return 0;
	case 0x0e: /* def_cfa_offset */
		row->cfa_offset = (int64_t)uleb(c);
		return 0;
	case 0x13: /* def_cfa_offset_sf */
		row->cfa_offset = sleb(c) * m->cie->data_align;
		return 0;
	case 0x0f: /* def_cfa_expression */
		row->cfa_expression = 1;
		row->expression.bad = 0;
		uint64_t n = uleb(c);
		row->expression.at = c->at;
		row->expression.end = c->at + n;
		c->at += n;
		return 0;
	}
	return -ENOTSUP;
}

static int register_operation(struct machine *m, struct cursor *c, unsigned op)
{
	uint64_t reg, n;

	switch (op) {
	case 0x05: /* offset_extended */
		reg = uleb(c);
		set(&m->row, m->cie, reg, HOW_AT_CFA, (int64_t)uleb(c) * m->cie->data_align);
		return 0;
	case 0x11: /* offset_extended_sf */
		reg = uleb(c);
		set(&m->row, m->cie, reg, HOW_AT_CFA, sleb(c) * m->cie->data_align);
		return 0;
	case 0x06: /* restore_extended */
		restore(&m->row, &m->initial, m->cie, uleb(c));
		return 0;
	case 0x07: /* undefined */
		set(&m->row, m->cie, uleb(c), HOW_UNDEFINED, 0);
		return 0;
	case 0x08: /* same_value */
		set(&m->row, m->cie, uleb(c), HOW_SAME, 0);
		return 0;
	case 0x09: /* register */
		reg = uleb(c);
		uleb(c);
		set(&m->row, m->cie, reg, HOW_OTHER, 0);
		return 0;
	case 0x10: /* expression */
	case 0x16: /* val_expression */
		reg = uleb(c);
		n = uleb(c);
		c->at += n;
		set(&m->row, m->cie, reg, HOW_OTHER, 0);
		return 0;
	case 0x14: /* val_offset */
	case 0x15: /* val_offset_sf */
		reg = uleb(c);
		uleb(c);
		set(&m->row, m->cie, reg, HOW_OTHER, 0);
		return 0;
	}
	return -ENOTSUP;
}

/* 1: the row for pc is complete. */
static int other_operation(struct machine *m, struct cursor *c, unsigned op)
{
	switch (op) {
	case 0x00: /* nop */
		return 0;
	case 0x01: /* set_loc */
		m->at = encoded(c, m->cie->pointer_encoding, 0);
		return m->at > m->pc;
	case 0x02:
	case 0x03:
	case 0x04: /* advance_loc1, 2, 4 */
		m->at += get(c, 1u << (op - 2)) * m->cie->code_align;
		return m->at > m->pc;
	case 0x0a: /* remember_state */
		if (m->depth == REMEMBERED)
			return -ENOTSUP;
		m->stack[m->depth++] = m->row;
		return 0;
	case 0x0b: /* restore_state */
		if (!m->depth)
			return -ENOTSUP;
		m->row = m->stack[--m->depth];
		return 0;
	case 0x2d: /* aarch64: the return address is (not) signed: see strip() of unwind.c */
		return 0;
	case 0x2e: /* GNU_args_size */
		uleb(c);
		return 0;
	}
	return -ENOTSUP;
}

static int run(struct machine *m, struct cursor c)
{
	int ret = 0;

	while (c.at < c.end && !c.bad && !ret) {
		unsigned op = (unsigned)get(&c, 1), low = op & 63;

		switch (op >> 6) {
		case 1: /* advance_loc */
			m->at += low * m->cie->code_align;
			ret = m->at > m->pc;
			break;
		case 2: /* offset */
			set(&m->row, m->cie, low, HOW_AT_CFA,
			    (int64_t)uleb(&c) * m->cie->data_align);
			break;
		case 3: /* restore */
			restore(&m->row, &m->initial, m->cie, low);
			break;
		default:
			ret = cfa_operation(m, &c, op);
			if (ret == -ENOTSUP)
				ret = register_operation(m, &c, op);
			if (ret == -ENOTSUP)
				ret = other_operation(m, &c, op);
		}
	}
	return c.bad ? -ENOTSUP : ret < 0 ? ret : 0;
}

/* CFA = *(fp - n): what gcc writes for functions that realign their stack. */
static int deref_expression(struct cursor e, struct eh_rule *rule)
{
	uint64_t op = get(&e, 1);

	if (op != 0x70 + REG_FP) /* breg of the frame pointer */
		return -ENOTSUP;
	rule->base = EH_FP;
	rule->cfa = (int32_t)sleb(&e);
	rule->deref = 1;
	return e.bad || get(&e, 1) != 0x06 || e.at != e.end ? -ENOTSUP : 0;
}

static int to_rule(const struct row *row, struct eh_rule *rule)
{
	if (row->ra.how == HOW_UNDEFINED) {
		rule->end = 1;
		return 0;
	}
	if (row->cfa_expression) {
		if (deref_expression(row->expression, rule) < 0)
			return -ENOTSUP;
	} else if (row->cfa_register == REG_SP || row->cfa_register == REG_FP) {
		rule->base = row->cfa_register == REG_FP ? EH_FP : EH_SP;
		rule->cfa = (int32_t)row->cfa_offset;
	} else {
		return -ENOTSUP;
	}
	if (row->ra.how == HOW_OTHER || row->fp.how == HOW_OTHER)
		return -ENOTSUP;
	rule->ra = row->ra.how == HOW_AT_CFA ? (int32_t)row->ra.offset : 0;
	rule->fp = row->fp.how == HOW_AT_CFA ? (int32_t)row->fp.offset : 0;
	return 0;
}

/* Runs the FDE's program up to pc. */
static int run_fde(const struct cie *cie, struct cursor c, uintptr_t start, uintptr_t pc,
		   struct eh_rule *rule)
{
	struct machine m;

	__builtin_memset(&m, 0, sizeof(m));
	m.cie = cie;
	m.at = start;
	m.pc = pc;
	if (run(&m, cie->program) < 0)
		return -ENOTSUP;
	m.initial = m.row;
	m.at = start;
	if (run(&m, c) < 0)
		return -ENOTSUP;
	return to_rule(&m.row, rule);
}

int eh_find(const struct eh_object *o, uintptr_t pc, struct eh_rule *rule)
{
	const uint8_t *fde = find_fde(o, pc);
	uintptr_t start, length;
	struct cursor c;
	struct cie cie;
	uint32_t back;

	*rule = (struct eh_rule){ 0 };
	if (!fde)
		return -ENOENT;
	c = record(fde);
	back = (uint32_t)get(&c, 4);
	if (c.bad || !back || read_cie(c.at - 4 - back, &cie) < 0)
		return -ENOTSUP;
	start = encoded(&c, cie.pointer_encoding, 0);
	length = encoded(&c, cie.pointer_encoding & 15, 0);
	if (c.bad || pc - start >= length)
		return -ENOENT;
	if (cie.has_length)
		length = uleb(&c), c.at += length;
	if (cie.signal) {
		rule->signal = 1;
		return 0;
	}
	return run_fde(&cie, c, start, pc, rule);
}
