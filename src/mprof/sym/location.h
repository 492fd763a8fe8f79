/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * location.h - what is known about an address before names are formed: one function there.
 *
 * Strings are NUL-terminated and live as long as their arena.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define LOCATIONS_MOST 64 /* at one address; deeper inlined calls count as the last */

struct location {
	const char *raw;  /* linkage name, or as spelled in the source; "": unknown */
	const char *file; /* source file; "": unknown */
	uint32_t line;	  /* 0: unknown */
	bool inlined;	  /* into the next location */
	uint64_t offset;  /* from the beginning of the function; 0 if inlined */
};
