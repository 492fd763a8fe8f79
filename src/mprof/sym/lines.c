/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * lines.c - what DWARF says about an address.
 *
 * gcc lists the ranges of its units in .debug_aranges, clang does not: then the units themselves
 * are read, which takes longer. libdw's own search for scopes walks the whole unit each time; here
 * each unit is walked once and then only the function that has the address.
 */
#include "lines.h"

#include <dwarf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "../util/alloc.h"
#include "../util/rank.h"

#define DEPTH_MOST 200 /* of nested DIEs: damaged files nest without end */

struct unit {
	Dwarf_Off listed;     /* in .debug_aranges, and not read yet; 0: read */
	Dwarf_Die die, split; /* split: in a .dwo file; addr NULL if not */
	struct spans spans;   /* -> function */
	Dwarf_Die *function;
	size_t functions, room;
	bool indexed, deep;
	bool bare; /* its functions are in a .dwo file that is missing */
};

/* ---- units ---- */

static void add_ranges(struct spans *spans, Dwarf_Die *die, uint32_t what)
{
	Dwarf_Addr base, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &low, &high)) > 0)
		/* Addresses that the linker discarded begin at 0, or at 1 in lists of ranges. */
		if (low > 1)
			spans_add(spans, low, high, what, 0);
}

static void add_unit(struct lines *l, const Dwarf_Die *die, const Dwarf_Die *split)
{
	GROW(l->unit, l->units + 1, l->room);
	l->unit[l->units] = (struct unit){ .die = *die };
	if (split)
		l->unit[l->units].split = *split;
	l->units++;
	add_ranges(&l->spans, &l->unit[l->units - 1].die, (uint32_t)l->units - 1);
}

static const char *text_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute a;

	return dwarf_attr(die, name, &a) ? dwarf_formstring(&a) : NULL;
}

/* Joins the name of a .dwo file as libdw does: an absolute part replaces those before it. */
static bool part_is_regular(const char *base, const char *dir, const char *name)
{
	char path[PATH_MAX];
	int n;

	if (*name == '/')
		base = dir = "";
	else if (*dir == '/')
		base = "";
	n = snprintf(path, sizeof(path), "%s%s%s%s%s", base, *base ? "/" : "", dir, *dir ? "/" : "",
		     name);
	return n > 0 && (size_t)n < sizeof(path) && files_regular(path);
}

static const char *split_name(Dwarf_Die *die)
{
	return text_of(die, DW_AT_dwo_name) ?: text_of(die, DW_AT_GNU_dwo_name);
}

/*
 * libdw opens .dwo and .dwp files itself, under the names in a unit, and would block at a FIFO.
 * base: the directory of the file that contains the unit.
 */
static bool may_open_split(Dwarf_Die *die, const char *file, const char *base)
{
	const char *name = split_name(die), *dir = text_of(die, DW_AT_comp_dir);
	char package[PATH_MAX];

	if (!name)
		return true;
	snprintf(package, sizeof(package), "%s.dwp", file);
	return files_regular(package) && part_is_regular(base, "", name) &&
	       part_is_regular(base, dir ? dir : "", name);
}

/* Returns the unit in another file for this skeleton unit; NULL if not available. */
static Dwarf_Die *split_of(Dwarf_CU *cu, Dwarf_Die *die)
{
	return !dwarf_cu_info(cu, NULL, NULL, NULL, die, NULL, NULL, NULL) && die->addr ? die
											: NULL;
}

/* Adds a skeleton unit.  clang may put its functions there, too. */
static void add_skeleton(struct lines *l, Dwarf_CU *cu, Dwarf_Die *die, bool may_open)
{
	Dwarf_Die split, child;
	const bool found = may_open && split_of(cu, &split);

	add_unit(l, die, found ? &split : NULL);
	if (found || !dwarf_child(die, &child))
		return;
	l->unit[l->units - 1].bare = true;
	l->missing = l->missing ?: split_name(die) ?: "?";
}

static void add_all_units(struct lines *l, const char *file)
{
	char *real = realpath(file, NULL), *slash = real ? strrchr(real, '/') : NULL, *base;
	Dwarf_CU *cu = NULL;
	Dwarf_Die die;
	uint8_t type;

	base = slash ? must_strndup(real, (size_t)(slash - real)) : NULL;
	while (!dwarf_get_units(l->dwarf, cu, &cu, NULL, &type, &die, NULL)) {
		if (type == DW_UT_skeleton)
			add_skeleton(l, cu, &die, base && may_open_split(&die, real, base));
		else if (type == DW_UT_compile)
			add_unit(l, &die, NULL);
	}
	free(real);
	free(base);
	spans_sort(&l->spans);
}

/* Only units with .dwo files have addresses there, apart from those of clang. */
static bool may_be_split(Dwarf *dwarf)
{
	Elf *elf = dwarf_getelf(dwarf);
	Elf_Scn *section = NULL;
	const char *name;
	GElf_Shdr header;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return true;
	while ((section = elf_nextscn(elf, section))) {
		name =
		    gelf_getshdr(section, &header) ? elf_strptr(elf, names, header.sh_name) : NULL;
		if (!name || !strcmp(name, ".debug_addr"))
			return true;
	}
	return false;
}

/* Adds the units of n ranges, in the order of the file, as add_all_units() does. */
static void add_listed(struct lines *l, Dwarf_Aranges *ranges, size_t n)
{
	struct ranked *r = must_malloc((n + 1) * sizeof(*r));
	Dwarf_Addr low;
	Dwarf_Word bytes;
	size_t i, known = 0;

	for (i = 0; i < n; i++) {
		Dwarf_Off offset;

		if (!dwarf_getarangeinfo(dwarf_onearange(ranges, i), &low, &bytes, &offset) &&
		    low > 1 && offset) /* as in add_ranges() */
			r[known++] = (struct ranked){ offset, i };
	}
	rank(r, known);
	for (i = 0; i < known; i++) {
		if (!i || r[i].key != r[i - 1].key) {
			GROW(l->unit, l->units + 1, l->room);
			l->unit[l->units++] = (struct unit){ .listed = r[i].key };
		}
		dwarf_getarangeinfo(dwarf_onearange(ranges, r[i].item), &low, &bytes, NULL);
		spans_add(&l->spans, low, low + bytes, (uint32_t)l->units - 1, 0);
	}
	free(r);
	spans_sort(&l->spans);
}

void lines_make(struct lines *l, Dwarf *dwarf, const char *file, struct arena *arena)
{
	Dwarf_Aranges *ranges;
	size_t n;

	*l = (struct lines){ .dwarf = dwarf, .arena = arena };
	if (may_be_split(dwarf) || dwarf_getaranges(dwarf, &ranges, &n) || !n) {
		add_all_units(l, file);
		return;
	}
	l->listed = arena_intern(arena, file);
	add_listed(l, ranges, n);
}

static void release_units(struct lines *l)
{
	size_t i;

	for (i = 0; i < l->units; i++) {
		spans_release(&l->unit[i].spans);
		free(l->unit[i].function);
	}
	free(l->unit);
	spans_release(&l->spans);
	l->unit = NULL;
	l->units = l->room = 0;
}

void lines_release(struct lines *l)
{
	release_units(l);
	hash_release(&l->spelled);
	memset(l, 0, sizeof(*l));
}

/* Reads the DIE of a listed unit; false if that is not one. */
static bool read_unit(struct lines *l, struct unit *u)
{
	uint8_t type;

	if (!u->listed)
		return true;
	if (!dwarf_offdie(l->dwarf, u->listed, &u->die) ||
	    dwarf_cu_info(u->die.cu, NULL, &type, NULL, NULL, NULL, NULL, NULL) ||
	    type != DW_UT_compile)
		return false;
	u->listed = 0;
	return true;
}

/* Returns the unit that has the address, or NULL. */
static struct unit *find_unit(struct lines *l, uint64_t address)
{
	const struct span *s = spans_find(&l->spans, address);
	const char *file = l->listed;

	if (file && (!s || !read_unit(l, &l->unit[s->what]))) {
		release_units(l);
		l->listed = NULL;
		add_all_units(l, file);
		s = spans_find(&l->spans, address);
	}
	return s ? &l->unit[s->what] : NULL;
}

/* ---- functions of a unit ---- */

static void add_function(struct unit *u, Dwarf_Die *die)
{
	GROW(u->function, u->functions + 1, u->room);
	u->function[u->functions] = *die;
	add_ranges(&u->spans, die, (uint32_t)u->functions++);
}

static bool holds_functions(int tag, bool deep)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
		return true;
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
	case DW_TAG_inlined_subroutine:
		return deep;
	default:
		return false;
	}
}

/* Moves only forwards, because the siblings of a damaged file may form a cycle. */
static bool next_sibling(Dwarf_Die *die)
{
	Dwarf_Die next;

	if (dwarf_siblingof(die, &next) || next.addr <= die->addr)
		return false;
	*die = next;
	return true;
}

/* GHC describes the parts of a function as blocks inside it, whose code is outside it. */
static bool is_apart(Dwarf_Die *function, Dwarf_Die *block)
{
	Dwarf_Addr low;

	return !dwarf_lowpc(block, &low) && dwarf_haspc(function, low) == 0;
}

#define NOWHERE UINT32_MAX

/* deep: also index functions inside functions, and blocks apart from theirs.  within: the number of
 * the function that they are in, or NOWHERE. */
static void index_children(struct unit *u, Dwarf_Die *parent, bool deep, uint32_t within,
			   unsigned depth)
{
	Dwarf_Die die;
	uint32_t of;
	bool more;
	int tag;

	if (depth > DEPTH_MOST)
		return;
	for (more = !dwarf_child(parent, &die); more; more = next_sibling(&die)) {
		tag = dwarf_tag(&die);
		of = tag == DW_TAG_subprogram ? (uint32_t)u->functions : within;
		if (tag == DW_TAG_subprogram)
			add_function(u, &die);
		else if (tag == DW_TAG_lexical_block && deep && within != NOWHERE &&
			 is_apart(&u->function[within], &die))
			add_ranges(&u->spans, &die, within);
		if (holds_functions(tag, deep))
			index_children(u, &die, deep, of, depth + 1);
	}
}

static Dwarf_Die *scopes_of(struct unit *u)
{
	return u->split.addr ? &u->split : &u->die;
}

static void index_unit(struct unit *u, bool deep)
{
	u->functions = u->spans.count = 0;
	u->indexed = true;
	u->deep = deep;
	index_children(u, scopes_of(u), deep, NOWHERE, 0);
	spans_sort(&u->spans);
}

static Dwarf_Die *find_function(struct unit *u, uint64_t address)
{
	const struct span *s;

	if (!u->indexed)
		index_unit(u, false);
	s = spans_find(&u->spans, address);
	if (!s && !u->deep) {
		index_unit(u, true);
		s = spans_find(&u->spans, address);
	}
	return s ? &u->function[s->what] : NULL;
}

/* Returns the file that an attribute names, a number in the table of the unit; NULL if unknown. */
static const char *file_in(Dwarf_Die *unit, Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute a;
	Dwarf_Files *files;
	Dwarf_Word number;
	size_t count;

	if (dwarf_formudata(dwarf_attr_integrate(die, name, &a), &number) ||
	    dwarf_getsrcfiles(unit, &files, &count) || number >= count)
		return NULL;
	return dwarf_filesrc(files, number, NULL, NULL);
}

/* ---- names ---- */

static const char *linkage_name(Dwarf_Die *die)
{
	Dwarf_Attribute a;

	if (!dwarf_attr_integrate(die, DW_AT_linkage_name, &a) &&
	    !dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &a))
		return NULL;
	return dwarf_formstring(&a);
}

/* Returns the DIE that is in the function's scope: an abstract one, or the declaration in a
 * class. */
static Dwarf_Die declaration(Dwarf_Die die)
{
	static const unsigned ways[] = { DW_AT_abstract_origin, DW_AT_specification };
	Dwarf_Attribute a;
	Dwarf_Die next;
	unsigned i, steps;

	for (steps = i = 0; i < 2 && steps < 16; steps++) {
		if (dwarf_attr(&die, ways[i], &a) && dwarf_formref_die(&a, &next)) {
			die = next;
			i = 0;
		} else {
			i++;
		}
	}
	return die;
}

static bool has_scopes(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C_plus_plus:
	case DW_LANG_C_plus_plus_03:
	case DW_LANG_C_plus_plus_11:
	case DW_LANG_C_plus_plus_14:
	case DW_LANG_Rust:
	case DW_LANG_D:
		return true;
	default:
		return false;
	}
}

static size_t put_before(char *to, size_t at, const char *text)
{
	size_t n = strlen(text);

	if (n > at)
		return 0;
	memcpy(to + at - n, text, n);
	return at - n;
}

/*
 * Collects the DIEs from the unit to `target`, inclusive; returns their number, 0 if not found.  A
 * DIE follows the beginning of its parent and precedes the parent's sibling, so only siblings are
 * walked; libdw's dwarf_getscopes_die visits everything before the target.
 */
static size_t path_to(Dwarf_Die *unit, Dwarf_Die *target, Dwarf_Die path[DEPTH_MOST])
{
	Dwarf_Off wanted = dwarf_dieoffset(target);
	Dwarf_Die behind;
	size_t n = 0;

	path[n++] = *unit;
	while (dwarf_dieoffset(&path[n - 1]) != wanted) {
		if (n == DEPTH_MOST || dwarf_child(&path[n - 1], &path[n]))
			return 0;
		behind = path[n];
		while (next_sibling(&behind) && dwarf_dieoffset(&behind) <= wanted)
			path[n] = behind;
		n++;
	}
	return n;
}

static const char *scope_name(Dwarf_Die *scope, const char *inner)
{
	const char *name = dwarf_diename(scope);

	if (name)
		return name;
	if (dwarf_tag(scope) == DW_TAG_namespace)
		return "(anonymous namespace)";
	return !strncmp(inner, "operator()", 10) ? "{lambda}" : "{unnamed}";
}

/* Writes the names of the scopes, from the end to the beginning. */
static const char *scoped_name(struct lines *l, Dwarf_Die *unit, Dwarf_Die *die, const char *name)
{
	Dwarf_Die path[DEPTH_MOST];
	char whole[1024];
	size_t at = put_before(whole, sizeof(whole) - 1, name), n = path_to(unit, die, path), i;

	whole[sizeof(whole) - 1] = '\0';
	for (i = n; i-- > 1 && at;) {
		int tag = dwarf_tag(&path[i]);

		if (i == n - 1 || (!holds_functions(tag, false) && tag != DW_TAG_subprogram))
			continue;
		at = put_before(whole, at, "::");
		at = at ? put_before(whole, at, scope_name(&path[i], name)) : 0;
	}
	return at ? arena_intern(l->arena, whole + at) : name;
}

bool lines_openmp_body(const char *name)
{
	return !strncmp(name, ".omp_outlined.", 14) || !strncmp(name, ".omp_task_entry.", 16);
}

static uint32_t declared_line(Dwarf_Die *die)
{
	int line;

	return dwarf_decl_line(die, &line) ? 0 : (uint32_t)line;
}

/* Returns the function that is declared last before the body, in its file; *many: several are, as
 * instances of a template. */
static Dwarf_Die *around_body(struct unit *u, Dwarf_Die *body, bool *many)
{
	const char *file = file_in(scopes_of(u), body, DW_AT_decl_file) ?: "", *its;
	const uint32_t line = declared_line(body);
	Dwarf_Die *best = NULL;
	uint32_t best_line = 0;

	for (Dwarf_Die *f = u->function; f < u->function + u->functions; f++) {
		const uint32_t at = declared_line(f);
		const char *name = dwarf_diename(f);

		if (!at || at > line || at < best_line || !name || lines_openmp_body(name) ||
		    dwarf_hasattr(f, DW_AT_declaration) ||
		    !(its = file_in(scopes_of(u), f, DW_AT_decl_file)) || strcmp(its, file))
			continue;
		*many =
		    at == best_line && best && (*many || strcmp(dwarf_diename(best), name) != 0);
		best = at > best_line || linkage_name(f) ? f : best;
		best_line = at;
	}
	return best;
}

/* Returns its name as LLVM 17 and later have it: "main.omp_outlined". */
static const char *name_of_body(struct lines *l, struct unit *u, Dwarf_Die *body, const char *name)
{
	bool many = false;
	Dwarf_Die *f = around_body(u, body, &many);
	const char *its = f && !many ? linkage_name(f) : NULL;
	char whole[1024];

	if (!f)
		return name;
	its = its ?: dwarf_diename(f);
	snprintf(whole, sizeof(whole), "%.*s.omp_outlined", (int)(many ? strcspn(its, "<") : 900),
		 its);
	return arena_intern(l->arena, whole);
}

/* GHC numbers functions that it does not export, s4tg_info, and gives the name in the source, too.
 */
static bool is_numbered(struct unit *u, const char *mangled)
{
	const char *suffix = mangled ? strchr(mangled, '_') : NULL;

	return suffix && dwarf_srclang(scopes_of(u)) == DW_LANG_Haskell && !strcmp(suffix, "_info");
}

static const char *name_of(struct lines *l, struct unit *u, Dwarf_Die *die)
{
	const char *mangled = linkage_name(die), *name, *scoped;
	Dwarf_Die declared, unit;

	mangled = is_numbered(u, mangled) ? NULL : mangled;
	name = mangled ?: dwarf_diename(die);
	if (!name)
		return "";
	if (lines_openmp_body(name))
		return name_of_body(l, u, die, name);
	if (mangled)
		return name;
	declared = declaration(*die);
	if (!dwarf_diecu(&declared, &unit, NULL, NULL) || !has_scopes(&unit))
		return name;
	scoped = hash_pointer(&l->spelled, declared.addr);
	if (!scoped) {
		scoped = scoped_name(l, &unit, &declared, name);
		*hash_at(&l->spelled, (uintptr_t)declared.addr) = (uintptr_t)scoped;
	}
	return scoped;
}

/* ---- one address ---- */

struct chain {
	Dwarf_Die die[LOCATIONS_MOST]; /* the function, then inlined calls, inwards */
	size_t count;
};

/* Finds the child of `in` that contains the address; a block without ranges may contain it, too. */
static bool step_inwards(Dwarf_Die *in, uint64_t address, struct chain *c, unsigned depth)
{
	Dwarf_Die die;
	bool more;
	int tag;

	if (depth > DEPTH_MOST)
		return false;
	for (more = !dwarf_child(in, &die); more; more = next_sibling(&die)) {
		tag = dwarf_tag(&die);
		if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block &&
		    tag != DW_TAG_try_block && tag != DW_TAG_catch_block)
			continue;
		if (dwarf_haspc(&die, address) > 0) {
			if (tag == DW_TAG_inlined_subroutine && c->count < LOCATIONS_MOST)
				c->die[c->count++] = die;
			step_inwards(&die, address, c, depth + 1);
			return true;
		}
		if (tag != DW_TAG_inlined_subroutine && !dwarf_hasattr(&die, DW_AT_low_pc) &&
		    !dwarf_hasattr(&die, DW_AT_ranges) && step_inwards(&die, address, c, depth + 1))
			return true;
	}
	return false;
}

/* Returns a path that does not depend on where the compiler was called: two libraries may each have
 * a src/util.c. */
static const char *whole_path(struct lines *l, struct unit *u, const char *file)
{
	const char *dir = file && *file != '/' ? text_of(&u->die, DW_AT_comp_dir) : NULL;
	char path[PATH_MAX];
	int n;

	if (!dir || *dir != '/')
		return file;
	n = snprintf(path, sizeof(path), "%s/%s", dir, file);
	return n > 0 && (size_t)n < sizeof(path) ? arena_intern(l->arena, path) : file;
}

/* Finds the source location of an inlined call. */
static void call_location(struct lines *l, struct unit *u, Dwarf_Die *call,
			  struct location *location)
{
	Dwarf_Attribute a;
	Dwarf_Word number;

	if (!dwarf_formudata(dwarf_attr(call, DW_AT_call_line, &a), &number))
		location->line = (uint32_t)number;
	location->file =
	    whole_path(l, u, file_in(scopes_of(u), call, DW_AT_call_file)) ?: location->file;
}

/* What compilers make from code of several lines has no line, and the file of any. */
static void declared_location(struct lines *l, struct unit *u, Dwarf_Die *function,
			      struct location *location)
{
	Dwarf_Die declared = declaration(*function), unit;

	if (dwarf_diecu(&declared, &unit, NULL, NULL))
		location->file =
		    whole_path(l, u, file_in(&unit, &declared, DW_AT_decl_file)) ?: location->file;
}

static bool line_location(struct lines *l, struct unit *u, uint64_t address,
			  struct location *location)
{
	Dwarf_Line *line = dwarf_getsrc_die(&u->die, address);
	const char *file = line ? dwarf_linesrc(line, NULL, NULL) : NULL;
	int number;

	if (!file || dwarf_lineno(line, &number))
		return false;
	location->file = whole_path(l, u, file);
	location->line = number > 0 ? (uint32_t)number : 0;
	return true;
}

/*
 * Without the functions, inlined calls are unknown: the line may be of a header, which does not
 * contain the function that the symbol table names.  Is it of the unit's own source?  DWARF 4 does
 * not say which that is.
 */
static bool is_own_line(struct lines *l, struct unit *u, const struct location *location)
{
	Dwarf_Files *files;
	Dwarf_Half version;
	const char *own;
	size_t count;

	if (dwarf_cu_info(u->die.cu, &version, NULL, NULL, NULL, NULL, NULL, NULL) || version < 5 ||
	    dwarf_getsrcfiles(&u->die, &files, &count) || !count)
		return false;
	own = whole_path(l, u, dwarf_filesrc(files, 0, NULL, NULL));
	return own && !strcmp(own, location->file);
}

size_t lines_find(struct lines *l, uint64_t address, struct location locations[LOCATIONS_MOST])
{
	struct unit *u = find_unit(l, address);
	Dwarf_Die *function = u ? find_function(u, address) : NULL;
	struct chain c;
	Dwarf_Addr low = 0;
	size_t i;

	if (!u)
		return 0;
	l->without += u->bare;
	locations[0] = (struct location){ .raw = "", .file = "" };
	if (!function)
		return line_location(l, u, address, &locations[0]) &&
		       (!u->bare || is_own_line(l, u, &locations[0]));
	c.die[0] = *function;
	c.count = 1;
	step_inwards(function, address, &c, 0);
	for (i = 0; i < c.count; i++) {
		Dwarf_Die *die = &c.die[c.count - 1 - i];

		locations[i] = (struct location){ .raw = name_of(l, u, die),
						  .file = "",
						  .inlined = i + 1 < c.count };
		if (i == 0) {
			line_location(l, u, address, &locations[0]);
			if (!locations[0].line)
				declared_location(l, u, die, &locations[0]);
		} else
			call_location(l, u, &c.die[c.count - i], &locations[i]);
	}
	if (!dwarf_lowpc(function, &low) && low <= address)
		locations[c.count - 1].offset = address - low;
	return c.count;
}
