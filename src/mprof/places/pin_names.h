/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * pin_names.h - functions that pin pages: the sites of struct pins, combined by the innermost line
 * on which the user can act, as in findings (profile/findings.h).
 *
 * The profile owns the lines.
 */
#pragma once

#include "../profile/profile.h"
#include "pins.h"

struct pin_name {
	const struct sym_line *line; /* NULL if unknown */
	uint64_t pages, bytes, blocks;
	uint32_t stack; /* the stack of its site with most pages */
};

struct pin_names {
	struct pin_name *name; /* most pages first, then most bytes */
	size_t n;
};

/* names may be NULL: then there is one row without a line.  Release it in any case. */
void pin_names_make(struct pin_names *to, const struct pins *pins, struct profile *names);
void pin_names_release(struct pin_names *p);
