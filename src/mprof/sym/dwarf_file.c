// SPDX-License-Identifier: LGPL-3.0-or-later
/* dwarf_file.c - see dwarf_file.h. */
#include "dwarf_file.h"

#include <gelf.h>
#include <libdeflate.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "../util/alloc.h"
#include "../util/late.h"

#define DEFLATE_FUNCTIONS(X)               \
	X(libdeflate_, alloc_decompressor) \
	X(libdeflate_, zlib_decompress)    \
	X(libdeflate_, free_decompressor)

static struct {
	DEFLATE_FUNCTIONS(LATE_MEMBER)
} deflate;

/* The most that deflate can save.  A damaged file may claim anything. */
#define RATIO_MOST 1032u

/* elf.h of older C libraries does not have it. */
#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

static bool inflate_zlib(const void *from, size_t n, void *to, size_t bytes)
{
	static const char *const name[] = { DEFLATE_FUNCTIONS(LATE_NAME) };
	struct libdeflate_decompressor *d;
	struct error err;
	bool ok;

	if (late_load(LATE_LIBRARY, "decompresses", name, &deflate, sizeof(deflate), &err))
		return false;
	d = deflate.alloc_decompressor();
	ok = d && !deflate.zlib_decompress(d, from, n, to, bytes, NULL);
	deflate.free_decompressor(d);
	return ok;
}

static bool inflate(uint64_t type, const void *from, size_t n, void *to, size_t bytes)
{
	switch (type) {
	case ELFCOMPRESS_ZLIB:
		return inflate_zlib(from, n, to, bytes);
	case ELFCOMPRESS_ZSTD:
		return ZSTD_decompress(to, bytes, from, n) == bytes;
	default:
		return false;
	}
}

/* Sections that libdw would decompress and mprof never reads: they describe local variables, stack
 * frames, macros and indexes of names. */
static bool is_unread(const char *name)
{
	static const char *const unread[] = {
		".debug_loc",	".debug_loclists", ".debug_frame",
		".debug_macro", ".debug_macinfo",  ".debug_pubnames",
	};

	for (size_t i = 0; i < sizeof(unread) / sizeof(unread[0]); i++)
		if (!strcmp(name, unread[i]))
			return true;
	return false;
}

/* Returns the contents of a compressed section; NULL if libdw must try. */
static void *contents(Elf *elf, Elf_Scn *section, const Elf_Data *data, size_t *bytes)
{
	const size_t head = gelf_fsize(elf, ELF_T_CHDR, 1, EV_CURRENT);
	GElf_Chdr h;
	void *to;

	if (!gelf_getchdr(section, &h) || data->d_size <= head ||
	    h.ch_size / RATIO_MOST > data->d_size)
		return NULL;
	*bytes = h.ch_size;
	to = malloc(h.ch_size);
	if (to && inflate(h.ch_type, (char *)data->d_buf + head, data->d_size - head, to, *bytes))
		return to;
	free(to);
	return NULL;
}

static void put(Elf_Data *data, void *to, size_t bytes)
{
	data->d_buf = to;
	data->d_size = bytes;
}

/* Puts the decompressed contents in the place of the compressed ones, as libdw itself would. */
static void decompress(struct dwarf_file *f, Elf *elf, Elf_Scn *section, GElf_Shdr *header)
{
	/* libdw reads the former up to 0.188, and the latter since. */
	Elf_Data *data = elf_getdata(section, NULL), *raw = elf_rawdata(section, NULL);
	size_t bytes;
	void *to = data && raw ? contents(elf, section, data, &bytes) : NULL;

	if (!to)
		return;
	GROW(f->section, f->sections + 1, f->room);
	f->section[f->sections++] = to;
	header->sh_flags &= ~(GElf_Xword)SHF_COMPRESSED;
	header->sh_size = bytes;
	if (gelf_update_shdr(section, header)) {
		put(data, to, bytes);
		put(raw, to, bytes);
	}
}

static void decompress_all(struct dwarf_file *f, Elf *elf)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	const char *name;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return;
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_COMPRESSED))
			continue;
		name = elf_strptr(elf, names, header.sh_name);
		if (!name || strncmp(name, ".debug_", 7))
			continue;
		if (is_unread(name)) {
			/* libdw ignores sections without contents. */
			header.sh_type = SHT_NOBITS;
			gelf_update_shdr(section, &header);
		} else {
			decompress(f, elf, section, &header);
		}
	}
}

/* Stripped objects of some distributions still have .debug_frame, which suffices for libdw. */
static bool has_units(Dwarf *dwarf)
{
	Dwarf_CU *unit = NULL;

	return !dwarf_get_units(dwarf, NULL, &unit, NULL, NULL, NULL, NULL);
}

void dwarf_file_of(struct dwarf_file *f, Elf *elf)
{
	*f = (struct dwarf_file){ 0 };
	decompress_all(f, elf);
	f->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	if (f->dwarf && !has_units(f->dwarf)) {
		dwarf_end(f->dwarf);
		f->dwarf = NULL;
	}
}

void dwarf_file_open(struct dwarf_file *f, int fd)
{
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL);
	dwarf_file_of(f, elf);
	f->own = elf;
}

void dwarf_file_close(struct dwarf_file *f)
{
	dwarf_end(f->dwarf);
	elf_end(f->own);
	while (f->sections)
		free(f->section[--f->sections]);
	free(f->section);
	*f = (struct dwarf_file){ 0 };
}
