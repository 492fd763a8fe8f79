/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * names.c - demangling, with limits on stack, memory and time.
 *
 * libiberty keeps its tables for a name on the stack and, beyond a thousand characters, refuses or
 * recurses without limit.  So longer names are demangled on a thread with a suitable stack.  Its
 * callback versions allocate nothing, so longjmp ends a name that grows without limit.
 */
#include "names.h"

#include <ctype.h>
#include <libiberty/demangle.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "names_forms.h"
#include "../util/alloc.h"

#define SHORT_NAME   1000u	 /* within libiberty's own recursion limit */
#define LONG_NAME    (64u << 10) /* longer ones stay mangled */
#define STACK_BASE   ((size_t)1 << 20)
#define STACK_LETTER 4096u /* stack for each character; untouched pages cost nothing */

typedef int demangler(const char *, int, demangle_callbackref, void *);

struct attempt {
	demangler *demangle;
	const char *raw;
	int options;
	struct text *to;
	bool done;
	jmp_buf enough;
};

static void take(const char *piece, size_t n, void *context)
{
	struct attempt *a = context;

	text_add(a->to, piece, n);
	if (a->to->failed)
		longjmp(a->enough, 1);
}

static void *try(void *context)
{
	struct attempt *a = context;

	if (!setjmp(a->enough))
		a->done = a->demangle(a->raw, a->options, take, a) && a->to->n;
	return NULL;
}

static void try_on_big_stack(struct attempt *a, size_t letters)
{
	pthread_attr_t attr;
	pthread_t thread;

	a->options |= DMGL_NO_RECURSE_LIMIT;
	if (pthread_attr_init(&attr))
		return;
	if (!pthread_attr_setstacksize(&attr, STACK_BASE + letters * STACK_LETTER) &&
	    !pthread_create(&thread, &attr, try, a))
		pthread_join(thread, NULL);
	pthread_attr_destroy(&attr);
}

static bool demangle(demangler *with, const char *raw, int options, struct text *to)
{
	struct attempt a = { .demangle = with, .raw = raw, .options = options, .to = to };
	size_t letters = strlen(raw);

	if (letters <= SHORT_NAME)
		try(&a);
	else if (letters <= LONG_NAME)
		try_on_big_stack(&a, letters);
	if (!a.done)
		text_clear(to);
	return a.done;
}

static bool is_cxx(const char *raw, int options, struct text *to)
{
	const char *dot = strchr(raw, '.');
	char *head;
	bool done;

	if (demangle(cplus_demangle_v3_callback, raw, options, to))
		return true;
	if (!dot)
		return false;
	/* libiberty knows only usual suffixes. */
	head = must_strndup(raw, (size_t)(dot - raw));
	done = demangle(cplus_demangle_v3_callback, head, options, to);
	free(head);
	return done;
}

/*
 * A parameter that is "return scope" is Nk and then M.  libiberty knows M and then Nk only, and
 * refuses the name.
 */
static bool demangle_d(const char *raw, struct text *to)
{
	char *other, *at;
	bool known = demangle(names_d_demangle, raw, 0, to);

	if (known || !strstr(raw, "NkM"))
		return known;
	other = must_strdup(raw);
	for (at = other; (at = strstr(at, "NkM")) != NULL;)
		memcpy(at, "MNk", 3);
	known = demangle(names_d_demangle, other, 0, to);
	free(other);
	return known;
}

/* The entry of an interface's method, "_DThn16_4core..." (LDC) or "_DTi16_D4core..." (GDC): as the
 * method, "_D4core...". */
static bool demangle_d_thunk(const char *raw, struct text *to)
{
	const char *rest = strchr(raw + 2, '_');
	char *method = must_printf("_D%s", rest ? rest + 1 + (rest[1] == 'D') : "");
	const bool known = demangle_d(method, to);

	free(method);
	return known;
}

static bool demangled(const char *raw, int options, enum fold_language *language, struct text *to)
{
	const char *name = raw + (raw[0] == '_' && raw[1] == '_' && raw[2] != '_');

	*language = FOLD_C;
	if (raw[0] == 'M')
		return names_fortran_demangle(raw, options & DMGL_PARAMS, to);
	if (raw[0] != '_')
		return names_emacs_demangle(raw, to) ||
		       names_ocaml_demangle(raw, options & DMGL_PARAMS, to);
	*language = FOLD_D;
	if (!strncmp(raw, "__pyx_", 6))
		return names_cython_demangle(raw, options & DMGL_PARAMS, to);
	if (!strcmp(raw, "_Dmain") || (raw[1] == 'D' && isdigit((unsigned char)raw[2])))
		return demangle_d(raw, to);
	if (!strncmp(raw, "_DThn", 5) || !strncmp(raw, "_DTi", 4))
		return demangle_d_thunk(raw, to);
	*language = FOLD_RUST;
	if ((name[1] == 'R' || (name[1] == 'Z' && strstr(name, "17h"))) &&
	    demangle(rust_demangle_callback, name, options, to))
		return true;
	*language = FOLD_C;
	if (names_fortran_demangle(raw, options & DMGL_PARAMS, to))
		return true;
	*language = FOLD_CXX;
	return (name[1] == 'Z' || !strncmp(raw, "_GLOBAL_", 8)) && is_cxx(name, options, to);
}

/* Names spelled in DWARF have scopes and template arguments, but are not mangled.  The parentheses
 * of Go's main.(*Store).Add and of Objective-C's -[Store(Cache) add:] are part of the name. */
static enum fold_language spelled(const char *raw)
{
	if (strstr(raw, ".(*") || names_objc_is_method(raw))
		return FOLD_C;
	return strchr(raw, '<') || strstr(raw, "::") || strchr(raw, '(') ? FOLD_CXX : FOLD_C;
}

/* Is it of Ada's library, whose source is not known? */
static bool is_ada_library(const char *raw)
{
	static const char *const units[] = { "ada__", "system__", "gnat__", "interfaces__" };

	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
		if (!strncmp(raw, units[i], strlen(units[i])))
			return true;
	return false;
}

/* Without what GNAT appends to the name of a nested subprogram (.347) and of a task's body (TB),
 * which libiberty does not know. */
static bool demangle_ada(const char *raw, struct text *to)
{
	const size_t dot = strcspn(raw, "."),
		     n = dot > 2 && !strncmp(raw + dot - 2, "TB", 2) ? dot - 2 : dot;
	char *name = must_strndup(raw, n);
	const bool known = demangle(names_ada_demangle, name, 0, to) && *text_string(to) != '<';

	free(name);
	return known;
}

/* Removes the numbers of instances of generic functions in Zig, which each build numbers anew:
 * "fmt.allocPrint__anon_3423". */
static void without_instances(struct text *name)
{
	static const char mark[] = "__anon_";
	char *at = memchr(text_string(name), '.', name->n) ? name->at : NULL;

	while (at && (at = strstr(at, mark)) != NULL) {
		const size_t digits = strspn(at + strlen(mark), "0123456789"),
			     n = strlen(mark) + digits;

		if (!digits) {
			at += n;
			continue;
		}
		memmove(at, at + n, strlen(at + n) + 1);
		name->n -= n;
	}
}

/* Has the file one of these ends? */
static bool ends_in(const char *file, const char *end, const char *other)
{
	const char *dot = strrchr(file, '.');

	return dot && (!strcmp(dot, end) || !strcmp(dot, other));
}

void name_form(const char *raw, const char *file, enum sym_names names, struct text *to)
{
	struct text full = { 0 };
	enum fold_language language;

	text_clear(to);
	if (names != SYM_RAW && (ends_in(file, ".adb", ".ads") || is_ada_library(raw)) &&
	    demangle_ada(raw, to))
		return;
	if (names != SYM_RAW && names_haskell_demangle(raw, ends_in(file, ".hs", ".lhs"), to))
		return;
	if (names != SYM_RAW &&
	    names_objc_demangle(raw, ends_in(file, ".m", ".mm"), names == SYM_FULL, to))
		return;
	if (names != SYM_RAW && names_crystal_demangle(raw, names == SYM_FULL, to))
		return;
	text_clear(to);
	if (names == SYM_SHORT) {
		if (demangled(raw, DMGL_ANSI, &language, &full))
			fold_name(text_string(&full), language, to);
		else
			fold_name(raw, spelled(raw), to);
		without_instances(to);
	} else if (names == SYM_FULL) {
		demangled(raw, DMGL_ANSI | DMGL_PARAMS, &language, to);
	}
	text_release(&full);
	if (!to->n && !to->failed)
		text_add_string(to, raw);
}
