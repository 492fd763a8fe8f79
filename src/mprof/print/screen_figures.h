/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * screen_figures.h - the figures of the whole run on the first screen, added to a paragraph.
 */
#pragma once

#include "../pass/analysis.h"
#include "paragraph.h"

/* Do several processes have figures? */
bool screen_is_tree(const struct analysis *a);
/* "Largest resident set: 83.0 MiB, with code and files"; false if it is unknown. */
bool screen_resident(struct paragraph *words, const struct analysis *a);
/* Peak, largest resident set, what was allocated and what was never freed, and by whom. */
void screen_totals(struct paragraph *words, const struct analysis *a);
/* Rounding, pages, lifetimes. */
void screen_heap(struct paragraph *words, const struct analysis *a);
