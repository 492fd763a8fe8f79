/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* elf.h - facts about an executable file that matter for preloading. */
#pragma once

#include <libelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum elf_type { ELF_NONE, ELF_PROGRAM, ELF_SHARED };

struct elf_facts {
	enum elf_type type; /* ELF_NONE if it is not an ELF file (then nothing else is set) */
	bool ours;	    /* same class and machine as mprof and its library */
	bool narrow;	    /* of 32 bits */
	bool has_loader;    /* PT_INTERP: a dynamic linker will run and can preload */
	char loader[PATH_MAX];
	uint64_t tls; /* bytes of its thread variables */
	uint64_t bss; /* bytes of its other variables that have no initial value */
};

/* 0, or -errno if the file cannot be read. */
int elf_read(const char *path, struct elf_facts *facts);

/* Copies the string that a shared object exports as symbol.  0, or -ENOENT. */
int elf_string(const char *path, const char *symbol, char *text, size_t size);
/* Returns the address of a symbol that a shared object exports, relative to its load address; 0 if
 * it exports none of that name. */
uint64_t elf_symbol(const char *path, const char *symbol);
/* Does it depend on an object whose name has this beginning?  False if it cannot be read. */
bool elf_needs(const char *path, const char *begin);
/* Has its own DT_SONAME this beginning? */
bool elf_is_named(const char *path, const char *begin);
/* Does a loader that defines versions of symbols lack one that the library needs of an object whose
 * name has this beginning?  False if one of them cannot be read. */
bool elf_lacks_versions(const char *loader, const char *begin, const char *library);
bool elf_has_section(const char *path, const char *name);

/* NULL if it is not a regular file that can be read.  The caller calls elf_end() and closes *fd. */
Elf *elf_of(const char *path, int *fd);
