/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * program.h - the program that a command names, and whether libmprof.so can be preloaded into it.
 */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../util/error.h"

/* Why a program cannot be recorded whose C library is older. */
#define PROGRAM_OLDER                                                                       \
	"its C library is older than libmprof.so needs; to record it, run it with a newer " \
	"one"

/* A program as exec will find it. */
struct program {
	char path[PATH_MAX];	 /* the file that the shell or execvp would start */
	char image[PATH_MAX];	 /* the ELF file that runs: path, or its script's interpreter */
	char why_not[512];	 /* why libmprof.so will not be loaded; "" if it will */
	char past[1024];	 /* which calls bypass libmprof.so, and why; "" if none */
	bool past_all;		 /* all calls of the program do */
	const char *past_called; /* a function that shows them if it is wrapped, or NULL */
	bool emulates; /* it is QEMU, which passes its environment on to another machine */
	bool alone;    /* with libmprof.so preloaded, its loader or run-time would complain, or
			* even end it */
};

/* Why a program of this path was not preloaded: as its parent saw (an enum mprof_exec_how), else as
 * its file shows, which may be another one in a container.  "" if neither tells. */
void program_why_missing(const char *path, uint32_t how, char *why, size_t size);

#define PROGRAM_EMULATES "emulates another machine"

/* If the program emulates another machine: says what is recorded. */
bool program_emulates(const char *path, char *words, size_t size);

/*
 * Looks name up as execvp does and follows #! lines.  0, or -ENOENT (not
 * found) or -EACCES (found, not executable) with *err.
 */
int program_find(const char *name, struct program *program, struct error *err);
