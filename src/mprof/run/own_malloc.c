// SPDX-License-Identifier: LGPL-3.0-or-later
/* own_malloc.c - objects that serve malloc themselves, past a preloaded one. */
#include "own_malloc.h"

#include <fcntl.h>
#include <gelf.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "elf.h"

extern char **environ;

/* What tells an allocator that was linked in. */
static const struct {
	const char *symbol, *allocator;
} marks[] = {
	{ "mallctl", "jemalloc" },	    { "je_mallctl", "jemalloc" },
	{ "tc_malloc", "tcmalloc" },	    { "mi_malloc", "mimalloc" },
	{ "scalable_malloc", "tbbmalloc" }, { "rpmalloc", "rpmalloc" },
	{ "snmalloc", "snmalloc" },	    { "dlmalloc", "dlmalloc" },
};

/* What one object's tables of symbols and its dynamic section say. */
struct object {
	bool offered;  /* malloc, to others */
	bool defined;  /* malloc, maybe for itself alone */
	bool symbolic; /* it binds its own calls to itself */
	const char *allocator;
};

static void see_symbol(struct object *o, const GElf_Sym *s, const char *name, bool dynamic)
{
	const unsigned type = GELF_ST_TYPE(s->st_info), bind = GELF_ST_BIND(s->st_info);
	const unsigned visible = GELF_ST_VISIBILITY(s->st_other);
	size_t i;

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
}

static void see_symbols(struct object *o, Elf *elf, Elf_Scn *section, const GElf_Shdr *head)
{
	Elf_Data *data = elf_getdata(section, NULL);
	const char *name;
	GElf_Sym s;
	int i;

	for (i = 0; data && gelf_getsym(data, i, &s); i++) {
		name = elf_strptr(elf, head->sh_link, s.st_name);
		if (name)
			see_symbol(o, &s, name, head->sh_type == SHT_DYNSYM);
	}
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

/* Zero: nothing is known of it. */
static struct object look_at(const char *path)
{
	struct object o = { .offered = false };
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	Elf_Scn *section = NULL;
	GElf_Shdr head;
	struct stat st;
	Elf *elf;

	if (fd < 0)
		return o;
	if (fstat(fd, &st) || !S_ISREG(st.st_mode)) {
		close(fd);
		return o;
	}
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	while (elf && (section = elf_nextscn(elf, section))) {
		if (!gelf_getshdr(section, &head))
			continue;
		if (head.sh_type == SHT_DYNSYM || head.sh_type == SHT_SYMTAB)
			see_symbols(&o, elf, section, &head);
		else if (head.sh_type == SHT_DYNAMIC)
			see_dynamic(&o, section);
	}
	elf_end(elf);
	close(fd);
	return o;
}

static void set(struct own_malloc *own, enum own_how how, const char *path, const struct object *o)
{
	own->how = how;
	own->allocator = o->allocator;
	snprintf(own->path, sizeof(own->path), "%s", path);
}

/* ---- the libraries of a program ---- */

/* The dynamic linker's list of them, to be read; NULL. */
static FILE *ask_linker(const char *linker, const char *program, pid_t *pid)
{
	char *argv[] = { (char *)linker, (char *)"--list", (char *)program, NULL };
	posix_spawn_file_actions_t actions;
	int fd[2], ret;

	if (pipe2(fd, O_CLOEXEC))
		return NULL;
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, fd[1], STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	ret = posix_spawn(pid, linker, &actions, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&actions);
	close(fd[1]);
	if (!ret)
		return fdopen(fd[0], "r");
	close(fd[0]);
	return NULL;
}

/* "libc.so.6 => /lib/libc.so.6 (0x...)" or "/lib64/ld.so (0x...)": the path, or NULL. */
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

/* The C library's own calls reach a preloaded malloc, and the linker's are its own affair. */
static bool is_system(const char *path)
{
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;

	return !strncmp(name, "libc.so", 7) || !strncmp(name, "libc-", 5) ||
	       !strncmp(name, "ld-linux", 8) || !strncmp(name, "ld-", 3) ||
	       !strncmp(name, "libmprof", 8);
}

static bool find_in_libraries(const char *program, struct own_malloc *own)
{
	struct elf_facts ours, its;
	char line[PATH_MAX + 256], *path;
	bool found = false;
	pid_t pid;
	FILE *list;

	/* Only the linker that started us is asked, not what any file names as one. */
	if (elf_read("/proc/self/exe", &ours) || elf_read(program, &its) || !its.has_loader ||
	    strcmp(ours.loader, its.loader))
		return false;
	list = ask_linker(its.loader, program, &pid);
	if (!list)
		return false;
	while (fgets(line, sizeof(line), list)) {
		struct object o;

		path = found ? NULL : path_of(line);
		if (!path || is_system(path))
			continue;
		o = look_at(path);
		found = (o.offered && o.symbolic) || (o.defined && !o.offered);
		if (found)
			set(own, o.offered ? OWN_SYMBOLIC : OWN_HIDDEN, path, &o);
	}
	fclose(list);
	waitpid(pid, NULL, 0);
	return found;
}

bool own_malloc_find(const char *program, struct own_malloc *own)
{
	const struct object o = look_at(program);
	char whole[PATH_MAX];

	*own = (struct own_malloc){ .how = OWN_NONE };
	if (!o.defined)
		return find_in_libraries(program, own);
	set(own, o.offered ? OWN_FIRST : OWN_HIDDEN, realpath(program, whole) ? whole : program,
	    &o);
	return true;
}

void own_malloc_first(const char *path, struct own_malloc *own)
{
	const struct object o = look_at(path);
	struct elf_facts elf;
	const bool program = elf_read(path, &elf) || elf.type != ELF_SHARED || elf.has_loader;

	set(own, program ? OWN_FIRST : OWN_PRELOADED, path, &o);
}

void own_malloc_words(const struct own_malloc *own, char *to, size_t size)
{
	static const char *const rest[] = {
		[OWN_NONE] = "",
		[OWN_FIRST] = ", which comes before libmprof.so's: calls that it serves are not"
			      " recorded; to record them, build it without, or with the allocator"
			      " as a shared library",
		[OWN_PRELOADED] = ", which is preloaded before libmprof.so's: calls that it serves"
				  " are not recorded; to record them, name libmprof.so first",
		[OWN_SYMBOLIC] = " and binds its own calls to that (-Bsymbolic): they are not"
				 " recorded; to record them, link it without -Bsymbolic",
		[OWN_HIDDEN] = " for itself alone: its own calls are not recorded; to record them,"
			       " build it without, or with the allocator as a shared library",
	};

	snprintf(to, size, "'%s' defines malloc itself%s%s%s%s", own->path,
		 own->allocator ? " (" : "", own->allocator ? own->allocator : "",
		 own->allocator ? ", linked in)" : "", rest[own->how]);
}
