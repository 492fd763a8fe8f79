/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * object.h - one loaded object, opened when its first address is looked up.
 *
 * Combines its file (files.h), its symbol tables (symtab.h), its DWARF (lines.h) and the results of
 * earlier runs of mprof (cache.h).  A file that could not be opened is not tried again.
 */
#pragma once

#include <elfutils/libdwfl.h>

#include "cache.h"
#include "dwarf_file.h"
#include "files.h"
#include "lines.h"
#include "symtab.h"

struct debuginfod;

/* Shared by all objects; outlives them. */
struct object_context {
	struct files files;
	struct arena *arena;
	struct debuginfod *servers; /* NULL if not used */
	struct cache *cache;	    /* NULL if not used */
};

struct object {
	const struct stack_object *of;
	const struct object_context *context;
	const char *module; /* last part of the path */
	bool runs_scripts;  /* an interpreter, in a trace with functions of scripts */
	bool installed;	    /* in such a trace, a system library or part of a package */
	bool others;	    /* in another trace, an installed program or library */
	bool interpreter;   /* sym_interpreter() */
	const char *why;    /* why it cannot be used, or only in part; may be NULL */
	const char *split;  /* the same if .dwo files are missing: in the arena; else NULL */
	bool asked, opened;
	bool symbols_later;	    /* symtab is not read yet: the cache has the same symbols */
	struct file_identity there; /* the file at its path, at the first lookup */
	enum cache_quality quality; /* quality of the file and its debug file */
	uint64_t unknown;	    /* frames without a symbol */
	Dwfl *dwfl;
	Dwfl_Module *dwfl_module;
	struct dwarf_file dwarf, alt; /* alt: dwz's file */
	int alt_fd;
	uint64_t bias;	/* added to addresses by libdwfl, unrelated to the process */
	uint64_t entry; /* where the kernel or the loader starts the program; 0 if unknown */
	struct symtab symtab;
	struct lines lines;
	struct file_found main, debug; /* main.fd: -1 once libdwfl owns it */
	struct cache_file cached;
};

/* o must not move until object_close. */
void object_init(struct object *o, const struct stack_object *of,
		 const struct object_context *context);
/* Writes new entries to the cache. */
void object_close(struct object *o);
/*
 * Returns each variable once, by ascending address, from the cache if it has them; sets *stripped
 * if local ones are missing.  The caller frees the array.
 */
struct object_variable *object_variables(struct object *o, size_t *count, bool *stripped);
/* Opens its files on the first call, and reads their symbols. */
void object_open(struct object *o);
/* May cached results be used?  Opens its files only if that must be checked. */
bool object_uses_cache(struct object *o);

/* Returns what a user should know about it, or NULL. */
const char *object_why(const struct object *o);

/*
 * Finds the functions at an address of the file, innermost first, the real one last; returns how
 * many, 0 if unknown. location[].inlined is false only for the last.
 */
size_t object_locations(struct object *o, uint64_t address,
			struct location location[LOCATIONS_MOST]);
