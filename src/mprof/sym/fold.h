/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * fold.h - short names: what a person calls a function.
 *
 * Removes parameters, qualifiers, "[clone ...]" and ABI tags; shortens template arguments to <...>
 * (D: !(...)), std::__cxx11:: and other inline namespaces to std::, and the string and stream
 * classes to their common names.  Operators that are written with brackets, lambdas and anonymous
 * namespaces stay readable. One pass over the text for each rule: linear in its length.
 */
#pragma once

#include "sym_text.h"

enum fold_language { FOLD_C, FOLD_CXX, FOLD_RUST, FOLD_D };

/* Adds the short form of `name`, already demangled, to `to`. */
void fold_name(const char *name, enum fold_language language, struct text *to);
