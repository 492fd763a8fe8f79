// SPDX-License-Identifier: LGPL-3.0-or-later
/* foreign.c - see foreign.h. */
#include "foreign.h"

#include <alloca.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <mprof/format.h>
#include <mprof/preload.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core.h"
#include "sys.h"
#include "text.h"

#if defined(__x86_64__)
#define MACHINE EM_X86_64
#elif defined(__aarch64__)
#define MACHINE EM_AARCH64
#endif

#define SCRIPTS_MAX  5u	   /* as many #! lines in a row as the kernel follows */
#define HEADERS_MAX  256u  /* program headers that are read */
#define ENTRIES_MAX  512u  /* of the dynamic section */
#define VERSIONS_MAX 64u   /* that a loader defines */
#define LOADER_MAX   1024u /* bytes of a loader's path */

/* The library's own headers.  The loader of glibc leaves most values of the dynamic section as they
 * are in the file, and makes addresses of some. */
extern const char own_start[] __asm__("__ehdr_start") MP_HIDDEN;
extern const Elf64_Dyn own_dynamic[] __asm__("_DYNAMIC") MP_HIDDEN
    __attribute__((weak)); /* a static program has none: archive.c refuses it by name */

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

/* ---- a loader of glibc that is older than the one that the library was built with ---- */

static const char *foreign_own(int64_t tag)
{
	for (const Elf64_Dyn *d = own_dynamic; d && d->d_tag != DT_NULL; d++)
		if (d->d_tag == tag)
			return (d->d_un.d_ptr < (uintptr_t)own_start ? own_start : NULL) +
			       d->d_un.d_ptr;
	return NULL;
}

/* Does the loader define a version with this hash? */
static int foreign_defines(int fd, uint64_t at, uint32_t hash)
{
	Elf64_Verdef v;

	for (unsigned n = 0; n < VERSIONS_MAX && foreign_reads(fd, &v, sizeof(v), at); n++) {
		if (v.vd_hash == hash)
			return 1;
		if (!v.vd_next)
			break;
		at += v.vd_next;
	}
	return 0;
}

/* Does a loader that defines versions lack one that the library needs of its loader?  That of glibc
 * would end the program. */
static int foreign_is_older(int fd, const Elf64_Ehdr *head)
{
	const char *at = foreign_own(DT_VERNEED), *strings = foreign_own(DT_STRTAB);
	Elf64_Phdr dynamic;
	uint64_t defined;

	if (!at || !strings || !foreign_header(fd, head, PT_DYNAMIC, 0, &dynamic))
		return 0;
	defined = foreign_offset(fd, head, foreign_entry(fd, &dynamic, DT_VERDEF, 0));
	while (defined) {
		const Elf64_Verneed *of = (const void *)at;
		const char *version = at + of->vn_aux;

		for (unsigned n = 0; n < of->vn_cnt; n++) {
			const Elf64_Vernaux *v = (const void *)version;

			if (!strncmp(strings + of->vn_file, MPROF_LOADER, strlen(MPROF_LOADER)) &&
			    !foreign_defines(fd, defined, v->vna_hash))
				return 1;
			version += v->vna_next;
		}
		if (!of->vn_next)
			break;
		at += of->vn_next;
	}
	return 0;
}

/* The same of the loader that this program header names. */
static int foreign_has_older(int fd, const Elf64_Phdr *interp)
{
	char path[LOADER_MAX];
	Elf64_Ehdr head;
	int loader, is;
	long n = sys_pread(fd, path, sizeof(path) - 1, interp->p_offset);

	path[n > 0 ? n : 0] = 0;
	loader = sys_open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0);
	if (loader < 0)
		return 0;
	is = foreign_reads(loader, &head, sizeof(head), 0) &&
	     !memcmp(head.e_ident, ELFMAG, SELFMAG) && foreign_is_older(loader, &head);
	sys_close(loader);
	return is;
}

static int foreign_is_image(const char *path, int fd, const Elf64_Ehdr *head)
{
	Elf64_Phdr ph;

	if (head->e_ident[EI_CLASS] != ELFCLASS64 || head->e_machine != MACHINE)
		return MPROF_EXEC_MACHINE;
	if (!foreign_header(fd, head, PT_INTERP, 0, &ph)) /* static: nothing is preloaded */
		return foreign_is_musl_itself(path, head) ? MPROF_EXEC_MUSL
		       : foreign_is_older(fd, head)	  ? MPROF_EXEC_OLDER
							  : 0;
	return foreign_is_musl(fd, &ph)		   ? MPROF_EXEC_MUSL
	       : foreign_needs_sanitizer(fd, head) ? MPROF_EXEC_SANITIZED
	       : foreign_has_older(fd, &ph)	   ? MPROF_EXEC_OLDER
						   : 0;
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
	const int is = search && !strchr(path, '/')
			   ? foreign_search(path, text_getenv("PATH") ?: "/bin:/usr/bin")
			   : foreign_look(path);

	return is > 0 ? is : 0;
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
