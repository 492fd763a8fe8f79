// SPDX-License-Identifier: LGPL-3.0-or-later
/* print_stack_findings.c - findings about the stacks of threads, in words and as JSON. */
#include "print_findings.h"

#include <inttypes.h>
#include <signal.h>
#include <string.h>

#include "figures.h"
#include "json_rows.h"
#include "quote.h"

enum { FULL, LARGE, VARIABLES, UNJOINED };

const char *stack_finding_command(size_t which)
{
	return which == VARIABLES ? "mprof report globals " : "mprof report threads ";
}

bool stack_finding_is(const struct stack_findings *s, size_t which)
{
	return which == FULL	    ? s->fullest != NULL
	       : which == LARGE	    ? s->process != 0
	       : which == VARIABLES ? s->variables_process != 0
				    : s->unjoined != 0;
}

const struct sym_line *stack_finding_line(const struct stack_findings *s, size_t which)
{
	return which == UNJOINED ? s->unjoined_line : NULL;
}

uint64_t stack_finding_bytes(const struct stack_findings *s, size_t which)
{
	return which == FULL	    ? UINT64_MAX
	       : which == LARGE	    ? s->bytes
	       : which == VARIABLES ? s->variables
				    : s->unjoined_bytes + s->unjoined_resident;
}

static void put_thread(const struct stack_of *x, const char *the, FILE *out)
{
	fprintf(out, "%s %s", the, stack_thread_title(x).s);
}

/* Names the function that has most of the stack; `line` is where the stack was deepest. */
static void put_part(const struct sym_line *line, const struct stack_function *part, FILE *out)
{
	const bool one = part->frames == 1;
	char frames[64] = "frame";

	if (!part->line)
		return;
	if (!one)
		snprintf(frames, sizeof(frames), "%s",
			 format_many(part->frames, "frame", "frames").s);
	if (!strcmp(part->line->function, line->function) &&
	    !strcmp(part->line->file, line->file)) {
		fprintf(out, ", whose %s %s %s", frames, one ? "has" : "have",
			format_bytes(part->bytes).s);
		return;
	}
	fprintf(out, "; %s of it in %s%s of ", format_bytes(part->bytes).s, one ? "the " : "",
		frames);
	figures_line(out, part->line, false);
}

static void put_deepest(const struct stack_of *x, const struct sym_line *line,
			const struct stack_function *part, FILE *out)
{
	if (line) {
		fputs(", deepest in ", out);
		figures_line(out, line, true);
		put_part(line, part, out);
	} else if (x->deepest && x->deepest < x->used / 2) {
		fprintf(
		    out,
		    ", in functions that do not allocate (its deepest recorded call was %s down)",
		    format_bytes(x->deepest).s);
	}
}

static bool was_killed_by(const struct analysis *a, uint32_t process, int signal)
{
	const struct tree_process *p = tree_find(&a->tree, process);

	return p && p->end == TREE_KILLED && p->status == signal;
}

static void put_full(const struct analysis *a, const struct stack_findings *s, FILE *out)
{
	const struct stack_of *x = s->fullest;

	put_thread(x, "Thread", out);
	fprintf(out, " used %s of its stack of %s (%s)", format_bytes(x->used).s,
		format_bytes(x->limit).s, format_percent(x->used, x->limit).s);
	put_deepest(x, s->fullest_line, &s->fullest_part, out);
	if (s->full > 1)
		fprintf(out, "; %s less than a tenth of theirs",
			s->full == 2 ? "another thread left" : "others left");
	fputs(!x->end_ticks && was_killed_by(a, x->process, SIGSEGV)
		  ? ". It probably ran out of stack, because SIGSEGV killed the process."
		  : ". It may run out of stack.",
	      out);
}

/* memory: the largest resident set of the process. */
static void put_share(const struct analysis *a, uint64_t bytes, uint32_t process, uint64_t memory,
		      FILE *out)
{
	fprintf(out, " took %s, %s of the largest resident set of ", format_bytes(bytes).s,
		format_percent(bytes, memory).s);
	if (a->tree.processes > 1)
		fprintf(out, "process %" PRIu32, process);
	else
		fputs("the program", out);
	fprintf(out, " (%s)", format_bytes(memory).s);
}

static void put_large(const struct analysis *a, const struct stack_findings *s, FILE *out)
{
	fputs(s->threads == 1 ? "The stack of a thread" : "Stacks of threads", out);
	put_share(a, s->bytes, s->process, s->memory, out);
	if (s->threads > 1)
		fprintf(out, ": %" PRIu64 " threads ran at once, and ", s->threads);
	else
		fputs(": ", out);
	if (s->largest) {
		put_thread(s->largest, "thread", out);
		fprintf(out, " used %s%s", s->threads > 1 ? "most, " : "",
			format_bytes(s->largest->used).s);
		put_deepest(s->largest, s->largest_line, &s->largest_part, out);
	}
	fputc('.', out);
}

static void put_variables(const struct analysis *a, const struct stack_findings *s, FILE *out)
{
	fputs("Variables", out);
	put_share(a, s->variables, s->variables_process, s->variables_memory, out);
	if (s->variable.function) {
		fprintf(out, "; %s of it is ", format_bytes(s->variable_resident).s);
		figures_line(out, &s->variable, true);
	}
	fputc('.', out);
}

static void put_unjoined(const struct stack_findings *s, FILE *out)
{
	fprintf(out,
		"At least %s threads that ended were neither joined nor detached, so the C library "
		"keeps their stacks (%s of address space",
		format_count(s->unjoined).s, format_bytes(s->unjoined_stacks).s);
	if (s->unjoined_resident)
		fprintf(out, ", of which about %s was resident",
			format_bytes(s->unjoined_resident).s);
	fprintf(out, ") and %s for them", format_bytes(s->unjoined_bytes).s);
	if (s->unjoined_line) {
		fputs("; most were created by ", out);
		figures_line(out, s->unjoined_line, true);
	}
	fputc('.', out);
}

void stack_finding_sentence(const struct analysis *a, const struct stack_findings *s, size_t which,
			    FILE *out)
{
	if (which == FULL)
		put_full(a, s, out);
	else if (which == LARGE)
		put_large(a, s, out);
	else if (which == VARIABLES)
		put_variables(a, s, out);
	else
		put_unjoined(s, out);
}

struct stack_figures {
	const char *kind;
	const struct stack_of *x;
	uint64_t part, of, threads;
};

static struct stack_figures figures_of(const struct stack_findings *s, size_t which)
{
	if (which == FULL)
		return (struct stack_figures){ "stack-full", s->fullest, s->fullest->used,
					       s->fullest->limit, s->full };
	if (which == LARGE)
		return (struct stack_figures){ "stacks", s->largest, s->bytes, s->memory,
					       s->threads };
	if (which == UNJOINED)
		return (struct stack_figures){ "unjoined", NULL, s->unjoined_bytes,
					       s->unjoined_bytes + s->unjoined_stacks,
					       s->unjoined };
	return (struct stack_figures){ "variables", NULL, s->variables, s->variables_memory, 0 };
}

#include "../json/stacks.def"
