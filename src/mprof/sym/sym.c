/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * sym.c - from frames to functions, files and lines: each answer is computed once.
 *
 * An answer is a sym_lines in the arena; each name is formed once, however many frames have it.
 * object.c opens objects at their first lookup.
 */
#include "sym.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "called.h"
#include "code.h"
#include "interpreters.h"
#include "debuginfod.h"
#include "names.h"
#include "object.h"
#include "rewrite.h"
#include "../util/alloc.h"
#include "../util/order.h"

/* A name in the configured form. */
struct name {
	const char *shown;
	bool stop;
};

struct sym {
	const struct stacks *stacks;
	enum sym_names names;
	struct object_context context;
	struct arena arena;
	struct rewrite *rewrite;
	struct object *object;
	struct called *called; /* of each object; NULL until a frame without a name is looked up */
	uint32_t *caller;      /* by frame: the first in callers[], or 0 */
	struct sym_caller {
		uint32_t frame, next; /* next: in callers[], or 0 */
	} * callers;
	size_t caller_count, caller_room;
	const struct sym_lines **answer; /* by frame; NULL: not looked up yet */
	struct hash formed;		 /* raw name in the arena -> struct name */
	struct text scratch;
	struct sym_remark *remark;
};

/* Raises the limit of open files: of an object there are its file, for symbols and for calls, the
 * debug file for names and for lines, and dwz's file.  A thousand objects are not unusual. */
static void allow_files(size_t objects)
{
	rlim_t wanted = 5 * (rlim_t)objects + 64;
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= wanted)
		return;
	limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static bool is_python(const char *module)
{
	const struct sym_interpreter *of = sym_interpreter(module);

	return of && !strcmp(of->language, "Python");
}

static bool is_installed(const char *path)
{
	return !strncmp(path, "/usr/lib", 8) || !strncmp(path, "/lib", 4) ||
	       strstr(path, "-packages/") || strstr(path, "/lib/python3.");
}

/* Is it an object that the author of a program did not build, as a rule? */
static bool is_of_others(const char *path)
{
	static const char *const begin[] = { "/usr/",  "/lib",	"/bin/",
					     "/sbin/", "/opt/", "/nix/store/" };
	static const char *const part[] = { "/conda/",	   "/.conda/",	  "conda3/",
					    "/miniforge",  "/mambaforge", "/micromamba/",
					    "/spack/",	   "/easybuild/", "/vcpkg_installed/",
					    "/.linuxbrew/" };
	bool is = false;

	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
		is |= !strncmp(path, begin[i], strlen(begin[i]));
	for (size_t i = 0; i < sizeof(part) / sizeof(part[0]); i++)
		is |= strstr(path, part[i]) != NULL;
	return is;
}

static int set_up(struct sym *s, const struct sym_options *o, struct error *err)
{
	const bool python = code_of_python(s->stacks);
	size_t i, objects = s->stacks->objects;
	int code = rewrite_make(&s->rewrite, o->rewrite, o->stop, err);

	if (code)
		return code;
	s->object = must_calloc(objects + 1, sizeof(*s->object));
	s->answer = must_calloc(s->stacks->frames + 1, sizeof(*s->answer));
	s->remark = must_calloc(objects + 1, sizeof(*s->remark));
	s->names = o->names;
	s->context.arena = &s->arena;
	s->context.files.sysroot = o->sysroot && strcmp(o->sysroot, "/") ? o->sysroot : "";
	s->context.files.debug_dir = o->debug_dir;
	if (o->debuginfod)
		s->context.servers = debuginfod_open();
	if (!o->no_cache)
		s->context.cache = cache_open();
	allow_files(objects);
	for (i = 0; i < objects; i++) {
		object_init(&s->object[i], &s->stacks->object[i], &s->context);
		s->object[i].runs_scripts = python && is_python(s->object[i].module);
		s->object[i].installed = python && is_installed(s->object[i].of->path);
		s->object[i].interpreter = sym_interpreter(s->object[i].module) != NULL;
		s->object[i].others = !python && is_of_others(s->object[i].of->path);
	}
	return 0;
}

int sym_open(struct sym **out, const struct stacks *stacks, const struct sym_options *o,
	     struct error *err)
{
	struct sym *s = must_calloc(1, sizeof(*s));
	int code;

	s->stacks = stacks;
	code = set_up(s, o, err);
	if (code)
		sym_close(s);
	else
		*out = s;
	return code;
}

void sym_close(struct sym *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; s->object && i < s->stacks->objects; i++)
		object_close(&s->object[i]);
	for (i = 0; s->called && i < s->stacks->objects; i++)
		called_release(&s->called[i]);
	cache_close(s->context.cache);
	debuginfod_close(s->context.servers);
	rewrite_release(s->rewrite);
	hash_release(&s->formed);
	text_release(&s->scratch);
	arena_release(&s->arena);
	free(s->object);
	free(s->called);
	free(s->caller);
	free(s->callers);
	free(s->answer);
	free(s->remark);
	free(s);
}

const char *sym_unused_rule(const struct sym *s, const struct sym *other)
{
	return rewrite_unused(s->rewrite, other->rewrite);
}

/* ---- names ---- */

static const struct name *make_name(struct sym *s, const char *text, const char *file, bool script)
{
	struct name *name = arena_alloc(&s->arena, sizeof(*name));

	text_clear(&s->scratch);
	if (script) /* <module>, <lambda> */
		text_add_string(&s->scratch, text);
	else
		name_form(text, file, s->names, &s->scratch);
	rewrite_name(s->rewrite, &s->scratch);
	if (s->scratch.failed)
		return NULL;
	/* A rule may leave nothing of a name; show a "?" instead of an empty line. */
	name->shown = arena_intern(&s->arena, s->scratch.n ? text_string(&s->scratch) : "?");
	name->stop = rewrite_stops(s->rewrite, name->shown);
	return name;
}

/* raw: in the arena.  Returns NULL if the name is too long to show. */
static const struct name *form(struct sym *s, const char *raw, const char *file, bool script)
{
	const struct name *name = hash_pointer(&s->formed, raw);

	if (name)
		return name;
	name = make_name(s, raw, file, script);
	if (name)
		*hash_at(&s->formed, (uintptr_t)raw) = (uintptr_t)name;
	return name;
}

static void show(struct sym *s, struct sym_line *line, const char *raw)
{
	const struct name *name = form(s, raw, line->file, line->script);

	if (name) {
		line->function = name->shown;
		line->stop = name->stop;
	}
}

/* Returns text that is safe to show. */
static const char *clean(struct sym *s, const char *text)
{
	text_clear(&s->scratch);
	text_add_clean(&s->scratch, text);
	return s->scratch.failed ? "" : arena_intern(&s->arena, text_string(&s->scratch));
}

const char *sym_file(const struct sym_line *line)
{
	const char *base = strrchr(line->file, '/');

	if (!base || !base[1])
		return line->file;
	if (!strcmp(base, "/__init__.py") || !strcmp(base, "/__main__.py"))
		while (base > line->file && base[-1] != '/')
			base--;
	return base + (*base == '/');
}

/* Lines of one function mostly share their texts. */
static int order_texts(const char *x, const char *y)
{
	return x == y ? 0 : strcmp(x, y);
}

int sym_order_functions(const struct sym_line *x, const struct sym_line *y)
{
	if (x == y || !x || !y)
		return (x > y) - (x < y);
	return order_texts(x->module, y->module) ?:
	       order_texts(x->function, y->function)
		   ?: (x->file == y->file ? 0 : strcmp(sym_file(x), sym_file(y)));
}

/* ---- names from callers ---- */

#define CALLERS_MOST 64u /* that are examined, of one frame */

/* Adds a frame that calls `frame`, unless it is known. */
static void add_caller(struct sym *s, uint32_t frame, uint32_t caller)
{
	uint32_t n = 0, i;

	for (i = s->caller[frame]; i && s->callers[i].frame != caller; i = s->callers[i].next)
		n++;
	if (i || n == CALLERS_MOST)
		return;
	GROW(s->callers, s->caller_count + 1, s->caller_room);
	s->callers[s->caller_count] = (struct sym_caller){ caller, s->caller[frame] };
	s->caller[frame] = (uint32_t)s->caller_count++;
}

static bool is_between_objects(const struct stacks *of, uint32_t frame, uint32_t caller)
{
	return of->frame[frame].object != of->frame[caller].object;
}

/* Finds what calls the frames that another object calls. */
static void find_callers(struct sym *s)
{
	const struct stacks *of = s->stacks;

	s->called = must_calloc(of->objects + 1, sizeof(*s->called));
	s->caller = must_calloc(of->frames + 1, sizeof(*s->caller));
	GROW(s->callers, 1, s->caller_room);
	s->caller_count = 1;
	for (int same = 0; same < 2; same++)
		for (size_t i = 1; i < of->nodes; i++) {
			const uint32_t frame = of->node[i].frame, outer = of->node[i].parent;
			const uint32_t caller = outer ? of->node[outer].frame : 0;

			if (caller &&
			    (same ? s->caller[frame] != 0 : is_between_objects(of, frame, caller)))
				add_caller(s, frame, caller);
		}
}

/* Returns the function of any object that a frame calls by name; NULL if it is unknown. */
static const char *called_by(struct sym *s, const struct stack_frame *f)
{
	return f->object && !(f->flags & STACK_FRAME_EXACT)
		   ? called_name(&s->called[f->object], &s->context.files,
				 &s->stacks->object[f->object], f->address)
		   : NULL;
}

/* Does this caller of a frame in its own object call the function at `entry`, if not by name? */
static bool calls(struct sym *s, const struct stack_frame *f, const char *name, uint64_t entry)
{
	const char *called = called_by(s, f);

	if (called)
		return !strcmp(called, name);
	return !(f->flags & STACK_FRAME_EXACT) &&
	       called_address(&s->called[f->object], &s->context.files,
			      &s->stacks->object[f->object], f->address) == entry;
}

/*
 * Returns the function that all callers of a frame without a name meant to call: it ends by jumping
 * there, or the frame is in a part of it that the compiler put elsewhere.  NULL if that is unknown,
 * if they meant different ones, or one of a third object, which made the call.
 */
static const char *name_by_callers(struct sym *s, uint32_t frame)
{
	const struct stacks *of = s->stacks;
	const uint32_t object = of->frame[frame].object;
	const char *name = NULL, *called;
	uint64_t entry;
	uint32_t i;

	for (i = s->caller[frame]; i; i = s->callers[i].next) {
		if (!is_between_objects(of, frame, s->callers[i].frame))
			continue;
		called = called_by(s, &of->frame[s->callers[i].frame]);
		if (!called || (name && strcmp(called, name) != 0))
			return NULL;
		name = called;
	}
	entry =
	    name ? called_export(&s->called[object], &s->context.files, &of->object[object], name)
		 : 0;
	for (i = s->caller[frame]; i && entry; i = s->callers[i].next)
		if (!is_between_objects(of, frame, s->callers[i].frame) &&
		    !calls(s, &of->frame[s->callers[i].frame], name, entry))
			entry = 0;
	return entry ? clean(s, name) : NULL;
}

static bool is_libc(const char *module)
{
	return !strncmp(module, "libc.so", 7);
}

/* Names a frame without a symbol, or returns NULL. */
static const char *name_without_symbol(struct sym *s, uint32_t frame)
{
	const struct stack_frame *f = &s->stacks->frame[frame];

	if (!s->called)
		find_callers(s);
	if (is_libc(s->object[f->object].module) &&
	    called_returns_from_signal(&s->called[f->object], &s->context.files,
				       &s->stacks->object[f->object], f->address))
		return "[signal handler called]";
	return name_by_callers(s, frame);
}

/* ---- answers ---- */

static void address_text(const struct stack_frame *f, const char *module, char *to, size_t room)
{
	if (f->object)
		snprintf(to, room, "%.*s+0x%" PRIx64, (int)room - 24, module, f->address);
	else
		snprintf(to, room, "0x%" PRIx64, f->address);
}

static struct sym_lines *new_lines(struct sym *s, const char *module, size_t n)
{
	struct sym_lines *lines = arena_alloc(&s->arena, sizeof(*lines));
	struct sym_line *line = arena_alloc(&s->arena, n * sizeof(*line));
	size_t i;

	for (i = 0; i < n; i++)
		line[i] =
		    (struct sym_line){ .function = "", .raw = "", .file = "", .module = module };
	*lines = (struct sym_lines){ line, n };
	return lines;
}

static const struct sym_lines *marker(struct sym *s, const char *text)
{
	struct sym_lines *lines = new_lines(s, "?", 1);

	((struct sym_line *)lines->line)->function = text;
	return lines;
}

/* Shows module+0xoffset; rules apply to it, too. */
static void show_address(struct sym *s, struct sym_line *line, const struct stack_frame *f)
{
	char text[300];
	const char *kept;

	address_text(f, line->module, text, sizeof(text));
	kept = arena_intern(&s->arena, text);
	line->function = kept;
	show(s, line, kept);
	line->offset = f->address;
}

/* Takes the function name and source location from the name of generated code. */
static void show_code(struct sym *s, struct sym_line *line, const char *name)
{
	struct code_parts p;
	char *text = must_strdup(clean(s, name));

	code_split(text, &p);
	line->raw = arena_intern(&s->arena, p.function);
	line->function = line->raw;
	line->file = arena_intern(&s->arena, p.file);
	line->line = p.line;
	line->script = p.python;
	line->module = p.python ? "Python" : "generated code";
	line->known = true;
	show(s, line, line->raw);
	free(text);
}

/* Finds the functions of a frame, as object_locations() does. */
static size_t find_locations(struct sym *s, uint32_t frame, uint64_t address,
			     struct location location[LOCATIONS_MOST])
{
	struct object *o = &s->object[s->stacks->frame[frame].object];
	size_t n = object_locations(o, address, location);
	const char *name = n && *location[n - 1].raw ? NULL : name_without_symbol(s, frame);

	if (!name)
		return n;
	o->unknown--;
	if (!n)
		location[n++] = (struct location){ .file = "" };
	location[n - 1].raw = name;
	location[n - 1].offset = 0;
	return n;
}

static const struct sym_lines *make_lines(struct sym *s, uint32_t frame)
{
	const struct stack_frame *f = &s->stacks->frame[frame];
	struct object *o = &s->object[f->object];
	struct location location[LOCATIONS_MOST];
	uint64_t back = !(f->flags & STACK_FRAME_EXACT) && f->address;
	size_t i, n = f->object ? find_locations(s, frame, f->address - back, location) : 0;
	struct sym_lines *lines = new_lines(s, f->object ? o->module : "?", n ? n : 1);
	const char *code;
	struct sym_line *line = (struct sym_line *)lines->line;

	for (i = 0; i < n; i++) {
		line[i].raw = line[i].function = location[i].raw;
		line[i].file = location[i].file;
		line[i].line = location[i].line;
		line[i].inlined = location[i].inlined;
		line[i].known = *location[i].raw;
		line[i].offset = location[i].inlined ? 0 : location[i].offset + back;
		if (line[i].known)
			show(s, &line[i], location[i].raw);
	}
	code = f->object ? NULL : code_find(s->stacks, f->address);
	if (code)
		show_code(s, line, code);
	for (i = 0; i < lines->count; i++) {
		line[i].runs_scripts = f->object && o->runs_scripts;
		line[i].installed = f->object && o->installed;
		if (f->object && !o->interpreter && !*line[i].file) {
			line[i].others = o->others && strstr(o->module, ".so");
			line[i].built = !o->others && line[i].known;
		}
		line[i].unnamed = f->object && o->interpreter && !o->runs_scripts &&
				  !line[i].known && !*line[i].file;
		if (!line[i].known)
			show_address(s, &line[i], f);
	}
	return lines;
}

static const struct sym_lines *answer(struct sym *s, uint32_t frame)
{
	const struct stack_frame *f = &s->stacks->frame[frame];

	if (f->flags & STACK_FRAME_TRUNCATED)
		return marker(s, "[truncated]");
	if (f->flags & STACK_FRAME_LOST_WAY)
		return marker(s, "[lost]");
	if (!frame)
		return marker(s, "[unknown]");
	return make_lines(s, frame);
}

const struct sym_lines *sym_frame(struct sym *s, uint32_t frame)
{
	/* Most are known: then their records, which lie anywhere, are not read. */
	if (__builtin_expect(frame < s->stacks->frames && s->answer[frame] != NULL, 1))
		return s->answer[frame];
	if (frame >= s->stacks->frames || s->stacks->frame[frame].object >= s->stacks->objects)
		frame = 0;
	if (!s->answer[frame])
		s->answer[frame] = s->stacks->frames ? answer(s, frame) : marker(s, "[unknown]");
	return s->answer[frame];
}

/* ---- remarks ---- */

/* Addresses in libc that a program passes as it starts, and as its threads do. */
#define STARTS 3u

bool sym_is_nameless_libc(const struct sym_line *line)
{
	return !line->known && is_libc(line->module);
}

ORDER(most_frames, struct sym_remark, FALLING(frames) ?: RISING(object))

size_t sym_remarks(struct sym *s, const struct sym_remark **remarks)
{
	const char *servers = debuginfod_why(s->context.servers);
	uint64_t unknown = 0;
	size_t i, n = 0;

	for (i = 1; i < s->stacks->objects; i++) {
		const struct object *o = &s->object[i];
		const char *why = object_why(o);

		if (o->lines.without)
			s->remark[n++] = (struct sym_remark){ .object = (uint32_t)i,
							      .frames = o->lines.without,
							      .why = o->split,
							      .split = true };
		else if (why && !(is_libc(o->module) && o->unknown <= STARTS))
			s->remark[n++] = (struct sym_remark){ .object = (uint32_t)i,
							      .frames = o->unknown,
							      .why = why,
							      .stripped = !o->why };
		unknown += o->unknown;
	}
	if (servers && unknown)
		s->remark[n++] = (struct sym_remark){ .frames = unknown, .why = servers };
	SORT(s->remark, n, most_frames);
	*remarks = s->remark;
	return n;
}

/* ---- variables ---- */

void sym_variables(struct sym *s, uint32_t object, struct sym_variables *v)
{
	struct object_variable *found =
	    object_variables(&s->object[object], &v->count, &v->stripped);

	v->of = must_calloc(v->count + 1, sizeof(*v->of));
	for (size_t i = 0; i < v->count; i++) {
		const struct name *name = form(s, clean(s, found[i].name), found[i].file, false);

		v->of[i] = (struct sym_variable){ .name = name ? name->shown : "?",
						  .file = clean(s, found[i].file),
						  .line = found[i].line,
						  .object = object,
						  .tls = found[i].tls,
						  .address = found[i].address,
						  .size = found[i].size };
	}
	free(found);
}
