// SPDX-License-Identifier: LGPL-3.0-or-later
/* paths.c - stacks as lines. */
#include "paths.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "../sym/code.h"
#include "../sym/interpreters.h"
#include "../util/alloc.h"

/* ---- making ---- */

static void line_room(struct path_scratch *s, size_t more)
{
	const size_t n = s->path.count + more;

	if (n <= s->room)
		return;
	s->room = grow_room(n, s->room);
	s->path.line = must_reallocarray(s->path.line, s->room, sizeof(*s->path.line));
	s->path.frame = must_reallocarray(s->path.frame, s->room, sizeof(*s->path.frame));
}

bool paths_surrounds(struct profile_paths *t, uint32_t frame, bool *in_script)
{
	const struct sym_line *line = sym_frame(t->sym, frame)->line;

	*in_script |= line->script;
	return *in_script && line->runs_scripts;
}

/* Is this node a step of the latest path, so that the rest of the path is the same, too? */
static bool is_step(const struct path_scratch *s, uint32_t node, bool in_script)
{
	const size_t i = s->at[node];

	return i && i <= s->steps && s->step[i - 1].node == node &&
	       s->step[i - 1].in_script == in_script;
}

/* Lists the frames of a stack, innermost first, up to the first that the latest path has, too;
 * omits entries that are not frames.  Keeps the steps that the paths share. */
static size_t list_frames(struct profile_paths *t, uint32_t node)
{
	struct path_scratch *s = &t->scratch;
	size_t n = 0, outside = 0; /* frames inside a truncated entry */
	bool in_script = false;
	uint32_t frame;

	for (; node && node < t->stacks->nodes; node = t->stacks->node[node].parent) {
		frame = t->stacks->node[node].frame;
		if (paths_is_mark(t->stacks, frame)) {
			s->path.truncated = true;
			outside = n;
			continue;
		}
		if (t->scripts && paths_surrounds(t, frame, &in_script))
			continue;
		if (is_step(s, node, in_script))
			break;
		GROW(s->list, n + 1, s->list_room);
		s->list[n++] = (struct path_step){ .node = node, .in_script = in_script };
	}
	s->steps = node && node < t->stacks->nodes ? s->at[node] : 0;
	s->path.count = s->steps ? s->step[s->steps - 1].lines : 0;
	if (s->steps && s->step[s->steps - 1].truncated) {
		s->path.truncated = true;
		outside = n;
	}
	for (size_t i = 0; i < outside; i++)
		s->list[i].truncated = true;
	return n;
}

/* Adds the lines of a frame, outermost first; false if it ends the path. */
static bool add_frame(struct profile_paths *t, struct path_step *step)
{
	const uint32_t frame = t->stacks->node[step->node].frame;
	const struct sym_lines *lines = sym_frame(t->sym, frame);
	struct path_scratch *s = &t->scratch;
	size_t i;

	line_room(s, lines->count);
	for (i = lines->count; i--;) {
		s->path.line[s->path.count] = &lines->line[i];
		s->path.frame[s->path.count++] = frame;
		if (lines->line[i].stop)
			return false;
	}
	GROW(s->step, s->steps + 1, s->step_room);
	step->lines = (uint32_t)s->path.count;
	s->step[s->steps++] = *step;
	s->at[step->node] = (uint32_t)s->steps;
	return true;
}

enum paths_part paths_part_in(const struct profile_paths *t, const struct sym_line *line)
{
	const enum paths_part part = paths_part(line);

	return part == PATHS_PACKAGE && t->runs_text && paths_is_text(line) ? PATHS_PROGRAM : part;
}

enum paths_part paths_part_of(struct profile_paths *t, uint32_t frame, const struct sym_line *line)
{
	uint8_t *mark = &t->mark[frame];
	enum paths_part part;
	uint64_t *known;

	if (*mark >= PATH_MARK_PART)
		return (enum paths_part)(*mark / PATH_MARK_PART - 1);
	if (sym_frame(t->sym, frame)->count != 1) {
		known = hash_at(&t->part, (uintptr_t)line);
		*known = *known ? *known : paths_part_in(t, line) + 1u;
		return (enum paths_part)(*known - 1);
	}
	part = paths_part_in(t, line);
	*mark |= (uint8_t)((part + 1) * PATH_MARK_PART);
	return part;
}

static enum paths_part part_of(struct profile_paths *t, const struct profile_path *path, size_t i)
{
	return paths_part_of(t, path->frame[i], path->line[i]);
}

/* Python runs a text of its command line or of an application, rather than one that a module makes;
 * both have the same name. */
static bool is_run_of_text(const struct sym_line *line)
{
	static const char run[] = "PyRun_SimpleString"; /* also _PyRun_SimpleStringFlagsWithName */

	return line->runs_scripts &&
	       !strncmp(line->function + (*line->function == '_'), run, strlen(run));
}

static bool is_script(struct sym *sym, uint32_t frame)
{
	const struct sym_lines *lines = sym_frame(sym, frame);

	return lines && lines->count && lines->line[0].script;
}

/* The same where CPython has no name for that function, as stripped versions since 3.12: no script
 * calls the text. */
static bool begins_with_text(const struct stacks *s, struct sym *sym, uint32_t node)
{
	uint32_t frame = s->node[node].frame;

	if (!is_script(sym, frame) || !paths_is_text(sym_frame(sym, frame)->line))
		return false;
	while ((node = s->node[node].parent)) {
		frame = s->node[node].frame;
		if (paths_is_mark(s, frame) || is_script(sym, frame))
			return false;
	}
	return true;
}

/* In `called`: on the way to who calls it, Python imports a module. */
#define IN_IMPORT 0x80u

bool paths_serves(struct profile_paths *t, const struct sym_line *line, uint32_t caller)
{
	const struct sym_lines *by = line->unnamed && caller ? sym_frame(t->sym, caller) : NULL;

	for (size_t i = 0; by && i < by->count; i++)
		if (*by->line[i].file && !by->line[i].script &&
		    paths_part_of(t, caller, &by->line[i]) == PATHS_PROGRAM)
			return true;
	return false;
}

/* Has this frame a line of the program, which may be in its source?  Otherwise CALLED_UNKNOWN. */
static enum paths_called called_by_source(struct profile_paths *t, uint32_t node)
{
	const uint32_t frame = t->stacks->node[node].frame;
	const struct sym_lines *lines = sym_frame(t->sym, frame);
	const struct sym_line *line;

	for (size_t i = 0; lines && i < lines->count; i++) {
		line = &lines->line[i];
		if (paths_is_loop(line))
			return CALLED_BY_OTHERS;
		if (paths_serves(t, line, paths_caller(t, node)))
			continue;
		if (paths_part_of(t, frame, line) == PATHS_PROGRAM && !line->others)
			return *line->file || line->built ? CALLED_BY_PROGRAM : CALLED_BY_OTHERS;
	}
	return CALLED_UNKNOWN;
}

/* Is this a frame of a script, or of the interpreter's start?  Otherwise CALLED_UNKNOWN. */
static enum paths_called called_by_script(struct profile_paths *t, uint32_t node)
{
	const uint32_t frame = t->stacks->node[node].frame;
	const struct sym_lines *lines = sym_frame(t->sym, frame);
	const struct sym_line *line;
	size_t i;

	for (i = 0; lines && i < lines->count; i++) {
		line = &lines->line[i];
		if ((t->runs_text && is_run_of_text(line)) ||
		    (line->script && !paths_is_text(line) &&
		     paths_part_of(t, frame, line) == PATHS_PROGRAM))
			return CALLED_BY_PROGRAM;
		if (line->runs_scripts && !strcmp(line->function, "Py_InitializeFromConfig"))
			return CALLED_AT_START;
	}
	return t->runs_text && begins_with_text(t->stacks, t->sym, node) ? CALLED_BY_PROGRAM
									 : CALLED_UNKNOWN;
}

static enum paths_called called_by(struct profile_paths *t, uint32_t node)
{
	return t->scripts ? called_by_script(t, node) : called_by_source(t, node);
}

bool paths_imports(const struct sym_line *line)
{
	return line->script && !strncmp(line->file, "<frozen importlib", 17);
}

/* Does a line of the frame find and run a module?  These have one line. */
static bool frame_imports(struct profile_paths *t, uint32_t frame)
{
	const struct sym_lines *lines = sym_frame(t->sym, frame);

	return lines && lines->count && paths_imports(lines->line);
}

enum paths_called paths_called(struct profile_paths *t, uint32_t stack)
{
	enum paths_called by = CALLED_UNKNOWN;
	uint32_t n = stack, end, import = 0; /* the outermost node that imports */
	unsigned outer, flag;

	if (!t->called || stack >= t->stacks->nodes)
		return CALLED_BY_OTHERS;
	for (; n && !t->called[n]; n = t->stacks->node[n].parent) {
		by = called_by(t, n);
		if (by)
			break;
		if (t->scripts && frame_imports(t, t->stacks->node[n].frame))
			import = n;
	}
	end = n && by ? t->stacks->node[n].parent : n;
	outer = by || !n ? 0 : t->called[n];
	by = by ? by : outer ? (enum paths_called)(outer & ~IN_IMPORT) : CALLED_BY_OTHERS;
	flag = import ? IN_IMPORT : outer & IN_IMPORT;
	for (n = stack; n != end; n = t->stacks->node[n].parent) {
		t->called[n] = (uint8_t)(by | flag);
		if (n == import)
			flag = outer & IN_IMPORT;
	}
	return by;
}

bool paths_is_import(struct profile_paths *t, uint32_t stack)
{
	return t->scripts && paths_called(t, stack) != CALLED_AT_START &&
	       t->called[stack] & IN_IMPORT;
}

bool paths_requests_for_others(struct profile_paths *t, uint32_t frame, const struct sym_line *line)
{
	const enum paths_part part = paths_part_of(t, frame, line);

	return part == PATHS_WRAPPER || part == PATHS_START || paths_sounds_like_allocator(line);
}

/* In a stack that has only libraries, the allocating function is the innermost one that does not
 * allocate for its callers.  i counts the lines up to the innermost one outside wrappers; returns
 * the count up to the allocating function. */
static size_t asked_of_libraries(struct profile_paths *t, const struct profile_path *path, size_t i)
{
	for (size_t k = i; k; k--)
		if (!paths_requests_for_others(t, path->frame[k - 1], path->line[k - 1]))
			return k;
	return i;
}

/* Finds the allocating function, and folds the calls inside it. */
static void fold(struct profile_paths *t, struct profile_path *path, uint32_t stack)
{
	size_t i = path->all = path->count;
	const enum paths_called called = paths_called(t, stack);

	path->at_start = called == CALLED_AT_START;
	path->in_import = paths_is_import(t, stack);
	path->asked = path->inner = path->count;
	while (i > 1 && part_of(t, path, i - 1) == PATHS_WRAPPER)
		i--;
	path->innermost = i ? i - 1 : 0;
	/* A function named by --stop-at represents everything that it called, as if it had
	 * allocated itself. */
	if (t->options.wrappers || (path->all && path->line[path->all - 1]->stop))
		return;
	path->asked = path->inner = i;
	/* Functions called by a wrapper are part of it. */
	for (; i; i--)
		if (paths_is_asker(part_of(t, path, i - 1), path->line[i - 1], called) &&
		    !paths_serves(t, path->line[i - 1], i > 1 ? path->frame[i - 2] : 0) &&
		    !paths_is_pth(path->line[i - 1], called) &&
		    (i == 1 || part_of(t, path, i - 2) != PATHS_WRAPPER)) {
			path->asked = i;
			if (i < path->inner && part_of(t, path, i) != PATHS_WRAPPER &&
			    paths_is_nameless(path->line[i - 1]))
				path->asked++;
			break;
		}
	if (!i)
		path->asked = asked_of_libraries(t, path, path->inner);
	path->count = t->options.library ? path->inner : path->asked;
}

const struct profile_path *paths_look(struct profile_paths *t, uint32_t stack)
{
	struct path_scratch *s = &t->scratch;
	struct profile_path *path = &s->path;
	size_t n;

	path->count = path->asked = path->inner = path->all = path->innermost = 0;
	path->truncated = false;
	if (!t->stacks)
		return path;
	n = list_frames(t, stack);
	s->nexts = s->nexts < path->count ? s->nexts : path->count;
	while (n && add_frame(t, &s->list[n - 1]))
		n--;
	fold(t, path, stack);
	return path;
}

const uint32_t *paths_next(struct profile_paths *t, size_t n)
{
	struct path_scratch *s = &t->scratch;
	const struct profile_path *path = &s->path;

	GROW(s->next, n, s->next_room);
	for (size_t i = s->nexts; i < n; i++) {
		const bool by_program = i && part_of(t, path, i - 1) == PATHS_PROGRAM;
		uint32_t to = by_program ? (uint32_t)i : i ? s->next[i - 1] : 0;

		if (to && part_of(t, path, i) == PATHS_PROGRAM &&
		    !sym_order_functions(path->line[to - 1], path->line[i]))
			to = s->next[to - 1];
		s->next[i] = to;
	}
	s->nexts = s->nexts < n ? n : s->nexts;
	return s->next;
}

/* ---- keeping ---- */

static struct profile_path *copy_of(struct profile_paths *t, const struct profile_path *path)
{
	const size_t n = path->all;
	struct profile_path *copy = arena_alloc(
	    &t->arena, sizeof(*copy) + n * (sizeof(*copy->line) + sizeof(*copy->frame)));

	*copy = *path;
	copy->line = (const struct sym_line **)(copy + 1);
	copy->frame = (uint32_t *)(copy->line + n);
	if (n) {
		memcpy(copy->line, path->line, n * sizeof(*copy->line));
		memcpy(copy->frame, path->frame, n * sizeof(*copy->frame));
	}
	return copy;
}

const struct profile_path *paths_keep(struct profile_paths *t, uint32_t stack)
{
	uint64_t *kept = hash_at(&t->kept, stack);

	if (!*kept)
		*kept = (uintptr_t)copy_of(t, paths_look(t, stack));
	return (const struct profile_path *)(uintptr_t)*kept;
}

/* ---- matching ---- */

/* A pattern without a slash matches the last part of the path. */
bool paths_name_matches(const char *pattern, const char *function)
{
	const char *parameters = strchr(function, '(');
	char name[512];
	size_t n;

	if (!strcmp(pattern, function) || !fnmatch(pattern, function, 0))
		return true;
	/* The parameters, but not the "(" of "(anonymous namespace)::f". */
	while (parameters && (parameters == function || parameters[-1] == ':'))
		parameters = strchr(parameters + 1, '(');
	if (!parameters)
		return false;
	n = (size_t)(parameters - function);
	if (n >= sizeof(name))
		return false;
	memcpy(name, function, n);
	name[n] = '\0';
	return !fnmatch(pattern, name, 0);
}

bool paths_is_file(const char *pattern, const char *file)
{
	return !fnmatch(pattern, strchr(pattern, '/') ? file : basename(file), 0);
}

/* Compares with the name in the symbol table, too. */
static bool is_named(const char *pattern, const struct sym_line *line)
{
	return paths_name_matches(pattern, line->function) || !fnmatch(pattern, line->raw, 0);
}

static bool is_end_of(const char *end, const char *path)
{
	const size_t n = strlen(end), all = strlen(path);

	return n < all && path[all - n - 1] == '/' && !strcmp(path + all - n, end);
}

/* Does the pattern end as lists name a line: "NAME (FILE)", "NAME (FILE:LINE)"?  Parameters such as
 * "f(int, (anonymous namespace)::g)" are not one. */
static bool is_placed(const char *pattern, const struct sym_line *line)
{
	const size_t n = strlen(pattern);
	const char *open = n && pattern[n - 1] == ')' ? memrchr(pattern, '(', n) : NULL;
	const size_t before = open ? (size_t)(open - pattern) : 0;
	char name[512], *file = name + before + 1, *number;

	if (before < 2 || open[-1] != ' ' || n >= sizeof(name) || memchr(open, ')', n - before - 1))
		return false;
	memcpy(name, pattern, n);
	name[n - 1] = name[before - 1] = '\0';
	number = strrchr(file, ':');
	if (number && number[1] && !number[1 + strspn(number + 1, "0123456789")]) {
		*number = '\0';
		if (strtoul(number + 1, NULL, 10) != line->line)
			return false;
	}
	return (paths_is_file(file, line->file) || is_end_of(file, line->file)) &&
	       is_named(name, line);
}

bool paths_is_function(const char *pattern, const struct sym_line *line)
{
	return is_named(pattern, line) || is_placed(pattern, line);
}

bool paths_has_function(const struct profile_path *path, const char *pattern)
{
	size_t i;

	for (i = 0; i < path->all; i++)
		if (paths_is_function(pattern, path->line[i]))
			return true;
	return false;
}

static uint8_t mark_line(const struct profile_paths *t, const struct sym_line *line)
{
	uint8_t mark = 0;

	if (t->options.function && paths_is_function(t->options.function, line))
		mark |= PATH_MARK_FUNCTION;
	if (t->options.file && paths_is_file(t->options.file, line->file))
		mark |= PATH_MARK_FILE;
	if (t->options.module && paths_is_file(t->options.module, line->module))
		mark |= PATH_MARK_MODULE;
	if (t->options.without && paths_is_function(t->options.without, line))
		mark |= PATH_MARK_WITHOUT;
	return mark;
}

/* Functions of Rust's std between the start and the program, of which it leaves as many out of its
 * own backtraces. */
#define RUST_START_LINES 48u

static bool begins(const struct sym_line *line, const char *with)
{
	return !strncmp(line->function, with, strlen(with));
}

/* Rust's main and threads begin in std, up to a function that marks it. */
static size_t rust_start_lines(const struct sym_line *const *line, size_t n)
{
	size_t end = 0;

	if (n < 2 || !begins(line[!strcmp(line[0]->function, "main")], "std::"))
		return 0;
	for (size_t i = 0; i + 1 < n && i < RUST_START_LINES; i++)
		if (strstr(line[i]->function, "::__rust_begin_short_backtrace"))
			end = i + 1;
	/* FnOnce::call_once, whatever the compiler calls it */
	while (end && end + 1 < n && strstr(line[end]->file, "core/src/ops/function.rs"))
		end++;
	return end;
}

size_t paths_start_lines(const struct sym_line *const *line, size_t n)
{
	size_t i = 0;

	while (i + 1 < n && paths_begins(line[i]))
		i++;
	return i + rust_start_lines(line + i, n - i);
}

bool paths_match(struct profile_paths *t, const struct profile_path *path)
{
	uint8_t want = 0, have = 0;
	size_t i;

	want |= t->options.function ? PATH_MARK_FUNCTION : 0;
	want |= t->options.file ? PATH_MARK_FILE : 0;
	want |= t->options.module ? PATH_MARK_MODULE : 0;
	i = paths_start_lines(path->line, path->all);
	for (; i < path->all && (t->options.without || (have & want) != want); i++) {
		const struct sym_lines *lines = sym_frame(t->sym, path->frame[i]);
		uint8_t *mark = &t->mark[path->frame[i]];

		/* Remember frames with one line, because most have one. */
		if (lines->count == 1) {
			if (!(*mark & PATH_MARK_KNOWN))
				*mark |= PATH_MARK_KNOWN | mark_line(t, path->line[i]);
			have |= *mark;
		} else {
			have |= mark_line(t, path->line[i]);
		}
	}
	return (have & want) == want && !(have & PATH_MARK_WITHOUT);
}

/* ---- the whole ---- */

static bool has_text(const struct stacks *s)
{
	for (size_t i = 0; i < s->codes; i++)
		if (strstr(s->code[i].name, ":" PATHS_TEXT))
			return true;
	return false;
}

static bool runs_text(const struct stacks *s, struct sym *sym)
{
	const struct sym_lines *lines;

	if (!has_text(s))
		return false;
	for (uint32_t n = 1; n < s->nodes; n++)
		if (!s->frame[s->node[n].frame].object && begins_with_text(s, sym, n))
			return true;
	for (uint32_t i = 1; i < s->frames; i++) {
		if (!sym_interpreter(basename(s->object[s->frame[i].object].path)))
			continue;
		lines = sym_frame(sym, i);
		for (size_t k = 0; lines && k < lines->count; k++)
			if (is_run_of_text(&lines->line[k]))
				return true;
	}
	return false;
}

void paths_init(struct profile_paths *t, const struct stacks *stacks, struct sym *sym,
		const struct paths_options *o)
{
	*t = (struct profile_paths){
		.stacks = stacks,
		.sym = sym,
		.options = *o,
		.scripts = stacks && !o->wrappers && code_of_python(stacks),
		.mark = must_calloc((stacks ? stacks->frames : 0) + 1, 1),
		.sourceless = must_calloc((stacks ? stacks->nodes : 0) + 1, 1),
		.fileless = must_calloc((stacks ? stacks->frames : 0) + 1, 1),
		.facts = must_calloc((stacks ? stacks->frames : 0) + 1, 1),
	};
	if (stacks)
		t->scratch.at = must_calloc(stacks->nodes, sizeof(*t->scratch.at));
	if (stacks && !o->wrappers)
		t->called = must_calloc(stacks->nodes, 1);
	t->runs_text = t->scripts && !o->others_texts && runs_text(stacks, sym);
}

void paths_release(struct profile_paths *t)
{
	hash_release(&t->kept);
	hash_release(&t->part);
	hash_release(&t->facts_of);
	arena_release(&t->arena);
	free(t->mark);
	free(t->sourceless);
	free(t->fileless);
	free(t->facts);
	free(t->called);
	free(t->scratch.path.line);
	free(t->scratch.path.frame);
	free(t->scratch.list);
	free(t->scratch.at);
	free(t->scratch.step);
	free(t->scratch.next);
	*t = (struct profile_paths){ .stacks = NULL };
}
