// SPDX-License-Identifier: LGPL-3.0-or-later
/* called.c - see called.h. */
#include "called.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util/alloc.h"
#include "../util/order.h"

ORDER(by_slot, struct called_slot, RISING(address))

/* ---- the file ---- */

static void add_slots(struct called *c, Elf_Scn *section, const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	Elf_Scn *linked = elf_getscn(c->elf, header->sh_link);
	Elf_Data *symbols = linked ? elf_getdata(linked, NULL) : NULL;
	GElf_Shdr of;
	GElf_Rela rela;
	GElf_Sym sym;

	if (!data || !symbols || !gelf_getshdr(linked, &of))
		return;
	for (int i = 0; gelf_getrela(data, i, &rela); i++) {
		const uint64_t type = GELF_R_TYPE(rela.r_info);
		const char *name;

		if ((type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT) ||
		    !gelf_getsym(symbols, (int)GELF_R_SYM(rela.r_info), &sym))
			continue;
		name = elf_strptr(c->elf, of.sh_link, sym.st_name);
		if (!name || !*name)
			continue;
		GROW(c->slot, c->slots + 1, c->room);
		c->slot[c->slots++] = (struct called_slot){ rela.r_offset, name };
	}
}

static void open_file(struct called *c, const struct files *files, const struct stack_object *of)
{
	struct file_found found;
	Elf_Scn *section = NULL;
	GElf_Ehdr file;
	GElf_Shdr header;

	c->opened = true;
	files_object(files, of, &found);
	c->fd = found.fd;
	if (c->fd < 0)
		return;
	elf_version(EV_CURRENT);
	c->elf = elf_begin(c->fd, ELF_C_READ_MMAP, NULL);
	if (!c->elf || !gelf_getehdr(c->elf, &file) || file.e_machine != EM_X86_64) {
		elf_end(c->elf);
		c->elf = NULL;
	}
	while (c->elf && (section = elf_nextscn(c->elf, section)))
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA)
			add_slots(c, section, &header);
	SORT(c->slot, c->slots, by_slot);
}

void called_release(struct called *c)
{
	if (!c->opened)
		return;
	elf_end(c->elf);
	if (c->fd >= 0)
		close(c->fd);
	free(c->slot);
	*c = (struct called){ .fd = -1 };
}

/* ---- its code ---- */

/* Copies n bytes of code; false if they are not all in one section of code. */
static bool read_code(const struct called *c, uint64_t address, uint8_t *to, size_t n)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	Elf_Data *data;

	while ((section = elf_nextscn(c->elf, section))) {
		if (!gelf_getshdr(section, &header) || !(header.sh_flags & SHF_EXECINSTR) ||
		    address - header.sh_addr >= header.sh_size)
			continue;
		data = elf_rawdata(section, NULL);
		address -= header.sh_addr;
		if (!data || !data->d_buf || address > data->d_size || n > data->d_size - address)
			return false;
		memcpy(to, (const char *)data->d_buf + address, n);
		return true;
	}
	return false;
}

/* The signed number of four bytes in an instruction that ends behind it, from there. */
static uint64_t relative(const uint8_t *number, uint64_t end)
{
	int32_t distance;

	memcpy(&distance, number, sizeof(distance));
	return end + (uint64_t)(int64_t)distance;
}

static const char *name_of_slot(const struct called *c, uint64_t address)
{
	const size_t i = FIRST_WHERE(k, c->slots, c->slot[k].address >= address);

	return i < c->slots && c->slot[i].address == address ? c->slot[i].name : NULL;
}

/* An entry of the procedure linkage table: endbr64 and bnd, if at all, and jmp *slot(%rip). */
static const char *name_of_entry(const struct called *c, uint64_t address)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[11];
	size_t at = 0;

	if (!read_code(c, address, code, sizeof(code)))
		return NULL;
	if (!memcmp(code, endbr64, sizeof(endbr64)))
		at += sizeof(endbr64);
	at += code[at] == 0xf2;
	if (code[at] != 0xff || code[at + 1] != 0x25)
		return NULL;
	return name_of_slot(c, relative(code + at + 2, address + at + 6));
}

enum { CALL = 5, CALL_SLOT = 6 }; /* bytes of call function, and of call *slot(%rip) */

/* Reads the code before a return address. */
static bool read_call(struct called *c, const struct files *files, const struct stack_object *of,
		      uint64_t address, uint8_t code[CALL_SLOT])
{
	if (!c->opened)
		open_file(c, files, of);
	return c->elf && address >= CALL_SLOT && read_code(c, address - CALL_SLOT, code, CALL_SLOT);
}

const char *called_name(struct called *c, const struct files *files, const struct stack_object *of,
			uint64_t address)
{
	uint8_t code[CALL_SLOT];

	if (!read_call(c, files, of, address, code))
		return NULL;
	if (code[0] == 0xff && code[1] == 0x15)
		return name_of_slot(c, relative(code + 2, address));
	return code[CALL_SLOT - CALL] == 0xe8 ? name_of_entry(c, relative(code + 2, address))
					      : NULL;
}

uint64_t called_address(struct called *c, const struct files *files, const struct stack_object *of,
			uint64_t address)
{
	uint8_t code[CALL_SLOT];

	return read_call(c, files, of, address, code) && code[CALL_SLOT - CALL] == 0xe8
		   ? relative(code + 2, address)
		   : 0;
}

uint64_t called_export(struct called *c, const struct files *files, const struct stack_object *of,
		       const char *name)
{
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	GElf_Sym sym;

	if (!c->opened)
		open_file(c, files, of);
	while (c->elf && (section = elf_nextscn(c->elf, section))) {
		Elf_Data *data;

		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_DYNSYM)
			continue;
		data = elf_getdata(section, NULL);
		for (int i = 1; data && gelf_getsym(data, i, &sym); i++) {
			const char *is = sym.st_shndx == SHN_UNDEF
					     ? NULL
					     : elf_strptr(c->elf, header.sh_link, sym.st_name);

			if (is && !strcmp(is, name))
				return sym.st_value;
		}
	}
	return 0;
}
