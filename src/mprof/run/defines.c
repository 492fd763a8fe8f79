/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* defines.c - looks malloc up in an object's dynamic symbols. */
#include "library.h"

#include <fcntl.h>
#include <gelf.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

static bool is_offered(const GElf_Sym *s)
{
	const unsigned type = GELF_ST_TYPE(s->st_info), bind = GELF_ST_BIND(s->st_info);

	return s->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_GNU_IFUNC) &&
	       (bind == STB_GLOBAL || bind == STB_WEAK) &&
	       GELF_ST_VISIBILITY(s->st_other) != STV_HIDDEN;
}

/* Returns the contents of the first section of this type, with *head; or NULL. */
static Elf_Data *data_of(Elf *elf, GElf_Word type, GElf_Shdr *head)
{
	Elf_Scn *section = NULL;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, head) && head->sh_type == type)
			return elf_getdata(section, NULL);
	return NULL;
}

/* Does only a program that was linked with an old version of the object get symbol i?  So it is
 * with malloc in libc_malloc_debug.so. */
static bool is_of_old_version(Elf_Data *versions, int i)
{
	GElf_Versym v;

	return versions && gelf_getversym(versions, i, &v) && v & 0x8000;
}

static int look_in(Elf *elf)
{
	GElf_Shdr head, other;
	Elf_Data *data = data_of(elf, SHT_DYNSYM, &head);
	Elf_Data *versions = data_of(elf, SHT_GNU_versym, &other);
	const char *its;
	GElf_Sym s;
	int i;

	if (!data)
		return -1;
	for (i = 0; gelf_getsym(data, i, &s); i++) {
		its = is_offered(&s) ? elf_strptr(elf, head.sh_link, s.st_name) : NULL;
		if (its && !strcmp(its, "malloc") && !is_of_old_version(versions, i))
			return 1;
	}
	return 0;
}

int defines_malloc(const char *path)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf *elf;
	int found;

	if (fd < 0)
		return -1;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	found = elf ? look_in(elf) : -1;
	elf_end(elf);
	close(fd);
	return found;
}
