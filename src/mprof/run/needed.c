/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * needed.c - the shared objects that an ELF file depends on.
 *
 * Nothing in the file is trusted: counts are bounded, and bytes that pread does not return do not
 * exist.
 */
#include "needed.h"

#include <elf.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define PHDR_MAX    256
#define DYNAMIC_MAX 512
#define BEGIN_MAX   64 /* no more of a name is compared */

struct image {
	int fd;
	Elf64_Phdr ph[PHDR_MAX];
	size_t headers;
	Elf64_Dyn dynamic[DYNAMIC_MAX];
	size_t entries;
};

/* The number of whole items of `size` bytes at offset, at most n. */
static size_t read_some(int fd, void *to, size_t size, size_t n, uint64_t offset)
{
	ssize_t got = offset <= INT64_MAX ? pread(fd, to, n * size, (off_t)offset) : -1;

	return got > 0 ? (size_t)got / size : 0;
}

static size_t less(size_t a, size_t b)
{
	return a < b ? a : b;
}

static bool read_image(struct image *i)
{
	Elf64_Ehdr head;
	size_t k;

	i->entries = 0;
	if (!read_some(i->fd, &head, sizeof(head), 1, 0) || memcmp(head.e_ident, ELFMAG, SELFMAG) ||
	    head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(i->ph[0]))
		return false;
	i->headers =
	    read_some(i->fd, i->ph, sizeof(i->ph[0]), less(head.e_phnum, PHDR_MAX), head.e_phoff);
	for (k = 0; k < i->headers; k++)
		if (i->ph[k].p_type == PT_DYNAMIC)
			i->entries =
			    read_some(i->fd, i->dynamic, sizeof(i->dynamic[0]),
				      less(i->ph[k].p_filesz / sizeof(i->dynamic[0]), DYNAMIC_MAX),
				      i->ph[k].p_offset);
	return i->entries > 0;
}

/* The file offset of this address; UINT64_MAX: none. */
static uint64_t offset_of(const struct image *i, uint64_t address)
{
	size_t k;

	for (k = 0; k < i->headers; k++)
		if (i->ph[k].p_type == PT_LOAD && address - i->ph[k].p_vaddr < i->ph[k].p_filesz)
			return address - i->ph[k].p_vaddr + i->ph[k].p_offset;
	return UINT64_MAX;
}

static uint64_t value_of(const struct image *i, int64_t tag)
{
	size_t k;

	for (k = 0; k < i->entries && i->dynamic[k].d_tag != DT_NULL; k++)
		if (i->dynamic[k].d_tag == tag)
			return i->dynamic[k].d_un.d_val;
	return UINT64_MAX;
}

static bool any_begins(const struct image *i, const char *begin)
{
	uint64_t names = offset_of(i, value_of(i, DT_STRTAB));
	char name[BEGIN_MAX];
	size_t k, n;

	for (k = 0; k < i->entries && i->dynamic[k].d_tag != DT_NULL; k++) {
		if (i->dynamic[k].d_tag != DT_NEEDED)
			continue;
		n = read_some(i->fd, name, 1, sizeof(name), names + i->dynamic[k].d_un.d_val);
		if (n >= strlen(begin) && !memcmp(name, begin, strlen(begin)))
			return true;
	}
	return false;
}

bool needed_begins(const char *path, const char *begin)
{
	struct image i = { .fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) };
	bool found;

	if (i.fd < 0)
		return false;
	found = read_image(&i) && any_begins(&i, begin);
	close(i.fd);
	return found;
}
