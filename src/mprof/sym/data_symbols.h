/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * data_symbols.h - the variables of an object: its data symbols, with their source locations from
 * DWARF.  Without .symtab, only exported ones are found.
 */
#pragma once

#include "sym.h"

struct sym_variable {
	const char *name; /* demangled as configured */
	const char *file; /* "" if unknown */
	uint32_t line;	  /* 0 if unknown */
	uint32_t object;
	bool tls; /* one instance in each thread; address is relative to its TLS block */
	uint64_t address, size;
};

struct sym_variables {
	struct sym_variable *of;
	size_t count;
	bool stripped; /* local variables are missing */
};

/* Strings are valid until sym_close; the caller frees `of`. */
void sym_variables(struct sym *s, uint32_t object, struct sym_variables *v);
