/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * object.c - one loaded object, opened when its first address is looked up.
 *
 * Each object has a Dwfl of its own with one module at the addresses of the file, so objects never
 * collide.  libdwfl calls us for the debug file; it must not search itself, because it would look
 * in another sysroot and ask servers.
 */
#include "object.h"

#include <elfutils/libdwelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../util/alloc.h"
#include "../util/memory.h"
#include "debuginfod.h"
#include "sym_text.h"

#define START_MOST     64 /* bytes of _start */
#define DWARF_UNPACKED 16 /* bytes of memory for each byte of an object */

/* Names from files are not trusted: they are shown on terminals, one to a line. */
static const char *keep_n(struct object *o, const char *text, size_t n)
{
	struct text clean = { 0 };
	const char *kept;

	if (text_clean_bytes(text) >= n) {
		kept = arena_intern_n(o->context->arena, text, n);
	} else {
		text_add_clean(&clean, text);
		kept = clean.failed ? "" : arena_intern(o->context->arena, text_string(&clean));
		text_release(&clean);
	}
	return kept;
}

static const char *keep(struct object *o, const char *text)
{
	return keep_n(o, text, strlen(text));
}

/* Returns the recorded id; otherwise the id of the file that was accepted for other reasons. */
static struct build_id id_of(const struct object *o)
{
	const struct stack_object *of = o->of;
	const unsigned char *bytes = NULL;
	GElf_Addr address;
	int n;

	if (of->build_id && of->build_id_bytes)
		return (struct build_id){ of->build_id, of->build_id_bytes };
	n = o->dwfl_module ? dwfl_module_build_id(o->dwfl_module, &bytes, &address) : 0;
	return (struct build_id){ bytes, n > 0 ? (size_t)n : 0 };
}

/* Raises the limit of memory, because DWARF is often compressed, and decompressed in memory. */
static void allow_memory(int fd)
{
	struct stat st;

	if (fd >= 0 && !fstat(fd, &st))
		memory_cap_file((uint64_t)st.st_size * DWARF_UNPACKED / MEMORY_PER_BYTE);
}

/* libdwfl's callback for a file: it must open none. */
static int no_elf(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base, char **path,
		  Elf **elf)
{
	return -1;
}

static void find_debug(struct object *o, const char *link, uint32_t crc)
{
	const struct object_context *c = o->context;

	if (o->debug.state == FILES_FOUND)
		return;
	files_debug(&c->files, o->main.path, id_of(o), link, crc, &o->debug);
	if (o->debug.state != FILES_FOUND && c->servers)
		debuginfod_debug(c->servers, id_of(o), &o->debug);
	allow_memory(o->debug.fd);
}

/* libdwfl's callback for the debug file, whose symbols it reads. */
static int give_debug(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
		      const char *file, const char *link, GElf_Word crc, char **path)
{
	struct object *o = *data;

	if (!o)
		return -1;
	find_debug(o, link ? link : "", crc);
	if (o->debug.fd < 0)
		return -1;
	*path = strdup(o->debug.path);
	return dup(o->debug.fd);
}

static const Dwfl_Callbacks callbacks = {
	.find_elf = no_elf,
	.find_debuginfo = give_debug,
	.section_address = dwfl_offline_section_address,
};

static const char *why_not(struct object *o)
{
	char why[PATH_MAX + 128];

	switch (o->main.state) {
	case FILES_REPLACED:
		return id_of(o).n ? "the file has a different build-id"
				  : "the file has different segments";
	case FILES_NOT_ELF:
		return "it is not an ELF file";
	case FILES_UNREADABLE:
		/* It may be another file, in a directory of debug files. */
		if (!strcmp(o->main.path, o->of->path))
			snprintf(why, sizeof(why), "the file cannot be opened (%s)",
				 strerror(o->main.error));
		else
			snprintf(why, sizeof(why), "'%s' cannot be opened (%s)", o->main.path,
				 strerror(o->main.error));
		return keep(o, why);
	default:
		if (!strncmp(o->of->path, "/memfd:", 7))
			return "it was a file in memory (memfd_create)";
		if (strstr(o->of->path, STACK_APPIMAGE))
			return "it was in an AppImage, which is mounted only while it runs";
		return *o->of->path ? "the file does not exist" : "its path is unknown";
	}
}

void object_init(struct object *o, const struct stack_object *of,
		 const struct object_context *context)
{
	const char *slash = strrchr(of->path, '/');

	memset(o, 0, sizeof(*o));
	o->of = of;
	o->context = context;
	o->module = slash && slash[1] ? slash + 1 : *of->path ? of->path : "?";
	o->main.fd = o->debug.fd = o->alt_fd = -1;
	o->main.state = o->debug.state = FILES_MISSING;
}

static struct cache_key key_of(const struct object *o)
{
	return (struct cache_key){ id_of(o), o->of->path, o->there };
}

void object_close(struct object *o)
{
	const struct cache_key key = key_of(o);

	cache_store(o->context->cache, &o->cached, &key, o->quality);
	cache_release(&o->cached);
	lines_release(&o->lines);
	symtab_release(&o->symtab);
	dwarf_file_close(&o->dwarf);
	dwarf_file_close(&o->alt);
	dwfl_end(o->dwfl);
	if (o->alt_fd >= 0)
		close(o->alt_fd);
	if (o->main.fd >= 0)
		close(o->main.fd);
	if (o->debug.fd >= 0)
		close(o->debug.fd);
}

static void locate(struct object *o)
{
	const struct object_context *c = o->context;

	files_object(&c->files, o->of, &o->main);
	if (o->main.state == FILES_FOUND)
		return;
	o->why = why_not(o);
	if (!id_of(o).n)
		return;
	/* A debug file alone suffices. */
	files_debug(&c->files, o->of->path, id_of(o), "", 0, &o->debug);
	if (o->debug.state != FILES_FOUND && c->servers)
		debuginfod_debug(c->servers, id_of(o), &o->debug);
	if (o->debug.state != FILES_FOUND && c->servers)
		debuginfod_object(c->servers, id_of(o), &o->debug);
	if (o->debug.state == FILES_FOUND) {
		o->main = o->debug;
		o->debug.fd = -1;
		o->why = NULL;
	}
}

/* The debug file, if there is one, contains the DWARF. */
static const char *dwarf_file(const struct object *o)
{
	return o->debug.state == FILES_FOUND ? o->debug.path : o->main.path;
}

/* Opens dwz's file before libdw looks for it elsewhere. */
static void find_alt(struct object *o, Dwarf *dwarf)
{
	const char *name;
	const void *id;
	ssize_t n = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id);
	struct file_found found;

	if (n <= 0)
		return;
	files_alt(&o->context->files, dwarf_file(o), (struct build_id){ id, (size_t)n }, name,
		  &found);
	o->alt_fd = found.fd;
	allow_memory(found.fd);
	if (found.fd >= 0)
		dwarf_file_open(&o->alt, found.fd);
	/*
	 * libdw would open the file that the link names, even a FIFO; -1 is its own mark for a
	 * failed search.
	 */
	dwarf_setalt(dwarf, o->alt.dwarf ?: (Dwarf *)-1);
}

/* Opens the file itself; returns NULL if that fails. */
static Elf *report(struct object *o)
{
	void **data;

	allow_memory(o->main.fd);
	o->dwfl = dwfl_begin(&callbacks);
	if (!o->dwfl)
		return NULL;
	o->dwfl_module = dwfl_report_elf(o->dwfl, o->module, o->main.path, o->main.fd, 0, true);
	if (!o->dwfl_module)
		return NULL;
	o->main.fd = -1;
	dwfl_report_end(o->dwfl, NULL, NULL);
	dwfl_module_info(o->dwfl_module, &data, NULL, NULL, NULL, NULL, NULL, NULL);
	*data = o;
	return dwfl_module_getelf(o->dwfl_module, &o->bias);
}

/* DWARF without dwz's file has addresses, but hardly any names; without .dwo files, no functions.
 */
static bool is_whole(const struct object *o, Dwarf *dwarf)
{
	const char *name;
	const void *id;

	return !o->lines.missing &&
	       (o->alt.dwarf || dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id) <= 0);
}

static void read_symbols(struct object *o, Dwarf *dwarf)
{
	symtab_make(&o->symtab, o->dwfl_module);
	o->symbols_later = false;
	o->quality = CACHE_NOTHING;
	if (dwarf && is_whole(o, dwarf))
		o->quality = CACHE_LINES;
	else if (dwarf || o->symtab.spans.count)
		o->quality = o->symtab.has_locals ? CACHE_SYMBOLS : CACHE_EXPORTED;
}

/*
 * Do all symbols come from the file that the cache describes?  Then their table need not be made,
 * which takes most of the time of opening an object, until an address is not in the cache.
 */
static bool are_cached(const struct object *o, Dwarf *dwarf)
{
	return !dwarf && o->debug.state != FILES_FOUND && !o->cached.doubtful &&
	       (o->cached.quality == CACHE_EXPORTED || o->cached.quality == CACHE_SYMBOLS) &&
	       !memcmp(&o->main.identity, &o->there, sizeof(o->main.identity));
}

#define READS_PACKAGES 191 /* elfutils 0.191 */

/* Why a package beside the file, *.dwp, has not what is missing; "" if there is none. */
static const char *why_not_in_package(const char *file, char *text, size_t size)
{
	char *package = must_printf("%s.dwp", file);
	const char *version = dwfl_version(NULL);
	unsigned minor = READS_PACKAGES;

	*text = '\0';
	if (!access(package, F_OK)) {
		sscanf(version, "0.%u", &minor);
		if (minor < READS_PACKAGES)
			snprintf(text, size,
				 "; libdw %s cannot read '%.400s', as 0.%u and later can", version,
				 package, READS_PACKAGES);
		else
			snprintf(text, size, ", also in '%.400s'", package);
	}
	free(package);
	return text;
}

/* Opens the DWARF. */
static void take_dwarf(struct object *o, Dwarf *dwarf)
{
	char why[PATH_MAX], package[512];
	const char *missing;

	find_alt(o, dwarf);
	dwarf_new_oom_handler(dwarf, memory_out);
	lines_make(&o->lines, dwarf, dwarf_file(o), o->context->arena);
	missing = o->lines.missing;
	if (!missing)
		return;
	snprintf(why, sizeof(why), "the .dwo files of -gsplit-dwarf are missing, such as '%s'%s",
		 missing, why_not_in_package(dwarf_file(o), package, sizeof(package)));
	o->split = keep(o, why);
}

/* Finds the DWARF in the object, otherwise in its debug file; returns NULL if neither has any. */
static Dwarf *find_dwarf(struct object *o, Elf *elf)
{
	GElf_Word crc = 0;
	const char *link;

	dwarf_file_of(&o->dwarf, elf);
	if (o->dwarf.dwarf)
		return o->dwarf.dwarf;
	dwarf_file_close(&o->dwarf);
	link = dwelf_elf_gnu_debuglink(elf, &crc);
	find_debug(o, link ?: "", crc);
	if (o->debug.fd >= 0)
		dwarf_file_open(&o->dwarf, o->debug.fd);
	return o->dwarf.dwarf;
}

static void open_object(struct object *o)
{
	GElf_Ehdr header;
	Dwarf *dwarf;
	Elf *elf;

	o->opened = true;
	locate(o);
	if (o->main.state != FILES_FOUND)
		return;
	elf = report(o);
	if (!elf) {
		o->why = "the file is damaged";
		return;
	}
	o->entry = gelf_getehdr(elf, &header) ? header.e_entry : 0;
	dwarf = find_dwarf(o, elf);
	if (dwarf)
		take_dwarf(o, dwarf);
	o->symbols_later = are_cached(o, dwarf);
	if (o->symbols_later)
		o->quality = o->cached.quality;
	else
		read_symbols(o, dwarf);
}

void object_open(struct object *o)
{
	if (!o->opened)
		open_object(o);
	if (o->symbols_later)
		read_symbols(o, NULL);
}

/* A version suffix says nothing about the function.  In a name of Crystal, which begins with '*', a
 * type follows the '@'. */
static const char *keep_symbol(struct object *o, const char *name)
{
	return keep_n(o, name, *name == '*' ? strlen(name) : strcspn(name, "@"));
}

static void keep_all(struct object *o, struct location *location, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		location[i].raw = keep(o, location[i].raw);
		location[i].file = keep(o, location[i].file);
	}
}

/* The code at the entry is gcc's start file, which has one short function, also if it is stripped.
 * Returns NULL for other code. */
static const char *start_symbol(const struct object *o, uint64_t address, uint64_t *offset)
{
	*offset = address - o->entry;
	return o->entry && *offset < START_MOST ? "_start" : NULL;
}

static size_t ask(struct object *o, uint64_t address, struct location location[LOCATIONS_MOST])
{
	size_t n = 0;
	uint64_t offset = 0, at = address + o->bias;
	const char *symbol =
	    symtab_find(&o->symtab, at, &offset) ?: start_symbol(o, address, &offset);

	if (o->lines.dwarf)
		n = lines_find(&o->lines, address, location);
	keep_all(o, location, n);
	if (!symbol)
		return n;
	if (!n)
		location[n++] = (struct location){ .file = "" };
	if (!location[n - 1].raw || !*location[n - 1].raw || !lines_openmp_body(symbol))
		location[n - 1].raw = keep_symbol(o, symbol);
	location[n - 1].offset = offset;
	return n;
}

/* Looks the address up in the cache. */
static bool recall(struct object *o, uint64_t address, struct location location[LOCATIONS_MOST],
		   size_t *n)
{
	if (!cache_find(&o->cached, address, location, n))
		return false;
	keep_all(o, location, *n);
	return true;
}

/* Uses the cache.  An entry of the build-id may come from another file with a copy of that id. */
static void ask_cache(struct object *o)
{
	struct cache_key key;

	o->asked = true;
	o->there = files_identity(&o->context->files, o->of);
	key = key_of(o);
	cache_load(o->context->cache, &o->cached, &key);
	if (!o->cached.doubtful)
		return;
	open_object(o);
	/* Another file has replaced the recorded one since. */
	if (o->main.state == FILES_FOUND)
		cache_forget(&o->cached);
}

bool object_uses_cache(struct object *o)
{
	if (!o->asked)
		ask_cache(o);
	if (o->cached.quality == CACHE_LINES)
		return true;
	if (!o->opened)
		open_object(o);
	return o->symbols_later || o->cached.quality > o->quality;
}

static size_t locations(struct object *o, uint64_t address,
			struct location location[LOCATIONS_MOST])
{
	size_t n = 0;

	if (object_uses_cache(o) && recall(o, address, location, &n))
		return n;
	object_open(o);
	n = ask(o, address, location);
	if (o->quality != CACHE_NOTHING)
		cache_add(&o->cached, address, location, n);
	return n;
}

size_t object_locations(struct object *o, uint64_t address,
			struct location location[LOCATIONS_MOST])
{
	size_t n = locations(o, address, location);

	o->unknown += !n || !*location[n - 1].raw;
	return n;
}

const char *object_why(const struct object *o)
{
	if (!o->unknown || o->why)
		return o->unknown ? o->why : NULL;
	return o->opened && o->quality < CACHE_SYMBOLS
		   ? "it is stripped, and no debug file with its build-id was found"
		   : NULL;
}
