/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * location.h - one function at an address, and one variable, before their names are formed.
 *
 * Strings are NUL-terminated.  Those of a location live as long as their arena; those of a variable
 * belong to libdwfl or to the cache, and live as long as their object.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LOCATIONS_MOST 64 /* at one address; deeper inlined calls count as the last */

struct location {
	const char *raw;  /* linkage name, or as spelled in the source; "" if unknown */
	const char *file; /* source file; "" if unknown */
	uint32_t line;	  /* 0 if unknown */
	bool inlined;	  /* true if it is inlined into the next location */
	uint64_t offset;  /* from the beginning of the function; 0 if inlined */
};

/* A data symbol. */
struct object_variable {
	const char *name, *file; /* file: "" if unknown */
	uint32_t line;		 /* 0 if unknown */
	bool tls;
	uint64_t address, size; /* as in struct sym_variable */
};
