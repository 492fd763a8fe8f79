// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * cfi.c - runs call frame programs.  All reads are bounds-checked by the records' own lengths, and
 * these by the object (cfi_records.c).  Unknown operations end in -ENOTSUP; nothing is guessed.
 */
#include "cfi.h"

#include <errno.h>

uint64_t cursor_get(struct cursor *c, unsigned bytes)
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

/* Sets *shift to the number of bits read, for the sign extension. */
static uint64_t leb(struct cursor *c, unsigned *shift, uint64_t *last)
{
	uint64_t v = 0, byte;

	*shift = 0;
	do {
		byte = cursor_get(c, 1);
		if (*shift < 64)
			v |= (byte & 127) << *shift;
		*shift += 7;
	} while (byte & 128 && !c->bad);
	*last = byte;
	return v;
}

uint64_t cursor_uleb(struct cursor *c)
{
	unsigned shift;
	uint64_t last;

	return leb(c, &shift, &last);
}

int64_t cursor_sleb(struct cursor *c)
{
	unsigned shift;
	uint64_t last, v = leb(c, &shift, &last);

	if (shift < 64 && last & 64)
		v |= ~0ull << shift;
	return (int64_t)v;
}

static void cfi_skip(struct cursor *c, uint64_t bytes)
{
	if ((uint64_t)(c->end - c->at) < bytes)
		c->bad = 1;
	else
		c->at += bytes;
}

#if defined(__x86_64__)
int cfi_register(uint64_t dwarf)
{
	static const int8_t index[17] = { -1,	   -1,	    -1,	     CFI_RBX, -1,      -1,
					  CFI_FP,  CFI_SP,  -1,	     -1,      CFI_R10, -1,
					  CFI_R12, CFI_R13, CFI_R14, CFI_R15, CFI_PC };

	return dwarf < 17 ? index[dwarf] : -1;
}
#else
int cfi_register(uint64_t dwarf)
{
	return dwarf >= 19 && dwarf <= 31 ? (int)(dwarf - 19) : -1;
}
#endif

uintptr_t cursor_pointer(struct cursor *c, uint8_t encoding, uintptr_t base)
{
	uintptr_t here = (uintptr_t)c->at, v;

	switch (encoding & 15) {
	case 0:	 /* absptr */
	case 4:	 /* udata8 */
	case 12: /* sdata8 */
		v = cursor_get(c, 8);
		break;
	case 2:
		v = cursor_get(c, 2);
		break;
	case 10:
		v = (uintptr_t)(int64_t)(int16_t)cursor_get(c, 2);
		break;
	case 3:
		v = cursor_get(c, 4);
		break;
	case 11:
		v = (uintptr_t)(int64_t)(int32_t)cursor_get(c, 4);
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

struct cie {
	uint64_t code_align;
	int64_t data_align;
	uint64_t ra;
	uint8_t pointer_encoding;
	uint8_t has_length, signal;
	struct cursor program;
};

static void cfi_read_augmentation(struct cursor *c, const char *letters, struct cie *cie)
{
	uint64_t length = cursor_uleb(c);
	struct cursor behind = *c;

	cfi_skip(&behind, length);
	cie->has_length = 1;
	for (letters++; *letters && !c->bad; letters++) {
		if (*letters == 'R')
			cie->pointer_encoding = (uint8_t)cursor_get(c, 1);
		else if (*letters == 'P')
			cursor_pointer(c, (uint8_t)cursor_get(c, 1) & 0x7f, 0);
		else if (*letters == 'L')
			cursor_get(c, 1);
		else if (*letters == 'S')
			cie->signal = 1;
		else if (*letters != 'B') /* aarch64: signed with the other key */
			break;
	}
	*c = behind;
}

static int cfi_read_cie(const struct eh_object *o, uintptr_t at, struct cie *cie)
{
	struct cursor c = cfi_record(o, at);
	const char *letters;
	uint64_t version;

	*cie = (struct cie){ .pointer_encoding = 0 };
	cursor_get(&c, 4);
	version = cursor_get(&c, 1);
	if (c.bad)
		return -ENOTSUP;
	letters = (const char *)c.at;
	while (cursor_get(&c, 1) && !c.bad)
		;
	if (c.bad)
		return -ENOTSUP;
	cie->code_align = cursor_uleb(&c);
	cie->data_align = cursor_sleb(&c);
	cie->ra = version == 1 ? cursor_get(&c, 1) : cursor_uleb(&c);
	if (*letters == 'z')
		cfi_read_augmentation(&c, letters, cie);
	cie->program = c;
	return c.bad || (version != 1 && version != 3) ? -ENOTSUP : 0;
}

/* ---- programs ---- */

static struct cfi_cell *cfi_cell_of(struct cfi_machine *m, struct cfi_row *row, uint64_t reg)
{
	int i = reg == m->cie->ra ? CFI_PC : cfi_register(reg);

	return i < 0 ? NULL : &row->cell[i];
}

static void cfi_set(struct cfi_machine *m, uint64_t reg, enum cfi_how how, int64_t offset)
{
	struct cfi_cell *cell = cfi_cell_of(m, &m->row, reg);

	if (cell)
		*cell = (struct cfi_cell){ how, { .offset = offset } };
}

static void cfi_restore(struct cfi_machine *m, uint64_t reg)
{
	struct cfi_cell *cell = cfi_cell_of(m, &m->row, reg);

	if (cell)
		*cell = *cfi_cell_of(m, &m->initial, reg);
}

static void cfi_skip_expression(struct cursor *c)
{
	uint64_t n = cursor_uleb(c);

	cfi_skip(c, n);
}

static void cfi_set_expression(struct cfi_machine *m, struct cursor *c, enum cfi_how how)
{
	struct cfi_cell *cell = cfi_cell_of(m, &m->row, cursor_uleb(c));

	if (cell)
		*cell = (struct cfi_cell){ how, { .expression = c->at } };
	cfi_skip_expression(c);
}

/* Reads an offset and scales it to bytes; an overflow wraps. */
static int64_t cfi_scaled(const struct cfi_machine *m, uint64_t v)
{
	return (int64_t)(v * (uint64_t)m->cie->data_align);
}

static void cfi_set_cfa(struct cfi_machine *m, uint64_t reg, int64_t offset)
{
	m->row.cfa_register = reg;
	m->row.cfa_offset = offset;
	m->row.cfa_expression = NULL;
}

static int cfa_operation(struct cfi_machine *m, struct cursor *c, unsigned op)
{
	uint64_t reg;

	switch (op) {
	case 0x0c: /* def_cfa */
		reg = cursor_uleb(c);
		cfi_set_cfa(m, reg, (int64_t)cursor_uleb(c));
		return 0;
	case 0x12: /* def_cfa_sf */
		reg = cursor_uleb(c);
		cfi_set_cfa(m, reg, cfi_scaled(m, (uint64_t)cursor_sleb(c)));
		return 0;
	case 0x0d: /* def_cfa_register */
		cfi_set_cfa(m, cursor_uleb(c), m->row.cfa_offset);
		return 0;
	case 0x0e: /* def_cfa_offset */
		m->row.cfa_offset = (int64_t)cursor_uleb(c);
		return 0;
	case 0x13: /* def_cfa_offset_sf */
		m->row.cfa_offset = cfi_scaled(m, (uint64_t)cursor_sleb(c));
		return 0;
	case 0x0f: /* def_cfa_expression */
		m->row.cfa_expression = c->at;
		cfi_skip_expression(c);
		return 0;
	}
	return -ENOTSUP;
}

static int register_operation(struct cfi_machine *m, struct cursor *c, unsigned op)
{
	uint64_t reg;

	switch (op) {
	case 0x05: /* offset_extended */
		reg = cursor_uleb(c);
		cfi_set(m, reg, CFI_AT_CFA, cfi_scaled(m, cursor_uleb(c)));
		return 0;
	case 0x11: /* offset_extended_sf */
		reg = cursor_uleb(c);
		cfi_set(m, reg, CFI_AT_CFA, cfi_scaled(m, (uint64_t)cursor_sleb(c)));
		return 0;
	case 0x14: /* val_offset */
		reg = cursor_uleb(c);
		cfi_set(m, reg, CFI_IS_CFA, cfi_scaled(m, cursor_uleb(c)));
		return 0;
	case 0x15: /* val_offset_sf */
		reg = cursor_uleb(c);
		cfi_set(m, reg, CFI_IS_CFA, cfi_scaled(m, (uint64_t)cursor_sleb(c)));
		return 0;
	case 0x06: /* restore_extended */
		cfi_restore(m, cursor_uleb(c));
		return 0;
	case 0x07: /* undefined */
		cfi_set(m, cursor_uleb(c), CFI_UNDEFINED, 0);
		return 0;
	case 0x08: /* same_value */
		cfi_set(m, cursor_uleb(c), CFI_SAME, 0);
		return 0;
	case 0x09: /* register */
		reg = cursor_uleb(c);
		cfi_set(m, reg, CFI_IN, (int64_t)cursor_uleb(c));
		return 0;
	case 0x10: /* expression */
		cfi_set_expression(m, c, CFI_AT_EXPRESSION);
		return 0;
	case 0x16: /* val_expression */
		cfi_set_expression(m, c, CFI_IS_EXPRESSION);
		return 0;
	}
	return -ENOTSUP;
}

/* Returns 1 when the row for pc is complete. */
static int other_operation(struct cfi_machine *m, struct cursor *c, unsigned op)
{
	switch (op) {
	case 0x00: /* nop */
	case 0x2d: /* aarch64: the return address is (not) signed */
		return 0;
	case 0x01: /* set_loc */
		m->at = cursor_pointer(c, m->cie->pointer_encoding, 0);
		return m->at > m->pc;
	case 0x02:
	case 0x03:
	case 0x04: /* advance_loc1, 2, 4 */
		m->at += cursor_get(c, 1u << (op - 2)) * m->cie->code_align;
		return m->at > m->pc;
	case 0x0a: /* remember_state */
		if (m->depth == CFI_REMEMBERED)
			return -ENOTSUP;
		m->stack[m->depth++] = m->row;
		return 0;
	case 0x0b: /* restore_state */
		if (!m->depth)
			return -ENOTSUP;
		m->row = m->stack[--m->depth];
		return 0;
	case 0x2e: /* GNU_args_size */
		cursor_uleb(c);
		return 0;
	}
	return -ENOTSUP;
}

static int cfi_run(struct cfi_machine *m, struct cursor c)
{
	int ret = 0;

	while (c.at < c.end && !c.bad && !ret) {
		unsigned op = (unsigned)cursor_get(&c, 1), low = op & 63;

		switch (op >> 6) {
		case 1: /* advance_loc */
			m->at += low * m->cie->code_align;
			ret = m->at > m->pc;
			break;
		case 2: /* offset */
			cfi_set(m, low, CFI_AT_CFA, cfi_scaled(m, cursor_uleb(&c)));
			break;
		case 3: /* restore */
			cfi_restore(m, low);
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

struct cursor cfi_expression(const uint8_t *expression)
{
	struct cursor c = { expression, expression + 10, 0 };
	uint64_t n = cursor_uleb(&c);

	c.end = c.at + (c.bad ? 0 : n);
	return c;
}

/* Runs the FDE's program up to pc. */
static int cfi_run_fde(struct cfi_machine *m, const struct cie *cie, struct cursor c,
		       uintptr_t start)
{
	m->cie = cie;
	m->at = start;
	if (cfi_run(m, cie->program) < 0)
		return -ENOTSUP;
	m->initial = m->row;
	m->at = start;
	return cfi_run(m, c);
}

int cfi_find(const struct eh_object *o, uintptr_t pc, struct cfi_machine *m)
{
	uintptr_t fde = cfi_fde(o, pc), start, length;
	struct cursor c;
	struct cie cie;
	uint32_t back;

	__builtin_memset(m, 0, sizeof(*m));
	m->pc = pc;
	if (!fde)
		return -ENOENT;
	c = cfi_record(o, fde);
	back = (uint32_t)cursor_get(&c, 4);
	if (c.bad || !back || cfi_read_cie(o, fde + 4 - back, &cie) < 0)
		return -ENOTSUP;
	start = cursor_pointer(&c, cie.pointer_encoding, 0);
	length = cursor_pointer(&c, cie.pointer_encoding & 15, 0);
	if (c.bad || pc - start >= length)
		return -ENOENT;
	if (cie.has_length)
		cfi_skip_expression(&c);
	m->row.signal = cie.signal;
	return cie.signal ? 0 : cfi_run_fde(m, &cie, c, start);
}
