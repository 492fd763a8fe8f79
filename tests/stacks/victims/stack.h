/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * stack.h - what the victims of tests/stacks share.
 *
 * A victim allocates from known functions and prints on stdout which ones, innermost first;
 * tests/stacks/run compares with what mprof read back.  One line each:
 *
 *   chain SIZE PATTERN...   every event of SIZE bytes has a stack that matches, and there is one
 *   count SIZE N            there are N events of that size
 *   lossy                   calls made inside the recorder may be lost, if that is told
 *
 * A pattern is a row of
 *   name           a frame in that function; _ for a blank, without parameters
 *   @module        a frame in an object whose file name begins so
 *   ?              a frame in an object, whatever its name
 *   -              a frame in no object: generated code
 *   ...            any frames
 * each may end in *N (N times), + (once or more) or ~ (once or not at all); and last, if the
 * stack does not end properly at the outermost frame, !truncated, !lost or !any (as it may be).
 */
#ifndef MPROF_TESTS_STACK_H
#define MPROF_TESTS_STACK_H

#include "../../preload/victim.h"

/* A function with a frame of its own, under its own name, whatever the optimisation. */
#ifdef __clang__
#define FRAME __attribute__((noinline, used))
#else
#define FRAME __attribute__((noinline, noclone, used, noipa))
#endif

/* Behind a call: keeps it from becoming a jump. */
#define STAY() __asm__ volatile("" ::: "memory")

/* What is outside of main, and of a thread's function. */
#define MAIN   "main @libc @libc _start"
#define THREAD "@libc+"

static void *volatile kept __attribute__((unused));

/* An allocation of exactly this size, in the function that says so. */
#define TAG(size) (kept = malloc(size))

#endif
