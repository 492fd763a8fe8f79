/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * lines.h - finds an address in DWARF: source line, function, and inlined calls.
 *
 * Compilation units are indexed by address once: by .debug_aranges, where compilers have listed the
 * ranges of their units, until an address is not in it, then by all units. The functions of a unit
 * are indexed when an address in it is first looked up. libdw owns its pointers.
 */
#pragma once

#include <elfutils/libdw.h>

#include "../util/arena.h"
#include "location.h"
#include "spans.h"

struct unit;

struct lines {
	Dwarf *dwarf; /* not owned */
	struct arena *arena;
	struct unit *unit;
	size_t units, room;
	struct spans spans;  /* -> unit */
	const char *listed;  /* the file, if units are those of .debug_aranges; NULL: all */
	struct hash spelled; /* address of a DIE -> its name, built from scopes */
	const char *missing; /* a .dwo file that was not found, NULL if none: its functions have
				no inlined calls, and lines only in the unit's own source */
	uint64_t without;    /* addresses found in such units */
};

/*
 * False without memory.  file: the file that contains the DWARF; libdw looks for split DWARF in its
 * directory.
 */
void lines_make(struct lines *l, Dwarf *dwarf, const char *file, struct arena *arena);
void lines_release(struct lines *l);

/*
 * Addresses are those of the DWARF.  Returns the number of locations, innermost first; 0 if
 * unknown.  Strings are libdw's, or in the arena.
 */
size_t lines_find(struct lines *l, uint64_t address, struct location locations[LOCATIONS_MOST]);
/* Is it the body of a parallel region or task of OpenMP, whose name does not tell its function? So
 * it is with clang before LLVM 17; lines_find() names the function. */
bool lines_openmp_body(const char *name);
