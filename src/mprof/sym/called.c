// SPDX-License-Identifier: LGPL-3.0-or-later
/* called.c - see called.h. */
#include "called.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util/alloc.h"
#include "../util/order.h"

ORDER(by_slot, struct called_slot, RISING(address))

/* What a call leads to: a function, or the one whose address is in a slot.  0: unknown. */
struct call {
	uint64_t function, slot;
};

/* How compilers and linkers write calls for a machine. */
struct called_machine {
	unsigned elf;
	uint32_t jump_slot, glob_dat; /* relocations of slots */
	/* Reads the call before a return address. */
	struct call (*call_before)(const struct called *c, uint64_t address);
	/* Returns the slot of an entry of the procedure linkage table; 0 if it is none. */
	uint64_t (*slot_of_entry)(const struct called *c, uint64_t address);
};

/* ---- code ---- */

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

/* ---- x86-64 ---- */

/* The signed number of four bytes in an instruction that ends behind it, from there. */
static uint64_t relative(const uint8_t *number, uint64_t end)
{
	int32_t distance;

	memcpy(&distance, number, sizeof(distance));
	return end + (uint64_t)(int64_t)distance;
}

/* call function; call *slot(%rip) */
static struct call x86_call(const struct called *c, uint64_t address)
{
	struct call call = { 0, 0 };
	uint8_t code[6];

	if (address < sizeof(code) || !read_code(c, address - sizeof(code), code, sizeof(code)))
		return call;
	if (code[0] == 0xff && code[1] == 0x15)
		call.slot = relative(code + 2, address);
	else if (code[1] == 0xe8)
		call.function = relative(code + 2, address);
	return call;
}

/* endbr64 and bnd, if at all, and jmp *slot(%rip).  The entry has 16 or 8 bytes. */
static uint64_t x86_slot(const struct called *c, uint64_t address)
{
	static const uint8_t endbr64[] = { 0xf3, 0x0f, 0x1e, 0xfa };
	uint8_t code[11] = { 0 };
	size_t at = 0;

	if (!read_code(c, address, code, sizeof(code)) && !read_code(c, address, code, 8))
		return 0;
	if (!memcmp(code, endbr64, sizeof(endbr64)))
		at += sizeof(endbr64);
	at += code[at] == 0xf2;
	return code[at] == 0xff && code[at + 1] == 0x25 ? relative(code + at + 2, address + at + 6)
							: 0;
}

/* ---- aarch64 ---- */

/* The signed number in the lowest `bits` of a word. */
static uint64_t signed_bits(uint32_t word, unsigned bits)
{
	return (uint64_t)((int64_t)((uint64_t)word << (64 - bits)) >> (64 - bits));
}

/* bl function */
static struct call arm_call(const struct called *c, uint64_t address)
{
	struct call call = { 0, 0 };
	uint32_t code;

	if (address >= sizeof(code) &&
	    read_code(c, address - sizeof(code), (uint8_t *)&code, sizeof(code)) &&
	    code >> 26 == 0x25)
		call.function = address - sizeof(code) + 4 * signed_bits(code, 26);
	return call;
}

/* bti c, if at all; adrp x16, page of slot; ldr x17, [x16, rest of slot] */
static uint64_t arm_slot(const struct called *c, uint64_t address)
{
	const uint32_t bti_c = 0xd503245f;
	uint32_t code[3];
	const uint32_t *at = code;

	if (!read_code(c, address, (uint8_t *)code, sizeof(code)))
		return 0;
	if (*at == bti_c) {
		at++;
		address += sizeof(*at);
	}
	if ((at[0] & 0x9f00001f) != 0x90000010 || (at[1] & 0xffc003ff) != 0xf9400211)
		return 0;
	/* The page is counted from that of the instruction. */
	return (address & ~UINT64_C(4095)) +
	       4096 * signed_bits((at[0] >> 3 & 0x1ffffc) | (at[0] >> 29 & 3), 21) +
	       8 * (at[1] >> 10 & 0xfff);
}

static const struct called_machine machines[] = {
	{ EM_X86_64, R_X86_64_JUMP_SLOT, R_X86_64_GLOB_DAT, x86_call, x86_slot },
	{ EM_AARCH64, R_AARCH64_JUMP_SLOT, R_AARCH64_GLOB_DAT, arm_call, arm_slot },
};

static const struct called_machine *machine_of(const GElf_Ehdr *file)
{
	for (size_t i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (machines[i].elf == file->e_machine)
			return &machines[i];
	return NULL;
}

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

		if ((type != c->machine->jump_slot && type != c->machine->glob_dat) ||
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
	c->machine = c->elf && gelf_getehdr(c->elf, &file) ? machine_of(&file) : NULL;
	if (!c->machine) {
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

static const char *name_of_slot(const struct called *c, uint64_t address)
{
	const size_t i = FIRST_WHERE(k, c->slots, c->slot[k].address >= address);

	return i < c->slots && c->slot[i].address == address ? c->slot[i].name : NULL;
}

/* Reads the call before a return address. */
static struct call call_before(struct called *c, const struct files *files,
			       const struct stack_object *of, uint64_t address)
{
	if (!c->opened)
		open_file(c, files, of);
	return c->elf ? c->machine->call_before(c, address) : (struct call){ 0, 0 };
}

const char *called_name(struct called *c, const struct files *files, const struct stack_object *of,
			uint64_t address)
{
	struct call call = call_before(c, files, of, address);

	if (call.function)
		call.slot = c->machine->slot_of_entry(c, call.function);
	return call.slot ? name_of_slot(c, call.slot) : NULL;
}

uint64_t called_address(struct called *c, const struct files *files, const struct stack_object *of,
			uint64_t address)
{
	return call_before(c, files, of, address).function;
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

bool called_returns_from_signal(struct called *c, const struct files *files,
				const struct stack_object *of, uint64_t address)
{
	/* mov $SYS_rt_sigreturn,%rax; syscall */
	static const uint8_t wanted[] = { 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05 };
	uint8_t code[sizeof(wanted)];

	if (!c->opened)
		open_file(c, files, of);
	return c->elf && c->machine->elf == EM_X86_64 &&
	       read_code(c, address, code, sizeof(code)) && !memcmp(code, wanted, sizeof(code));
}
