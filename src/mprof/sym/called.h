/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * called.h - the names by which objects call each other.
 *
 * fopen of a stripped libc ends by jumping to a local function, which then is the one in the stack,
 * and has no name.  The call in the caller's code still says fopen: it goes through the caller's
 * procedure linkage table or global offset table, and a relocation of that has the name.
 *
 * The code to which a signal handler returns has no symbol either, and is known by its
 * instructions (x86-64; that of aarch64 is in the vDSO, with a name).
 *
 * On x86-64 and aarch64; elsewhere nothing is found.  Reads the object's file, not its debug
 * information.
 */
#pragma once

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "files.h"

struct called {
	bool opened;
	int fd;	  /* -1: no file */
	Elf *elf; /* NULL: not of a machine that is known here */
	const struct called_machine *machine;
	struct called_slot { /* of the global offset table */
		uint64_t address;
		const char *name; /* in the file */
	} * slot;		  /* by address */
	size_t slots, room;
};

void called_release(struct called *c);
/* Returns the name of the function of another object that the call before `address` (a return
 * address) calls; it lives as long as c.  NULL if it is unknown. */
const char *called_name(struct called *c, const struct files *files, const struct stack_object *of,
			uint64_t address);
/* Returns where the function is that this call calls directly, in the same object; 0 if it does
 * not. */
uint64_t called_address(struct called *c, const struct files *files, const struct stack_object *of,
			uint64_t address);
/* Returns where the object has the function that it exports under this name; 0 if it has none. */
uint64_t called_export(struct called *c, const struct files *files, const struct stack_object *of,
		       const char *name);
/* Does a signal handler return to this address? */
bool called_returns_from_signal(struct called *c, const struct files *files,
				const struct stack_object *of, uint64_t address);
