/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * names_d.h - names of D and Ada through libiberty, with a limit on memory.
 */
#pragma once

#include <libiberty/demangle.h>

/* Like the other demanglers' callback versions: 1, or 0 if the name cannot be shown. */
int names_d_demangle(const char *raw, int options, demangle_callbackref take, void *context);
/* "<raw>" for what is no name of Ada. */
int names_ada_demangle(const char *raw, int options, demangle_callbackref take, void *context);
