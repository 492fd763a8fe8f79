/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * names.h - a symbol's name in the form that was asked for.
 *
 * libiberty demangles C++ (Itanium), Rust (legacy and v0) and D; short names are
 * folded by fold.h.  Nothing in a symbol table is believed: what is too long, too
 * deep, or grows beyond TEXT_MAX stays as it is in the symbol table.
 */
#ifndef MPROF_SYM_NAMES_H
#define MPROF_SYM_NAMES_H

#include "sym.h"
#include "sym_text.h"

/* Replaces what is in `to`; to->failed: it is too long. */
void name_form(const char *raw, enum sym_names names, struct text *to);

#endif
