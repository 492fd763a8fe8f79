/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * names.h - a symbol's name in the configured form.
 *
 * libiberty demangles C++ (Itanium), Rust (legacy and v0), D and Ada; names_forms.h has the rest.
 * Symbol tables are not trusted: a name that is too long, too deep, or grows beyond TEXT_MAX stays
 * as in the symbol table.
 */
#pragma once

#include <stdbool.h>

struct text; /* sym_text.h */

enum sym_names {
	SYM_SHORT, /* no parameters, template arguments folded to <...>, std:: inline namespaces
		    * and allocators dropped */
	SYM_FULL,  /* as the demangler prints it */
	SYM_RAW,   /* as in the symbol table */
};

/* Replaces the contents of `to`; sets to->failed if it is too long.  file: the source, or "": in
 * one of Ada, pkg__proc is a name of GNAT, in one of Haskell, M_f_info of GHC, and in one of
 * Objective-C, _i_a__b a method; C has all of these, too.
 */
void name_form(const char *raw, const char *file, enum sym_names names, struct text *to);
