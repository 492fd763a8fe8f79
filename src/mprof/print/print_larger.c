// SPDX-License-Identifier: LGPL-3.0-or-later
/* print_larger.c - a process that is much larger than its live blocks, in words. */
#include "print_findings.h"

#include <inttypes.h>

#include "figures.h"
#include "json_rows.h"
#include "quote.h"

/* Puts what it may have been: "A, B or C". */
static void put_rest(const struct larger *f, FILE *out)
{
	char runtime[256] = "";
	const char *part[] = {
		runtime,
		f->freed ? "freed memory that the allocator keeps" : "",
		f->aligned ? "gaps beside aligned blocks" : "",
		f->missing ? "blocks of calls that were not recorded" : "",
		!f->maps     ? ""
		: !f->mapper ? "memory mapped directly"
			     : "other memory mapped directly",
		f->threads ? "stacks of threads" : "",
	};
	const size_t parts = sizeof(part) / sizeof(part[0]);
	size_t last = 0, put = 0;

	if (f->mapper)
		snprintf(runtime, sizeof(runtime), "%s (%s)", f->mapper->whose, f->mapper->remedy);
	for (size_t i = 0; i < parts; i++)
		last = *part[i] ? i : last;
	for (size_t i = 0; i < parts; i++)
		if (*part[i])
			fprintf(out, "%s%s", !put++ ? "" : i < last ? ", " : " or ", part[i]);
	if (!put)
		fputs("its stack or memory that the allocator took in advance", out);
}

void larger_sentence(const struct analysis *a, const struct larger *f, FILE *out)
{
	if (a->tree.processes > 1)
		fprintf(out, "Process %" PRIu32, f->process);
	else
		fputs("The process", out);
	fprintf(out,
		" was much larger than its live blocks: %s after the start, %s was resident, and "
		"at most %s was live. ",
		format_since(f->ns).s, format_bytes(f->resident).s, format_bytes(f->live).s);
	fprintf(out, "Besides code and mprof's own memory, at least %s was ",
		format_bytes(f->rest).s);
	put_rest(f, out);
	fprintf(out,
		". This lasted %s of %s. A profile does not know what pages contain: a trace "
		"does (mprof record).",
		format_ns(f->held_ns).s, format_ns(f->of_ns).s);
}

void larger_command(const struct analysis *a, FILE *out)
{
	fputs("mprof report --all ", out);
	shell_path(a->path, out);
}

#include "../json/larger.def"
