/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * program.c - looks a program up and checks whether it can be preloaded.
 */
#include "program.h"

#include <errno.h>
#include <mprof/format.h>
#include <mprof/preload.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "../util/alloc.h"
#include "../util/file_head.h"
#include "../util/path_search.h"
#include "elf.h"
#include "library.h"
#include "own_malloc.h"

#define SCRIPTS_MAX 5 /* as many #! lines in a row as the kernel follows */

/* Would the kernel switch privileges, so that the linker ignores LD_PRELOAD?  *remedy: what avoids
 * it; cp copies none of them, but must be able to read the file. */
static const char *privileges(const char *path, const char **remedy)
{
	const bool readable = !access(path, R_OK);
	struct stat st;

	*remedy = readable ? "; to record it, record a copy of it" : "";
	if (stat(path, &st))
		return NULL;
	if (st.st_mode & S_ISUID && st.st_uid != getuid()) {
		*remedy = readable
			      ? "; to record it, run mprof as its owner, or record a copy of it"
			      : "; to record it, run mprof as its owner";
		return "it is setuid";
	}
	if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid())
		return "it is setgid";
	if (getuid() && getxattr(path, "security.capability", NULL, 0) > 0) {
		*remedy = readable ? "; to record it, run mprof as root, or record a copy of it"
				   : "; to record it, run mprof as root";
		return "it has file capabilities";
	}
	return NULL;
}

/* The run-time of a sanitizer refuses to load second, or crashes. */
static bool is_sanitized(const char *path)
{
	static const char *const runtimes[] = { MPROF_SANITIZERS };
	size_t i;

	for (i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		if (elf_needs(path, runtimes[i]))
			return true;
	return false;
}

/* Returns the sanitizer among the objects that the user preloads, which must come first, too. */
static char *sanitizer_preloaded(void)
{
	static const char *const runtimes[] = { MPROF_SANITIZERS };
	const char *list = getenv("LD_PRELOAD");
	char *name;
	size_t n;

	for (; list && *list; list += n + !!list[n]) {
		n = strcspn(list, ": ");
		name = must_printf("%.*s", (int)n, list);
		for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
			if (!strncmp(basename(name), runtimes[i], strlen(runtimes[i])))
				return name;
		if (strchr(name, '/') && is_sanitized(name))
			return name;
		free(name);
	}
	return NULL;
}

static const char sanitized[] =
    "it is built with a sanitizer, whose own allocator must come first; "
    "to record it, build it without";

static const char musl[] =
    "its C library is musl, but libmprof.so is built for glibc; to record it, "
    "build it for glibc";

static void say_cannot(const char *image, const char *reason, char *why, size_t size)
{
	snprintf(why, size, "'%.200s' cannot be recorded: %s", image, reason);
}

static void cannot(struct program *p, const char *reason)
{
	say_cannot(p->image, reason, p->why_not, sizeof(p->why_not));
}

/* Is a file without a loader the one of musl, which may have a program as its argument? */
static bool is_musl(const char *path)
{
	const char *name = basename(path);

	return strstr(name, MPROF_MUSL) || (!strcmp(name, "libc.so") && strstr(path, MPROF_MUSL));
}

/* Does a loader lack a version that libmprof.so needs of it?  It would end the program. */
static bool is_older(const char *loader)
{
	char *library = library_find(NULL);
	const bool is = library && elf_lacks_versions(loader, MPROF_LOADER, library);

	free(library);
	return is;
}

/* Without libmprof.so the program runs as it would without mprof. */
static void judge_preloaded(struct program *p)
{
	char *name = sanitizer_preloaded(), *why;

	if (!name)
		return;
	why = must_printf("LD_PRELOAD names %.200s, a sanitizer, whose own allocator must come "
			  "first; to record it, leave that out of LD_PRELOAD",
			  name);
	cannot(p, why);
	p->alone = true;
	free(why);
	free(name);
}

static const char *remedy_of_static(const char *image)
{
	if (elf_has_section(image, ".go.buildinfo"))
		return "runtime/pprof shows the memory of Go, which does not come from malloc";
	if (elf_has_section(image, ".fpcdata"))
		return "to record it, name cmem first in its uses clause: then Free Pascal links "
		       "it dynamically, and allocates by malloc";
	return "to record it, link it dynamically";
}

static void judge(struct program *p)
{
	const char *remedy, *why = privileges(p->image, &remedy);
	struct elf_facts elf;
	char say[256] = "";

	if (elf_read(p->image, &elf) && !why)
		return; /* executable but unreadable: try it; MPROF_NOTES will say */
	if (why)
		snprintf(say, sizeof(say),
			 "%s, and the dynamic linker ignores LD_PRELOAD for such a program%s", why,
			 remedy);
	else if (elf.type == ELF_NONE)
		return; /* execvp passes it to /bin/sh */
	else if ((p->alone = !elf.ours))
		snprintf(say, sizeof(say), "%s",
			 elf.narrow ? "it is a 32-bit program, and libmprof.so is built for 64 "
				      "bits; to record it, build it for 64 bits"
				    : "it is built for a different machine than libmprof.so");
	else if ((p->alone = elf.has_loader ? strstr(elf.loader, MPROF_MUSL) != NULL
					    : elf.type == ELF_SHARED && is_musl(p->image)))
		snprintf(say, sizeof(say), "%s", musl);
	else if ((p->alone = is_older(elf.has_loader ? elf.loader : p->image)))
		snprintf(say, sizeof(say), "%s", PROGRAM_OLDER);
	else if (!elf.has_loader && elf_is_named(p->image, MPROF_LOADER))
		return; /* the loader of glibc, with a program as its argument */
	else if (!elf.has_loader)
		snprintf(say, sizeof(say),
			 "it is statically linked, so nothing can be preloaded; %s",
			 remedy_of_static(p->image));
	else if ((p->alone = is_sanitized(p->image)))
		snprintf(say, sizeof(say), "%s", sanitized);
	if (*say)
		cannot(p, say);
}

/* If image is a script, replaces it by its interpreter and returns true. */
static bool follow_script(struct program *p)
{
	char line[PATH_MAX], *at, *end;
	const ssize_t n = file_head(p->image, line, sizeof(line) - 1);

	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = '\0';
	at = line + 2 + strspn(line + 2, " \t");
	end = at + strcspn(at, " \t\n");
	*end = '\0';
	snprintf(p->image, sizeof(p->image), "%s", at);
	return true;
}

/* Tells what the user may have meant. */
static int not_found(const char *name, struct error *err)
{
	if (strchr(name, ' '))
		return fail(err, -ENOENT,
			    "'%s' was not found in PATH; write a program and its arguments without "
			    "quotes around them, or a line of shell as in: mprof -t \"ls | wc\"",
			    name);
	if (strchr(name, '='))
		return fail(err, -ENOENT,
			    "'%s' was not found in PATH; to set a variable, write: env %s", name,
			    name);
	if (path_is_runnable(name))
		return fail(err, -ENOENT, "'%s' was not found in PATH; did you mean './%s'?", name,
			    name);
	return fail(err, -ENOENT, "'%s' was not found in PATH", name);
}

static int locate(const char *name, struct program *p, struct error *err)
{
	struct stat st;
	int code;

	if (!strchr(name, '/')) {
		code = *name ? path_search(name, p->path, sizeof(p->path)) : -ENOENT;
		if (code == -EACCES)
			return fail(err, code, "'%s' is in PATH, but not executable", name);
		return code ? not_found(name, err) : 0;
	}
	snprintf(p->path, sizeof(p->path), "%s", name);
	if (stat(name, &st))
		return fail(err, errno == EACCES ? -EACCES : -ENOENT, "cannot run '%s': %s", name,
			    strerror(errno));
	if (S_ISDIR(st.st_mode))
		return fail(err, -EACCES, "cannot run '%s': it is a directory", name);
	return path_is_runnable(name) ? 0
				      : fail(err, -EACCES, "cannot run '%s': not executable", name);
}

/* Without its dynamic linker, exec reports "no such file" for an existing file. */
static int has_its_loader(const struct program *p, struct error *err)
{
	struct elf_facts elf;

	if (elf_read(p->image, &elf) || !elf.has_loader || !access(elf.loader, X_OK))
		return 0;
	return fail(err, -ENOENT, "cannot run '%s': its dynamic linker '%s' is missing", p->image,
		    elf.loader);
}

/* Valgrind calls functions of its own instead of malloc, whatever is preloaded. */
static bool is_valgrind(const char *path)
{
	const char *name = basename(path);

	return !strcmp(name, "valgrind") || !strncmp(name, "valgrind.", 9);
}

/* QEMU's user emulation of another machine, qemu-MACHINE or qemu-MACHINE-static, passes its
 * environment on.  On this machine, what it runs can preload the library, too. */
static bool is_emulator(const char *path)
{
#ifdef __x86_64__
	static const char own[] = "x86_64";
#else
	static const char own[] = "aarch64";
#endif
	static const char *const machines[] = { "aarch64", "alpha", "arm",    "hexagon", "hppa",
						"i386",	   "loong", "m68k",   "micro",	 "mips",
						"nios2",   "or1k",  "ppc",    "riscv",	 "s390x",
						"sh4",	   "sparc", "x86_64", "xtensa" };
	const char *name = basename(path);
	size_t i;

	if (strncmp(name, "qemu-", 5))
		return false;
	name += 5;
	if (!strncmp(name, own, strlen(own)) && name[strlen(own)] != '_')
		return false;
	for (i = 0; i < sizeof(machines) / sizeof(machines[0]); i++)
		if (!strncmp(name, machines[i], strlen(machines[i])))
			return true;
	return false;
}

bool program_emulates(const char *path, char *words, size_t size)
{
	if (!is_emulator(path))
		return false;
	snprintf(words, size,
		 "'%.200s' " PROGRAM_EMULATES ": its own calls are recorded, those of the program "
		 "that it runs are not",
		 path);
	return true;
}

/* Finds an allocator of the program's own that a preloaded one does not replace; clang links
 * sanitizers like that. */
static void find_past(struct program *p)
{
	struct own_malloc own;

	if (is_valgrind(p->path)) {
		snprintf(p->past, sizeof(p->past),
			 "most tools of '%.200s' take the calls of malloc from the program that "
			 "they examine: these are not recorded; to record them, run it without",
			 p->path);
		return;
	}
	if (program_emulates(p->path, p->past, sizeof(p->past)))
		return;
	if (!own_malloc_find(p->image, &own))
		return;
	if ((p->alone = own_malloc_is_sanitizer(&own))) {
		cannot(p, sanitized);
		return;
	}
	own_malloc_words(&own, p->past, sizeof(p->past));
	p->past_all = own.how == OWN_FIRST;
	p->past_called = own.wraps;
}

int program_find(const char *name, struct program *p, struct error *err)
{
	int code = locate(name, p, err), i;

	p->why_not[0] = p->past[0] = '\0';
	p->past_all = false;
	p->past_called = NULL;
	p->alone = p->emulates = false;
	if (code)
		return code;
	snprintf(p->image, sizeof(p->image), "%s", p->path);
	for (i = 0; i < SCRIPTS_MAX && follow_script(p); i++)
		;
	if (i && access(p->image, X_OK))
		return fail(err, -ENOENT, "cannot run '%s': its interpreter '%s' is missing",
			    p->path, p->image);
	p->emulates = is_emulator(p->path);
	judge(p);
	if (!*p->why_not)
		judge_preloaded(p);
	if (!*p->why_not)
		find_past(p);
	return has_its_loader(p, err);
}

void program_why_missing(const char *path, uint32_t how, char *why, size_t size)
{
	const char *reason = how == MPROF_EXEC_MUSL	   ? musl
			     : how == MPROF_EXEC_SANITIZED ? sanitized
			     : how == MPROF_EXEC_OLDER	   ? PROGRAM_OLDER
							   : NULL;
	struct program program;

	*why = '\0';
	if (reason)
		say_cannot(path, reason, why, size);
	else if (!program_find(path, &program, NULL))
		snprintf(why, size, "%s", program.why_not);
}
