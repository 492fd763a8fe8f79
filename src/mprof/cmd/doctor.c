/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * doctor.c - `mprof doctor [PROGRAM]`: finds what can and cannot be recorded here.
 *
 * Each check is a row of `checks`; it makes one sentence and says whether that is fine, worth
 * knowing, or prevents recording.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "../util/format.h"
#include "../print/json_rows.h"
#include "../print/paragraph.h"
#include "../profile/outside.h"
#include "../run/elf.h"
#include "../run/library.h"
#include "../run/run.h"
#include "../util/styled.h"
#include "../util/terminal.h"
#include "cmd.h"
#include "usage.h"

enum verdict { FINE, KNOW, BAD };

struct finding {
	enum verdict verdict;
	char text[1024];
};

struct options {
	const char *program;
	bool json;
};

#define OPTIONS struct options
static const struct option_row options[] = { OPTION_JSON(json), OPTION_END };

static const struct usage usage = {
	.options = options,
	.args = "[PROGRAM]",
	.doc = "Checks what can be recorded on this machine, from this directory, and, with "
	       "PROGRAM, whether that program can be recorded.\vThe exit status is 1 if something "
	       "prevents recording.",
	.words = USAGE_FILE,
	.at = offsetof(struct options, program),
};

static void say(struct finding *f, enum verdict verdict, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void say(struct finding *f, enum verdict verdict, const char *format, ...)
{
	va_list args;

	f->verdict = verdict;
	va_start(args, format);
	vsnprintf(f->text, sizeof(f->text), format, args);
	va_end(args);
}

static void check_library(struct finding *f, const char *program)
{
	struct error err;
	struct elf_facts elf;
	char *path = library_find(&err);

	if (!path)
		say(f, BAD, "%s", err.text);
	else if (elf_read(path, &elf) || !elf.ours || elf.type != ELF_SHARED)
		say(f, BAD, "%s is not a shared object for this machine", path);
	else
		say(f, FINE, "The library is %s", path);
	free(path);
}

static void check_conf(struct finding *f, const char *program)
{
	const char *text = getenv("MPROF_CONF");
	struct conf conf = { { NULL } };
	struct error err;

	if (!text)
		say(f, FINE, "MPROF_CONF is not set, so INIT=LD_NEXT and MODE=Count apply");
	else if (conf_parse(&conf, text, &err))
		say(f, BAD, "MPROF_CONF: %s", err.text);
	else
		say(f, FINE, "MPROF_CONF is %s", text);
	conf_release(&conf);
}

static void check_preload(struct finding *f, const char *program)
{
	const char *text = getenv("LD_PRELOAD");

	if (text && *text)
		say(f, KNOW, "LD_PRELOAD names %s, which stays preloaded after libmprof.so", text);
	else
		say(f, FINE, "LD_PRELOAD is not set");
}

/* Is the processor's counter consistent across CPUs? */
static void check_clock(struct finding *f, const char *program)
{
	char line[8192];
	bool steady = false;
	FILE *in = fopen("/proc/cpuinfo", "re");

	while (in && !steady && fgets(line, sizeof(line), in))
		steady = strstr(line, "nonstop_tsc") && strstr(line, "constant_tsc");
	if (in)
		fclose(in);
	if (steady)
		say(f, FINE, "The processor's counter is invariant, so time stamps are cheap");
	else
		say(f, KNOW,
		    "The processor has no invariant counter, so time stamps may be slower");
}

static void check_room(struct finding *f, const char *program)
{
	struct statvfs fs;
	struct error err;
	double gib;

	if (access(".", W_OK)) {
		say(f, BAD, "This directory is not writable (%s): name the trace with -o LOG",
		    strerror(errno));
		return;
	}
	if (target_try("./mprof.log", "mprof.log", &err)) {
		say(f, BAD, "%s (-o LOG names another file)", err.text);
		return;
	}
	if (statvfs(".", &fs)) {
		say(f, KNOW, "The free space of this directory is unknown: %s", strerror(errno));
		return;
	}
	gib = (double)fs.f_bavail * (double)fs.f_frsize / (1 << 30);
	say(f, gib < 1 ? KNOW : FINE, "%s are free in this directory",
	    format_bytes((uint64_t)fs.f_bavail * fs.f_frsize).s);
}

static void check_limits(struct finding *f, const char *program)
{
	struct rlimit file, space;

	getrlimit(RLIMIT_FSIZE, &file);
	getrlimit(RLIMIT_AS, &space);
	if (file.rlim_cur != RLIM_INFINITY)
		say(f, KNOW, "ulimit -f limits every file, and so a trace, to %s",
		    format_bytes(file.rlim_cur).s);
	else if (space.rlim_cur != RLIM_INFINITY)
		say(f, KNOW,
		    "ulimit -v limits the program and its recording to %s of address space",
		    format_bytes(space.rlim_cur).s);
	else
		say(f, FINE, "No limit on file sizes or address space is set");
}

static void check_allocators(struct finding *f, const char *program)
{
	const struct allocator *a;
	size_t n = 0;
	char *path;

	say(f, FINE, "Allocators: ");
	n = strlen(f->text);
	for (a = allocator_table; a->name && n < sizeof(f->text); a++) {
		path = allocator_find(a);
		n += (size_t)snprintf(f->text + n, sizeof(f->text) - n, "%s%s%s%s%s",
				      a != allocator_table ? ", " : "", a->name,
				      path && *path ? " (" : "", path ? path : " is not installed",
				      path && *path ? ")" : "");
		free(path);
	}
}

/* Really runs a program: the kernel, a container or a policy may forbid something unexpected. */
static void check_trial(struct finding *f, const char *program)
{
	static char argv0[] = "true";
	char *argv[] = { argv0, NULL }, directory[] = "/tmp/mprof-XXXXXX", path[64];
	struct run_plan plan = { .argv = argv };
	struct run_result r;
	struct error err;

	if (!mkdtemp(directory)) {
		say(f, KNOW, "No trial run was made: /tmp: %s", strerror(errno));
		return;
	}
	snprintf(path, sizeof(path), "%s/counts", directory);
	if (conf_set(&plan.conf, CONF_COUNTS_PATH, path, &err) || run_program(&plan, &r, &err)) {
		say(f, BAD, "'true' could not be run: %s", err.text);
	} else {
		if (r.file == RUN_FILE)
			say(f, FINE, "'true' was run and recorded");
		else
			say(f, BAD, "'true' ran, but was not recorded%s%s",
			    r.notes || *r.program.why_not ? ": " : "",
			    r.notes ? r.notes : r.program.why_not);
		run_release(&r);
	}
	conf_release(&plan.conf);
	unlink(path);
	rmdir(directory);
}

/* Finds a runtime that maps memory itself, unless the environment tells it not to. */
static const struct mapper *mapper_of_program(const char *image)
{
	char whole[PATH_MAX];
	const char *value;
	const struct mapper *m, *next = NULL;

	m = mapper_of_module(basename(realpath(image, whole) ? whole : image));
	while (!m && (next = mapper_next(next)))
		if (*next->library && elf_needs(image, next->library))
			m = next;
	value = m && *m->variable ? getenv(m->variable) : NULL;
	return value && !strcmp(value, m->value) ? NULL : m;
}

static void check_program(struct finding *f, const char *name)
{
	const struct mapper *mapper;
	struct program program;
	struct error err;

	if (program_find(name, &program, &err))
		say(f, BAD, "%s", err.text);
	else if (*program.why_not)
		say(f, BAD, "%s", program.why_not);
	else if (*program.past)
		say(f, program.past_all ? BAD : KNOW, "%s", program.past);
	else if ((mapper = mapper_of_program(program.image)))
		say(f, KNOW, "%s can be recorded, but %s maps its memory itself: %s", program.path,
		    mapper->whose, mapper->remedy);
	else if (strcmp(program.path, program.image))
		say(f, FINE, "%s can be recorded: a script, run by %s", program.path,
		    program.image);
	else
		say(f, FINE, "%s can be recorded", program.path);
}

static const struct {
	const char *name;
	void (*check)(struct finding *f, const char *program);
	bool of_program; /* only if a program was named */
} checks[] = {
	{ "library", check_library, false },
	{ "MPROF_CONF", check_conf, false },
	{ "LD_PRELOAD", check_preload, false },
	{ "clock", check_clock, false },
	{ "room", check_room, false },
	{ "limits", check_limits, false },
	{ "allocators", check_allocators, false },
	{ "trial", check_trial, false },
	{ "program", check_program, true },
};

enum { CHECKS = sizeof(checks) / sizeof(checks[0]) };

static bool is_wanted(size_t check, const struct options *o)
{
	return o->program || !checks[check].of_program;
}

static const char *const verdicts[] = { [FINE] = "ok", [KNOW] = "note", [BAD] = "no" };

#include "../json/doctor.def"

/* Adds a sentence to the verdict. */
static void print_text(const struct finding *f)
{
	static const enum style styles[] = {
		[FINE] = STYLE_PLAIN, [KNOW] = STYLE_PLACE, [BAD] = STYLE_WARNING
	};
	const struct paragraph_form form = {
		.first = "",
		.indent = 6,
		.width = terminal_text_width() - 6,
	};
	const size_t n = strlen(f->text);
	struct paragraph p = { 0 };

	terminal_style(stdout, styles[f->verdict]);
	printf("%-5s ", verdicts[f->verdict]);
	terminal_style(stdout, STYLE_PLAIN);
	paragraph_add(&p, "%s%s", f->text, n && strchr(".!?", f->text[n - 1]) ? "" : ".");
	paragraph_print(&p, &form, stdout);
	paragraph_release(&p);
}

int cmd_doctor(int argc, char **argv)
{
	struct options o = { 0 };
	struct finding found[CHECKS] = { 0 };
	int status = STATUS_OK;
	size_t i;

	if (usage_take(&usage, argc, argv, &o))
		return STATUS_USAGE;
	for (i = 0; i < CHECKS; i++) {
		if (!is_wanted(i, &o))
			continue;
		checks[i].check(&found[i], o.program);
		if (found[i].verdict == BAD)
			status = STATUS_FOUND;
		if (!o.json)
			print_text(&found[i]);
	}
	if (o.json)
		json_print(stdout, JSON_LIST(CHECKS, is_wanted(i, &o),
					     JSON_NEW(examined, checks[i].name, &found[i])));
	return status;
}
