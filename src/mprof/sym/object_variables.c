// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * object_variables.c - the data symbols of an object, and their declarations in the source; parts
 * of a stripped object that have no names.
 *
 * One pass over the DWARF finds all of them: declarations of units and namespaces, and static
 * variables of functions.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/order.h"
#include "object.h"

#define DIES_MAX  4000000u /* visited in one object */
#define DEPTH_MAX 16

struct list {
	struct object_variable *of;
	size_t n, room;
	unsigned dies;
};

ORDER(by_address, struct object_variable,
      RISING(tls) ?: RISING(address) ?: FALLING(size) ?: BY_NAME(name))

static void add(struct list *l, const char *name, const GElf_Sym *sym)
{
	const int type = GELF_ST_TYPE(sym->st_info);

	if (!name || !*name || !sym->st_size || sym->st_shndx == SHN_UNDEF ||
	    (type != STT_OBJECT && type != STT_TLS))
		return;
	GROW(l->of, l->n + 1, l->room);
	l->of[l->n++] = (struct object_variable){ .name = name,
						  .file = "",
						  .tls = type == STT_TLS,
						  .address = sym->st_value,
						  .size = sym->st_size };
}

/* Fewest underscores first: environ and __environ are the same variable. */
static size_t underscores(const char *name)
{
	return strspn(name, "_");
}

static void drop_aliases(struct list *l)
{
	size_t kept = 0;

	for (size_t i = 0; i < l->n; i++) {
		struct object_variable *last = kept ? &l->of[kept - 1] : NULL, *x = &l->of[i];

		if (!last || last->tls != x->tls || last->address != x->address)
			l->of[kept++] = *x;
		else if (underscores(x->name) < underscores(last->name))
			last->name = x->name;
	}
	l->n = kept;
}

/* ---- declarations ---- */

/* Finds the address of a variable, or its offset in its object's TLS. */
static bool place_of(Dwarf_Die *die, uint64_t *address, bool *tls)
{
	Dwarf_Attribute location, indexed;
	Dwarf_Op *op;
	size_t n;

	if (!dwarf_attr(die, DW_AT_location, &location) || dwarf_getlocation(&location, &op, &n) ||
	    !n || n > 2)
		return false;
	*tls = n == 2;
	*address = op[0].number;
	if (*tls)
		return op[1].atom == DW_OP_GNU_push_tls_address ||
		       op[1].atom == DW_OP_form_tls_address;
	if (op[0].atom == DW_OP_addrx || op[0].atom == DW_OP_GNU_addr_index)
		return !dwarf_getlocation_attr(&location, op, &indexed) &&
		       !dwarf_formaddr(&indexed, address);
	return op[0].atom == DW_OP_addr;
}

static void declare(struct list *l, Dwarf_Die *die)
{
	struct object_variable key = { .name = "", .size = UINT64_MAX }, *x;
	size_t i;
	const char *file;
	int line = 0;

	if (!place_of(die, &key.address, &key.tls))
		return;
	i = FIRST_WHERE(k, l->n, by_address(&l->of[k], &key) >= 0);
	x = i < l->n ? &l->of[i] : NULL;
	if (!x || x->tls != key.tls || x->address != key.address)
		return;
	file = dwarf_decl_file(die);
	dwarf_decl_line(die, &line);
	x->file = file ? file : "";
	x->line = line > 0 ? (uint32_t)line : 0;
}

static void search(struct list *l, Dwarf_Die *parent, int depth)
{
	Dwarf_Die die;

	if (depth == DEPTH_MAX || dwarf_child(parent, &die))
		return;
	do {
		if (++l->dies > DIES_MAX)
			return;
		switch (dwarf_tag(&die)) {
		case DW_TAG_variable:
			declare(l, &die);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_subprogram:
		case DW_TAG_lexical_block:
			search(l, &die, depth + 1);
			break;
		}
	} while (!dwarf_siblingof(&die, &die));
}

static void declare_all(struct list *l, struct object *o)
{
	Dwarf_CU *unit = NULL;
	Dwarf_Die die;

	while (o->lines.dwarf &&
	       dwarf_get_units(o->lines.dwarf, unit, &unit, NULL, NULL, &die, NULL) == 0)
		search(l, &die, 0);
}

/* ---- without names ---- */

/* Smaller gaps between variables are padding. */
#define GAP_LEAST 64u

static void add_gap(struct list *l, const char *name, bool tls, uint64_t begin, uint64_t end)
{
	if (end < begin || end - begin < GAP_LEAST)
		return;
	GROW(l->of, l->n + 1, l->room);
	l->of[l->n++] = (struct object_variable){
		.name = name, .file = "", .tls = tls, .address = begin, .size = end - begin
	};
}

/* Adds [begin, end) without the first n variables, under the name of its section. */
static void add_gaps(struct list *l, size_t n, const char *name, bool tls, uint64_t begin,
		     uint64_t end)
{
	for (size_t i = 0; i < n && begin < end; i++) {
		const uint64_t at = l->of[i].address, size = l->of[i].size;

		if (l->of[i].tls != tls || at + size <= begin || at >= end)
			continue;
		add_gap(l, name, tls, begin, at);
		begin = at + size;
	}
	add_gap(l, name, tls, begin, end);
}

static uint64_t tls_begin(Elf *elf)
{
	GElf_Phdr p;

	for (int i = 0; gelf_getphdr(elf, i, &p); i++)
		if (p.p_type == PT_TLS)
			return p.p_vaddr;
	return 0;
}

/* Has it variables of the source, not only tables of the linker and the loader? */
static bool has_variables(const GElf_Shdr *s, const char *name)
{
	static const char *const other[] = { ".data.rel.ro", ".bss.rel.ro", ".got",
					     ".ctors",	     ".dtors",	    ".jcr",
					     ".tm_clone",    ".plt",	    ".eh_frame" };

	for (size_t i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		if (!strncmp(name, other[i], strlen(other[i])))
			return false;
	return (s->sh_type == SHT_PROGBITS || s->sh_type == SHT_NOBITS) &&
	       (s->sh_flags & (SHF_ALLOC | SHF_WRITE)) == (SHF_ALLOC | SHF_WRITE);
}

/* Adds what the variables of a stripped object leave of each section. */
static void add_unnamed(struct list *l, struct object *o)
{
	const size_t named = l->n;
	Elf_Scn *section = NULL;
	GElf_Addr bias;
	Elf *elf = o->dwfl_module ? dwfl_module_getelf(o->dwfl_module, &bias) : NULL;
	GElf_Shdr s;
	const char *name;
	size_t names;

	if (!elf || elf_getshdrstrndx(elf, &names))
		return;
	while ((section = elf_nextscn(elf, section)) != NULL) {
		const bool ok = gelf_getshdr(section, &s) != NULL;
		const uint64_t base = ok && s.sh_flags & SHF_TLS ? tls_begin(elf) : 0;

		name = ok ? elf_strptr(elf, names, s.sh_name) : NULL;
		if (name && has_variables(&s, name) && s.sh_size <= UINT64_MAX - s.sh_addr)
			add_gaps(l, named, name, s.sh_flags & SHF_TLS, s.sh_addr - base,
				 s.sh_addr - base + s.sh_size);
	}
	SORT(l->of, l->n, by_address);
}

static struct object_variable *find(struct object *o, size_t *count)
{
	struct list l = { .n = 0 };
	GElf_Sym sym;
	GElf_Addr address;
	int i, n;

	n = o->dwfl_module ? dwfl_module_getsymtab(o->dwfl_module) : 0;
	for (i = 1; i < n; i++)
		add(&l,
		    dwfl_module_getsym_info(o->dwfl_module, i, &sym, &address, NULL, NULL, NULL),
		    &sym);
	SORT(l.of, l.n, by_address);
	drop_aliases(&l);
	declare_all(&l, o);
	if (!o->symtab.has_locals)
		add_unnamed(&l, o);
	*count = l.n;
	return l.of;
}

struct object_variable *object_variables(struct object *o, size_t *count, bool *stripped)
{
	struct object_variable *of;

	if (object_uses_cache(o) && cache_find_variables(&o->cached, &of, count, stripped))
		return of;
	object_open(o);
	of = find(o, count);
	*stripped = !o->symtab.has_locals;
	if (o->quality != CACHE_NOTHING)
		cache_add_variables(&o->cached, of, *count, *stripped);
	return of;
}
