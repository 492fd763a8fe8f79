// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * eh_object.c - finds the loaded object of an address.
 */
#include "eh_object.h"

#include <errno.h>
#include <sys/auxv.h>

#include "core.h"
#include "scopes.h"

struct lookup {
	uintptr_t pc;
	struct eh_object *out;
};

static int eh_visit(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct lookup *l = arg;
	struct eh_object o = { .bias = info->dlpi_addr, .name = info->dlpi_name };
	int inside = 0;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + p->p_vaddr;

		if (p->p_type == PT_LOAD) {
			inside |= l->pc - start < p->p_memsz;
			o.start = !o.end || start < o.start ? start : o.start;
			o.end = start + p->p_memsz > o.end ? start + p->p_memsz : o.end;
		} else if (p->p_type == PT_GNU_EH_FRAME) {
			o.header = (const uint8_t *)start;
		}
	}
	if (inside)
		*l->out = o;
	return inside;
}

/*
 * The kernel maps the segments of the program, and leaves gaps where they are aligned to more than
 * a page.  The loader then lists each of them for itself, without the ELF header before the first.
 * Not if the program was started by naming its loader, which then has mapped it as a whole.
 */
static void eh_whole_program(struct eh_object *o)
{
	const ElfW(Phdr) *p = (const ElfW(Phdr) *)getauxval(AT_PHDR);
	uintptr_t start = o->start, end = o->end;

	if (!getauxval(AT_BASE) || !p)
		return;
	for (unsigned long n = getauxval(AT_PHNUM); n; n--, p++) {
		uintptr_t at = o->bias + p->p_vaddr;

		if (p->p_type != PT_LOAD)
			continue;
		start = at < start ? at & -(uintptr_t)mp_page() : start;
		end = at + p->p_memsz > end ? at + p->p_memsz : end;
	}
	o->start = start;
	o->end = end;
}

int eh_object(uintptr_t pc, struct eh_object *out)
{
	struct lookup l = { pc, out };
	struct dl_find_object found;

	if (!_dl_find_object)
		return dl_iterate_phdr(eh_visit, &l) ? 0 : -ENOENT;
	if (_dl_find_object((void *)pc, &found))
		return -ENOENT;
	*out = (struct eh_object){
		.header = found.dlfo_eh_frame,
		.start = (uintptr_t)found.dlfo_map_start,
		.end = (uintptr_t)found.dlfo_map_end,
		.bias = found.dlfo_link_map->l_addr,
		.name = found.dlfo_link_map->l_name,
	};
	if (!*out->name)
		eh_whole_program(out);
	return 0;
}
