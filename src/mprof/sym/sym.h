/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * sym.h - from frames to functions, files and lines, after the run.
 *
 * libdwfl reads symbol tables, DWARF (inlined calls included), separate debug files and
 * .gnu_debugdata; libiberty demangles C++, Rust and D.  A file is used only if its build-id is the
 * recorded one.  An address without a symbol is named module+0xoffset; no frame is ever dropped.
 *
 * Everything is resolved lazily, once for each frame of the run, and lives until sym_close.
 * Without memory the program ends (util/alloc.h). Threads: one at a time.
 *
 * A struct stacks can be written as a literal, as tests do: an object needs a path, and a frame an
 * object and an address of the file (that of `nm`, or one byte after it, like a return address).
 * Without build_id and segments the file is not checked:
 *
 *   struct stack_object objects[] = { { .path = "" }, { .path = "/tmp/prog" } };
 *   struct stack_frame frames[] = { { 0 }, { .address = 0x1139, .object = 1 } };
 *   struct stacks stacks = { .object = objects, .objects = 2, .frame = frames, .frames = 2 };
 *
 * An object whose file does not exist gives predictable names: { .path = "/none/libx.so" } and
 * address 0x40 is the function "libx.so+0x40".
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../trace/stacks.h"
#include "../util/error.h"
#include "names.h"

struct sym_options {
	enum sym_names names;
	const char *const *debug_dir; /* has debug files; ends with NULL, may be NULL */
	const char *sysroot;	      /* directory with all files; NULL */
	const char *const *rewrite;   /* s/regex/text/flags, applied in order; ends with NULL */
	const char *const *stop;      /* regex: callees of a function that matches are cut off,
				       * as if it had allocated itself; NULL-ended.  Compared
				       * with names as they are shown */
	bool debuginfod;	      /* ask the servers of DEBUGINFOD_URLS, with a time limit */
	bool no_cache;		      /* do not read or write the cache on disk */
};

/* One function at a frame.  Strings are never NULL unless noted; valid until sym_close. */
struct sym_line {
	const char *function; /* in the configured form, or module+0xoffset */
	const char *raw;      /* linkage name; "" without a symbol */
	const char *file;     /* source file, "" if unknown */
	const char *module;   /* last part of the object's path; "?" without a file */
	uint32_t line;	      /* 0 if unknown */
	bool inlined;	      /* inlined into the next function of this frame */
	bool known;	      /* has a symbol */
	bool script;	      /* a function of a script, with a frame of its own */
	bool runs_scripts;    /* part of the interpreter that runs such a script */
	bool installed;	      /* native code of a system library or a package; set only in traces of
				 scripts */
	bool others;	      /* of an installed library without source lines; not in these traces,
				 nor of an interpreter */
	bool built;	      /* a function with a name but without source lines, of a program or
				 library that is not installed, nor an interpreter */
	bool unnamed; /* of an interpreter, without a name and source lines; not in traces of
			 scripts */
	bool stop; /* matches a pattern of sym_options.stop: paths end here, without the functions
		      that this one called */
	uint64_t offset; /* from the symbol's beginning, or in the module */
};

/* Returns the last part of the path of its file; of pkg/__init__.py both, because all packages have
 * such a file. */
const char *sym_file(const struct sym_line *line);

/*
 * Is it a function of the C library without a name?  At the outer end of a stack it is the code
 * that calls main or the function of a thread: those are local functions, so a stripped libc has no
 * names for them.
 */
bool sym_is_nameless_libc(const struct sym_line *line);

/* Orders functions, NULL first: 0 if name, module and the name of the source file are the same, as
 * static functions of two files may have one name. */
int sym_order_functions(const struct sym_line *x, const struct sym_line *y);

/*
 * An entry that is not a frame is one unknown line of module "?": "[truncated]", "[lost]", and
 * "[unknown]" for frame 0.  An address outside all objects is the function "0xaddress".
 */

/* A frame: the real function last, preceded by the calls inlined there, innermost first. */
struct sym_lines {
	const struct sym_line *line;
	size_t count; /* at least 1 */
};

struct sym;

/* 0, or -errno with err filled (an invalid regex).  The stacks must outlive *out. */
int sym_open(struct sym **out, const struct stacks *stacks, const struct sym_options *o,
	     struct error *err);
void sym_close(struct sym *s);

const struct sym_lines *sym_frame(struct sym *s, uint32_t frame);

/* A remark for the user: an object that could not be used, and why. */
struct sym_remark {
	uint32_t object;
	uint64_t frames; /* frames resolved in it so far */
	const char *why; /* one clause, e.g. "the file has a different build-id" */
	bool stripped;	 /* it is stripped */
	bool split;	 /* it has names, but for some no lines and inlined functions */
};
/* Returns remarks so far; most frames first.  Object 0 is for the servers of debuginfod. */
size_t sym_remarks(struct sym *s, const struct sym_remark **remarks);

/* Returns a rule or pattern of the options that no name has matched so far, neither here nor in
 * another one with the same options, which may be this one; NULL if there is none. */
const char *sym_unused_rule(const struct sym *s, const struct sym *other);

/* A variable: a data symbol, with its source location from DWARF. */
struct sym_variable {
	const char *name; /* demangled as configured */
	const char *file; /* "" if unknown */
	uint32_t line;	  /* 0 if unknown */
	uint32_t object;
	bool tls; /* one instance in each thread; address is relative to its TLS block */
	uint64_t address, size;
};

struct sym_variables {
	struct sym_variable *of;
	size_t count;
	bool stripped; /* local variables are missing */
};

/* Without .symtab, only exported variables are found.  Strings are valid until sym_close; the
 * caller frees `of`. */
void sym_variables(struct sym *s, uint32_t object, struct sym_variables *v);
