/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * paths.h - stacks as lines: unfolds inlined calls, cuts at --stop-at, finds the allocating
 * function and folds the calls inside it; and tells which stacks --function, --file, --module and
 * --without match.
 *
 * Only profile.c and its parts include this. Paths are kept until release; results for frames are
 * kept by frame.
 *
 * Without memory the program ends (util/alloc.h).
 */
#pragma once

#include "../pass/interner.h"
#include "../util/arena.h"
#include "../util/hash.h"
#include "stack_path.h"

/* A frame whose lines a path has, and the number of lines up to it from the outermost frame. */
struct path_step {
	uint32_t node; /* of the stacks */
	uint32_t lines;
	bool in_script; /* the interpreter's frames from here on are left out */
	bool truncated; /* frames further out are missing */
};

/* A path that is rebuilt repeatedly in the same memory, from the first difference on. */
struct path_scratch {
	struct profile_path path;
	size_t room;
	struct path_step *list; /* frames of the stack that are not yet steps, innermost first */
	size_t list_room;
	struct path_step *step; /* steps of the path, outermost first */
	size_t steps, step_room;
	uint32_t *at; /* by node: its step, plus 1, if that still has this node */
	/* By line: the number of lines up to the next one outward of another function of the
	 * program, or 0; of the first `nexts` lines. */
	uint32_t *next;
	size_t nexts, next_room;
};

enum path_mark {
	PATH_MARK_KNOWN = 1,	/* the other marks were determined */
	PATH_MARK_FUNCTION = 2, /* a line of the frame matches --function */
	PATH_MARK_FILE = 4,
	PATH_MARK_MODULE = 8,
	PATH_MARK_WITHOUT = 16,
	PATH_MARK_PART = 32, /* times enum paths_part + 1 */
};

/* The owner of a line. With wrappers.def, this decides which function allocates: the innermost line
 * of the program that is not called by a wrapper. */
enum paths_part {
	PATHS_WRAPPER, /* passes on a request for memory: malloc, operator new, g_malloc */
	PATHS_LIBRARY, /* of a language's library, or an allocator by its name; native code of
			* installed libraries and packages beside scripts */
	PATHS_START,   /* starts a program or a thread: _start, start_thread */
	PATHS_PACKAGE, /* an installed package of Python, or what starts one; code of others that is
			* compiled into the program, such as Boost's: of the program, unless the
			* program's own source calls it */
	PATHS_PROGRAM, /* code of the program, which a reader can change */
};

/* Who calls a function of a package, or of a library. */
enum paths_called {
	CALLED_UNKNOWN,
	CALLED_BY_OTHERS,  /* neither of these */
	CALLED_BY_PROGRAM, /* its own source; with scripts, one of these: then packages are
			    * libraries */
	CALLED_AT_START,   /* an interpreter during its startup */
};

/* As in struct profile_options. */
struct paths_options {
	const char *function, *file, *module, *without;
	bool library, wrappers;
	bool others_texts; /* no text that Python was told to run is the program's own */
};

struct profile_paths {
	const struct stacks *stacks;
	struct sym *sym;
	struct paths_options options;
	bool scripts;	      /* leave out interpreters around functions of scripts */
	bool runs_text;	      /* code of PATHS_TEXT is the program's own (python -c) */
	uint8_t *called;      /* by node of the stacks: enum paths_called; NULL with --wrappers */
	uint8_t *mark;	      /* by frame of one line: enum path_mark */
	uint8_t *sourceless;  /* by node: 1 = profile_source() of it is NULL */
	uint8_t *fileless;    /* by frame: 1 = no line has a file */
	uint8_t *facts;	      /* of asked.c, by frame of one line */
	struct hash kept;     /* stack -> struct profile_path, in the arena */
	struct hash part;     /* line of a frame that has several -> enum paths_part, plus 1 */
	struct hash facts_of; /* such a line -> what `facts` has */
	struct arena arena;
	struct path_scratch scratch;
};

void paths_init(struct profile_paths *t, const struct stacks *stacks, struct sym *sym,
		const struct paths_options *o);
void paths_release(struct profile_paths *t);

/* Does the name of a native function say that it allocates? */
bool paths_sounds_like_allocator(const struct sym_line *line);
/* Does the line allocate for its callers, or start what does? */
bool paths_requests_for_others(struct profile_paths *t, uint32_t frame,
			       const struct sym_line *line);

/* Is it not a frame: are frames missing there? */
static inline bool paths_is_mark(const struct stacks *s, uint32_t frame)
{
	return s->frame[frame].flags & (STACK_FRAME_TRUNCATED | STACK_FRAME_LOST_WAY);
}
/*
 * Is the frame left out?  Within a function of a script, the interpreter's functions tell how it
 * allocates.  Those around it are the same in all stacks.  Sets *in_script at a script.
 */
bool paths_surrounds(struct profile_paths *t, uint32_t frame, bool *in_script);
/* Returns the path of a stack, valid until the next call. */
const struct profile_path *paths_look(struct profile_paths *t, uint32_t stack);
/*
 * Returns of the first n lines of the latest path that paths_look() returned, for each, the number
 * of lines up to the next one outward that is of the program and, if the line itself is, of another
 * function; or 0.  A recursion is one step.  Valid until the next call of either.
 */
const uint32_t *paths_next(struct profile_paths *t, size_t n);
/* Returns a path that stays valid. */
const struct profile_path *paths_keep(struct profile_paths *t, uint32_t stack);
/* Does a line of it, but for those that start the program, match each of --function, --file and
 * --module, and none match --without? */
bool paths_match(struct profile_paths *t, const struct profile_path *path);
/* Returns the number of lines at the outer end that only start a program or a thread (_start,
 * start_thread, what Rust's std does before main); at least one line remains. */
size_t paths_start_lines(const struct sym_line *const *line, size_t n);
/* Does the pattern, a name with or without parameters or a glob, match this function? */
bool paths_name_matches(const char *pattern, const char *function);
/* Does the pattern match this line, as --function does ("work", "work (FILE)", "work (FILE:LINE)");
 * or the file or module, as --file does? */
bool paths_is_function(const char *pattern, const struct sym_line *line);
bool paths_is_file(const char *pattern, const char *file);
/* Does a line of the path match this pattern? */
bool paths_has_function(const struct profile_path *path, const char *pattern);
/* The file of what Python runs without one. */
#define PATHS_TEXT "<string>"
/* Is it code of such a text? */
bool paths_is_text(const struct sym_line *line);
enum paths_part paths_part(const struct sym_line *line);
/* The same for a line of these stacks. */
enum paths_part paths_part_in(const struct profile_paths *t, const struct sym_line *line);
/* Returns the part of a line of this frame, remembered if the frame has one line. */
enum paths_part paths_part_of(struct profile_paths *t, uint32_t frame, const struct sym_line *line);
/* Does it start a program or a thread, if it is at the outer end of a path? */
bool paths_begins(const struct sym_line *line);
/* Does it wait for events, so that its caller is not the reason for what it calls? */
bool paths_is_loop(const struct sym_line *line);
/* Is it generated code that has no name of its own, such as a Java method that is interpreted?  The
 * function of the runtime that it calls tells more, and stands for it. */
bool paths_is_nameless(const struct sym_line *line);
/* Returns which of these is the nearest outward. */
enum paths_called paths_called(struct profile_paths *t, uint32_t stack);
/* Is it a function of an interpreter, without a name, that source of the program calls, in a frame
 * that may be 0 (none)?  The caller tells more: an extension may call ruby_xmalloc, which jumps
 * there. */
bool paths_serves(struct profile_paths *t, const struct sym_line *line, uint32_t caller);
/* Returns the frame that calls the one of a node, or 0. */
static inline uint32_t paths_caller(const struct profile_paths *t, uint32_t node)
{
	const uint32_t by = t->stacks->node[node].parent;

	return by && by < t->stacks->nodes ? t->stacks->node[by].frame : 0;
}
/* Does the line allocate for itself: is it not part of code that allocates for its callers? */
static inline bool paths_is_asker(enum paths_part part, const struct sym_line *line,
				  enum paths_called called)
{
	if (part == PATHS_PACKAGE || (part == PATHS_PROGRAM && line->others))
		return called != CALLED_BY_PROGRAM;
	return part == PATHS_PROGRAM;
}
/* Does Python import a library for a line of the program?  Modules stay until the process ends. */
bool paths_is_import(struct profile_paths *t, uint32_t stack);
/* Is it a function of CPython that finds and runs a module? */
bool paths_imports(const struct sym_line *line);
/* Is it a text that Python runs while it starts, a line of a .pth file?  It has the name of the
 * program's own text, but its caller stands for it. */
static inline bool paths_is_pth(const struct sym_line *line, enum paths_called called)
{
	return called == CALLED_AT_START && paths_is_text(line);
}
