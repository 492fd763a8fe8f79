// SPDX-License-Identifier: LGPL-3.0-or-later
/* valgrind.c - see valgrind.h. */
#include "valgrind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../trace/functions.h"
#include "../util/alloc.h"

/* ---- the innermost line in Valgrind ---- */

/* Functions that Valgrind replaces.  Their lines are the innermost ones; our stacks do not have
 * them. */
enum { REPLACED_MALLOC = 1, REPLACED_NEW = 2 };

static bool fits(const char *glob, const char *text)
{
	const char *star = NULL, *from = NULL;

	for (; *text;) {
		if (*glob == '*') {
			star = ++glob;
			from = text;
		} else if (*glob == '?' || *glob == *text) {
			glob++;
			text++;
		} else if (star) {
			glob = star;
			text = ++from;
		} else {
			return false;
		}
	}
	while (*glob == '*')
		glob++;
	return !*glob;
}

static bool fits_malloc(const char *glob)
{
	for (unsigned fn = 0; fn < MPROF_FN_MAX; fn++)
		if ((function_class[fn] == MPROF_CLASS_ALLOC ||
		     function_class[fn] == MPROF_CLASS_REALLOC) &&
		    fits(glob, function_name(fn)))
			return true;
	return false;
}

static bool fits_new(const char *glob)
{
	static const char *const news[] = {
		"_Znwm",
		"_ZnwmRKSt9nothrow_t",
		"_ZnwmSt11align_val_t",
		"_ZnwmSt11align_val_tRKSt9nothrow_t",
		"_Znam",
		"_ZnamRKSt9nothrow_t",
		"_ZnamSt11align_val_t",
		"_ZnamSt11align_val_tRKSt9nothrow_t",
	};

	for (size_t i = 0; i < sizeof(news) / sizeof(news[0]); i++)
		if (fits(glob, news[i]))
			return true;
	return false;
}

/* Which of them does a step fit? */
static unsigned replaced_by(enum valgrind_what what, const char *glob)
{
	switch (what) {
	case VALGRIND_FUN:
		return (fits_malloc(glob) ? REPLACED_MALLOC : 0) |
		       (fits_new(glob) ? REPLACED_NEW : 0);
	case VALGRIND_OBJ:
		return strstr(glob, "vgpreload") || fits(glob, "vgpreload")
			   ? REPLACED_MALLOC | REPLACED_NEW
			   : 0;
	default:
		return 0;
	}
}

/* ---- reading ---- */

static const struct {
	const char *begin;
	enum valgrind_what what;
} kinds[] = {
	{ "fun:", VALGRIND_FUN },
	{ "obj:", VALGRIND_OBJ },
	{ "src:", VALGRIND_SRC },
};

static void add(struct valgrind_steps *s, enum valgrind_what what, const char *glob)
{
	GROW(s->step, s->count + 1, s->room);
	s->step[s->count++] = (struct valgrind_step){ what, replaced_by(what, glob),
						      glob ? must_strdup(glob) : NULL };
}

/* The kinds of leaks that a block is about, which a trace does not tell apart; none: of no leak. */
static int take_kinds(struct valgrind_block *b, const char *list, struct error *err)
{
	static const char *const known[] = { "definite",  "indirect", "possible",
					     "reachable", "all",      "none" };
	size_t i, n;

	for (list += strspn(list, " \t"); *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",");
		for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if (strlen(known[i]) == n && !strncmp(list, known[i], n))
				break;
		if (i == sizeof(known) / sizeof(known[0]))
			return fail(err, -EINVAL,
				    "invalid kind of leak '%.*s': expected definite, indirect, "
				    "possible, reachable, all or none",
				    (int)(n < 60 ? n : 60), list);
		b->none = !strcmp(known[i], "none");
	}
	return 0;
}

static int take_step(struct valgrind_block *b, const char *line, struct error *err)
{
	if (!strncmp(line, "match-leak-kinds:", 17))
		return take_kinds(b, line + 17, err);
	if (!strcmp(line, "...")) {
		add(&b->steps, VALGRIND_ANY, NULL);
		return 0;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (!strncmp(line, kinds[i].begin, 4)) {
			add(&b->steps, kinds[i].what, line + 4);
			return 0;
		}
	return fail(err, -EINVAL,
		    "invalid line of a suppression '%.60s': expected fun:, obj:, src: or ...",
		    line);
}

/* TOOL,TOOL:KIND */
static bool is_of_leaks(const char *line)
{
	const char *kind = strchr(line, ':'), *tool = strstr(line, "Memcheck");

	return kind && tool && tool < kind && !strcmp(kind, ":Leak");
}

static int end_of_block(struct valgrind_block *b)
{
	const bool taken = b->of_leaks && !b->none && b->steps.count;

	b->lines = 0;
	if (!taken)
		valgrind_release(b);
	return taken;
}

int valgrind_take(struct valgrind_block *b, const char *line, struct error *err)
{
	if (b->lines && !strcmp(line, "}"))
		return end_of_block(b);
	switch (b->lines++) {
	case 0: /* { */
		return 0;
	case 1:
		b->name = must_strdup(line);
		return 0;
	case 2:
		b->of_leaks = is_of_leaks(line);
		return 0;
	default:
		return b->of_leaks ? take_step(b, line, err) : 0;
	}
}

void valgrind_steps_release(struct valgrind_steps *s)
{
	for (size_t i = 0; i < s->count; i++)
		free(s->step[i].glob);
	free(s->step);
	*s = (struct valgrind_steps){ .step = NULL };
}

void valgrind_release(struct valgrind_block *b)
{
	free(b->name);
	valgrind_steps_release(&b->steps);
	*b = (struct valgrind_block){ .lines = 0 };
}

/* ---- matching ---- */

static bool fits_source(const char *glob, const struct sym_line *line)
{
	char text[320];

	if (!*line->file)
		return false;
	snprintf(text, sizeof(text), "%.300s:%u", sym_file(line), line->line);
	return fits(glob, text) || fits(glob, sym_file(line));
}

static bool fits_line(const struct valgrind_step *x, const struct stacks *stacks,
		      const struct profile_path *path, size_t i)
{
	const struct sym_line *line = path->line[i];
	const uint32_t object = stacks->frame[path->frame[i]].object;

	switch (x->what) {
	case VALGRIND_FUN:
		return fits(x->glob, line->raw) ||
		       (line->function != line->raw && fits(x->glob, line->function));
	case VALGRIND_OBJ:
		return object && fits(x->glob, stacks->object[object].path);
	case VALGRIND_SRC:
		return fits_source(x->glob, line);
	default:
		return true;
	}
}

/*
 * As fits(), of steps and of the outermost n lines; within these is one of a replaced function,
 * unless `replaced` is 0.  What is further out than the last step makes no difference.
 */
static bool fits_lines(const struct valgrind_steps *s, const struct stacks *stacks,
		       const struct profile_path *path, size_t n, unsigned replaced)
{
	const struct valgrind_step *x = s->step, *end = x + s->count, *star = NULL;
	size_t at = n + (replaced != 0), from = 0;

	while (x < end) {
		if (x->what == VALGRIND_ANY) {
			star = ++x;
			from = at;
		} else if (at > n ? x->replaced & replaced
				  : at && fits_line(x, stacks, path, at - 1)) {
			x++;
			at--;
		} else if (star && from) {
			x = star;
			at = --from;
		} else {
			return false;
		}
	}
	return true;
}

static bool is_new(const struct sym_line *line)
{
	return !strncmp(line->raw, "_Znw", 4) || !strncmp(line->raw, "_Zna", 4);
}

bool valgrind_matches(const struct valgrind_steps *s, const struct stacks *stacks,
		      const struct profile_path *path)
{
	size_t outer = path->all;

	/* One form of operator new calls another.  Those of an allocator are not in the stack. */
	while (outer && is_new(path->line[outer - 1]))
		outer--;
	return fits_lines(s, stacks, path, path->all, 0) ||
	       fits_lines(s, stacks, path, path->all, REPLACED_MALLOC | REPLACED_NEW) ||
	       (outer < path->all && fits_lines(s, stacks, path, outer, REPLACED_NEW));
}
