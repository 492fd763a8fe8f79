// SPDX-License-Identifier: LGPL-3.0-or-later
/* suppressions.c - leaks that are not reported. */
#include "suppressions.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/text_lines.h"

static const struct {
	unsigned most;
	bool objects;
	const char *pattern, *module, *caller, *why;
} builtin[] = {
#define SUPPRESSION_UP_TO(most, ...) { most, false, __VA_ARGS__ },
#define SUPPRESSION_OBJECTS(...)     { 0, true, __VA_ARGS__ },
#define SUPPRESSION(...)	     SUPPRESSION_UP_TO(0, __VA_ARGS__)
#include "suppressions.def"
#undef SUPPRESSION
#undef SUPPRESSION_OBJECTS
#undef SUPPRESSION_UP_TO
};

/* ---- patterns ---- */

/* Finds a piece of a pattern, n characters without *, in text; NULL if it is not there. */
static const char *find_piece(const char *text, const char *piece, size_t n)
{
	return memmem(text, strlen(text), piece, n);
}

static inline bool is_special(char c)
{
	return !c || c == '*' || c == '$';
}

/* Tells most names apart by their first two letters. */
static inline bool may_match(const char *pattern, const char *text)
{
	if (pattern[0] != '^' || is_special(pattern[1]))
		return true;
	return pattern[1] == text[0] && (pattern[2] == text[1] || is_special(pattern[2]));
}

bool suppression_matches(const char *pattern, const char *text)
{
	bool tied = *pattern == '^';
	const char *at;
	size_t n;

	if (!may_match(pattern, text))
		return false;
	for (pattern += tied; *pattern; pattern += n) {
		if (*pattern == '*') {
			n = 1;
			tied = false;
			continue;
		}
		if (*pattern == '$' && !pattern[1])
			return tied ? !*text : true;
		n = strcspn(pattern, "*");
		if (pattern[n - 1] == '$' && !pattern[n]) {
			/* The last piece must end with the text. */
			if (strlen(text) < n - 1 || (tied && strlen(text) != n - 1))
				return false;
			return !memcmp(text + strlen(text) - (n - 1), pattern, n - 1);
		}
		at = tied ? strncmp(text, pattern, n) ? NULL : text : find_piece(text, pattern, n);
		if (!at)
			return false;
		text = at + n;
		tied = true;
	}
	return true;
}

/* ---- lists ---- */

static struct suppression *add(struct suppressions *s)
{
	GROW(s->item, s->count + 1, s->room);
	s->item[s->count] = (struct suppression){ .pattern = NULL };
	return &s->item[s->count++];
}

void suppressions_add_builtin(struct suppressions *s)
{
	struct suppression *x;
	size_t i;

	for (i = 0; i < sizeof(builtin) / sizeof(builtin[0]); i++) {
		x = add(s);
		x->module = builtin[i].module;
		x->caller = builtin[i].caller;
		x->why = builtin[i].why;
		x->objects = builtin[i].objects;
		x->most = builtin[i].most;
		if (builtin[i].pattern)
			x->pattern = must_strdup(builtin[i].pattern);
	}
}

static int take_block(struct suppressions *s, const char *line, struct error *err)
{
	const int ret = valgrind_take(&s->block, line, err);
	struct suppression *x;

	if (ret <= 0)
		return ret;
	s->of_files++;
	x = add(s);
	x->pattern = s->block.name;
	x->steps = s->block.steps;
	s->block = (struct valgrind_block){ .lines = 0 };
	return 0;
}

static int take_line(void *self, char *line, struct error *err)
{
	static const char *const others[] = {
		"race:",   "race_top:", "thread:",	    "mutex:",
		"signal:", "deadlock:", "called_from_lib:", "interceptor_"
	};
	struct suppressions *s = self;
	size_t i;

	line = text_trim(line);
	if (!*line || *line == '#')
		return 0;
	if (s->block.lines || !strcmp(line, "{"))
		return take_block(s, line, err);
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		if (!strncmp(line, others[i], strlen(others[i])))
			return 0;
	if (strncmp(line, "leak:", 5) || !line[5])
		return fail(err, -EINVAL, "invalid suppression '%.60s': expected leak:PATTERN or {",
			    line);
	s->of_files++;
	add(s)->pattern = must_strdup(text_trim(line + 5));
	return 0;
}

int suppressions_read(struct suppressions *s, const char *file, struct error *err)
{
	int ret = text_lines(file, take_line, s, err) ? -EINVAL : 0;

	if (!ret && s->block.lines)
		ret = fail(err, -EINVAL, "'%s' ends within a suppression: expected }", file);
	valgrind_release(&s->block);
	return ret;
}

void suppressions_release(struct suppressions *s)
{
	size_t i;

	for (i = 0; i < s->count; i++) {
		free(s->item[i].pattern);
		valgrind_steps_release(&s->item[i].steps);
	}
	free(s->item);
	hash_release(&s->lines);
	*s = (struct suppressions){ .item = NULL };
}

/* ---- the question ---- */

/* Stands for an interpreter during its startup, instead of a module; the other such word is
 * "<import>": while it imports. */
#define AT_START "<start>"

static bool is_of_interpreter(const struct suppression *x)
{
	return x->caller && *x->caller == '<';
}

/* Most do not match, which costs no call. */
static bool names(const char *pattern, const struct sym_line *line)
{
	return (may_match(pattern, line->raw) && suppression_matches(pattern, line->raw)) ||
	       (may_match(pattern, line->function) && line->function != line->raw &&
		suppression_matches(pattern, line->function));
}

static bool is_of(const char *glob, const char *module)
{
	return !glob ||
	       ((!isalpha((unsigned char)*glob) || *glob == *module) && !fnmatch(glob, module, 0));
}

/* A library requests its own blocks within this many of its lines. More is recursion, which may be
 * 100,000 deep and would be searched for each of its stacks. */
#define LIBRARY_LINES 64

/* Finds the innermost lines of one module, from the first one that is not a wrapper: (end,
 * inner]. SIZE_MAX if that module has no caller, or too many lines. */
static size_t end_of_module(const struct profile_path *path, size_t inner)
{
	const char *module = path->line[inner]->module;
	size_t i = inner;

	while (i-- > 0 && inner - i <= LIBRARY_LINES)
		if (path->line[i]->module != module && strcmp(path->line[i]->module, module))
			return i;
	return SIZE_MAX;
}

/* Does any built-in pattern match this line?  Evaluated once for each. */
static bool is_builtin_line(struct suppressions *s, const struct sym_line *line)
{
	uint64_t *known = hash_at(&s->lines, (uintptr_t)line);
	size_t i;

	if (!*known) {
		*known = LINE_ORDINARY;
		for (i = 0; i < s->count && *known == LINE_ORDINARY; i++)
			if (s->item[i].why && s->item[i].pattern && names(s->item[i].pattern, line))
				*known = LINE_BUILTIN;
	}
	return *known == LINE_BUILTIN;
}

bool suppressions_may_keep(struct suppressions *s, const struct sym_line *line)
{
	const struct suppression *x;

	for (x = s->item; x < s->item + s->count; x++)
		if (x->why && !x->pattern && !is_of_interpreter(x) &&
		    is_of(x->module, line->module))
			return true;
	return is_builtin_line(s, line);
}

/* The lines that built-in patterns match, found once for all patterns. */
struct innermost {
	size_t inner, end;   /* see end_of_module */
	size_t first, count; /* lines outward from first: only these can match a built-in name */
};

static struct innermost innermost_of(struct suppressions *s, const struct profile_path *path)
{
	struct innermost at = { .inner = path->innermost };
	size_t i;

	/* Lists and tables of GLib belong to the library that makes them. */
	while (at.inner && !strncmp(path->line[at.inner]->module, "libglib-2.0.so", 14))
		at.inner--;
	at.end = end_of_module(path, at.inner);
	for (i = at.inner; i != at.end && at.inner - i <= LIBRARY_LINES; i--) {
		if (!is_builtin_line(s, path->line[i]))
			continue;
		if (!at.count)
			at.first = i;
		at.count = at.first - i + 1;
	}
	return at;
}

static bool builtin_matches(const struct suppression *x, const struct profile_path *path,
			    const struct innermost *at)
{
	size_t i;

	if (is_of_interpreter(x))
		return strcmp(x->caller, AT_START) ? path->in_import : path->at_start;
	if (!is_of(x->module, path->line[at->inner]->module) ||
	    (x->caller && (at->end == SIZE_MAX || !is_of(x->caller, path->line[at->end]->module))))
		return false;
	for (i = at->first; x->pattern && at->first - i < at->count; i--)
		if (names(x->pattern, path->line[i]))
			return true;
	return !x->pattern;
}

/* Most stacks have no line that a built-in pattern matches. */
static inline bool is_kept(const struct suppression *x, const struct profile_path *path,
			   const struct innermost *at)
{
	return (!x->pattern || at->count) && builtin_matches(x, path, at);
}

static bool matches_somewhere(const struct suppression *x, const struct stacks *stacks,
			      const struct profile_path *path)
{
	size_t i;

	if (x->steps.count)
		return valgrind_matches(&x->steps, stacks, path);
	for (i = path->all; i--;) {
		const struct sym_line *line = path->line[i];
		uint32_t object = stacks->frame[path->frame[i]].object;

		if (names(x->pattern, line) ||
		    (*line->file && suppression_matches(x->pattern, line->file)) ||
		    (object && suppression_matches(x->pattern, stacks->object[object].path)))
			return true;
	}
	return false;
}

struct suppression *suppressions_find(struct suppressions *s, const struct stacks *stacks,
				      const struct profile_path *path)
{
	struct suppression *x;
	struct innermost at;

	if (!path->count)
		return NULL;
	at = innermost_of(s, path);
	for (x = s->item; x < s->item + s->count; x++)
		if (x->why ? is_kept(x, path, &at) : stacks && matches_somewhere(x, stacks, path))
			return x;
	return NULL;
}
