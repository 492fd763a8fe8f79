/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * stack_findings.h - findings about the stacks of threads and about variables.
 *
 *   fullest    the thread that left least of its stack unused, if less than a tenth
 *   bytes      resident bytes of the stacks of all threads of one process that ran at
 *              once, each as of its end; reported if they are at least STACKS_LEAST
 *              and a quarter of the greatest RSS of the process
 *   variables  resident bytes of variables of the program and its libraries, by the
 *              same rule
 *   unjoined   threads that ended, but were neither joined nor detached, if at least
 *              UNJOINED_LEAST
 */
#pragma once

#include "../pass/analysis.h"
#include "../pass/stack_uses.h"
#include "stack_frames.h"

#define STACKS_LEAST   (1u << 20)
#define UNJOINED_LEAST 10u

struct stack_findings {
	struct stack_uses uses;
	const struct stack_of *fullest; /* NULL if there is none */
	size_t full;			/* threads with less than a tenth left */
	uint32_t process;		/* number in the run; 0 if stacks were small */
	uint64_t bytes, memory;		/* bytes of its stacks; its greatest RSS */
	uint64_t threads;		/* threads that ran at once then */
	const struct stack_of *largest; /* the largest of these stacks */
	/* Where these two were deepest; NULL if unknown. */
	const struct sym_line *fullest_line, *largest_line;
	/* The function that has at least half of each; its line is NULL if none has. */
	struct stack_function fullest_part, largest_part;
	/* The same for variables of a process; 0 if they were small, or unknown. */
	uint32_t variables_process;
	uint64_t variables, variables_memory;
	struct sym_line variable; /* has at least half of it; function is NULL if none has */
	uint64_t variable_resident;
	/* A lower bound of their number; the size of their stacks, the bytes of these that were
	 * resident as they ended, and the bytes of blocks that the C library keeps for them. */
	uint64_t unjoined, unjoined_stacks, unjoined_resident, unjoined_bytes;
	const struct sym_line *unjoined_line; /* created most of them; NULL = unknown */
};

void stack_findings_make(struct stack_findings *s, const struct analysis *a, const struct trace *t);
/* Finds the functions and the variable. */
void stack_findings_name(struct stack_findings *s, struct profile *names);
/* Fills `unjoined`; not for a trace whose events end before its processes do. */
void stack_findings_unjoined(struct stack_findings *s, const struct sites *sites,
			     struct profile *names);
void stack_findings_release(struct stack_findings *s);
