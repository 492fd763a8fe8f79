/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * names_fortran.h - names of Fortran procedures, which libiberty does not know.
 *
 *   gfortran  __work_MOD_build        procedure build of module work: work::build
 *   flang     _QMworkPbuild           the same; _QMworkFbuildPinner: work::build::inner
 *             _QPbuild, _QQmain       a procedure of no module; the main program
 *
 * gfortran's main program is MAIN__; it leaves all other names as they are.  What the optimizer
 * adds behind a '.' is dropped from short names and kept in full ones.
 */
#pragma once

#include "sym_text.h"

/* Appends the name in the source; false: it has none of these forms. */
bool names_fortran_demangle(const char *raw, bool with_suffix, struct text *to);
