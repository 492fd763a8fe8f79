// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * eh.c - translates call frame information to a rule if a rule can express it.
 *
 * Called only when an address is first met: its cost (about 1 us) is small beside what the table of
 * rules saves.
 */
#include "eh.h"

#include <errno.h>

#include "cfi.h"

/* Converts to the 32 bits of a rule; sets *bad if v does not fit. */
static int32_t eh_offset_of(int64_t v, int *bad)
{
	*bad |= v != (int32_t)v;
	return (int32_t)v;
}

/* Returns n of "fp + n"; any other expression sets *bad. */
static int32_t eh_fp_offset(struct cursor *e, int *bad)
{
#if defined(__x86_64__)
	enum { BREG_FP = 0x70 + 6 };
#else
	enum { BREG_FP = 0x70 + 29 };
#endif
	*bad = cursor_get(e, 1) != BREG_FP;
	return eh_offset_of(cursor_sleb(e), bad);
}

/* Recognises CFA = *(fp - n), which gcc writes for functions that realign their stack. */
static int eh_cfa_of_expression(const struct cfi_row *row, struct eh_rule *rule)
{
	struct cursor e = cfi_expression(row->cfa_expression);
	int bad;

	rule->base = EH_FP;
	rule->deref = 1;
	rule->cfa = eh_fp_offset(&e, &bad);
	bad |= cursor_get(&e, 1) != 0x06; /* deref */
	return bad || e.bad || e.at != e.end ? -ENOTSUP : 0;
}

static int eh_fp_of_cell(const struct cfi_cell *cell, struct eh_rule *rule)
{
	struct cursor e;
	int bad = 0;

	switch (cell->how) {
	case CFI_SAME:
	case CFI_UNDEFINED:
		return 0;
	case CFI_AT_CFA:
		rule->fp = eh_offset_of(cell->offset, &bad);
		return bad ? -ENOTSUP : 0;
	case CFI_AT_EXPRESSION: /* in the same functions, saved at fp itself */
		e = cfi_expression(cell->expression);
		rule->fp_by_fp = 1;
		rule->fp = eh_fp_offset(&e, &bad);
		return bad || e.bad || e.at != e.end ? -ENOTSUP : 0;
	default:
		return -ENOTSUP;
	}
}

static int eh_to_rule(const struct cfi_row *row, struct eh_rule *rule)
{
	const struct cfi_cell *ra = &row->cell[CFI_PC];
	int base = cfi_register(row->cfa_register), bad = 0;

	if (ra->how == CFI_UNDEFINED) {
		rule->end = 1;
		return 0;
	}
	if (row->cfa_expression) {
		if (eh_cfa_of_expression(row, rule) < 0)
			return -ENOTSUP;
	} else if (base == CFI_SP || base == CFI_FP) {
		rule->base = base == CFI_FP ? EH_FP : EH_SP;
		rule->cfa = eh_offset_of(row->cfa_offset, &bad);
	} else {
		return -ENOTSUP;
	}
	if (ra->how != CFI_AT_CFA && ra->how != CFI_SAME)
		return -ENOTSUP;
	rule->ra = ra->how == CFI_AT_CFA ? eh_offset_of(ra->offset, &bad) : 0;
	return bad ? -ENOTSUP : eh_fp_of_cell(&row->cell[CFI_FP], rule);
}

int eh_find(const struct eh_object *o, uintptr_t pc, struct cfi_machine *m, struct eh_rule *rule)
{
	int ret = cfi_find(o, pc, m);

	*rule = (struct eh_rule){ 0 };
	if (ret < 0)
		return ret;
	if (m->row.signal) {
		rule->signal = 1;
	} else if (eh_to_rule(&m->row, rule) < 0) {
		*rule = (struct eh_rule){ 0 };
		rule->complex = 1;
	}
	return 0;
}
