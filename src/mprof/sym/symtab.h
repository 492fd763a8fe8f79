/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * symtab.h - the functions of an object's symbol tables, sorted once.
 *
 * libdwfl merges .symtab (of the file or of its debug file), .dynsym and the one in .gnu_debugdata.
 * Of several names at an address, the public one with the fewest underscores is used: puts, not
 * _IO_puts.
 */
#pragma once

#include <elfutils/libdwfl.h>

#include "spans.h"

struct symtab {
	struct spans spans;
	const char **name; /* by span.what; owned by libdwfl */
	bool has_locals;   /* true if it has more than exported names */
};

/* False without memory.  Addresses are those of the module. */
void symtab_make(struct symtab *t, Dwfl_Module *module);
void symtab_release(struct symtab *t);
/* Returns the name, and the offset from its beginning; NULL if no symbol is there. */
const char *symtab_find(const struct symtab *t, uint64_t address, uint64_t *offset);
