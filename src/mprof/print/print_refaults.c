// SPDX-License-Identifier: LGPL-3.0-or-later
/* print_refaults.c - memory that is returned to the system and comes back, in words. */
#include "print_findings.h"

#include <inttypes.h>

#include "figures.h"
#include "json_rows.h"
#include "quote.h"

static void put_pages(const struct refaults *f, FILE *out)
{
	const uint64_t times = f->new_bytes / f->resident;

	if (f->apart) {
		fprintf(out,
			". glibc mapped %s for large blocks, %" PRIu64
			" times the largest resident set, and unmapped each when it was freed, so "
			"that all pages were new every time.",
			format_bytes(f->apart).s, times);
		return;
	}
	fprintf(out, " and provided %s of new pages, %" PRIu64 " times the largest resident set: ",
		format_bytes(f->new_bytes).s, times);
	if (f->mapper)
		fprintf(out, "%s mapped %s in %s of mmap, and unmapped what was free; %s.",
			f->mapper->whose, format_bytes(f->mapped).s,
			format_many(f->map_calls, "call", "calls").s, f->mapper->remedy);
	else if (f->mapped)
		fprintf(out, "the program itself mapped %s in %s of mmap. Keep and reuse them.",
			format_bytes(f->mapped).s, format_many(f->map_calls, "call", "calls").s);
	else
		fputs("freed memory goes back to the system, and comes back as new pages.", out);
}

void refaults_sentence(const struct analysis *a, const struct refaults *f, FILE *out)
{
	if (a->tree.processes > 1)
		fprintf(out, "In process %" PRIu32 ", the kernel", f->process);
	else
		fputs("The kernel", out);
	fprintf(out, " took %s of the CPU time (%s of %s)",
		format_percent(f->system_ns, f->cpu_ns).s, format_ns(f->system_ns).s,
		format_ns(f->cpu_ns).s);
	put_pages(f, out);
	if (f->more)
		fprintf(out, " %s did the same (%s).",
			format_many(f->more, "more process", "more processes").s,
			format_ns(f->more_ns).s);
	if (f->line) {
		fputc(' ', out);
		figures_line(out, f->line, !f->many_lines);
		fprintf(out, " allocated %s in %s%s: keep and reuse them.",
			format_bytes(f->bytes).s,
			format_many(f->calls, "large block", "large blocks").s,
			f->others >= f->bytes / f->calls ? " of all processes" : "");
	}
	if (f->keep)
		fprintf(out, " With %s, %s keeps freed memory.", refaults_setting(f),
			f->keep->name);
}

void refaults_command(const struct analysis *a, const struct refaults *f, size_t most, FILE *out)
{
	if (f->mapped) {
		fputs("mprof report peak-rss ", out);
	} else if (f->line) {
		findings_command(&(struct finding){ .kind = FINDING_TOTAL, .line = f->line },
				 a->path, most, out);
		return;
	} else {
		fputs("mprof compare ", out);
	}
	shell_path(a->path, out);
}

#include "../json/refaults.def"
