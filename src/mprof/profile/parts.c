// SPDX-License-Identifier: LGPL-3.0-or-later
/* parts.c - decides whether a line of a stack belongs to the program, or to code that allocates for
 * others. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "paths.h"

static const char *const wrappers[] = {
#define LOOP(pattern, whose)
#define WRAPPER(pattern, whose) pattern,
#define LIBRARY(pattern, whose)
#define RUST(pattern, whose)
#define MODULE(pattern, whose)
#define SOURCE(end, part, whose)
#define PACKAGE(part, whose)
#include "wrappers.def"
#undef WRAPPER
#undef LIBRARY
};

static const char *const libraries[] = {
#define WRAPPER(pattern, whose)
#define LIBRARY(pattern, whose) pattern,
#include "wrappers.def"
#undef LIBRARY
#undef RUST
};

static const char *const rust[] = {
#define LIBRARY(pattern, whose)
#define RUST(pattern, whose) pattern,
#include "wrappers.def"
#undef RUST
#undef MODULE
};

static const char *const modules[] = {
#define RUST(pattern, whose)
#define MODULE(pattern, whose) pattern,
#include "wrappers.def"
#undef MODULE
#undef SOURCE
};

static const struct {
	const char *end, *part;
} sources[] = {
#define MODULE(pattern, whose)
#define SOURCE(end, part, whose) { end, part },
#include "wrappers.def"
#undef SOURCE
#undef PACKAGE
};

static const char *const packages[] = {
#define SOURCE(end, part, whose)
#define PACKAGE(part, whose) part,
#include "wrappers.def"
#undef PACKAGE
#undef LOOP
};

static const char *const loops[] = {
#define PACKAGE(part, whose)
#define LOOP(pattern, whose) pattern,
#include "wrappers.def"
#undef LOOP
#undef WRAPPER
#undef LIBRARY
#undef RUST
#undef MODULE
#undef SOURCE
#undef PACKAGE
};

#define COUNT(table) (sizeof(table) / sizeof((table)[0]))

static bool begins_as(const char *name, const char *pattern)
{
	size_t n = strlen(pattern) - 1;

	if (pattern[n] == '*')
		return !strncmp(name, pattern, n);
	return !strcmp(name, pattern);
}

#define PATTERNS 512u

/* Patterns by their first letter. */
struct patterns {
	const char *const *pattern;
	size_t count;
	uint16_t first[256], next[PATTERNS]; /* index + 1; 0: none */
};

static struct patterns of_wrappers = { .pattern = wrappers, .count = COUNT(wrappers) };
static struct patterns of_libraries = { .pattern = libraries, .count = COUNT(libraries) };
static struct patterns of_modules = { .pattern = modules, .count = COUNT(modules) };
static struct patterns of_loops = { .pattern = loops, .count = COUNT(loops) };
_Static_assert(COUNT(wrappers) <= PATTERNS && COUNT(libraries) <= PATTERNS &&
		   COUNT(modules) <= PATTERNS && COUNT(loops) <= PATTERNS,
	       "struct patterns has room for each list");

static void list_by_letter(struct patterns *p)
{
	for (size_t i = 0; i < p->count; i++) {
		uint16_t *first = &p->first[(unsigned char)*p->pattern[i]];

		p->next[i] = *first;
		*first = (uint16_t)(i + 1);
	}
}

static void list_patterns(void)
{
	list_by_letter(&of_wrappers);
	list_by_letter(&of_libraries);
	list_by_letter(&of_modules);
	list_by_letter(&of_loops);
}

static bool is_one_of(const struct patterns *p, const char *name)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	size_t i;

	pthread_once(&once, list_patterns);
	for (i = p->first[(unsigned char)*name]; i; i = p->next[i - 1])
		if (begins_as(name, p->pattern[i - 1]))
			return true;
	return false;
}

/* Is a name of the function one of these? */
static bool names_one_of(const struct patterns *p, const struct sym_line *line)
{
	return is_one_of(p, line->raw) ||
	       (line->function != line->raw && is_one_of(p, line->function));
}

/* Matches "_R...", or "_ZN...17h0123456789abcdefE".  C++ may also have a namespace called core. */
static bool is_rust(const char *raw)
{
	const char *hash = raw;

	if (!strncmp(raw, "_R", 2))
		return true;
	while (!strncmp(raw, "_ZN", 3) && (hash = strstr(hash, "17h"))) {
		hash += 3;
		if (strspn(hash, "0123456789abcdef") >= 16 && hash[16] == 'E')
			return true;
	}
	return false;
}

static bool is_rust_crate(const char *name, size_t n)
{
	for (size_t i = 0; i < COUNT(rust); i++)
		if (!strncmp(rust[i], name, n) && !strcmp(rust[i] + n, "::"))
			return true;
	return false;
}

/*
 * Is the function defined in a crate of Rust's own?  Rust's newer mangling (RFC 2603) begins with
 * where the function is nested, "NvNt" and the like, or with the path of the module that implements
 * it for a type (M, X); the first crate ("Cs1234_5alloc") is that of the definition.  A method of a
 * basic type, "<str>::to_lowercase", is told by nothing else.
 */
static bool is_defined_in_rust(const char *raw)
{
	const char *s = raw + 2;
	char *name;
	unsigned long n;

	if (strncmp(raw, "_R", 2))
		return false;
	for (; *s && *s != 'C'; s++) {
		if (*s == 'N' && s[1])
			s++;
		else if ((*s == 'M' || *s == 'X') && s[1] == 's')
			s += strcspn(s, "_");
		else if (!strchr("IMX", *s))
			return false;
		if (!*s)
			return false;
	}
	if (s[0] == 'C' && s[1] == 's')
		s += strcspn(s, "_");
	if (!*s || !strchr("123456789", s[1]))
		return false;
	n = strtoul(s + 1, &name, 10);
	return n <= strlen(name) && is_rust_crate(name, n);
}

/* "<alloc::vec::Vec<T> as core::clone::Clone>::clone" is alloc's, "<T as core::convert::Into<U>>::
 * into" and "<u8 as ...>::f" are of no crate but Rust's own; "<prog::Conn as core::clone::Clone>::
 * clone" is the program's. */
static bool is_of_rust(const char *function)
{
	const char *type = function, *as;
	size_t i;

	while (*type &&
	       (strchr("<&[*(", *type) || !strncmp(type, "dyn ", 4) || !strncmp(type, "mut ", 4)))
		type += *type == 'd' || *type == 'm' ? 4 : 1;
	for (i = 0; i < COUNT(rust); i++)
		if (!strncmp(type, rust[i], strlen(rust[i])))
			return true;
	if (*function != '<')
		return false;
	as = strstr(type, " as ");
	as = as ? as : strchr(type, '>');
	return as && !memmem(type, (size_t)(as - type), "::", 2);
}

/*
 * Is a function an allocator by its name, "alloc", "memalign", "strdup" and the like, or a class's
 * operator new? Many programs have their own, and no table could list them. Parameters and template
 * arguments do not count, nor what a function is about, as in plan_allocations().
 */
static bool sounds_like_allocator(const char *function)
{
	static const char new[] = "::operator new", noun[] = "allocation";
	static const char *const words[] = { "alloc", "memalign", "memdup", "strdup", "strndup" };
	const char *s = strstr(function, new);
	size_t n;

	if (s && strchr("[(", s[sizeof(new) - 1]))
		return true;
	s = function;
	if (!strncmp(s, "(anonymous namespace)", 21))
		s += 21;
	n = strcspn(s, "(<");
	for (; n >= 5; s++, n--) {
		if (!strchr("ams", *s | ('a' - 'A')))
			continue;
		for (size_t i = 0; i < COUNT(words); i++)
			if (n >= strlen(words[i]) && !strncasecmp(s, words[i], strlen(words[i])) &&
			    strncasecmp(s, noun, sizeof(noun) - 1) != 0)
				return true;
	}
	return false;
}

static bool is_start(const struct sym_line *line)
{
	static const char *const starts[] = {
		"_start",
		"__libc_start_main",
		"__libc_start_main_impl",
		"__libc_start_call_main",
		"start_thread",
		"clone",
		"__clone",
		"clone3",
		"__clone3",
		"thread_start",
		"__thread_start",
		"_dl_start_user",
	};
	size_t i;

	for (i = 0; i < COUNT(starts); i++)
		if (*line->function == *starts[i] && !strcmp(line->function, starts[i]))
			return true;
	return false;
}

bool paths_begins(const struct sym_line *line)
{
	return is_start(line) || sym_is_nameless_libc(line);
}

bool paths_is_loop(const struct sym_line *line)
{
	return names_one_of(&of_loops, line);
}

bool paths_is_nameless(const struct sym_line *line)
{
	if (*line->module == '?')
		return !strncmp(line->function, "0x", 2);
	/* As Java writes them into its map. */
	return !strcmp(line->module, "generated code") &&
	       (!strcmp(line->function, "Interpreter") || !strcmp(line->function, "StubRoutines"));
}

/* Is it a file of Python's own library?  "<frozen ...>" is part of it, too: the module that
 * imports. */
static bool is_of_python(const char *file)
{
	const char *in = strstr(file, "/lib/python3.");

	return !strncmp(file, "<frozen ", 8) || (in && !strstr(in, "-packages/"));
}

/* Is it a file of the library that runs code of packages while Python starts (.pth files), or of
 * the program in a process of its own? */
static bool runs_packages(const char *file)
{
	return !strcmp(file, "<frozen site>") || !strcmp(basename(file), "site.py") ||
	       strstr(file, "/multiprocessing/") || strstr(file, "/concurrent/futures/");
}

/* Is it the main code of a command such as /usr/bin/pytest, which only calls its package? */
static bool is_command(const struct sym_line *line)
{
	const char *name = basename(line->file);
	const size_t n = (size_t)(name - line->file);

	return !strcmp(line->function, "<module>") && !strchr(name, '.') && n >= 4 &&
	       !strncmp(name - 4, "bin/", 4) && (n == 4 || name[-5] == '/');
}

bool paths_is_text(const struct sym_line *line)
{
	return line->script && !strcmp(line->file, PATHS_TEXT);
}

/* Is its source a file of a language's library? */
static bool is_of_library(const char *file)
{
	const size_t n = strlen(file);

	for (size_t i = 0; n && i < COUNT(sources); i++) {
		const size_t end = strlen(sources[i].end);

		if (n > end && file[n - 1] == sources[i].end[end - 1] &&
		    !strcmp(file + n - end, sources[i].end) && strstr(file, sources[i].part))
			return true;
	}
	return false;
}

/* Is its source code of others that was compiled into the program? */
static bool is_of_others(const char *file)
{
	for (size_t i = 0; *file && i < COUNT(packages); i++)
		if (strstr(file, packages[i]))
			return true;
	return false;
}

/* Is it of an installed package, or code that a module compiles ("<string>": named tuples)? */
static bool is_of_package(const struct sym_line *line)
{
	if (!line->script)
		return is_of_others(line->file);
	return *line->file == '<' || strstr(line->file, "-packages/") || is_command(line);
}

enum paths_part paths_part(const struct sym_line *line)
{
	const enum paths_part otherwise = is_of_package(line) ? PATHS_PACKAGE : PATHS_PROGRAM;

	if (line->script)
		return !is_of_python(line->file)   ? otherwise
		       : runs_packages(line->file) ? PATHS_PACKAGE
						   : PATHS_LIBRARY;
	if (names_one_of(&of_wrappers, line))
		return PATHS_WRAPPER;
	if (is_start(line))
		return PATHS_START;
	if (line->runs_scripts || line->installed || is_one_of(&of_modules, line->module) ||
	    names_one_of(&of_libraries, line) || is_of_library(line->file))
		return PATHS_LIBRARY;
	if (is_defined_in_rust(line->raw) || (is_rust(line->raw) && is_of_rust(line->function)))
		return PATHS_LIBRARY;
	/* "main._Cfunc_free": cgo generates it for each C function that a package calls. */
	if (strstr(line->function, "._Cfunc_"))
		return PATHS_LIBRARY;
	return paths_sounds_like_allocator(line) ? PATHS_LIBRARY : otherwise;
}

bool paths_sounds_like_allocator(const struct sym_line *line)
{
	return !line->script && line->known && sounds_like_allocator(line->function);
}
