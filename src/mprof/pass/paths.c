// SPDX-License-Identifier: LGPL-3.0-or-later
/* paths.c - stacks as lines. */
#include "paths.h"

#include <errno.h>
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

static const char *const wrappers[] = {
#define WRAPPER(pattern, whose) pattern,
#include "wrappers.def"
#undef WRAPPER
};

static bool begins_as(const char *name, const char *pattern)
{
	size_t n = strlen(pattern) - 1;

	if (pattern[n] == '*')
		return !strncmp(name, pattern, n);
	return !strcmp(name, pattern);
}

bool paths_is_wrapper(const struct sym_line *line)
{
	size_t i;

	for (i = 0; i < sizeof(wrappers) / sizeof(wrappers[0]); i++)
		if (begins_as(line->raw, wrappers[i]) || begins_as(line->function, wrappers[i]))
			return true;
	return false;
}

size_t paths_innermost(const struct profile_path *path)
{
	size_t i = path->count;

	while (i > 1 && paths_is_wrapper(path->line[i - 1]))
		i--;
	return i ? i - 1 : 0;
}

/* ---- making ---- */

static bool frame_room(struct path_scratch *s, size_t n)
{
	uint32_t *grown;

	if (n < s->frame_room)
		return true;
	grown = reallocarray(s->frame, 2 * n + 64, sizeof(*grown));
	if (!grown)
		return false;
	s->frame = grown;
	s->frame_room = 2 * n + 64;
	return true;
}

static bool line_room(struct path_scratch *s, size_t more)
{
	const size_t room = 2 * (s->path.count + more) + 64;
	const struct sym_line **line;
	uint32_t *frame;

	if (s->path.count + more <= s->room)
		return true;
	line = reallocarray(s->path.line, room, sizeof(*line));
	if (line)
		s->path.line = line;
	frame = reallocarray(s->path.frame, room, sizeof(*frame));
	if (frame)
		s->path.frame = frame;
	if (!line || !frame)
		return false;
	s->room = room;
	return true;
}

/* The frames of a stack, innermost first; what is no frame is left out. */
static bool list_frames(struct profile_paths *t, uint32_t node, size_t *n)
{
	struct path_scratch *s = &t->scratch;
	uint32_t frame;

	*n = 0;
	for (; node && node < t->stacks->nodes; node = t->stacks->node[node].parent) {
		frame = t->stacks->node[node].frame;
		if (t->stacks->frame[frame].flags &
		    (STACK_FRAME_TRUNCATED | STACK_FRAME_LOST_WAY)) {
			s->path.truncated = true;
			continue;
		}
		if (!frame_room(s, *n))
			return false;
		s->frame[(*n)++] = frame;
	}
	return true;
}

/* Adds the lines of a frame, outermost first; false when it ends the path. */
static bool add_frame(struct profile_paths *t, uint32_t frame)
{
	const struct sym_lines *lines = sym_frame(t->sym, frame);
	struct path_scratch *s = &t->scratch;
	size_t i;

	if (!lines || !line_room(s, lines->count)) {
		t->failed = true;
		return false;
	}
	for (i = lines->count; i--;) {
		s->path.line[s->path.count] = &lines->line[i];
		s->path.frame[s->path.count++] = frame;
		if (lines->line[i].stop)
			return false;
	}
	return true;
}

const struct profile_path *paths_look(struct profile_paths *t, uint32_t stack)
{
	struct profile_path *path = &t->scratch.path;
	size_t n;

	path->count = 0;
	path->truncated = false;
	if (!t->stacks)
		return path;
	if (!list_frames(t, stack, &n)) {
		t->failed = true;
		return NULL;
	}
	while (n && add_frame(t, t->scratch.frame[n - 1]))
		n--;
	while (!t->wrappers && path->count > 1 && paths_is_wrapper(path->line[path->count - 1]))
		path->count--;
	return t->failed ? NULL : path;
}

/* ---- keeping ---- */

static size_t slot_of(const struct profile_paths *t, uint32_t stack)
{
	size_t i = (stack * 0x9e3779b9u) & (t->slots - 1);

	while (t->path[i] && t->node[i] != stack)
		i = (i + 1) & (t->slots - 1);
	return i;
}

static bool grow(struct profile_paths *t)
{
	struct profile_paths old = *t;
	size_t i, slot;

	t->slots = old.slots ? 2 * old.slots : 256;
	t->path = calloc(t->slots, sizeof(struct profile_path *));
	t->node = calloc(t->slots, sizeof(*t->node));
	if (!t->path || !t->node) {
		free(t->path);
		free(t->node);
		t->path = old.path;
		t->node = old.node;
		t->slots = old.slots;
		return false;
	}
	for (i = 0; i < old.slots; i++) {
		if (!old.path[i])
			continue;
		slot = slot_of(t, old.node[i]);
		t->path[slot] = old.path[i];
		t->node[slot] = old.node[i];
	}
	free(old.path);
	free(old.node);
	return true;
}

static struct profile_path *copy_of(const struct profile_path *path)
{
	const size_t n = path->count;
	struct profile_path *copy =
	    malloc(sizeof(*copy) + n * (sizeof(*copy->line) + sizeof(*copy->frame)));

	if (!copy)
		return NULL;
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
	const struct profile_path *path;
	size_t slot;

	if (t->count >= t->slots / 2 && !grow(t))
		return NULL;
	slot = slot_of(t, stack);
	if (t->path[slot])
		return t->path[slot];
	path = paths_look(t, stack);
	if (!path)
		return NULL;
	t->path[slot] = copy_of(path);
	if (t->path[slot]) {
		t->node[slot] = stack;
		t->count++;
	}
	return t->path[slot];
}

/* ---- matching ---- */

/* A pattern without a slash is for the last part of the path. */
static bool is_file(const char *pattern, const char *file)
{
	const char *slash = strrchr(file, '/');

	if (!strchr(pattern, '/') && slash)
		file = slash + 1;
	return !fnmatch(pattern, file, 0);
}

/* Names as they are shown, with parameters left out of the pattern if it has none. */
static bool is_function(const char *pattern, const struct sym_line *line)
{
	const char *bracket;
	char name[1024];

	if (!fnmatch(pattern, line->function, 0) || !fnmatch(pattern, line->raw, 0))
		return true;
	bracket = strchr(line->function, '(');
	if (!bracket || bracket == line->function ||
	    (size_t)(bracket - line->function) >= sizeof(name) || strchr(pattern, '('))
		return false;
	memcpy(name, line->function, (size_t)(bracket - line->function));
	name[bracket - line->function] = 0;
	return !fnmatch(pattern, name, 0);
}

bool paths_has_function(const struct profile_path *path, const char *pattern)
{
	size_t i;

	for (i = 0; i < path->count; i++)
		if (is_function(pattern, path->line[i]))
			return true;
	return false;
}

static uint8_t mark_line(const struct profile_paths *t, const struct sym_line *line)
{
	uint8_t mark = 0;

	if (t->function && is_function(t->function, line))
		mark |= PATH_MARK_FUNCTION;
	if (t->file && is_file(t->file, line->file))
		mark |= PATH_MARK_FILE;
	if (t->module && is_file(t->module, line->module))
		mark |= PATH_MARK_MODULE;
	return mark;
}

bool paths_match(struct profile_paths *t, const struct profile_path *path)
{
	uint8_t want = 0, have = 0;
	size_t i;

	want |= t->function ? PATH_MARK_FUNCTION : 0;
	want |= t->file ? PATH_MARK_FILE : 0;
	want |= t->module ? PATH_MARK_MODULE : 0;
	for (i = 0; i < path->count && (have & want) != want; i++) {
		const struct sym_lines *lines = sym_frame(t->sym, path->frame[i]);
		uint8_t *mark = &t->mark[path->frame[i]];

		/* A frame of one line is the rule: remember those. */
		if (lines && lines->count == 1) {
			if (!*mark)
				*mark = PATH_MARK_KNOWN | mark_line(t, path->line[i]);
			have |= *mark;
		} else {
			have |= mark_line(t, path->line[i]);
		}
	}
	return (have & want) == want;
}

/* ---- the whole ---- */

int paths_init(struct profile_paths *t, const struct stacks *stacks, struct sym *sym,
	       const struct profile_options *o, struct error *err)
{
	*t = (struct profile_paths){
		.stacks = stacks,
		.sym = sym,
		.function = o->function,
		.file = o->file,
		.module = o->module,
		.wrappers = o->wrappers,
	};
	t->mark = calloc((stacks ? stacks->frames : 0) + 1, 1);
	if (!t->mark)
		return fail(err, -ENOMEM, "no memory for call stacks");
	return 0;
}

void paths_release(struct profile_paths *t)
{
	size_t i;

	for (i = 0; i < t->slots; i++)
		free(t->path[i]);
	free(t->path);
	free(t->node);
	free(t->mark);
	free(t->scratch.path.line);
	free(t->scratch.path.frame);
	free(t->scratch.frame);
	*t = (struct profile_paths){ .stacks = NULL };
}
