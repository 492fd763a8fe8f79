/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * symtab.c - the functions of an object's symbol tables, sorted once.
 *
 * A symbol without a size (assembly) extends to the next one in its section; inside one that has a
 * size it is only a label.  Only the last one of gcc's start files, before the program's own code,
 * does not: GHC leaves most of its functions without symbols.
 */
#include "symtab.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"

#define RANK_LOCAL (1u << 28)

struct maker {
	struct symtab *table;
	Dwfl_Module *module;
	struct spans open; /* symbols without a size: high is the end of the section */
};

static bool is_code(const GElf_Sym *sym, GElf_Word index)
{
	int type = GELF_ST_TYPE(sym->st_info);

	return index != SHN_UNDEF && index != SHN_ABS &&
	       (type == STT_FUNC || type == STT_GNU_IFUNC || type == STT_NOTYPE);
}

/* Returns the end of the section with code at `address`; 0 if no code is there. */
static uint64_t section_end(Elf *elf, GElf_Word index, GElf_Addr bias, uint64_t address)
{
	Elf_Scn *section = elf_getscn(elf, index);
	GElf_Shdr shdr;

	if (!section || !gelf_getshdr(section, &shdr) || !(shdr.sh_flags & SHF_EXECINSTR))
		return 0;
	return address - bias - shdr.sh_addr < shdr.sh_size ? shdr.sh_addr + shdr.sh_size + bias
							    : 0;
}

static uint32_t rank_of(const char *name, const GElf_Sym *sym)
{
	size_t underscores = strspn(name, "_"), letters = strlen(name);
	uint32_t rank = (uint32_t)(letters < 0xffff ? letters : 0xffff);

	rank |= (uint32_t)(underscores < 0x7f ? underscores : 0x7f) << 16;
	return rank | (GELF_ST_BIND(sym->st_info) == STB_LOCAL ? RANK_LOCAL : 0);
}

/* Is it a function's name?  Compilers for ARM mark code and data with $x and $d, LLVM leaves .L
 * names. */
static bool is_name(const char *name)
{
	return name && *name && *name != '$' && strncmp(name, ".L", 2);
}

static void add(struct maker *m, int i)
{
	GElf_Sym sym;
	GElf_Addr address, bias;
	GElf_Word index;
	Elf *elf;
	const char *name =
	    dwfl_module_getsym_info(m->module, i, &sym, &address, &index, &elf, &bias);
	uint64_t end;

	m->table->name[i] = name;
	if (!is_name(name) || !is_code(&sym, index))
		return;
	m->table->has_locals |= GELF_ST_BIND(sym.st_info) == STB_LOCAL;
	if (sym.st_size && GELF_ST_TYPE(sym.st_info) != STT_NOTYPE) {
		spans_add(&m->table->spans, address, address + sym.st_size, (uint32_t)i,
			  rank_of(name, &sym));
		return;
	}
	end = elf ? section_end(elf, index, bias, address) : 0;
	if (end && !strcmp(name, "frame_dummy"))
		end = address + 1; /* it calls nothing */
	spans_add(&m->open, address, end, (uint32_t)i, rank_of(name, &sym));
}

static void drop_labels(struct maker *m)
{
	size_t i, kept = 0;

	for (i = 0; i < m->open.count; i++)
		if (!spans_find(&m->table->spans, m->open.span[i].low))
			m->open.span[kept++] = m->open.span[i];
	m->open.count = kept;
}

/* Sets the end of symbols without a size to the next symbol, with or without a size. */
static void close_open(struct maker *m)
{
	struct spans *sized = &m->table->spans;
	size_t i, other, next = 0, count = sized->count;

	for (i = 0; i < m->open.count; i++) {
		struct span s = m->open.span[i];

		for (other = i + 1; other < m->open.count; other++)
			if (m->open.span[other].low != s.low)
				break;
		if (other < m->open.count && m->open.span[other].low < s.high)
			s.high = m->open.span[other].low;
		while (next < count && sized->span[next].low <= s.low)
			next++;
		if (next < count && sized->span[next].low < s.high)
			s.high = sized->span[next].low;
		spans_add(sized, s.low, s.high, s.what, s.rank);
	}
}

static void order(struct maker *m)
{
	spans_sort(&m->table->spans);
	spans_sort(&m->open);
	drop_labels(m);
	close_open(m);
	spans_sort(&m->table->spans);
}

void symtab_make(struct symtab *t, Dwfl_Module *module)
{
	struct maker m = { .table = t, .module = module };
	int i, count = dwfl_module_getsymtab(module);

	memset(t, 0, sizeof(*t));
	if (count <= 1)
		return;
	t->name = must_calloc((size_t)count, sizeof(*t->name));
	for (i = 1; i < count; i++)
		add(&m, i);
	order(&m);
	spans_release(&m.open);
}

void symtab_release(struct symtab *t)
{
	spans_release(&t->spans);
	free(t->name);
	t->name = NULL;
}

const char *symtab_find(const struct symtab *t, uint64_t address, uint64_t *offset)
{
	const struct span *s = spans_find(&t->spans, address);

	if (!s)
		return NULL;
	*offset = address - s->low;
	return t->name[s->what];
}
