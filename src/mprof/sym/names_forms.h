/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * names_forms.h - the steps of names.c: demanglers beside libiberty's, and short names.
 */
#pragma once

#include <libiberty/demangle.h>

#include "sym_text.h"

/*
 * Demangles D and Ada through libiberty, with a limit on memory.  Returns 1, or 0 if the name
 * cannot be shown, like libiberty's other callback versions.
 */
int names_d_demangle(const char *raw, int options, demangle_callbackref take, void *context);
/* A name that is not an Ada name becomes "<raw>". */
int names_ada_demangle(const char *raw, int options, demangle_callbackref take, void *context);

/*
 * Appends the name of a Fortran procedure as in the source; false if it has none of these forms:
 *
 *   gfortran  __work_MOD_build        procedure build of module work: work::build
 *             MAIN__                  the main program
 *   flang     _QMworkPbuild           the same; _QMworkFbuildPinner: work::build::inner
 *             _QPbuild, _QQmain       a procedure outside modules; the main program
 *
 * gfortran does not mangle other procedures.  A suffix that the optimizer adds after a '.' is kept
 * only with_suffix.
 */
bool names_fortran_demangle(const char *raw, bool with_suffix, struct text *to);

/* Appends the name of a function of Emacs Lisp, of native code that Emacs compiled; false if it is
 * none. */
bool names_emacs_demangle(const char *raw, struct text *to);

/*
 * Appends the name of a function of OCaml; false if it is none:
 *
 *   camlProg__insert_87      insert of module Prog: Prog.insert, with_number Prog.insert_87
 *   camlProg.insert_87       the same since OCaml 5.1
 *   camlProg__$2b$2b_99      Prog.++
 */
bool names_ocaml_demangle(const char *raw, bool with_number, struct text *to);

/*
 * Appends the name of a function of Haskell; false if it is none:
 *
 *   Main_zdwviaC_info                       what GHC made of viaC of module Main: Main.$wviaC
 *   base_GHCziEventziEPoll_new10_info       GHC.Event.EPoll.new10
 *
 * known: the source file is in Haskell; otherwise only modules with a dot are told from C.
 */
bool names_haskell_demangle(const char *raw, bool known, struct text *to);

/*
 * Appends the name of a method of Objective-C; false if it is none:
 *
 *   _i_Store__add_to_        -[Store add:to:]
 *   _c_Store_Cache_shared    +[Store(Cache) shared]
 *
 * known: the source file is in Objective-C; otherwise the class must begin with a capital letter.
 */
bool names_objc_demangle(const char *raw, bool known, bool with_suffix, struct text *to);
/* Is it such a name, as in DWARF or after demangling? */
bool names_objc_is_method(const char *name);

/* Appends the name of a function that Cython compiled, "module.Class.method"; false if it is none.
 */
bool names_cython_demangle(const char *raw, bool with_suffix, struct text *to);

/*
 * Appends the name of a function of Crystal; false if it is none:
 *
 *   *Hash(String, Int32)@Hash(K, V)#upsert<String, Int32>:Nil
 *                       Hash(...)#upsert, full Hash(String, Int32)#upsert<String, Int32>:Nil
 *   *Node::new<String>:Node       Node::new
 *   *build<Int32>:Node            build
 */
bool names_crystal_demangle(const char *raw, bool full, struct text *to);

enum fold_language { FOLD_C, FOLD_CXX, FOLD_RUST, FOLD_D };

/*
 * Appends the short form of `name`, already demangled: what a person calls the function.
 *
 * Removes parameters, qualifiers, "[clone ...]" and ABI tags; shortens template arguments to <...>
 * (D: !(...)), std::__cxx11:: and other inline namespaces to std::, and the string and stream
 * classes to their common names.  Operators that are written with brackets, lambdas and anonymous
 * namespaces stay readable.  One pass over the text for each rule: linear in its length.
 */
void fold_name(const char *name, enum fold_language language, struct text *to);
