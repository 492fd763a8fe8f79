// SPDX-License-Identifier: LGPL-3.0-or-later
/* own_malloc.c - objects that serve malloc themselves, past a preloaded one. */
#include "own_malloc.h"

#include <fcntl.h>
#include <gelf.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf.h"

extern char **environ;

static const char sanitizer[] = "a sanitizer's allocator";

/* Symbols that identify an allocator that was linked in. */
static const struct {
	const char *symbol, *allocator;
} marks[] = {
	{ "mallctl", "jemalloc" },	    { "je_mallctl", "jemalloc" },
	{ "tc_malloc", "tcmalloc" },	    { "mi_malloc", "mimalloc" },
	{ "scalable_malloc", "tbbmalloc" }, { "rpmalloc", "rpmalloc" },
	{ "snmalloc", "snmalloc" },	    { "dlmalloc", "dlmalloc" },
	{ "__asan_init", sanitizer },	    { "__hwasan_init", sanitizer },
	{ "__lsan_init", sanitizer },	    { "__msan_init", sanitizer },
	{ "__tsan_init", sanitizer },
};

/* Functions of an allocator that leaves malloc alone, if an object contains it: the linker binds
 * the object's calls, so nothing records them.  Of what Rust does not need, its linker keeps
 * nothing. */
static const struct contained {
	const char *symbol, *allocator;
} contained[] = {
	{ "_rjem_malloc", "jemalloc" }, { "_rjem_mallocx", "jemalloc" },
	{ "je_malloc", "jemalloc" },	{ "je_mallocx", "jemalloc" },
	{ "mi_malloc", "mimalloc" },	{ "mi_malloc_aligned", "mimalloc" },
	{ "rpmalloc", "rpmalloc" },	{ "rpaligned_alloc", "rpmalloc" },
	{ "sn_malloc", "snmalloc" },	{ "sn_rust_alloc", "snmalloc" },
};

/* Functions that only this allocator has, and the option that records them. */
static const struct called {
	const char *symbol, *allocator, *option;
} called[] = {
	{ "mallocx", "jemalloc",
	  "--wrap malloc:mallocx,realloc:rallocx,free:sdallocx,free:dallocx" },
	{ "je_malloc", "jemalloc", "--wrap-prefix je_" },
	{ "mi_malloc", "mimalloc", "--wrap-prefix mi_" },
	{ "tc_malloc", "tcmalloc", "--wrap-prefix tc_" },
	{ "scalable_malloc", "tbbmalloc", "--wrap-prefix scalable_" },
};

/*
 * Functions of a library that passes requests of others to an allocator which it looks up itself
 * when it runs: wrapping the allocator's functions has no effect on it.
 */
static const struct passed {
	const char *symbol;    /* one that others call */
	const char *library;   /* the allocator, if it is installed beside the library */
	const char *allocator; /* its name */
	const char *option;    /* records their calls */
} passed[] = {
	{ "_ZN3tbb6detail2r122cache_aligned_allocateEm", "libtbbmalloc.so.2", "tbbmalloc",
	  "--wrap malloc:_ZN3tbb6detail2r122cache_aligned_allocateEm"
	  " --wrap free:_ZN3tbb6detail2r124cache_aligned_deallocateEPv" },
};

/* Facts from an object's symbol tables and dynamic section. */
struct object {
	bool offered;  /* offers malloc to other objects */
	bool defined;  /* defines malloc, perhaps only for itself */
	bool symbolic; /* it binds its calls to its own symbols */
	const char *allocator;
	const struct contained *contains;
	bool exports;		       /* that, so it may be the allocator's own library */
	const struct called *calls;    /* one that it imports */
	const struct passed *requests; /* one that it imports */
	const struct passed *passes;   /* one that it offers */
};

static void see_import(struct object *o, const char *name)
{
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		if (!strcmp(name, passed[i].symbol))
			o->requests = &passed[i];
	for (size_t i = 0; !o->calls && i < sizeof(called) / sizeof(called[0]); i++)
		if (!strcmp(name, called[i].symbol))
			o->calls = &called[i];
}

static void see_symbol(struct object *o, const GElf_Sym *s, const char *name, bool dynamic)
{
	const unsigned type = GELF_ST_TYPE(s->st_info), bind = GELF_ST_BIND(s->st_info);
	const unsigned visible = GELF_ST_VISIBILITY(s->st_other);
	size_t i;

	/* A weak one need not exist, so it does not show that it is called. */
	if (s->st_shndx == SHN_UNDEF && dynamic && bind != STB_WEAK)
		see_import(o, name);
	if (s->st_shndx == SHN_UNDEF || (type != STT_FUNC && type != STT_GNU_IFUNC))
		return;
	if (!strcmp(name, "malloc")) {
		o->defined = true;
		o->offered |= dynamic && bind != STB_LOCAL &&
			      (visible == STV_DEFAULT || visible == STV_PROTECTED);
		o->symbolic |= dynamic && visible == STV_PROTECTED;
	}
	for (i = 0; !o->allocator && i < sizeof(marks) / sizeof(marks[0]); i++)
		if (!strcmp(name, marks[i].symbol))
			o->allocator = marks[i].allocator;
	for (i = 0; i < sizeof(contained) / sizeof(contained[0]); i++)
		if (!strcmp(name, contained[i].symbol)) {
			o->contains = o->contains ?: &contained[i];
			o->exports |= dynamic;
		}
	for (i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		if (!strcmp(name, passed[i].symbol))
			o->passes = &passed[i];
}

/* Rejects most names quickly: a large library has 100,000. */
static bool may_tell(const char *name)
{
	return *name && (*name == '_' ? name[1] == '_' || !strncmp(name, "_ZN3tbb", 7) ||
					    !strncmp(name, "_rjem_", 6)
				      : strchr("mjtsrd", *name) != NULL);
}

static void see_symbols(struct object *o, Elf *elf, Elf_Scn *section, const GElf_Shdr *head)
{
	Elf_Data *data = elf_getdata(section, NULL);
	const char *name;
	GElf_Sym s;
	int i;

	for (i = 0; data && gelf_getsym(data, i, &s); i++) {
		name = elf_strptr(elf, head->sh_link, s.st_name);
		if (name && may_tell(name))
			see_symbol(o, &s, name, head->sh_type == SHT_DYNSYM);
	}
}

/* ---- the hash table of the dynamic symbols: a look-up instead of reading all of them ---- */

struct hashed {
	Elf *elf;
	Elf_Data *symbols;
	size_t names;	      /* section */
	const uint32_t *word; /* buckets, then the hashes of the symbols from `first` on */
	size_t words, buckets;
	uint32_t first;
};

/* Returns false if the section cannot be used. */
static bool find_hashed(struct hashed *h, Elf *elf, Elf_Scn *section, const GElf_Shdr *head)
{
	enum { BUCKETS, FIRST, FILTER, SHIFT, WORDS };
	Elf_Scn *symbols = elf_getscn(elf, head->sh_link);
	Elf_Data *data = elf_getdata(section, NULL);
	const uint32_t *word = data ? data->d_buf : NULL;
	GElf_Shdr its;
	size_t skip;

	if (gelf_getclass(elf) != ELFCLASS64 || !word || data->d_size < WORDS * sizeof(*word) ||
	    !gelf_getshdr(symbols, &its) || its.sh_type != SHT_DYNSYM)
		return false;
	skip = WORDS + 2 * (size_t)word[FILTER];
	*h = (struct hashed){ elf,	   elf_getdata(symbols, NULL),
			      its.sh_link, word + skip,
			      0,	   word[BUCKETS],
			      word[FIRST] };
	if (!h->symbols || !h->buckets || data->d_size / sizeof(*word) < skip + h->buckets)
		return false;
	h->words = data->d_size / sizeof(*word) - skip;
	return true;
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	while (*name)
		hash = hash * 33 + (unsigned char)*name++;
	return hash;
}

/* Examines all symbols of one name. */
static void see_named(struct object *o, const struct hashed *h, const char *name)
{
	const uint32_t hash = hash_of(name);
	uint32_t i = h->word[hash % h->buckets];
	size_t at = i < h->first ? SIZE_MAX : h->buckets + (i - h->first);

	for (; at < h->words; i++, at++) {
		const char *its;
		GElf_Sym s;

		if ((h->word[at] | 1) == (hash | 1) && gelf_getsym(h->symbols, (int)i, &s) &&
		    (its = elf_strptr(h->elf, h->names, s.st_name)) && !strcmp(its, name))
			see_symbol(o, &s, name, true);
		if (h->word[at] & 1) /* the last symbol of its bucket */
			return;
	}
}

/* Symbols that are not hashed come first. */
static void see_imports(struct object *o, const struct hashed *h)
{
	const char *name;
	GElf_Sym s;

	for (uint32_t i = 1; i < h->first && gelf_getsym(h->symbols, (int)i, &s); i++)
		if (s.st_shndx == SHN_UNDEF && (name = elf_strptr(h->elf, h->names, s.st_name)) &&
		    may_tell(name))
			see_symbol(o, &s, name, true);
}

static bool see_hashed(struct object *o, Elf *elf)
{
	Elf_Scn *section = NULL;
	struct hashed h;
	GElf_Shdr head;

	while ((section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &head) && head.sh_type == SHT_GNU_HASH)
			break;
	if (!section || !find_hashed(&h, elf, section, &head))
		return false;
	see_imports(o, &h);
	see_named(o, &h, "malloc");
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++)
		see_named(o, &h, marks[i].symbol);
	for (size_t i = 0; i < sizeof(contained) / sizeof(contained[0]); i++)
		see_named(o, &h, contained[i].symbol);
	for (size_t i = 0; i < sizeof(passed) / sizeof(passed[0]); i++)
		see_named(o, &h, passed[i].symbol);
	return true;
}

static void see_dynamic(struct object *o, Elf_Scn *section)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Dyn d;
	int i;

	for (i = 0; data && gelf_getdyn(data, i, &d) && d.d_tag != DT_NULL; i++)
		o->symbolic |=
		    d.d_tag == DT_SYMBOLIC || (d.d_tag == DT_FLAGS && d.d_un.d_val & DF_SYMBOLIC);
}

/* Examines a file; all zero if unknown. */
static struct object look_at(const char *path)
{
	struct object o = { .offered = false };
	int fd;
	Elf *elf = elf_of(path, &fd);
	const bool hashed = elf && see_hashed(&o, elf);
	Elf_Scn *section = NULL;
	GElf_Shdr head;

	if (!elf)
		return o;
	while ((section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &head))
			continue;
		if ((head.sh_type == SHT_DYNSYM && !hashed) || head.sh_type == SHT_SYMTAB)
			see_symbols(&o, elf, section, &head);
		else if (head.sh_type == SHT_DYNAMIC)
			see_dynamic(&o, section);
	}
	elf_end(elf);
	close(fd);
	return o;
}

/* As the kernel names it in a trace, so that both say the same of it. */
static void set_path(struct own_malloc *own, const char *path)
{
	if (!realpath(path, own->path))
		snprintf(own->path, sizeof(own->path), "%s", path);
}

/* An allocator's own library may call its other functions. */
static void set_calls(struct own_malloc *own, const char *path, const struct object *o)
{
	if (!o->calls || o->offered || own->how != OWN_NONE)
		return;
	own->how = OWN_CALLS;
	own->called = own->wraps = o->calls->symbol;
	own->allocator = o->calls->allocator;
	own->remedy = o->calls->option;
	set_path(own, path);
}

static void set_contains(struct own_malloc *own, const char *path, const struct object *o)
{
	struct elf_facts elf;

	if (!o->contains || o->defined || own->how != OWN_NONE ||
	    (o->exports && (elf_read(path, &elf) || !elf.has_loader)))
		return;
	own->how = OWN_CONTAINS;
	own->called = o->contains->symbol;
	own->allocator = o->contains->allocator;
	set_path(own, path);
}

/* Whether a program requests memory through a library that passes requests on. */
struct passing {
	const struct passed *requests, *passes;
	char path[PATH_MAX]; /* of the library */
};

static void see_passing(struct passing *p, const char *path, const struct object *o)
{
	const char *name = basename(path);
	char beside[PATH_MAX];

	if (o->requests)
		p->requests = o->requests;
	if (!o->passes)
		return;
	snprintf(beside, sizeof(beside), "%.*s%s", (int)(name - path), path, o->passes->library);
	if (access(beside, R_OK))
		return;
	p->passes = o->passes;
	snprintf(p->path, sizeof(p->path), "%s", path);
}

static void set_passing(struct own_malloc *own, const struct passing *p)
{
	if (!p->requests || p->requests != p->passes || own->how != OWN_NONE)
		return;
	own->how = OWN_PASSES;
	own->wraps = p->passes->symbol;
	own->allocator = p->passes->allocator;
	own->remedy = p->passes->option;
	set_path(own, p->path);
}

static void set(struct own_malloc *own, enum own_how how, const char *path, const struct object *o)
{
	own->how = how;
	own->allocator = o->allocator;
	set_path(own, path);
}

/* ---- the libraries of a program ---- */

/* Starts the dynamic linker to list the libraries, and returns its output; NULL on failure. */
static FILE *ask_linker(const char *linker, const char *program, pid_t *pid)
{
	char *argv[] = { (char *)linker, (char *)"--list", (char *)program, NULL };
	posix_spawn_file_actions_t actions;
	int fd[2], ret;

	if (pipe2(fd, O_CLOEXEC))
		return NULL;
	posix_spawn_file_actions_init(&actions);
	/* Without memory they fail, and the list would be the program's output. */
	ret = posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0) ?:
	      posix_spawn_file_actions_adddup2(&actions, fd[1], STDOUT_FILENO) ?:
	      posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	ret = ret ?: posix_spawn(pid, linker, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fd[1]);
	if (!ret)
		return fdopen(fd[0], "r");
	close(fd[0]);
	return NULL;
}

/* Returns the path in "libc.so.6 => /lib/libc.so.6 (0x...)" or "/lib64/ld.so (0x...)", or NULL. */
static char *path_of(char *line)
{
	char *arrow = strstr(line, " => "), *path = arrow ? arrow + 4 : line, *end;

	path += strspn(path, " \t");
	end = strstr(path, " (0x");
	if (*path != '/' || !end)
		return NULL;
	*end = '\0';
	return path;
}

/* Is it the C library or the linker?  The former's calls reach a preloaded malloc, and the
 * latter's do not matter. */
static bool is_system(const char *path)
{
	const char *name = basename(path);

	return !strncmp(name, "libc.so", 7) || !strncmp(name, "libc-", 5) ||
	       !strncmp(name, "ld-linux", 8) || !strncmp(name, "ld-", 3) ||
	       !strncmp(name, "libmprof", 8);
}

/* Returns true if nothing more needs to be known of a program that has this library. */
static bool see_library(const char *path, struct passing *passing, struct own_malloc *own)
{
	struct object o;

	if (is_system(path))
		return false;
	o = look_at(path);
	see_passing(passing, path, &o);
	if ((o.offered && o.symbolic) || (o.defined && !o.offered)) {
		set(own, o.offered ? OWN_SYMBOLIC : OWN_HIDDEN, path, &o);
		return true;
	}
	set_contains(own, path, &o);
	set_calls(own, path, &o);
	return false;
}

static void find_in_libraries(const char *program, struct passing *passing, struct own_malloc *own)
{
	struct elf_facts ours, its;
	char line[PATH_MAX + 256], *path;
	bool found = false;
	pid_t pid;
	FILE *list;

	/* Runs only the linker that started us, not one that a file names. */
	if (elf_read("/proc/self/exe", &ours) || elf_read(program, &its) || !its.has_loader ||
	    strcmp(ours.loader, its.loader))
		return;
	list = ask_linker(its.loader, program, &pid);
	if (!list)
		return;
	while (fgets(line, sizeof(line), list)) {
		path = found ? NULL : path_of(line);
		if (path)
			found = see_library(path, passing, own);
	}
	fclose(list);
	waitpid(pid, NULL, 0);
}

bool own_malloc_find(const char *program, struct own_malloc *own)
{
	const struct object o = look_at(program);
	struct passing passing = { .requests = o.requests };

	*own = (struct own_malloc){ .how = OWN_NONE };
	if (!o.defined) {
		set_contains(own, program, &o);
		set_calls(own, program, &o);
		find_in_libraries(program, &passing, own);
		set_passing(own, &passing);
		return own->how != OWN_NONE;
	}
	set(own, o.offered ? OWN_FIRST : OWN_HIDDEN, program, &o);
	return true;
}

bool own_malloc_loaded(const char *const *object, size_t n, struct own_malloc *own)
{
	struct passing passing = { .requests = NULL };

	*own = (struct own_malloc){ .how = OWN_NONE };
	for (size_t i = 0; i < n; i++)
		if (*object[i] == '/' && see_library(object[i], &passing, own))
			return true;
	set_passing(own, &passing);
	return own->how != OWN_NONE;
}

bool own_malloc_is_wrapped(const char *function, const char *wrap)
{
	const char *malloc_in = function ? strstr(function, "malloc") : NULL;
	char prefix[32];

	if (!function)
		return false;
	if (strstr(wrap, function))
		return true;
	if (!malloc_in || malloc_in == function)
		return false;
	snprintf(prefix, sizeof(prefix), "%.*s*", (int)(malloc_in - function), function);
	return strstr(wrap, prefix);
}

void own_malloc_first(const char *path, struct own_malloc *own)
{
	const struct object o = look_at(path);
	struct elf_facts elf;
	const bool program = elf_read(path, &elf) || elf.type != ELF_SHARED || elf.has_loader;

	set(own, program ? OWN_FIRST : OWN_PRELOADED, path, &o);
}

bool own_malloc_is_sanitizer(const struct own_malloc *own)
{
	return own->how == OWN_FIRST && own->allocator == sanitizer;
}

void own_malloc_words(const struct own_malloc *own, char *to, size_t size)
{
	static const char sanitized[] = "is built with a sanitizer, whose own allocator takes all"
					" calls: they are not recorded; to record them, build it"
					" without";
	static const char *const rest[] = {
		[OWN_NONE] = "",
		[OWN_FIRST] = ", which comes before libmprof.so's: calls that it serves are not"
			      " recorded; to record them, build it without, or with the allocator"
			      " as a shared library",
		[OWN_PRELOADED] = ", which is preloaded before libmprof.so's: calls that it serves"
				  " are not recorded; to record them, name libmprof.so first",
		[OWN_SYMBOLIC] = " and binds its own calls to that (-Bsymbolic): they are not"
				 " recorded; to record them, link it without -Bsymbolic",
		[OWN_CALLS] = "",
		[OWN_CONTAINS] = "",
		[OWN_PASSES] = "",
		[OWN_HIDDEN] = " for itself alone: its own calls are not recorded; to record them,"
			       " build it without, or with the allocator as a shared library",
	};

	if (own->how == OWN_CALLS)
		snprintf(to, size,
			 "'%s' calls %s of %s, a function that mprof does not record; to record it "
			 "and the like, run the program under mprof with %s",
			 own->path, own->called, own->allocator, own->remedy);
	else if (own->how == OWN_CONTAINS)
		snprintf(
		    to, size,
		    "'%s' contains %s: its calls of %s and the like are not recorded; to record "
		    "them, build it to call malloc (in Rust, without #[global_allocator]; "
		    "Redis, with make MALLOC=libc)",
		    own->path, own->allocator, own->called);
	else if (own->how == OWN_PASSES)
		snprintf(
		    to, size,
		    "'%s' passes requests to %s, which are not recorded; to record them, run the "
		    "program under mprof with %s",
		    own->path, own->allocator, own->remedy);
	else if (own_malloc_is_sanitizer(own))
		snprintf(to, size, "'%s' %s", own->path, sanitized);
	else
		snprintf(to, size, "'%s' defines malloc itself%s%s%s%s", own->path,
			 own->allocator ? " (" : "", own->allocator ? own->allocator : "",
			 own->allocator ? ", linked in)" : "", rest[own->how]);
}
