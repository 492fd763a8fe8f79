// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * attach.c - see attach.h.
 *
 * The program's calls are bound to the functions that it found without us.  Two changes lead them
 * to ours.
 *
 * 1. Words in the writable data of all objects that contain the address of such a function: entries
 *    of linkage tables, and copies that the program keeps in variables.  An entry that is not bound
 *    yet has another value.  Words on the heap and on stacks are not changed, because their owner
 *    may compare them, or they may only look like addresses.
 * 2. The value of the symbol in the object that defines the function, which later lookups find:
 *    dlsym(), lazy binding, and objects that are loaded later.
 *
 * Both are single stores, so other threads may run.  Data is copied before it is examined, because
 * the program may have made parts of it unreadable.  A call that is under way ends where it began.
 */
#include "attach.h"

#include <dlfcn.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/uio.h>

#include "config.h"
#include "core.h"
#include "facts.h"
#include "scopes.h"
#include "stack_parts.h"
#include "sys.h"

#define FUNCTIONS 128u
#define BSS_MOST  (16u << 20) /* of a variable part without contents, which may be many GiB */

struct redirected {
	uintptr_t theirs, ours;
	ElfW(Sym) * symbol; /* in the object that defines theirs, or NULL */
	ElfW(Addr) value;   /* of it */
};

static struct redirected function[FUNCTIONS];
static uint32_t functions;
static uintptr_t lowest[2], highest[2]; /* of theirs and of ours */

static const struct link_map *attach_object(const void *at)
{
	void *map = NULL;
	Dl_info info;

	return dladdr1(at, &info, &map, RTLD_DL_LINKMAP) ? map : NULL;
}

/* Is the address that of a definition, and not of an entry of the linkage table that an executable
 * at a fixed address offers for a function whose address it takes? */
static int attach_is_definition(const void *symbol)
{
	void *entry = NULL;
	Dl_info info;

	return symbol && dladdr1(symbol, &info, &entry, RTLD_DL_SYMENT) &&
	       (!entry || ((const ElfW(Sym) *)entry)->st_shndx != SHN_UNDEF);
}

void *mp_attach_search(const char *name)
{
	const struct link_map *map = mp_scope_executable();

	for (map = map ? map->l_next : NULL; map; map = map->l_next) {
		void *symbol = *map->l_name ? mp_scope_ask(map->l_name, name) : NULL;

		if (symbol && attach_object(symbol) == map)
			return symbol;
	}
	return NULL;
}

void *mp_attach_symbol(const char *name)
{
	void *symbol = mp_scope_seen(name);

	return !symbol || attach_is_definition(symbol) ? symbol : mp_attach_search(name);
}

const struct mprof_init_ops mp_init_attached MP_HIDDEN = {
	.abi = MPROF_MODULE_ABI,
	.natural = 1,
	.symbol = mp_attach_symbol,
};

int mp_attach_is_needed(void)
{
	const void *headers = (const void *)getauxval(AT_PHDR);

	return !mp_scope_seen("mprof_keep_thread") && headers && /* nor libmprof.a */
	       mp_scope_base(headers) != mp_scope_base(&mp_known);
}

/* ---- symbol tables ---- */

struct symbols {
	ElfW(Sym) * first, *end;
	const char *names;
	ElfW(Addr) bias;
};

/* The names follow the table in what every linker makes; glibc's dladdr relies on it, too. */
static struct symbols attach_symbols(const struct link_map *map)
{
	struct symbols s = { .bias = map->l_addr };
	ElfW(Addr) table = 0, names = 0;

	for (const ElfW(Dyn) *d = map->l_ld; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_SYMTAB)
			table = d->d_un.d_ptr;
		else if (d->d_tag == DT_STRTAB)
			names = d->d_un.d_ptr;
	}
	/* The loader has added the bias where it may write. */
	table += table && table < map->l_addr ? map->l_addr : 0;
	names += names && names < map->l_addr ? map->l_addr : 0;
	if (table && names > table) {
		s.first = (ElfW(Sym) *)table;
		s.end = s.first + (names - table) / sizeof(*s.first);
		s.names = (const char *)names;
	}
	return s;
}

static ElfW(Sym) * attach_find_symbol(uintptr_t at, const char *name)
{
	const struct link_map *map = attach_object((const void *)at);
	const struct symbols s = map ? attach_symbols(map) : (struct symbols){ .first = NULL };

	for (ElfW(Sym) *e = s.first; e < s.end; e++)
		if (e->st_shndx != SHN_UNDEF && s.bias + e->st_value == at &&
		    !strcmp(s.names + e->st_name, name))
			return e;
	return NULL;
}

/* ---- what to redirect ---- */

static int attach_is_wanted(const struct symbols *s, const ElfW(Sym) * e)
{
	const char *name = s->names + e->st_name;

	return e->st_shndx != SHN_UNDEF && (e->st_info & 15) == STT_FUNC &&
	       strncmp(name, "mprof_", 6) != 0;
}

/* libstdc++'s operators call malloc and free; those of another allocator do not. */
static int attach_calls_malloc(const char *name, const void *theirs)
{
	return !strncmp(name, "_Z", 2) &&
	       mp_scope_base(theirs) != mp_scope_base(*(void **)&mprof_core.real.malloc);
}

static void attach_bounds(int here, uintptr_t at)
{
	lowest[here] = !lowest[here] || at < lowest[here] ? at : lowest[here];
	highest[here] = at > highest[here] ? at : highest[here];
}

static void attach_list(void)
{
	const struct link_map *map = attach_object(&mp_known);
	const struct symbols s = map ? attach_symbols(map) : (struct symbols){ .first = NULL };

	for (const ElfW(Sym) *e = s.first; e < s.end && functions < FUNCTIONS; e++) {
		struct redirected *f = &function[functions];

		if (!attach_is_wanted(&s, e))
			continue;
		f->theirs = (uintptr_t)mp_attach_symbol(s.names + e->st_name);
		f->ours = s.bias + e->st_value;
		if (!f->theirs || f->theirs == f->ours ||
		    attach_calls_malloc(s.names + e->st_name, (const void *)f->theirs))
			continue;
		f->symbol = attach_find_symbol(f->theirs, s.names + e->st_name);
		f->value = f->symbol ? f->symbol->st_value : 0;
		attach_bounds(0, f->theirs);
		attach_bounds(1, f->ours);
		functions++;
	}
}

/* ---- changing memory ---- */

/*
 * Replaces a word that still has this value.  Its page may be read-only: after relocation, or
 * because the program made it so; then it is again.
 */
static void attach_replace(uintptr_t *word, uintptr_t value, uintptr_t instead)
{
	const uintptr_t page = (uintptr_t)word & -(uintptr_t)mp_page();
	struct area a;
	long usual;

	if (mp_area((uintptr_t)word, &a) < 0 || !(a.flags & AREA_READABLE))
		return;
	usual = PROT_READ | (a.flags & 2 ? PROT_WRITE : 0) | (a.flags & 1 ? PROT_EXEC : 0);
	if (!(usual & PROT_WRITE) &&
	    mp_sys(SYS_mprotect, (long)page, (long)mp_page(), usual | PROT_WRITE, 0, 0, 0) < 0)
		return;
	__atomic_compare_exchange_n(word, &value, instead, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	if (!(usual & PROT_WRITE))
		mp_sys(SYS_mprotect, (long)page, (long)mp_page(), usual, 0, 0, 0);
}

static const ElfW(Phdr) *
    attach_segment(const struct dl_phdr_info *o, uintptr_t at, ElfW(Word) type)
{
	for (int i = 0; i < o->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &o->dlpi_phdr[i];

		if (p->p_type == type && at - (o->dlpi_addr + p->p_vaddr) < p->p_memsz)
			return p;
	}
	return NULL;
}

/* The value that a word with this one gets, or 0. */
static uintptr_t attach_instead(uintptr_t value, int here)
{
	if (value < lowest[!here] || value > highest[!here])
		return 0;
	for (uint32_t i = 0; i < functions; i++)
		if (value == (here ? function[i].theirs : function[i].ours))
			return here ? function[i].ours : function[i].theirs;
	return 0;
}

/* Copies words that may not be readable; returns how many bytes could be read. */
static long attach_copy(uintptr_t from, uintptr_t *to, size_t bytes)
{
	const struct iovec here = { to, bytes }, there = { (void *)from, bytes };

	return mp_sys(SYS_process_vm_readv, sys_getpid(), (long)&here, 1, (long)&there, 1, 0);
}

static void attach_words(const struct dl_phdr_info *o, const ElfW(Phdr) * p, int here)
{
	const size_t bss = p->p_memsz - p->p_filesz;
	const uintptr_t end =
	    o->dlpi_addr + p->p_vaddr + p->p_filesz + (bss < BSS_MOST ? bss : BSS_MOST);
	uintptr_t at = (o->dlpi_addr + p->p_vaddr + sizeof(at) - 1) & -sizeof(at), copy[1024];

	while (end - at >= sizeof(at) && at < end) {
		const size_t most = end - at < sizeof(copy) ? end - at : sizeof(copy);
		const long n = attach_copy(at, copy, most & -sizeof(at)) / (long)sizeof(at);

		for (long i = 0; i < n; i++) {
			const uintptr_t instead = attach_instead(copy[i], here);

			if (instead)
				attach_replace((uintptr_t *)at + i, copy[i], instead);
		}
		at = n > 0 ? at + (size_t)n * sizeof(at) /* else a page that is not readable */
			   : (at & -(uintptr_t)mp_page()) + mp_page();
	}
}

static void attach_defined(const struct dl_phdr_info *o, int here)
{
	for (uint32_t i = 0; i < functions; i++) {
		const struct redirected *f = &function[i];
		const ElfW(Addr) instead = f->value + f->ours - f->theirs;

		if (f->symbol && attach_segment(o, (uintptr_t)f->symbol, PT_LOAD))
			attach_replace(&f->symbol->st_value, here ? f->value : instead,
				       here ? instead : f->value);
	}
}

static int attach_object_words(struct dl_phdr_info *o, size_t size, void *here)
{
	(void)size;
	if (attach_segment(o, (uintptr_t)&mp_known, PT_LOAD) ||
	    attach_segment(o, getauxval(AT_SYSINFO_EHDR), PT_LOAD))
		return 0; /* our own, and the kernel's */
	attach_defined(o, *(int *)here);
	for (int i = 0; i < o->dlpi_phnum; i++)
		if (o->dlpi_phdr[i].p_type == PT_LOAD && o->dlpi_phdr[i].p_flags & PF_W)
			attach_words(o, &o->dlpi_phdr[i], *(int *)here);
	return 0;
}

/* glibc's, of <malloc.h>, which the library does not include.  It locks one arena after the other,
 * and visits their freed chunks. */
struct heap_info {
	size_t arena, ordblks, smblks, hblks, hblkhd, usmblks, fsmblks, uordblks, fordblks,
	    keepcost;
};

/* r_debug_extended of glibc 2.35 and later. */
struct namespace
{
	int version;
	struct link_map *map;
	ElfW(Addr) trap;
	int state;
	ElfW(Addr) loader;
	const struct namespace *next;
};

/* What dlmopen loaded has another libc, whose malloc it calls. */
static void attach_note_namespaces(void)
{
	const struct namespace *n = mp_attach_symbol("_r_debug");

	for (n = n && n->version > 1 ? n->next : NULL; n; n = n->next)
		if (n->map && n->map->l_name && *n->map->l_name)
			mp_fact_bypass(n->map->l_name, MPROF_BYPASS_NAMESPACE);
}

void mp_attach_note(void)
{
	void *symbol = mp_attach_symbol("mallinfo2");
	struct heap_info now;

	attach_note_namespaces();

	if (symbol && mp_scope_base(symbol) == mp_scope_base(*(void **)&mprof_core.real.malloc) &&
	    mp_attach_symbol("gnu_get_libc_version") &&
	    mp_scope_base(symbol) == mp_scope_base(mp_attach_symbol("gnu_get_libc_version"))) {
		now = (*(struct heap_info(**)(void)) & symbol)();
		mp_fact_attached(now.uordblks + now.hblkhd, now.fordblks);
	} else {
		mp_fact_mark(MPROF_FACT_ATTACHED);
	}
}

void mp_attach_redirect(int here)
{
	if (!functions)
		attach_list();
	dl_iterate_phdr(attach_object_words, &here);
}
