// SPDX-License-Identifier: LGPL-3.0-or-later
/* valgrind.c - see valgrind.h. */
#include "valgrind.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../trace/functions.h"
#include "../util/alloc.h"

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
	s->step[s->count++] = (struct valgrind_step){ what, glob ? must_strdup(glob) : NULL };
}

static int take_step(struct valgrind_block *b, const char *line, struct error *err)
{
	if (!strncmp(line, "match-leak-kinds:", 17))
		return 0;
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
	const bool taken = b->of_leaks && b->steps.count;

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
		return fits(x->glob, line->raw) || fits(x->glob, line->function);
	case VALGRIND_OBJ:
		return object && fits(x->glob, stacks->object[object].path);
	case VALGRIND_SRC:
		return fits_source(x->glob, line);
	default:
		return true;
	}
}

/* As fits(), of steps and lines; what is further out than the last step makes no difference. */
static bool fits_lines(const struct valgrind_step *x, const struct valgrind_step *end,
		       const struct stacks *stacks, const struct profile_path *path)
{
	const struct valgrind_step *star = NULL;
	size_t at = path->all, from = 0;

	while (x < end) {
		if (x->what == VALGRIND_ANY) {
			star = ++x;
			from = at;
		} else if (at && fits_line(x, stacks, path, at - 1)) {
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

/* In Valgrind the innermost line is that of malloc(), which our stacks do not have. */
static bool is_of_allocator(const struct valgrind_step *x)
{
	if (x->what == VALGRIND_OBJ)
		return strstr(x->glob, "vgpreload") != NULL;
	for (unsigned fn = 0; x->what == VALGRIND_FUN && fn < MPROF_FN_MAX; fn++)
		if (function_name(fn) && fits(x->glob, function_name(fn)))
			return true;
	return false;
}

bool valgrind_matches(const struct valgrind_steps *s, const struct stacks *stacks,
		      const struct profile_path *path)
{
	const struct valgrind_step *end = s->step + s->count;

	return (is_of_allocator(s->step) && fits_lines(s->step + 1, end, stacks, path)) ||
	       fits_lines(s->step, end, stacks, path);
}
