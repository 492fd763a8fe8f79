/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * wrapped.h - WRAP: allocation functions of the program's own, recorded like those of the C
 * library.
 *
 * mprof writes a small shared object that is preloaded before libmprof.so (src/mprof/run/wrap.c).
 * It exports each function's name.  The code there loads the address of the function's record into
 * the register of a fourth argument, and jumps to the entry of libmprof.so that fits the
 * function's class (src/libmprof/wrap.c).
 */
#ifndef MPROF_WRAPPED_H
#define MPROF_WRAPPED_H

#include <stdint.h>

/* A record in the preloaded object, where all fields but name and fn are zero. */
struct mprof_wrapped {
	int64_t name;	 /* bytes from here to the name */
	uint32_t fn;	 /* enum mprof_fn of the function that it is like */
	uint32_t called; /* 1 once mprof knows that it was called */
	void *real;
};

/* The entries: X(class, name) */
#define MPROF_WRAPPED_ENTRIES(X)            \
	X(ALLOC, "mprof_wrapped_alloc")     \
	X(OUT, "mprof_wrapped_out")         \
	X(REALLOC, "mprof_wrapped_realloc") \
	X(FREE, "mprof_wrapped_free")

#endif
