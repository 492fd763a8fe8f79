/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * names.h - a symbol's name in the configured form.
 *
 * libiberty demangles C++ (Itanium), Rust (legacy and v0), D and Ada; names_forms.h has the rest.
 * Symbol tables are not trusted: a name that is too long, too deep, or grows beyond TEXT_MAX stays
 * as in the symbol table.
 */
#pragma once

#include "sym.h"
#include "sym_text.h"

/* Replaces the contents of `to`; to->failed: it is too long.  ada: it may be a name of GNAT, which
 * only its source file shows: pkg__proc is one of C, too. */
void name_form(const char *raw, bool ada, enum sym_names names, struct text *to);
