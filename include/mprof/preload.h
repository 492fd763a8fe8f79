/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* preload.h - by what programs are known that do not run with libmprof.so preloaded. */
#pragma once

/* A part of the name of the loader of programs linked with musl: it lacks functions of glibc. */
#define MPROF_MUSL "musl"
/* The beginning of the name of glibc's. */
#define MPROF_LOADER "ld-linux"

/* How the names of libraries begin that a program needs if it is built with a sanitizer, whose
 * run-time refuses to load second, or crashes. */
#define MPROF_SANITIZERS                                                              \
	"libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so", "libclang_rt.asan", \
	    "libclang_rt.hwasan"
