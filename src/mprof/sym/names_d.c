/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * names_d.c - names of D and Ada through libiberty, with a limit on memory.
 *
 * D's back references double a name with every few characters, and libiberty's demanglers of D
 * and Ada have no callback version: they allocate until memory is exhausted, and then end the
 * program.  They allocate with xmalloc and xrealloc, which libiberty lets programs define: here
 * they stop it.  Memory allocated before that is leaked, at most D_BYTES for a hostile name.
 */
#include "names_forms.h"

#include <libiberty/libiberty.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define D_BYTES ((size_t)4 << 20) /* most bytes allocated for one name */

static _Thread_local jmp_buf *enough;
static _Thread_local size_t left;

static void *take_memory(void *old, size_t n)
{
	void *p = n <= left ? realloc(old, n ? n : 1) : NULL;

	if (!p && enough)
		longjmp(*enough, 1);
	if (!p)
		abort();
	left -= n;
	return p;
}

void *xmalloc(size_t n)
{
	return take_memory(NULL, n);
}

void *xrealloc(void *old, size_t n)
{
	return take_memory(old, n);
}

static int demangle(char *(*with)(const char *, int), const char *raw, int options,
		    demangle_callbackref take, void *context)
{
	char *volatile d = NULL;
	jmp_buf here;

	left = D_BYTES;
	enough = &here;
	if (!setjmp(here))
		d = with(raw, options);
	enough = NULL;
	if (!d)
		return 0;
	take(d, strlen(d), context);
	free(d);
	return 1;
}

int names_d_demangle(const char *raw, int options, demangle_callbackref take, void *context)
{
	return demangle(dlang_demangle, raw, options, take, context);
}

int names_ada_demangle(const char *raw, int options, demangle_callbackref take, void *context)
{
	return demangle(ada_demangle, raw, options, take, context);
}
