/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * code.h - names of generated code, as runtimes write them to /tmp/perf-PID.map.
 *
 *   JS:*work file:///app/t.js:2:14   V8; before the name, how it was compiled: ~ ^ + *
 *   py::work:/app/t.py               CPython
 *   py::work:/app/t.py:12            libmprof_python.so: the line where the function begins
 *   anything else                    .NET, Java, Lua: a name
 */
#pragma once

#include <stdbool.h>

#include "../trace/stacks.h"

struct code_parts {
	const char *function, *file; /* in the text; "" if unknown */
	uint32_t line;		     /* 0 if unknown */
	bool python;		     /* the function is one of a Python script */
};

/* Returns the name of a frame outside all objects, or NULL. */
const char *code_find(const struct stacks *s, uint64_t address);
/* Do Python functions have names? */
bool code_of_python(const struct stacks *s);
/* Splits the text of a name into its parts. */
void code_split(char *text, struct code_parts *p);
