// SPDX-License-Identifier: LGPL-3.0-or-later
/* print_larger.c - a process that is much larger than its live blocks, in words. */
#include "print_findings.h"

#include <inttypes.h>

#include "figures.h"
#include "json_rows.h"
#include "quote.h"

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
	fprintf(out,
		"Besides code and mprof's own memory, at least %s was freed memory "
		"that the allocator keeps",
		format_bytes(f->rest).s);
	if (f->maps)
		fputs(f->threads ? ", memory mapped directly" : " or memory mapped directly", out);
	if (f->threads)
		fputs(" or stacks of threads", out);
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
