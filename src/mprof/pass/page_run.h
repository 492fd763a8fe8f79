/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * page_run.h - the passes that only a page of a report has, in the loop of analysis.c: what the
 * batch() of each would do with the events of a run (heap/event_run.h).  Nothing of it is left in
 * loops without a page, whose `page` is a constant NULL.
 *
 * Only analysis.c includes it.  Threads: one at a time.
 */
#pragma once

#include "../heap/event_run.h"
#include "analysis.h"
#include "cells.h"
#include "cross_frees.h"
#include "programs.h"

/* Sums of a run, so that most events change nothing else. */
struct page_run {
	struct trace_program *program;
	uint64_t blocks, bytes; /* allocated */
};

ALWAYS_INLINE void page_begin(struct page_run *p, const struct analysis_page *page,
			      uint32_t process, uint64_t ticks)
{
	if (!page)
		return;
	*p = (struct page_run){ .program = programs_of(page->programs, process) };
	if (!p->program->first_ticks)
		p->program->first_ticks = ticks;
}

/* A call, after its effect; x has neither a new nor an old block for free(NULL). */
ALWAYS_INLINE void page_call(struct page_run *p, const struct analysis_page *page,
			     const struct run *r, const struct cells_event *x)
{
	if (!page)
		return;
	p->program->calls++;
	if (!x->old && !x->began)
		return;
	p->program->ops++;
	if (r->own.bytes > p->program->peak_bytes) {
		p->program->peak_bytes = r->own.bytes;
		p->program->peak_op = p->program->ops - 1;
	}
	if (x->began) {
		p->blocks++;
		p->bytes += x->event->size;
	}
	if (x->old)
		cross_frees_ended(page->cross_frees, r->thread, x->old);
	cells_take(page->cells, x);
}

ALWAYS_INLINE void page_end(const struct page_run *p, const struct analysis_page *page,
			    const struct run *r, uint64_t ticks, uint64_t returned)
{
	if (!page)
		return;
	p->program->last_ticks = ticks;
	cross_frees_allocated(page->cross_frees, r->thread, p->blocks, p->bytes);
	cells_called(page->cells, r->thread, returned);
}
