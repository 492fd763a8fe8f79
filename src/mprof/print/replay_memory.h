/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * replay_memory.h - where blocks were placed, in the recorded run and by each allocator, as
 * sentences, tables and JSON.
 */
#pragma once

#include <stdio.h>

#include "../profile/profile.h"
#include "../places/memories.h"
#include "json.h"

struct replay_memory {
	const struct memories *memories;
	struct profile *names; /* of the trace's sites; NULL if unknown */
};

/* Prints tables of page use, retained pages and fragmentation; then sites that pin pages. */
void replay_memory_text(const struct replay_memory *r, FILE *out);

/* Returns the member `heap` of an allocator, or of `recorded`: src/mprof/json.  NULL for a run
 * that failed. */
json *replay_memory_json(const struct replay_memory *r, const struct memories_row *row);
