/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * pass_state.h - what a pass knows between its last event and finish(), as bytes: its struct and
 * the arrays that its table names.  For this build of the program.  pass_sites has its own
 * (sites_state.h).
 */
#pragma once

#include "../trace/bytes.h"
#include "walk.h"

/* Without memory, `to` has failed. */
void pass_state_put(const struct walk_pass *p, struct byte_column *to);
/* Into a pass that has started. */
void pass_state_get(const struct walk_pass *p, struct cursor *from);
