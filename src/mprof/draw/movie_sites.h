/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * movie_sites.h - names of the sites in a movie, numbered in the order of first use; stacks with
 * the same text have one number.
 *
 * Threads: one at a time.  A zeroed struct with `names` set is empty.
 */
#pragma once

#include <stdint.h>

#include "../pass/interner.h"
#include "movie_pack.h"

struct profile;

struct movie_sites {
	struct profile *names; /* NULL = every site is 0 */
	struct interner text;  /* JSON of each number from 1 */
	uint32_t *number;      /* by node; UINT32_MAX = not numbered yet */
	size_t nodes;
};

/* A movie_site_fn with a struct movie_sites. */
uint32_t movie_site(void *sites, uint32_t node);
/* Writes the player's array of sites. */
void movie_sites_write(const struct movie_sites *s, struct blob *to);
void movie_sites_release(struct movie_sites *s);

/* Writes a string as JSON, with quotes, that is also safe in a script element. */
void movie_string(struct blob *to, const char *text);
