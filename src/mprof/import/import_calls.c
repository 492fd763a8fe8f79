/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* import_calls.c - functions for formats: calls as events, remarks, and scanning. */
#include <stdarg.h>
#include <stdio.h>

#include "../trace/functions.h"
#include "import_ops.h"

/* Times never decrease; without times, uses the number of the call. */
static uint64_t ticks_of(struct importer *im, uint64_t ns)
{
	uint64_t ticks = im->ticks + TRACE_UNTIMED;

	if (!im->begun) {
		im->begun = true;
		im->timed = ns != 0;
		im->base_ns = ns;
		ticks = 1;
	} else if (im->timed) {
		ticks = ns >= im->base_ns ? ns - im->base_ns + 1 : 1;
	}
	if (ticks > im->ticks)
		im->ticks = ticks;
	return im->ticks;
}

static struct event *new_event(struct importer *im, enum event_kind kind, uint8_t fn,
			       uint32_t thread, uint64_t ns)
{
	struct event *e = &im->event[im->events++];

	*e = (struct event){
		.ticks = ticks_of(im, ns),
		.process = 1,
		.thread = thread,
		.kind = (uint8_t)kind,
		.fn = fn,
	};
	return e;
}

/* Sets the size of all elements, and what event_factors() needs. */
static void set_size(struct event *e, const struct import_call *c)
{
	const bool overflow =
	    __builtin_mul_overflow(c->size, c->has_elements ? c->elements : 1, &e->size);

	e->arg = c->align;
	e->usable = e->addr ? e->size : 0;
	if (overflow) {
		e->size = UINT64_MAX;
		e->usable = e->addr ? UINT64_MAX : c->size;
	}
	if (!c->has_elements)
		return;
	e->arg = c->elements ? c->elements : c->size;
	e->factors = !c->elements ? FACTORS_NO_COUNT
		     : !overflow  ? FACTORS_COUNT
		     : e->addr	  ? FACTORS_LOST
				  : FACTORS_OVERFLOW;
}

void import_call(struct importer *im, const struct import_call *c)
{
	struct event *e;

	im->report.calls++;
	if (function_class[c->fn] == MPROF_CLASS_REALLOC) {
		if (c->old) {
			e = new_event(im, EVENT_REALLOC_BEGIN, c->fn, c->thread, c->ns);
			e->addr = c->old;
			e->size = c->size;
		}
		e = new_event(im, EVENT_REALLOC_END, c->fn, c->thread, c->ns);
	} else {
		e = new_event(im, EVENT_CALL, c->fn, c->thread, c->ns);
	}
	e->addr = function_class[c->fn] == MPROF_CLASS_FREE ? c->old : c->addr;
	if (function_class[c->fn] != MPROF_CLASS_FREE)
		set_size(e, c);
}

void import_thread_end(struct importer *im, uint32_t thread, uint64_t ns)
{
	new_event(im, EVENT_CONTROL, 0, thread, ns)->control = MPROF_CONTROL_THREAD_END;
}

char *import_remark(struct import_report *r)
{
	return r->remarks < IMPORT_REMARKS ? r->remark[r->remarks++] : NULL;
}

void import_missing(struct importer *im, uint64_t how_many, const char *format, ...)
{
	char *remark = import_remark(&im->report);
	va_list ap;

	im->report.bad += how_many;
	if (!remark)
		return;
	va_start(ap, format);
	vsnprintf(remark, sizeof(im->report.remark[0]), format, ap);
	va_end(ap);
}

static bool scan_one(const char **at, char what, struct import_call *call)
{
	switch (what) {
	case 'r':
		return scan_next(at, 16, &call->addr);
	case 'o':
		return scan_next(at, 16, &call->old);
	case 's':
		return scan_next(at, 10, &call->size);
	case 'n':
		call->has_elements = true;
		return scan_next(at, 10, &call->elements);
	default:
		return scan_next(at, 10, &call->align);
	}
}

bool scan_call(const char **at, const char *shape, struct import_call *call)
{
	for (; *shape; shape++)
		if (!scan_one(at, *shape, call))
			return false;
	return true;
}
