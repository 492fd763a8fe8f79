/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * data_symbols.h - the variables of an object: its data symbols, with what DWARF says of their
 * source.  Without .symtab only exported ones are known.
 */
#ifndef MPROF_SYM_DATA_SYMBOLS_H
#define MPROF_SYM_DATA_SYMBOLS_H

#include "sym.h"

struct sym_variable {
	const char *name; /* demangled as asked for */
	const char *file; /* "" not known */
	uint32_t line;	  /* 0 not known */
	uint32_t object;
	bool tls; /* one in each thread; address counts from the beginning of its TLS */
	uint64_t address, size;
};

struct sym_variables {
	struct sym_variable *of;
	size_t count;
	bool stripped; /* local ones are missing */
};

/* Strings are valid until sym_close; of is the caller's to free. */
void sym_variables(struct sym *s, uint32_t object, struct sym_variables *v);

#endif
