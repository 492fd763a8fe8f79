// SPDX-License-Identifier: LGPL-3.0-or-later
/* variables.c - global and thread-local variables, and their resident bytes. */
#include "variables.h"

#include <stdlib.h>
#include <string.h>

#include "../pass/resident_pages.h"
#include "../pass/stack_uses.h"
#include "../util/alloc.h"
#include "../util/order.h"

/* Readings of one time: at the end of a process, or from outside. */
struct readings {
	const struct trace_residency *r;
	size_t n;
	uint64_t ticks;
	uint32_t process;
	bool whole; /* includes pages of files */
};

static void find_last(struct readings *x)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->r[i].process == x->process && x->r[i].head->ticks_before > x->ticks)
			x->ticks = x->r[i].head->ticks_before;
}

static struct readings readings_of(const struct trace *t, uint32_t process)
{
	struct readings x = { .process = process, .whole = true };

	x.n = trace_variables(t, &x.r);
	find_last(&x);
	if (x.ticks)
		return x;
	x.whole = false;
	x.n = trace_residencies(t, &x.r);
	find_last(&x);
	return x;
}

static bool is_of(const struct readings *x, size_t i)
{
	return x->ticks && x->r[i].process == x->process && x->r[i].head->ticks_before == x->ticks;
}

static uint64_t resident_in(const struct readings *x, unsigned shift, uint64_t start, uint64_t end)
{
	uint64_t sum = 0, near = 0;

	for (size_t i = 0; i < x->n; i++)
		if (is_of(x, i))
			sum += resident_bytes(&x->r[i], shift, start, end, &near);
	return sum;
}

uint64_t variables_resident(const struct trace *t, uint32_t process)
{
	const struct readings x = readings_of(t, process);
	uint64_t pages = 0;

	for (size_t i = 0; x.whole && i < x.n; i++)
		if (is_of(&x, i))
			pages += resident_all(&x.r[i]);
	return pages * trace_header(t)->page_size;
}

ORDER(by_size, struct variable, FALLING(v.size) ?: RISING(v.object) ?: RISING(v.address))

ORDER(by_bytes, struct variable_object,
      COMPARE(y->bytes + y->tls, x->bytes + x->tls) ?: RISING(object))

static void add_one(struct variables *v, struct variable_object *o, const struct sym_variable *x,
		    const struct stack_object *file, const struct readings *r, unsigned shift)
{
	struct variable *to = &v->of[v->count++];

	*to = (struct variable){ .v = *x };
	o->count++;
	if (x->tls) {
		o->tls += x->size;
		return;
	}
	to->resident =
	    resident_in(r, shift, file->bias + x->address, file->bias + x->address + x->size);
	/* A reading from outside leaves out the pages of initialised variables. */
	to->known = o->known && (r->whole || to->resident);
	o->bytes += x->size;
	o->resident += to->resident;
}

/* Is the symbol in writable memory?  Read-only symbols are not variables; in an object without
 * segments all symbols count. */
static bool is_writable(const struct stack_object *file, const struct sym_variable *x)
{
	for (size_t i = 0; i < file->segments; i++)
		if (x->address >= file->segment[i].address &&
		    x->address - file->segment[i].address < file->segment[i].bytes)
			return file->segment[i].flags & 2;
	return !file->segments;
}

/* Does the object belong to the program?  Our library and pseudo files do not. */
static bool is_ours(const char *path)
{
	return *path != '/' || !strncmp(basename(path), "libmprof", 8);
}

static void add_object(struct variables *v, const struct profile *p, uint32_t object)
{
	const struct stack_object *file = &p->stacks->object[object];
	const unsigned shift = (unsigned)__builtin_ctz(p->header->page_size);
	const struct readings r = readings_of(p->trace, file->first_process);
	struct variable_object *o = &v->object[v->objects];
	struct sym_variables found;

	*o = (struct variable_object){ .object = object,
				       .known = r.ticks != 0,
				       .at_least = !r.whole };
	sym_variables(p->sym, object, &found);
	o->stripped = found.stripped;
	v->of = must_reallocarray(v->of, v->count + found.count + 1, sizeof(*v->of));
	for (size_t i = 0; i < found.count; i++)
		if (found.of[i].tls || is_writable(file, &found.of[i]))
			add_one(v, o, &found.of[i], file, &r, shift);
	free(found.of);
	v->objects++;
}

void variables_find(struct variables *v, const struct profile *p)
{
	struct stack_uses stacks;

	*v = (struct variables){ .count = 0 };
	v->object = must_calloc(p->stacks->objects + 1, sizeof(*v->object));
	stack_uses_find(&stacks, p->trace);
	for (uint32_t i = 1; i < p->stacks->objects; i++) {
		struct variable_object *o = &v->object[v->objects];

		if (is_ours(p->stacks->object[i].path))
			continue;
		add_object(v, p, i);
		o->threads = stack_uses_at_once(&stacks, p->stacks->object[i].first_process);
		v->bytes += o->bytes;
		v->resident += o->resident;
		v->at_least |= o->at_least;
		v->tls += o->tls;
		v->tls_all += o->tls * o->threads;
	}
	stack_uses_release(&stacks);
	SORT(v->of, v->count, by_size);
	SORT(v->object, v->objects, by_bytes);
}

void variables_release(struct variables *v)
{
	free(v->of);
	free(v->object);
	*v = (struct variables){ .count = 0 };
}
