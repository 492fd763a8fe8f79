/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * elf.c - looks a program up and tells whether it can be preloaded.
 *
 * Only the file header and the program headers are read; all offsets are
 * checked against what pread gives back.
 */
#include "elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "needed.h"
#include "own_malloc.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

#define PHDR_MAX    256
#define SCRIPTS_MAX 5 /* as many #! lines in a row as the kernel follows */

static void read_headers(int fd, const Elf64_Ehdr *head, struct elf_facts *facts)
{
	Elf64_Phdr ph[PHDR_MAX];
	size_t i, n = head->e_phnum < PHDR_MAX ? head->e_phnum : PHDR_MAX, size;
	ssize_t got = pread(fd, ph, n * sizeof(*ph), (off_t)head->e_phoff);

	if (head->e_phentsize != sizeof(*ph) || got < 0)
		return;
	n = (size_t)got / sizeof(*ph);
	for (i = 0; i < n; i++) {
		if (ph[i].p_type == PT_TLS)
			facts->tls = ph[i].p_memsz;
		if (ph[i].p_type == PT_LOAD && ph[i].p_memsz > ph[i].p_filesz)
			facts->bss += ph[i].p_memsz - ph[i].p_filesz;
		if (ph[i].p_type != PT_INTERP)
			continue;
		size = ph[i].p_filesz < sizeof(facts->loader) ? ph[i].p_filesz
							      : sizeof(facts->loader) - 1;
		got = pread(fd, facts->loader, size, (off_t)ph[i].p_offset);
		facts->loader[got > 0 ? got : 0] = '\0';
		facts->has_loader = got > 0;
	}
}

int elf_read(const char *path, struct elf_facts *facts)
{
	Elf64_Ehdr head = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	memset(facts, 0, sizeof(*facts));
	if (fd < 0)
		return -errno;
	n = pread(fd, &head, sizeof(head), 0);
	if (n >= EI_NIDENT + 4 && !memcmp(head.e_ident, ELFMAG, SELFMAG)) {
		facts->type = head.e_type == ET_DYN ? ELF_SHARED : ELF_PROGRAM;
		facts->ours = head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_machine == MACHINE;
		if (facts->ours && n == sizeof(head))
			read_headers(fd, &head, facts);
	}
	close(fd);
	return 0;
}

/* The bytes of a symbol, from the section that it lies in. */
static int read_symbol(Elf *elf, const GElf_Sym *s, char *text, size_t size)
{
	Elf_Scn *section = elf_getscn(elf, s->st_shndx);
	Elf_Data *data = section ? elf_getdata(section, NULL) : NULL;
	GElf_Shdr head;
	uint64_t at, n;

	if (!data || !data->d_buf || !gelf_getshdr(section, &head))
		return -ENOENT;
	at = s->st_value - head.sh_addr;
	if (at >= data->d_size)
		return -ENOENT;
	n = data->d_size - at;
	snprintf(text, size, "%.*s", (int)(n < size ? n : size - 1), (char *)data->d_buf + at);
	return 0;
}

static int find_symbol(Elf *elf, const char *symbol, char *text, size_t size)
{
	Elf_Scn *section = NULL;
	GElf_Shdr head;
	GElf_Sym s;

	while ((section = elf_nextscn(elf, section))) {
		Elf_Data *data = gelf_getshdr(section, &head) && head.sh_type == SHT_DYNSYM
				     ? elf_getdata(section, NULL)
				     : NULL;

		for (int i = 0; data && gelf_getsym(data, i, &s); i++) {
			const char *name = elf_strptr(elf, head.sh_link, s.st_name);

			if (name && s.st_shndx != SHN_UNDEF && !strcmp(name, symbol))
				return read_symbol(elf, &s, text, size);
		}
	}
	return -ENOENT;
}

int elf_string(const char *path, const char *symbol, char *text, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), code = -ENOENT;
	struct stat st;
	Elf *elf;

	if (fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	elf = fstat(fd, &st) || !S_ISREG(st.st_mode) ? NULL : elf_begin(fd, ELF_C_READ, NULL);
	if (elf)
		code = find_symbol(elf, symbol, text, size);
	elf_end(elf);
	close(fd);
	return code;
}

/* Would the kernel switch privileges, so that the linker ignores LD_PRELOAD? */
static const char *privileges(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return NULL;
	if (st.st_mode & S_ISUID && st.st_uid != getuid())
		return "it is setuid";
	if ((st.st_mode & (S_ISGID | S_IXGRP)) == (S_ISGID | S_IXGRP) && st.st_gid != getgid())
		return "it is setgid";
	if (getuid() && getxattr(path, "security.capability", NULL, 0) > 0)
		return "it has file capabilities";
	return NULL;
}

/* The run-time of gcc's sanitizers refuses, or does not survive, to come second. */
static bool is_sanitized(const char *path)
{
	static const char *const runtimes[] = { "libasan.so", "libtsan.so", "liblsan.so",
						"libhwasan.so" };
	size_t i;

	for (i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		if (needed_begins(path, runtimes[i]))
			return true;
	return false;
}

static void judge(struct program *p)
{
	const char *why = privileges(p->image);
	struct elf_facts elf;
	char say[256] = "";

	if (elf_read(p->image, &elf))
		return; /* executable but unreadable: try, MPROF_NOTES will tell */
	if (why)
		snprintf(say, sizeof(say),
			 "%s, and the dynamic linker ignores LD_PRELOAD for such a program", why);
	else if (elf.type == ELF_NONE)
		return; /* execvp gives it to /bin/sh */
	else if (!elf.ours)
		snprintf(say, sizeof(say), "it is built for another machine than libmprof.so");
	else if (!elf.has_loader)
		snprintf(say, sizeof(say), "it is statically linked, so nothing can be preloaded");
	else if (strstr(elf.loader, "musl"))
		snprintf(say, sizeof(say),
			 "its C library is musl, but libmprof.so is built for glibc");
	else if ((p->alone = is_sanitized(p->image)))
		snprintf(say, sizeof(say),
			 "it is built with a sanitizer, whose own allocator must come first");
	if (*say)
		snprintf(p->why_not, sizeof(p->why_not), "'%.200s' cannot be recorded: %s",
			 p->image, say);
}

/* If image is a script: its interpreter becomes the image.  Was it one? */
static bool follow_script(struct program *p)
{
	char line[PATH_MAX], *at, *end;
	int fd = open(p->image, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	ssize_t n;

	if (fd < 0)
		return false;
	n = pread(fd, line, sizeof(line) - 1, 0);
	close(fd);
	if (n < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[n] = '\0';
	at = line + 2 + strspn(line + 2, " \t");
	end = at + strcspn(at, " \t\n");
	*end = '\0';
	snprintf(p->image, sizeof(p->image), "%s", at);
	return true;
}

static bool runnable(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* Searches PATH.  0, -EACCES if one is there that is not executable, -ENOENT. */
static int search(const char *name, char *found, size_t size)
{
	const char *path = getenv("PATH"), *p;
	int code = -ENOENT;
	size_t n;

	for (p = path ? path : "/bin:/usr/bin"; p; p = p[n] ? p + n + 1 : NULL) {
		n = strcspn(p, ":");
		if ((size_t)snprintf(found, size, "%.*s%s%s", (int)n, p, n ? "/" : "", name) >=
		    size)
			continue;
		if (runnable(found))
			return 0;
		if (!access(found, F_OK))
			code = -EACCES;
	}
	return code;
}

static int locate(const char *name, struct program *p, struct error *err)
{
	struct stat st;
	int code;

	if (!strchr(name, '/')) {
		code = *name ? search(name, p->path, sizeof(p->path)) : -ENOENT;
		if (code == -EACCES)
			return fail(err, code, "'%s' is in PATH, but not executable", name);
		return code ? fail(err, code, "there is no program '%s' in PATH", name) : 0;
	}
	snprintf(p->path, sizeof(p->path), "%s", name);
	if (stat(name, &st))
		return fail(err, errno == EACCES ? -EACCES : -ENOENT, "cannot run '%s': %s", name,
			    strerror(errno));
	if (S_ISDIR(st.st_mode))
		return fail(err, -EACCES, "cannot run '%s': it is a directory", name);
	return runnable(name) ? 0 : fail(err, -EACCES, "cannot run '%s': not executable", name);
}

/* Without it exec says "no such file" of a file that is there. */
static int has_its_loader(const struct program *p, struct error *err)
{
	struct elf_facts elf;

	if (elf_read(p->image, &elf) || !elf.has_loader || !access(elf.loader, X_OK))
		return 0;
	return fail(err, -ENOENT, "cannot run '%s': its dynamic linker '%s' is missing", p->image,
		    elf.loader);
}

/* An allocator of its own that a preloaded one does not replace. */
static void find_past(struct program *p)
{
	struct own_malloc own;

	if (!own_malloc_find(p->image, &own))
		return;
	own_malloc_words(&own, p->past, sizeof(p->past));
	p->past_all = own.how == OWN_FIRST;
}

int program_find(const char *name, struct program *p, struct error *err)
{
	int code = locate(name, p, err), i;

	p->why_not[0] = p->past[0] = '\0';
	p->past_all = false;
	p->alone = false;
	if (code)
		return code;
	snprintf(p->image, sizeof(p->image), "%s", p->path);
	for (i = 0; i < SCRIPTS_MAX && follow_script(p); i++)
		;
	if (i && access(p->image, X_OK))
		return fail(err, -ENOENT, "cannot run '%s': its interpreter '%s' is missing",
			    p->path, p->image);
	judge(p);
	if (!*p->why_not)
		find_past(p);
	return has_its_loader(p, err);
}
