// SPDX-License-Identifier: LGPL-3.0-or-later
/* asked.c - which function of a stack allocates, through which library, and where its source is. */
#include <string.h>

#include "../sym/interpreters.h"
#include "../sym/names.h"
#include "../sym/sym_text.h"
#include "../util/alloc.h"
#include "paths.h"
#include "profile.h"

bool profile_copies(const struct sym_line *line)
{
	const char *of_const = strstr(line->raw, "ERKS");

	/* The parameter has the type of the class: _ZN3recC2ERKS_, _ZN3recaSERKS_; Rust's two
	 * manglings. */
	return (of_const && of_const - line->raw >= 2 &&
		(of_const[-2] == 'C' || !strncmp(of_const - 2, "aS", 2))) ||
	       strstr(line->raw, "Clone$GT$5clone") || strstr(line->raw, "5clone5Clone5clone");
}

/* Examines lines of a stack outward, until the allocating function is known. */
struct asking {
	struct profile_asked a;
	bool plain;			/* a.line has a name and does not copy */
	const struct sym_line *through; /* outermost line of a library so far */
	const struct sym_line *inner;	/* innermost line that is not a wrapper */
	bool sure;			/* true if a.line is not part of a wrapper */
	/* The line before, if it is not a wrapper: through up to it, and is it plain? */
	const struct sym_line *callee, *callee_through;
	bool callee_plain;
	bool nameless; /* a.line is the callee of the line that was found */
};

/* A function that the recording library has in front of the one of that name (pthread_create). */
static bool is_ours(const struct sym_line *line)
{
	return !strncmp(basename(line->module), "libmprof", 8);
}

/* CPython's functions that evaluate a function or call any object: they tell nothing. */
static bool only_calls(const struct sym_line *line)
{
	static const char *const begin[] = { "_PyEval_",     "_PyObject_",	  "PyObject_",
					     "_PyFunction_", "method_vectorcall", "cfunction_",
					     "type_call" };

	for (size_t i = 0; i < sizeof(begin) / sizeof(begin[0]); i++)
		if (!strncmp(line->function, begin[i], strlen(begin[i])))
			return true;
	return false;
}

/* Python's decorators: the function that such a one calls tells more. */
static bool only_decorates(const struct sym_line *line)
{
	static const char local[] = "<locals>.";
	static const char *const names[] = { "wrapper", "wrapped", "inner" };
	const char *dot = line->script ? strrchr(line->function, '.') : NULL;

	if (!dot || dot - line->function < (ptrdiff_t)sizeof(local) - 2 ||
	    strncmp(dot + 2 - sizeof(local), local, sizeof(local) - 1) != 0)
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(dot + 1, names[i]))
			return true;
	return false;
}

/* Does a function of a library tell how the allocating function allocates?  Of an import, the
 * module tells more than the functions that find and run it. */
static bool tells(const struct sym_line *line)
{
	return !(line->runs_scripts && (!line->known || only_calls(line))) &&
	       !paths_imports(line) && !only_decorates(line) && !is_ours(line);
}

static bool is_library(enum paths_part part)
{
	return part == PATHS_LIBRARY || part == PATHS_PACKAGE;
}

/* What is known of a line. */
enum {
	LINE_PART = 7, /* enum paths_part + 1 */
	LINE_PLAIN = 8,
	LINE_TELLS = 16,
	LINE_NAMELESS = 32,
	LINE_TEXT = 64,
	LINE_OTHERS = 128
};

static unsigned look_at(struct profile_paths *t, uint32_t frame, const struct sym_line *line)
{
	const bool plain = line->known && !profile_copies(line);

	return (paths_part_of(t, frame, line) + 1u) | (plain ? LINE_PLAIN : 0) |
	       (tells(line) ? LINE_TELLS : 0) | (paths_is_nameless(line) ? LINE_NAMELESS : 0) |
	       (paths_is_text(line) ? LINE_TEXT : 0) | (line->others ? LINE_OTHERS : 0);
}

static inline unsigned facts_of(struct profile_paths *t, uint32_t frame,
				const struct sym_lines *lines, size_t i)
{
	uint64_t *known;

	if (lines->count == 1) {
		if (!t->facts[frame])
			t->facts[frame] = (uint8_t)look_at(t, frame, lines->line);
		return t->facts[frame];
	}
	known = hash_at(&t->facts_of, (uintptr_t)&lines->line[i]);
	if (!*known)
		*known = look_at(t, frame, &lines->line[i]);
	return (unsigned)*known;
}

/* The allocating function is this one; or, if that has no name, the one that it calls. */
static void find(struct asking *s, const struct sym_line *line, unsigned facts)
{
	s->nameless = s->callee && facts & LINE_NAMELESS;
	s->a.line = s->nameless ? s->callee : line;
	s->a.through = s->nameless ? s->callee_through : s->through;
	s->plain = s->nameless ? s->callee_plain : (facts & LINE_PLAIN) != 0;
}

/* Returns true if no line further out makes a difference. */
static inline bool ask(struct asking *s, const struct sym_line *line, enum paths_part part,
		       unsigned facts)
{
	if (!s->inner && part != PATHS_WRAPPER)
		s->inner = line;
	if (s->a.line && !s->sure) {
		s->sure = part != PATHS_WRAPPER;
		if (!s->sure)
			s->a.line = NULL;
		else if (s->plain)
			return true;
	}
	if (s->a.line && part == PATHS_PROGRAM && facts & LINE_PLAIN) {
		s->a.caller = line;
		return true;
	}
	if (s->a.line)
		return false;
	if (part == PATHS_PROGRAM) {
		find(s, line, facts);
		return s->sure && s->plain;
	}
	s->callee = part == PATHS_WRAPPER ? NULL : line;
	s->callee_through = s->through;
	s->callee_plain = facts & LINE_PLAIN;
	/* A function of the interpreter tells less than one that it calls. */
	if (is_library(part) && facts & LINE_TELLS && !(s->through && line->runs_scripts))
		s->through = line;
	return false;
}

/* ---- the allocating function of a stack ---- */

/*
 * Scripts have deep stacks, of which many share all but a few inner frames, while the allocating
 * function can be far out: "import pandas" is one line.  So results are kept by node.  From a node
 * on, where no such function is further in, they differ only in `through` if that is further in.
 */
enum { MEMO_FROM = 8, MEMO_ENTRIES = 1 << 14 };

struct asked_memo {
	uint32_t node; /* 0: none */
	struct profile_asked a;
};

struct walking {
	struct asking s;
	const struct sym_line *last;
	const struct sym_line *mark; /* for a stack of no lines but such */
	uint32_t through_at;	     /* nodes up to the one of a.through */
};

static struct asked_memo *memo_of(struct profile *p, uint32_t node)
{
	if (!p->asked)
		p->asked = must_calloc(MEMO_ENTRIES, sizeof(*p->asked));
	return &p->asked[node % MEMO_ENTRIES];
}

static bool recall(struct profile *p, struct walking *w, uint32_t node, uint32_t nodes)
{
	const struct asked_memo *memo = memo_of(p, node);
	const struct sym_line *through = w->s.through;

	if (memo->node != node)
		return false;
	w->s.a = memo->a;
	/* As in ask(): an interpreter's function further out tells less. */
	if (through && memo->a.through && memo->a.through->runs_scripts)
		w->s.a.through = through;
	else
		w->through_at = nodes;
	return true;
}

static void remember(struct profile *p, const struct walking *w, uint32_t stack)
{
	uint32_t node = stack, nodes;

	for (nodes = 0; nodes < w->through_at; nodes++, node = p->stacks->node[node].parent)
		if (nodes >= MEMO_FROM)
			*memo_of(p, node) = (struct asked_memo){ node, w->s.a };
}

/* Returns true if no node further out makes a difference.  A package, or an installed library
 * without source, is part of the program, unless source of the program calls it. */
static bool ask_node(struct profile *p, struct walking *w, uint32_t node)
{
	const uint32_t frame = p->stacks->node[node].frame;
	const struct sym_lines *lines = sym_frame(p->sym, frame);

	/* Where frames are missing, nothing is known of the caller. */
	if (lines && paths_is_mark(p->stacks, frame)) {
		w->mark = lines->line;
		return false;
	}
	for (size_t i = 0; lines && i < lines->count; i++) {
		unsigned facts = facts_of(p->paths, frame, lines, i);
		enum paths_part part = (enum paths_part)((facts & LINE_PART) - 1);

		w->last = &lines->line[i];
		if (p->paths->options.wrappers)
			part = PATHS_PROGRAM;
		else if (facts & LINE_TEXT && paths_is_pth(w->last, paths_called(p->paths, node)))
			part = PATHS_LIBRARY;
		else if (part == PATHS_PACKAGE || (part == PATHS_PROGRAM && facts & LINE_OTHERS))
			part = paths_is_asker(part, w->last, paths_called(p->paths, node))
				   ? PATHS_PROGRAM
				   : PATHS_LIBRARY;
		else if (part == PATHS_PROGRAM &&
			 paths_serves(p->paths, w->last, paths_caller(p->paths, node))) {
			part = PATHS_LIBRARY;
			facts &= ~(unsigned)LINE_TELLS;
		}
		if (ask(&w->s, w->last, part, facts))
			return true;
	}
	return false;
}

/* As asked_of_libraries() in paths.c; NULL if there is none. */
static const struct sym_line *asked_of_libraries(struct profile *p, uint32_t stack)
{
	for (uint32_t node = stack; node && node < p->stacks->nodes;
	     node = p->stacks->node[node].parent) {
		const uint32_t frame = p->stacks->node[node].frame;
		const struct sym_lines *lines = sym_frame(p->sym, frame);

		for (size_t i = 0; lines && !paths_is_mark(p->stacks, frame) && i < lines->count;
		     i++)
			if (!paths_requests_for_others(p->paths, frame, &lines->line[i]))
				return &lines->line[i];
	}
	return NULL;
}

struct profile_asked profile_asked(struct profile *p, uint32_t stack)
{
	struct walking w = { .s.sure = p->paths->options.wrappers };
	const struct sym_line *through = NULL;
	uint32_t node = stack, nodes = 0;

	for (; node && node < p->stacks->nodes; node = p->stacks->node[node].parent, nodes++) {
		if (nodes >= MEMO_FROM && !w.s.a.line && recall(p, &w, node, nodes))
			break;
		if (ask_node(p, &w, node))
			break;
		if (w.s.through != through)
			w.through_at = nodes + 1;
		through = w.s.through;
	}
	if (w.s.a.line && !w.s.nameless && w.through_at > MEMO_FROM)
		remember(p, &w, stack);
	if (!w.s.a.line)
		w.s.a.line = asked_of_libraries(p, stack) ?: w.s.inner ?: w.last ?: w.mark;
	return w.s.a;
}

size_t profile_callers(struct profile *p, uint32_t stack, const struct sym_line *callee,
		       const struct sym_line **caller, size_t most)
{
	const struct profile_path *path = paths_look(p->paths, stack);
	const uint32_t *next = paths_next(p->paths, path->asked);
	const struct sym_line *line;
	size_t n = 0;

	for (size_t k = path->asked; k && n < most; k = next[k - 1]) {
		line = path->line[k - 1];
		if (paths_part_of(p->paths, path->frame[k - 1], line) != PATHS_PROGRAM ||
		    !sym_order_functions(line, callee))
			continue;
		if (!line->known || !strcmp(line->function, line->script ? "<module>" : "main"))
			break;
		caller[n++] = callee = line;
	}
	return n;
}

const struct sym_line *profile_caller(struct profile *p, uint32_t stack,
				      const struct sym_line *callee)
{
	const struct sym_line *caller;

	return profile_callers(p, stack, callee, &caller, 1) ? caller : NULL;
}

/* Can the reader change this line?  Not in an interpreter, nor in code built into one. */
static bool is_source(const struct sym_line *line)
{
	return *line->file && strncmp(line->file, "node:", 5) != 0 &&
	       !sym_interpreter(line->module);
}

/* Returns the line of a frame that profile_source() looks for; another one that would do goes to
 * *first, or of a package to *package. */
static const struct sym_line *source_in(struct profile *p, uint32_t frame,
					const struct sym_line **first,
					const struct sym_line **package)
{
	const struct sym_lines *lines = sym_frame(p->sym, frame);
	const struct sym_line *line;
	enum paths_part part;
	bool files = false;

	for (size_t i = 0; lines && i < lines->count; i++) {
		line = &lines->line[i];
		files |= *line->file;
		/* is_source() takes long; the part of a line is known. */
		if ((*first && !line->script) || !*line->file)
			continue;
		part = paths_part_of(p->paths, frame, line);
		if (part < PATHS_PACKAGE || (part == PATHS_PACKAGE && *package) || !is_source(line))
			continue;
		if (part == PATHS_PROGRAM && (line->script || !p->paths->scripts))
			return line;
		*(part == PATHS_PACKAGE ? package : first) = line;
	}
	p->paths->fileless[frame] = !files;
	return NULL;
}

/* Is the function called by a wrapper, so that it is a part of this? */
static bool is_wrapped(struct profile *p, uint32_t node)
{
	const uint32_t caller = paths_caller(p->paths, node);
	const struct sym_lines *by = caller ? sym_frame(p->sym, caller) : NULL;

	return by && by->count && paths_part_of(p->paths, caller, by->line) == PATHS_WRAPPER;
}

const struct sym_line *profile_source(struct profile *p, uint32_t stack)
{
	const struct sym_line *line, *first = NULL, *package = NULL;
	uint8_t *none = p->paths->sourceless;
	uint32_t node = stack, from = stack;

	for (; node && node < p->stacks->nodes && !none[node];
	     node = p->stacks->node[node].parent) {
		const uint32_t frame = p->stacks->node[node].frame;

		if (p->paths->fileless[frame] || is_wrapped(p, node))
			continue;
		line = source_in(p, frame, &first, &package);
		if (line)
			return line;
	}
	for (; !first && !package && from != node; from = p->stacks->node[from].parent)
		none[from] = 1;
	return package ? package : first;
}

const struct sym_line *profile_path_through(struct profile *p, const struct profile_path *path)
{
	const struct sym_line *through = NULL, *line;
	size_t i;

	for (i = path->inner; i > path->asked; i--) {
		line = path->line[i - 1];
		if ((is_library(paths_part_of(p->paths, path->frame[i - 1], line)) ||
		     line->others) &&
		    tells(line) && !(through && line->runs_scripts))
			through = line;
	}
	return through;
}

/* Whatever --names and --rewrite show: the names of template arguments are not its class. */
static bool is_of_closed(const struct sym_line *line, struct text *name)
{
	static const char *const closed[] = { "deque<", "regex", "stringbuf" };
	size_t k = 0;

	name_form(line->raw, line->file, SYM_SHORT, name);
	while (k < sizeof(closed) / sizeof(closed[0]) && !strstr(text_string(name), closed[k]))
		k++;
	return k < sizeof(closed) / sizeof(closed[0]);
}

bool profile_is_closed(struct profile *p, uint32_t stack)
{
	const struct profile_path *path = paths_look(p->paths, stack);
	struct text name = { 0 };
	size_t i = path->asked;

	while (i < path->all && !is_of_closed(path->line[i], &name))
		i++;
	text_release(&name);
	return i < path->all;
}
