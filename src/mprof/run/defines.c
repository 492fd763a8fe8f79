/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* defines.c - looks a function up in an object's dynamic symbols. */
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

static int look_in(Elf *elf, Elf_Scn *section, const GElf_Shdr *head, const char *name)
{
	Elf_Data *data = elf_getdata(section, NULL);
	const char *its;
	GElf_Sym s;
	int i;

	if (!data)
		return -1;
	for (i = 0; gelf_getsym(data, i, &s); i++) {
		its = is_offered(&s) ? elf_strptr(elf, head->sh_link, s.st_name) : NULL;
		if (its && !strcmp(its, name))
			return 1;
	}
	return 0;
}

int defines_function(const char *path, const char *name)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	Elf_Scn *section = NULL;
	GElf_Shdr head;
	Elf *elf;
	int found = -1;

	if (fd < 0)
		return -1;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	while (elf && found < 0 && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &head) && head.sh_type == SHT_DYNSYM)
			found = look_in(elf, section, &head, name);
	elf_end(elf);
	close(fd);
	return found;
}
