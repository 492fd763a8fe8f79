// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * main_threads.c - one number for the main thread of a process.
 *
 * Each program that a process ran numbers its own threads, so after an exec the main thread
 * has a second number.  Readers see the first one.  The thread is recognised as the kernel
 * does it: its tid is the pid of the process.
 */
#include "reader.h"

#include <stdlib.h>

#include "../util/alloc.h"
#include "../util/hash.h"
#include "../util/order.h"

struct main_thread {
	uint32_t process, thread;
};

ORDER(by_process, struct main_thread, RISING(process) ?: RISING(thread))

static bool has_exec(const struct trace *t)
{
	for (size_t i = 0; i < t->facts; i++)
		if (t->fact[i].fact->what == MPROF_FACT_EXEC)
			return true;
	return false;
}

struct hash trace_main_threads(const struct trace *t)
{
	struct hash main = { 0 };

	for (size_t i = 0; i < t->facts; i++)
		if (t->fact[i].fact->what <= MPROF_FACT_EXEC)
			*hash_at(&main, trace_thread_key(t->fact[i].process,
							 (uint32_t)t->fact[i].fact->pid)) = 1;
	return main;
}

static size_t find_main(const struct trace *t, struct main_thread *to)
{
	struct hash main = trace_main_threads(t);
	size_t n = 0;

	for (size_t i = 0; i < t->uses; i++) {
		const struct trace_stack_use *u = &t->use[i];

		if (u->u->tid && u->thread &&
		    hash_get(&main, trace_thread_key(u->process, (uint32_t)u->u->tid)))
			to[n++] = (struct main_thread){ u->process, u->thread };
	}
	hash_release(&main);
	SORT(to, n, by_process);
	return n;
}

void main_threads_find(struct trace *t)
{
	struct main_thread *all, *first;
	uint32_t most = 0;
	size_t n;

	if (!has_exec(t))
		return;
	all = must_calloc(t->uses + 1, sizeof(*all));
	n = find_main(t, all);
	for (size_t i = 0; i < n; i++)
		most = all[i].thread > most ? all[i].thread : most;
	if (n && most < MAIN_THREADS_MOST)
		t->first_number = must_calloc((size_t)most + 1, sizeof(*t->first_number));
	t->first_numbers = t->first_number ? most + 1 : 0;
	first = all;
	for (size_t i = 0; t->first_number && i < n; i++) {
		if (all[i].process != first->process)
			first = &all[i];
		t->first_number[all[i].thread] = first->thread;
	}
	free(all);
}

uint32_t trace_thread(const struct trace *t, uint32_t number)
{
	return number < t->first_numbers && t->first_number[number] ? t->first_number[number]
								    : number;
}

void main_threads_give(const struct trace *t, struct event *e, size_t n)
{
	if (!t->first_numbers || t->keeps_numbers)
		return;
	for (size_t i = 0; i < n; i++)
		e[i].thread = trace_thread(t, e[i].thread);
}

void trace_keep_numbers(struct trace *t, bool keep)
{
	t->keeps_numbers = keep;
}
