/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * elf.c - facts about an ELF file.
 *
 * elf_read() reads only the file header and the program headers, and checks all offsets against
 * what pread returns: it must work for files that libelf refuses.
 */
#include "elf.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#else
#define MACHINE EM_NONE
#endif

#define PHDR_MAX 256

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
		facts->narrow = head.e_ident[EI_CLASS] == ELFCLASS32;
		facts->ours = head.e_ident[EI_CLASS] == ELFCLASS64 && head.e_machine == MACHINE;
		if (facts->ours && n == sizeof(head))
			read_headers(fd, &head, facts);
	}
	close(fd);
	return 0;
}

Elf *elf_of(const char *path, int *fd)
{
	struct stat st;
	Elf *elf = NULL;

	*fd = -1;
	/* A trace may name any path, and opening a device can have effects. */
	if (stat(path, &st) || !S_ISREG(st.st_mode))
		return NULL;
	*fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	elf_version(EV_CURRENT);
	if (*fd >= 0 && !fstat(*fd, &st) && S_ISREG(st.st_mode))
		elf = elf_begin(*fd, ELF_C_READ_MMAP, NULL);
	if (!elf && *fd >= 0)
		close(*fd);
	return elf;
}

/* Reads the bytes of a symbol from its section. */
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

/* Returns the contents of the next section of this type after *section (NULL = the first); or
 * NULL. */
static Elf_Data *next_data(Elf *elf, GElf_Word type, Elf_Scn **section, GElf_Shdr *head)
{
	Elf_Data *data = NULL;

	while (!data && (*section = elf_nextscn(elf, *section)))
		if (gelf_getshdr(*section, head) && head->sh_type == type)
			data = elf_getdata(*section, NULL);
	return data;
}

/* Finds a symbol that the object defines and exports. */
static bool find_symbol(Elf *elf, const char *symbol, GElf_Sym *s)
{
	Elf_Scn *section = NULL;
	Elf_Data *data;
	GElf_Shdr head;

	while ((data = next_data(elf, SHT_DYNSYM, &section, &head)))
		for (int i = 0; gelf_getsym(data, i, s); i++) {
			const char *name = elf_strptr(elf, head.sh_link, s->st_name);

			if (name && s->st_shndx != SHN_UNDEF && !strcmp(name, symbol))
				return true;
		}
	return false;
}

int elf_string(const char *path, const char *symbol, char *text, size_t size)
{
	int fd, code = -ENOENT;
	Elf *elf = elf_of(path, &fd);
	GElf_Sym s;

	if (elf) {
		if (find_symbol(elf, symbol, &s))
			code = read_symbol(elf, &s, text, size);
		elf_end(elf);
		close(fd);
	}
	return code;
}

/* Shared objects are linked at address 0, but for the few that are prelinked. */
static uint64_t first_address(Elf *elf)
{
	GElf_Phdr p;
	size_t n = 0;

	elf_getphdrnum(elf, &n);
	for (size_t i = 0; i < n; i++)
		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD)
			return p.p_vaddr - p.p_offset;
	return 0;
}

uint64_t elf_symbol(const char *path, const char *symbol)
{
	uint64_t at = 0;
	int fd;
	Elf *elf = elf_of(path, &fd);
	GElf_Sym s;

	if (elf) {
		if (find_symbol(elf, symbol, &s))
			at = s.st_value - first_address(elf);
		elf_end(elf);
		close(fd);
	}
	return at;
}

/* Has the dynamic section an entry of this tag, the name of which has this beginning? */
static bool any_begins(Elf *elf, int64_t tag, const char *begin)
{
	Elf_Scn *section = NULL;
	const char *name;
	Elf_Data *data;
	GElf_Shdr head;
	GElf_Dyn d;

	while ((data = next_data(elf, SHT_DYNAMIC, &section, &head)))
		for (int i = 0; gelf_getdyn(data, i, &d) && d.d_tag != DT_NULL; i++) {
			name = d.d_tag == tag ? elf_strptr(elf, head.sh_link, d.d_un.d_val) : NULL;
			if (name && !strncmp(name, begin, strlen(begin)))
				return true;
		}
	return false;
}

static bool has_name(const char *path, int64_t tag, const char *begin)
{
	bool found = false;
	int fd;
	Elf *elf = elf_of(path, &fd);

	if (elf) {
		found = any_begins(elf, tag, begin);
		elf_end(elf);
		close(fd);
	}
	return found;
}

bool elf_needs(const char *path, const char *begin)
{
	return has_name(path, DT_NEEDED, begin);
}

bool elf_is_named(const char *path, const char *begin)
{
	return has_name(path, DT_SONAME, begin);
}

/* Does the file define a version with this hash?  *any: it defines some. */
static bool defines_version(Elf *elf, uint32_t hash, bool *any)
{
	Elf_Scn *section = NULL;
	Elf_Data *data;
	GElf_Shdr head;
	GElf_Verdef v;

	while ((data = next_data(elf, SHT_GNU_verdef, &section, &head)))
		for (int at = 0; gelf_getverdef(data, at, &v); at += (int)v.vd_next) {
			*any = true;
			if (v.vd_hash == hash)
				return true;
			if (!v.vd_next)
				break;
		}
	return false;
}

/* Does the loader define versions, but not all of these? */
static bool lacks_any(Elf *loader, Elf_Data *data, int at, unsigned count)
{
	bool any = false;
	GElf_Vernaux v;

	for (; count-- && gelf_getvernaux(data, at, &v); at += (int)v.vna_next)
		if (!defines_version(loader, v.vna_hash, &any) && any)
			return true;
	return false;
}

static bool lacks_versions(Elf *loader, const char *begin, Elf *library)
{
	Elf_Scn *section = NULL;
	GElf_Verneed of;
	const char *name;
	Elf_Data *data;
	GElf_Shdr head;

	while ((data = next_data(library, SHT_GNU_verneed, &section, &head)))
		for (int at = 0; gelf_getverneed(data, at, &of); at += (int)of.vn_next) {
			name = elf_strptr(library, head.sh_link, of.vn_file);
			if (name && !strncmp(name, begin, strlen(begin)) &&
			    lacks_any(loader, data, at + (int)of.vn_aux, of.vn_cnt))
				return true;
			if (!of.vn_next)
				break;
		}
	return false;
}

bool elf_lacks_versions(const char *loader, const char *begin, const char *library)
{
	int loader_fd, library_fd;
	Elf *l = elf_of(loader, &loader_fd), *own = l ? elf_of(library, &library_fd) : NULL;
	const bool lacks = own && lacks_versions(l, begin, own);

	if (own) {
		elf_end(own);
		close(library_fd);
	}
	if (l) {
		elf_end(l);
		close(loader_fd);
	}
	return lacks;
}

static bool find_section(Elf *elf, const char *name)
{
	Elf_Scn *section = NULL;
	const char *its;
	GElf_Shdr head;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return false;
	while ((section = elf_nextscn(elf, section))) {
		its = gelf_getshdr(section, &head) ? elf_strptr(elf, names, head.sh_name) : NULL;
		if (its && !strcmp(its, name))
			return true;
	}
	return false;
}

bool elf_has_section(const char *path, const char *name)
{
	bool found = false;
	int fd;
	Elf *elf = elf_of(path, &fd);

	if (elf) {
		found = find_section(elf, name);
		elf_end(elf);
		close(fd);
	}
	return found;
}
