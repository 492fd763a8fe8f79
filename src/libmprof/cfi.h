/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * cfi.h - call frame information: where the registers of a frame's caller are. Sources: LSB
 * "Exception Frames", DWARF 5 section 6.4.
 *
 * Keeps only the registers that a call preserves, as a frame within a call depends on no others,
 * and those that a prologue may compute from.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "eh_object.h"

#if defined(__x86_64__)
enum {
	CFI_RBX,
	CFI_FP,
	CFI_SP,
	CFI_R10,
	CFI_R12,
	CFI_R13,
	CFI_R14,
	CFI_R15,
	CFI_PC,
	CFI_REGISTERS
};
#elif defined(__aarch64__)
enum { CFI_X19, CFI_FP = 10, CFI_LR, CFI_SP, CFI_PC, CFI_REGISTERS };
#endif

/* Reads bytes from the front; `bad` once a read has passed the end. */
struct cursor {
	const uint8_t *at, *end;
	int bad;
};
uint64_t cursor_get(struct cursor *c, unsigned bytes);
uint64_t cursor_uleb(struct cursor *c);
int64_t cursor_sleb(struct cursor *c);
/* Reads a pointer in one of the LSB's encodings; base: what DW_EH_PE_datarel is relative to. */
uintptr_t cursor_pointer(struct cursor *c, uint8_t encoding, uintptr_t base);

/* Our index of a DWARF register; -1 if we keep none for it. */
int cfi_register(uint64_t dwarf);

enum cfi_how {
	CFI_SAME,	   /* as in the callee */
	CFI_AT_CFA,	   /* saved at CFA + offset */
	CFI_IS_CFA,	   /* is CFA + offset */
	CFI_UNDEFINED,	   /* not saved; a frame without a return address is the outermost */
	CFI_IN,		   /* in the DWARF register `offset` */
	CFI_AT_EXPRESSION, /* saved at the address that the expression yields */
	CFI_IS_EXPRESSION, /* is the value of the expression */
};

struct cfi_cell {
	enum cfi_how how;
	union {
		int64_t offset;
		const uint8_t *expression; /* its length in ULEB128, then its bytes */
	};
};

struct cfi_row {
	uint8_t signal; /* 1 in a signal frame, where the fields below are not used */
	uint64_t cfa_register;
	int64_t cfa_offset;
	const uint8_t *cfa_expression; /* the expression that yields the CFA, used if not NULL */
	struct cfi_cell cell[CFI_REGISTERS]; /* cell[CFI_PC] is the return address */
};

/* A cursor over the operations of an expression. */
struct cursor cfi_expression(const uint8_t *expression);

#define CFI_REMEMBERED 4

/* State of a run.  It has 1 KiB, too much for the stack of a coroutine. */
struct cfi_machine {
	struct cfi_row row, initial, stack[CFI_REMEMBERED];
	const struct cie *cie;
	unsigned depth;
	uintptr_t at, pc;
};

/* ---- cfi_records.c ---- */

/* The address of the FDE in whose range pc may lie; 0 if there is none. */
uintptr_t cfi_fde(const struct eh_object *o, uintptr_t pc);
/*
 * The bytes of the record at `start` after its length.  The cursor is bad at the terminator, for a
 * record of 64 bits, or if the address is outside the object.
 */
struct cursor cfi_record(const struct eh_object *o, uintptr_t start);
/* Forgets which pages are readable, because objects were unloaded. */
void cfi_forget(void);

/* ---- cfi.c ---- */

/*
 * Sets m->row to the row of the instruction at pc, from an object's .eh_frame_hdr.  0, -ENOENT
 * without information, -ENOTSUP if it is not understood.
 */
int cfi_find(const struct eh_object *o, uintptr_t pc, struct cfi_machine *m);
