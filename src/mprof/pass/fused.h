/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * fused.h - one loop over the events for what most reports need, instead of one for each
 * pass: for struct walk.fused.
 *
 * It takes runs (heap/event_run.h), and tells passes through the same functions as their own
 * batch() does, so the results are the same.
 *
 * Threads: one at a time.
 */
#ifndef MPROF_PASS_FUSED_H
#define MPROF_PASS_FUSED_H

#include "analysis.h"

/* All passes of an analysis that is brief and has stacks. */
size_t fused_analysis(void *analysis, struct walk *w, size_t first, size_t n);
/* Sites alone. */
size_t fused_sites(void *sites, struct walk *w, size_t first, size_t n);

#endif
