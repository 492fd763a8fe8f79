/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * dwarf_file.h - the DWARF of one ELF file.
 *
 * libdw decompresses all sections with zlib when it opens a file: of libc's debug file that takes
 * more time than all that is read from it.  Here libdeflate does it in a third of the time, and
 * zstd is read with any version of libdw.  Sections that mprof never reads are left out.
 *
 * Errors: .dwarf is NULL, as without functions and lines.  A section that cannot be decompressed
 * here is left to libdw.
 */
#pragma once

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>

struct dwarf_file {
	Dwarf *dwarf;
	Elf *own;	/* NULL if the caller's */
	void **section; /* decompressed; libdw uses them in place */
	size_t sections, room;
};

/* Opens the DWARF in `elf`, which must be opened with ELF_C_READ_MMAP_PRIVATE, as libdwfl does, and
 * outlive it. */
void dwarf_file_of(struct dwarf_file *f, Elf *elf);
/* Opens the DWARF in a file.  The caller closes fd, after dwarf_file_close. */
void dwarf_file_open(struct dwarf_file *f, int fd);
void dwarf_file_close(struct dwarf_file *f);
