/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * counts.h - a counts file added up: per thread, per process, and in total.
 *
 * Functions of the mmap family are counted like the others and are part of every total: a total is
 * the number of recorded calls.
 */
#pragma once

#include <json-c/json.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "../trace/trace.h"
#include "../pass/alloc_times.h"
#include "event_count.h"

struct counts_sum {
	struct mprof_counts_fn fn[MPROF_FN_MAX];
	uint64_t calls, bytes, failed; /* sums over all functions */
};

struct counts_thread {
	uint32_t number, process;
	uint64_t tid;
	char name[MPROF_THREAD_NAME]; /* "": that of the program */
	uint64_t merged;	      /* further threads in the same row */
	struct counts_sum sum;
};

struct counts_process {
	uint32_t number;
	int32_t pid, parent_pid;
	char *command; /* owned; its last program with arguments */
	char *first;   /* owned; the program that called exec first, or NULL */
	bool forked;   /* command is its parent's */
	char how[48];  /* "status 0", "signal 9 (Killed)", "still running", "" if unknown */
	uint32_t threads;
	struct counts_sum sum;
};

struct counts {
	struct counts_thread *thread; /* by process, then number */
	size_t threads;
	struct counts_process *process; /* by number */
	size_t processes, room;
	uint64_t all_threads; /* including the merged ones */
	struct counts_sum all;
	uint64_t lost[MPROF_LOST_REASONS];
	struct event_count_own own;
	struct alloc_times times;
};

/* Returns 0, or -errno with *err as trace_open does. */
int counts_read(struct counts *c, const char *path, struct error *err);
void counts_release(struct counts *c);

/* Prints a table of the functions that were called, as mprof stat does. */
void counts_functions(FILE *out, const struct counts *c);
/* Prints the rows of a table: processes, their threads (at most `rows` of them; 0 = all), the
 * total. */
void counts_print(FILE *out, const struct counts *c, size_t rows);
/* Fields of JSON (json/counts.def); path may be NULL. */
void counts_fields(struct json_object *to, const char *path, const struct counts *c);

/* Does this directory contain counts files other than those kept as .old? */
bool counts_here(void);
