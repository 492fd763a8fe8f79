/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * print_findings.h - findings in words and as JSON, each with the command that shows the evidence:
 * of call stacks, of memory that was not allocated through malloc, of freed memory that stays
 * resident, and of the stacks of threads.
 */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "../profile/findings.h"
#include "../profile/larger.h"
#include "../profile/outside.h"
#include "../profile/retained.h"
#include "../profile/stack_findings.h"
#include "json.h"

/* most: columns of a function's name, 0 = any. */
void findings_sentence(const struct finding *f, size_t most, FILE *out);
/*
 * Prints a short form after "It also", for a function that was already named.  False if the kind
 * has no such form.
 */
bool findings_brief(const struct finding *f, FILE *out);
/* Prints a command as it can be typed in a shell, with the trace's path; a name of more than
 * `most` letters, unless that is 0, has a * in its middle. */
void findings_command(const struct finding *f, const char *trace, size_t most, FILE *out);
/*
 * Prints the command that plays the proposed change, as above.  False if it proposes none that
 * mprof replay can play.
 */
bool findings_proposes(const struct finding *f);
void findings_proof(const struct finding *f, const struct analysis *a, FILE *out);
/* Prints what that command shows: "what it would save if ...", without a full stop. */
void findings_what_if(const struct finding *f, FILE *out);

/*
 * Add the fields of an object of src/mprof/json: a finding, and memory that run-time libraries
 * keep.
 */
void finding_fields(json *to, const struct analysis *a, const struct finding *f);
void outside_fields(json *to, const struct analysis *a, const struct outside *o);
void retained_fields(json *to, const struct analysis *a, const struct retained *f);
void stacks_fields(json *to, const struct analysis *a, const struct stack_findings *s,
		   size_t which);
void kept_fields(json *to, const struct kept *k);

/* Prints a sentence about memory that was not allocated through malloc; nothing without such
 * memory. */
/* Puts a function, its line with most, and its main caller. */
void outside_put_place(const struct outside_place *place, FILE *out);
void outside_sentence(const struct analysis *a, const struct outside *o, FILE *out);
/* Returns the command that shows more, which the caller frees; NULL if none does. */
char *outside_command(const struct analysis *a, const struct outside *o);

/* Prints sentences about freed memory that stays resident; nothing without a finding. */
void retained_sentence(const struct analysis *a, const struct retained *f, FILE *out);
/* Prints the command that shows which allocators keep less. */
void retained_command(const struct analysis *a, const struct retained *f, FILE *out);

/* Print the sentence about freed memory that goes back to the system and comes back, and the
 * command that shows who frees it; most: as in findings_command(). */
void refaults_sentence(const struct analysis *a, const struct refaults *f, FILE *out);
void refaults_command(const struct analysis *a, const struct refaults *f, size_t most, FILE *out);
void refaults_fields(json *to, const struct analysis *a, const struct refaults *f);

/* Print the sentence about a process that is larger than its live blocks, and the command that
 * shows more. */
void larger_sentence(const struct analysis *a, const struct larger *f, FILE *out);
void larger_command(const struct analysis *a, FILE *out);
void larger_fields(json *to, const struct analysis *a, const struct larger *f);

/* Puts what is known of f->unmatched, whose `of` is not NULL. */
void unmatched_sentence(const struct analysis *a, const struct findings *f, FILE *out);

/* Puts which calls failed and where the first one did; there is one. */
void failures_sentence(const struct analysis *a, FILE *out);
void first_failed_fields(json *to, const struct analysis *a, const struct totals_failure *x);

/* Findings about the stacks of threads: `which` is less than STACK_FINDINGS. */
#define STACK_FINDINGS 4u
/* Is there such a finding? */
bool stack_finding_is(const struct stack_findings *s, size_t which);
/* The bytes that it is about; UINT64_MAX if it warns of a stack that is nearly full. */
uint64_t stack_finding_bytes(const struct stack_findings *s, size_t which);
void stack_finding_sentence(const struct analysis *a, const struct stack_findings *s, size_t which,
			    FILE *out);
/* Returns the command that shows more, without the file. */
const char *stack_finding_command(size_t which);
/* Returns the place in the source that it is about, or NULL. */
const struct sym_line *stack_finding_line(const struct stack_findings *s, size_t which);
