/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * location.h - what is known of an address before names are formed: one function there.
 *
 * Strings are NUL-terminated and live as long as the arena they are from.
 */
#ifndef MPROF_SYM_LOCATION_H
#define MPROF_SYM_LOCATION_H

#include <stdbool.h>
#include <stdint.h>

#define LOCATIONS_MOST 64 /* at one address; what is inlined deeper counts as the last */

struct location {
	const char *raw;  /* linkage name, or as spelled in the source; "" not known */
	const char *file; /* source file; "" not known */
	uint32_t line;	  /* 0 not known */
	bool inlined;	  /* into the next location */
	uint64_t offset;  /* from the begin of the function; 0 if inlined */
};

#endif
