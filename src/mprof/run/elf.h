/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * elf.h - what an executable file is, as far as preloading is concerned.
 */
#pragma once

#include <libelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum elf_type { ELF_NONE, ELF_PROGRAM, ELF_SHARED };

struct elf_facts {
	enum elf_type type; /* ELF_NONE: no ELF file (then nothing else is set) */
	bool ours;	    /* same class and machine as mprof and its library */
	bool has_loader;    /* PT_INTERP: a dynamic linker will run and can preload */
	char loader[PATH_MAX];
	uint64_t tls; /* bytes of its thread variables */
	uint64_t bss; /* bytes of its other variables that have no initial value */
};

/* 0, or -errno when the file cannot be read. */
int elf_read(const char *path, struct elf_facts *facts);

/* The text that a shared object exports as symbol.  0, or -ENOENT. */
int elf_string(const char *path, const char *symbol, char *text, size_t size);
/* Does it depend on an object whose name begins so?  Also false if it cannot be read. */
bool elf_needs(const char *path, const char *begin);

/* NULL if it is not a regular file that can be read.  Then elf_end() it and close *fd. */
Elf *elf_of(const char *path, int *fd);
