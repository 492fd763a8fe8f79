// SPDX-License-Identifier: LGPL-3.0-or-later
/* overview.c - see overview.h. */
#include "overview.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../print/text.h"
#include "../profile/variables.h"
#include "../run/elf.h"
#include "../run/program.h"
#include "../run/process.h"
#include "../run/own_malloc.h"
#include "../sym/files.h"
#include "../util/alloc.h"
#include "progress.h"

/* Finds why the missing programs could not be recorded. */
static void explain_missing(struct tree *r)
{
	for (size_t i = 0; i < r->missing_count; i++) {
		struct tree_missing *m = &r->missing[i];

		if (!m->environment && *m->path)
			program_why_missing(m->path, m->how, m->why, sizeof(m->why));
	}
}

/* The same for objects whose malloc was called instead of the library's. */
static void explain_owns(struct tree *r)
{
	struct own_malloc own;
	size_t i;

	for (i = 0; i < r->owns; i++) {
		own_malloc_first(r->own[i].path, &own);
		own_malloc_words(&own, r->own[i].why, sizeof(r->own[i].why));
	}
}

/* Does the setting WRAP name the function?  Paths behind it may, too. */
static bool conf_wraps(const char *conf, const char *function)
{
	const char *wrap = strstr(conf, "WRAP=") ?: "";
	char *value = must_strndup(wrap, strcspn(wrap, " \t\n"));
	const bool wraps = own_malloc_is_wrapped(function, value);

	free(value);
	return wraps;
}

/* In each run: a profile may be merged from several. */
static bool is_wrapped(const struct tree *r, const char *function)
{
	bool known = false;

	for (const struct tree_process *p = r->process; p < r->process + r->processes; p++)
		for (size_t i = 0; i < p->images; i++) {
			if (!*p->image[i]->conf)
				continue;
			if (!conf_wraps(p->image[i]->conf, function))
				return false;
			known = true;
		}
	return known;
}

/* Is it still in the file that its path names?  The trace may be from another machine. */
static bool is_in_its_file(const struct stack_object *o)
{
	const struct files files = { .sysroot = "" };
	struct file_found found;

	if (*o->path != '/')
		return false;
	files_object(&files, o, &found);
	if (found.fd >= 0)
		close(found.fd);
	return found.state == FILES_FOUND;
}

static bool has_remark(const struct tree *r, const char *part)
{
	for (size_t i = 0; i < r->remarks; i++)
		if (strstr(r->remark[i], part))
			return true;
	return false;
}

/* A child may be an emulator, too; one that mprof started has a remark. */
static void notice_emulator(struct tree *r, const struct trace *t)
{
	const struct trace_fact *fact;
	const size_t n = trace_facts(t, &fact);
	char words[512];

	for (size_t i = 0; i < n && !r->noticed && !has_remark(r, PROGRAM_EMULATES); i++)
		if (fact[i].fact->what == MPROF_FACT_START &&
		    program_emulates(fact[i].exe, words, sizeof(words)))
			tree_notice(r, words);
}

/* Finds calls that bypass the library, according to the files of the run's objects.  The mprof that
 * starts a program knows of them, too, but tells at the end, and only of this program. */
static void notice_calls(struct tree *r, const struct trace *t)
{
	const struct stacks *s = trace_stacks(t);
	struct own_malloc own;
	const char **path;
	char words[1024];
	size_t n = 0;

	notice_emulator(r, t);
	if (!s || r->noticed)
		return;
	path = must_malloc((s->objects + 1) * sizeof(*path));
	for (size_t i = 0; i < s->objects; i++)
		if (is_in_its_file(&s->object[i]))
			path[n++] = s->object[i].path;
	if (own_malloc_loaded(path, n, &own) && !is_wrapped(r, own.wraps)) {
		own_malloc_words(&own, words, sizeof(words));
		tree_notice(r, words);
	}
	free(path);
}

static uint64_t resident_locals(const struct outside *o, const struct stack_uses *stacks,
				const struct trace *t, uint64_t bytes)
{
	const struct trace_residency *r;
	const size_t n = trace_residencies(t, &r);
	uint64_t sum = 0;

	for (size_t i = 0; i < n; i++)
		if (r[i].process == o->process && r[i].head->ticks_before == o->ticks)
			sum += stack_uses_locals(stacks, t, &r[i], bytes);
	return sum;
}

/* Adds up variables, for which no call requests memory: the resident part of the global ones and of
 * the thread-local ones, and all of these of the main thread, because the dynamic linker clears
 * them. */
static void explain_outside(struct outside *o, const struct stack_uses *stacks,
			    const struct tree *r, const struct trace *t)
{
	const struct tree_process *p = o->process ? tree_find(r, o->process) : NULL;
	const struct trace_fact *image = p ? tree_image(p) : NULL;
	struct elf_facts elf;
	uint64_t resident;

	if (!image || !o->unseen || elf_read(image->exe, &elf))
		return;
	resident = variables_resident(t, p->number);
	o->globals = (resident && resident < elf.bss ? resident : elf.bss) + elf.tls +
		     resident_locals(o, stacks, t, elf.tls);
	if (o->globals > o->unseen)
		o->globals = o->unseen;
}

/* Processes that still run may have a title of their own by now.  One that ended while its file was
 * read ran on in what we read. */
static void explain_running(struct tree *r, const struct trace *t)
{
	char title[512];

	for (struct tree_process *p = r->process; p < r->process + r->processes; p++) {
		p->runs = text_runs(p);
		if (p->runs && !process_title(p->pid, title, sizeof(title)))
			tree_title(p, title);
		p->ran_on |= p->end == TREE_UNKNOWN && !p->runs && trace_ended_since(t, p->number);
	}
}

/* After notice_calls(). */
static void explain(struct tree *r, const struct trace *t)
{
	explain_running(r, t);
	explain_missing(r);
	explain_owns(r);
}

void overview_explain(struct tree *r, const struct trace *t)
{
	notice_calls(r, t);
	explain(r, t);
}

void overview_runs(struct findings *f, const struct tree *tree)
{
	const bool runs = text_running(tree);

	for (size_t i = 0; i < f->count; i++)
		f->item[i].runs = runs && f->item[i].interrupted && !f->item[i].ended_before;
}

int overview_findings(struct findings *f, struct analysis *a, struct trace *t,
		      const struct profile_options *o, struct error *err)
{
	int ret;

	notice_calls(&a->tree, t); /* findings say what may be missing */
	ret = findings_make(f, a, t, o, err);
	if (ret)
		return ret;
	a->findings = f;
	overview_runs(f, &a->tree);
	explain(&a->tree, t);
	explain_outside(&f->outside, &f->stacks.uses, &a->tree, t);
	findings_tell_outside_once(f);
	return 0;
}

int overview_make(struct trace *t, const struct profile_options *o, bool brief,
		  int (*then)(void *context, const struct analysis *a, struct error *err),
		  void *context, struct error *err)
{
	struct analysis *a = must_calloc(1, sizeof(*a));
	struct findings *f = must_calloc(1, sizeof(*f));
	struct analysis_source source;
	struct progress progress;
	int ret;

	analysis_source_of(&source, t);
	source.brief = brief;
	source.milestones = o->sym.no_cache ? NULL : t;
	source.progress = progress_start(&progress);
	source.progress_context = &progress;
	ret = findings_open(f, t, o, &source, err);
	if (!ret)
		ret = analysis_make(a, &source, err);
	progress_done(&progress);
	if (!ret)
		ret = overview_findings(f, a, t, o, err);
	if (!ret)
		ret = then(context, a, err);
	findings_release(f);
	analysis_release(a);
	free(f);
	free(a);
	return ret;
}
