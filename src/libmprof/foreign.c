// SPDX-License-Identifier: LGPL-3.0-or-later
/* foreign.c - see foreign.h. */
#include "foreign.h"

#include <alloca.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mprof/preload.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys.h"
#include "text.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

#define SCRIPTS_MAX 5u	 /* as many #! lines in a row as the kernel follows */
#define HEADERS_MAX 256u /* program headers that are read */
#define ENTRIES_MAX 512u /* of the dynamic section */

/* ---- an ELF file ---- */

static int foreign_reads(int fd, void *to, size_t bytes, uint64_t at)
{
	return sys_pread(fd, to, bytes, at) == (long)bytes;
}

/* Finds the n-th program header of a type. */
static int foreign_header(int fd, const Elf64_Ehdr *head, uint32_t type, unsigned n, Elf64_Phdr *to)
{
	for (unsigned i = 0; i < head->e_phnum && i < HEADERS_MAX; i++) {
		if (!foreign_reads(fd, to, sizeof(*to), head->e_phoff + i * sizeof(*to)))
			return 0;
		if (to->p_type == type && !n--)
			return 1;
	}
	return 0;
}

/* Returns where the bytes of this address are in the file, or 0. */
static uint64_t foreign_offset(int fd, const Elf64_Ehdr *head, uint64_t addr)
{
	Elf64_Phdr ph;

	for (unsigned n = 0; foreign_header(fd, head, PT_LOAD, n, &ph); n++)
		if (addr - ph.p_vaddr < ph.p_filesz)
			return ph.p_offset + (addr - ph.p_vaddr);
	return 0;
}

static int foreign_is_sanitizer(const char *name)
{
	static const char *const runtimes[] = { MPROF_SANITIZERS };

	for (size_t i = 0; i < sizeof(runtimes) / sizeof(runtimes[0]); i++)
		if (!strncmp(name, runtimes[i], strlen(runtimes[i])))
			return 1;
	return 0;
}

/* Returns the value of the n-th entry of the dynamic section with this tag, or 0. */
static uint64_t foreign_entry(int fd, const Elf64_Phdr *dynamic, int64_t tag, unsigned n)
{
	Elf64_Dyn d[16];
	const uint64_t most = dynamic->p_filesz / sizeof(*d);

	for (uint64_t i = 0; i < most && i < ENTRIES_MAX; i++) {
		if (i % 16 == 0 &&
		    sys_pread(fd, d, sizeof(d), dynamic->p_offset + i * sizeof(*d)) <= 0)
			return 0;
		if (d[i % 16].d_tag == DT_NULL)
			return 0;
		if (d[i % 16].d_tag == tag && !n--)
			return d[i % 16].d_un.d_val;
	}
	return 0;
}

static int foreign_needs_sanitizer(int fd, const Elf64_Ehdr *head)
{
	uint64_t strings, at;
	Elf64_Phdr dynamic;
	char name[32] = "";

	if (!foreign_header(fd, head, PT_DYNAMIC, 0, &dynamic))
		return 0;
	strings = foreign_offset(fd, head, foreign_entry(fd, &dynamic, DT_STRTAB, 0));
	for (unsigned n = 0; strings && (at = foreign_entry(fd, &dynamic, DT_NEEDED, n)); n++)
		if (sys_pread(fd, name, sizeof(name) - 1, strings + at) > 0 &&
		    foreign_is_sanitizer(name))
			return 1;
	return 0;
}

/* A loader may be run with a program as its argument.  Static programs, too, have no loader. */
static int foreign_is_musl_itself(const char *path, const Elf64_Ehdr *head)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	return head->e_type == ET_DYN &&
	       (strstr(name, MPROF_MUSL) || (!strcmp(name, "libc.so") && strstr(path, MPROF_MUSL)));
}

/* Is the loader that this program header names that of musl?  Its path may be long. */
static int foreign_is_musl(int fd, const Elf64_Phdr *interp)
{
	const uint64_t most = interp->p_filesz < PATH_MAX ? interp->p_filesz : PATH_MAX;
	char part[64];
	long n;

	/* Parts overlap by the name that is looked for. */
	for (uint64_t at = 0; at < most; at += sizeof(part) - sizeof(MPROF_MUSL)) {
		n = sys_pread(fd, part, most - at < sizeof(part) - 1 ? most - at : sizeof(part) - 1,
			      interp->p_offset + at);
		if (n <= 0)
			return 0;
		part[n] = 0;
		if (strstr(part, MPROF_MUSL))
			return 1;
	}
	return 0;
}

static int foreign_is_image(const char *path, int fd, const Elf64_Ehdr *head)
{
	Elf64_Phdr ph;

	if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_machine != MACHINE)
		return 1;
	if (!foreign_header(fd, head, PT_INTERP, 0, &ph)) /* static: nothing is preloaded */
		return foreign_is_musl_itself(path, head);
	return foreign_is_musl(fd, &ph) || foreign_needs_sanitizer(fd, head);
}

/* ---- a file that exec finds ---- */

/* Puts the interpreter that a line #! names into its beginning; 0 if there is none. */
static int foreign_interpreter(char *line)
{
	char *from = line + 2;
	size_t n = 0;

	while (*from == ' ' || *from == '\t')
		from++;
	while (from[n] && from[n] != ' ' && from[n] != '\t' && from[n] != '\n')
		n++;
	memmove(line, from, n);
	line[n] = 0;
	return n > 0;
}

/* Looks at a file that exec can run.  -1 if there is none. */
static int foreign_look(const char *path)
{
	union {
		Elf64_Ehdr elf;
		char text[256];
	} head;
	struct stat st;
	int is = 0, fd, found = -1;
	long n;

	for (unsigned i = 0; i <= SCRIPTS_MAX; i++) {
		fd = sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
		if (fd < 0)
			return found;
		if (sys_fstat(fd, &st) || !S_ISREG(st.st_mode) || !(st.st_mode & 0111)) {
			sys_close(fd);
			return found;
		}
		found = 0;
		n = sys_pread(fd, &head, sizeof(head) - 1, 0);
		if (n >= (long)sizeof(head.elf) && !memcmp(&head, ELFMAG, SELFMAG))
			is = foreign_is_image(path, fd, &head.elf);
		sys_close(fd);
		if (n < 3 || head.text[0] != '#' || head.text[1] != '!')
			break;
		head.text[n] = 0;
		if (!foreign_interpreter(head.text))
			break;
		path = head.text;
	}
	return is;
}

/* As execvp searches: a file that it may not run does not end the search. */
static int foreign_search(const char *file, const char *dirs)
{
	const size_t length = strlen(file);
	char *path = alloca(strlen(dirs) + length + 2);
	const char *end;
	int found = -1;

	for (; dirs && found < 0; dirs = *end ? end + 1 : NULL) {
		end = strchr(dirs, ':') ?: dirs + strlen(dirs);
		struct text t = text_on(path, (size_t)(end - dirs) + length + 2);

		for (const char *s = dirs; s < end; s++)
			text_char(&t, *s);
		if (t.used)
			text_char(&t, '/');
		text_string(&t, file);
		found = foreign_look(path);
	}
	return found;
}

int mp_is_foreign(const char *path, int search)
{
	if (search && !strchr(path, '/'))
		return foreign_search(path, text_getenv("PATH") ?: "/bin:/usr/bin") > 0;
	return foreign_look(path) > 0;
}

/* ---- the environment ---- */

/* Returns what the user preloads: what follows the last object of ours.  mprof names these first;
 * NULL if the variable is not LD_PRELOAD, or names none. */
static const char *foreign_rest(const char *variable)
{
	static const char key[] = "LD_PRELOAD=", name[] = "libmprof";
	const char *rest = NULL;

	if (strncmp(variable, key, sizeof(key) - 1))
		return NULL;
	for (const char *s = variable + sizeof(key) - 1; *s; s++)
		if (!strncmp(s, name, sizeof(name) - 1)) {
			while (*s && *s != ':' && *s != ' ')
				s++;
			rest = *s ? s + 1 : s;
			if (!*s)
				break;
		}
	return rest;
}

int mp_preloads_us(char *const envp[])
{
	for (; envp && *envp; envp++)
		if (foreign_rest(*envp))
			return 1;
	return 0;
}

/* Does it name an object of ours that cannot be read?  access() asks without the capabilities that
 * a process which gave up root may still have: the program will not have them. */
static int foreign_lacks(const char *variable)
{
	const char *name = strstr(variable, "/libmprof"), *from = name, *end = name;
	long error;

	if (!foreign_rest(variable) || !name)
		return 0;
	while (from[-1] != '=' && from[-1] != ':' && from[-1] != ' ')
		from--;
	while (*end && *end != ':' && *end != ' ')
		end++;
	struct text t = text_on(alloca((size_t)(end - from) + 1), (size_t)(end - from) + 1);

	for (name = from; name < end; name++)
		if (*name != '$') /* the loader's $LIB, $ORIGIN and $PLATFORM */
			text_char(&t, *name);
		else
			return 0;
	error = sys_access(t.at, R_OK);
	return error == -ENOENT || error == -ENOTDIR || error == -EACCES;
}

int mp_lacks_us(char *const envp[])
{
	for (; envp && *envp; envp++)
		if (foreign_lacks(*envp))
			return 1;
	return 0;
}

size_t mp_without_us_bytes(char *const envp[])
{
	size_t bytes = sizeof(char *);

	for (; *envp; envp++)
		bytes += sizeof(char *) + (foreign_rest(*envp) ? strlen(*envp) + 1 : 0);
	return bytes;
}

char *const *mp_without_us(char *const envp[], void *room)
{
	char **to = room, *text;
	size_t n = 0;

	while (envp[n])
		n++;
	text = (char *)(to + n + 1);
	for (; *envp; envp++) {
		const char *rest = foreign_rest(*envp);

		if (!rest) {
			*to++ = *envp;
		} else if (*rest) {
			struct text t = text_on(text, strlen(*envp) + 1);

			text_string(&t, "LD_PRELOAD=");
			text_string(&t, rest);
			*to++ = text;
			text += t.used + 1;
		}
	}
	*to = NULL;
	return room;
}
