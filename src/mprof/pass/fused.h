/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * fused.h - one loop over the events for all figures of most reports, instead of one loop per pass:
 * for struct walk.fused.
 *
 * It takes runs (heap/event_run.h), and calls the same functions as the batch()
 * of each pass, so the results are the same.
 *
 * Threads: one at a time.
 */
#pragma once

#include "analysis.h"

/* Runs all passes of an analysis with stacks: a brief one, or a full one. */
size_t fused_brief(void *analysis, struct walk *w, size_t first, size_t n);
size_t fused_full(void *analysis, struct walk *w, size_t first, size_t n);
/* Runs only the pass of sites. */
size_t fused_sites(void *sites, struct walk *w, size_t first, size_t n);
