/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * files.c - finds the file of an object on this machine, and its debug file.
 *
 * Locations are tried in the order of gdb's manual, the user's directories first. A file that fails
 * its check is skipped: the next location may have the right one.
 */
#include "files.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#define DEBUG_DIR "/usr/lib/debug"

/* Identifies the wanted file. */
struct wanted {
	struct build_id id;
	const struct stack_object *segments; /* for a file without a build-id; else NULL */
	bool has_crc;
	uint32_t crc;
};

static bool same_id(Elf *elf, struct build_id id)
{
	const void *bytes;
	ssize_t n = dwelf_elf_gnu_build_id(elf, &bytes);

	return n > 0 && (size_t)n == id.n && !memcmp(bytes, id.bytes, id.n);
}

static bool has_segment(Elf *elf, size_t headers, const struct stack_segment *s)
{
	GElf_Phdr ph;
	size_t i;

	for (i = 0; i < headers; i++)
		if (gelf_getphdr(elf, (int)i, &ph) && ph.p_type == PT_LOAD &&
		    ph.p_vaddr == s->address && ph.p_memsz == s->bytes)
			return true;
	return false;
}

static bool same_segments(Elf *elf, const struct stack_object *o)
{
	size_t headers, i;

	if (elf_getphdrnum(elf, &headers))
		return false;
	for (i = 0; i < o->segments; i++)
		if (!has_segment(elf, headers, &o->segment[i]))
			return false;
	return true;
}

static bool same_crc(int fd, uint32_t crc)
{
	unsigned char bytes[1 << 16];
	uLong sum = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, bytes, sizeof(bytes), at)) > 0) {
		sum = crc32(sum, bytes, (uInt)n);
		at += n;
	}
	return n == 0 && sum == crc;
}

static enum files_state judge(int fd, const struct wanted *w)
{
	enum files_state state = FILES_REPLACED;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		state = FILES_NOT_ELF;
	else if (w->id.n ? same_id(elf, w->id)
			 : (!w->segments || same_segments(elf, w->segments)) &&
			       (!w->has_crc || same_crc(fd, w->crc)))
		state = FILES_FOUND;
	elf_end(elf);
	return state;
}

static struct file_identity identity_of(const struct stat *st)
{
	return (struct file_identity){ st->st_dev, st->st_ino, (uint64_t)st->st_size,
				       st->st_mtim.tv_sec * INT64_C(1000000000) +
					   st->st_mtim.tv_nsec };
}

bool files_regular(const char *path)
{
	struct stat st;

	return stat(path, &st) ? errno == ENOENT || errno == ENOTDIR : S_ISREG(st.st_mode);
}

struct file_identity files_identity(const struct files *f, const struct stack_object *o)
{
	char path[PATH_MAX];
	struct stat st;
	int n = snprintf(path, sizeof(path), "%s%s%s", f->sysroot,
			 *f->sysroot && *o->path != '/' ? "/" : "", o->path);

	if (n <= 0 || (size_t)n >= sizeof(path) || stat(path, &st) || !S_ISREG(st.st_mode))
		return (struct file_identity){ 0 };
	return identity_of(&st);
}

/*
 * Returns a descriptor; -EINVAL for anything but a regular file, which is not opened because
 * opening alone may have effects; -ENOENT if there is none; another -errno if it cannot be opened.
 */
static int open_regular(const char *path, struct stat *st)
{
	int fd;

	if (stat(path, st))
		return errno == ENOTDIR ? -ENOENT : -errno;
	if (!S_ISREG(st->st_mode))
		return -EINVAL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	if (!fstat(fd, st) && S_ISREG(st->st_mode)) /* it may have been replaced */
		return fd;
	close(fd);
	return -EINVAL;
}

/* Is the file at the formatted path the wanted one?  If not, keeps the first reason in `found`. */
__attribute__((format(printf, 3, 4))) static bool
look(const struct wanted *w, struct file_found *found, const char *format, ...)
{
	char path[PATH_MAX];
	enum files_state state;
	struct stat st;
	va_list args;
	int fd, n;

	va_start(args, format);
	n = vsnprintf(path, sizeof(path), format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(path))
		return false;
	fd = open_regular(path, &st);
	if (fd == -ENOENT)
		return false;
	state = fd >= 0 ? judge(fd, w) : fd == -EINVAL ? FILES_NOT_ELF : FILES_UNREADABLE;
	if (state == FILES_FOUND || found->state == FILES_MISSING) {
		found->state = state;
		found->error = state == FILES_UNREADABLE ? -fd : 0;
		found->identity =
		    state == FILES_UNREADABLE ? (struct file_identity){ 0 } : identity_of(&st);
		memcpy(found->path, path, (size_t)n + 1);
	}
	if (state == FILES_FOUND)
		found->fd = fd;
	else if (fd >= 0)
		close(fd);
	return state == FILES_FOUND;
}

static bool look_by_id(const struct wanted *w, struct file_found *found, const char *root,
		       const char *dir, const char *suffix)
{
	char hex[2 * 64 + 1];
	size_t i;

	if (w->id.n < 2 || w->id.n > 64)
		return false;
	for (i = 0; i < w->id.n; i++)
		snprintf(hex + 2 * i, 3, "%02x", w->id.bytes[i]);
	return look(w, found, "%s%s/.build-id/%.2s/%s%s", root, dir, hex, hex + 2, suffix);
}

static void nothing(struct file_found *found)
{
	found->fd = -1;
	found->path[0] = '\0';
	found->state = FILES_MISSING;
}

/* ---- the object itself ---- */

static bool is_vdso(const char *path)
{
	return !strcmp(path, "[vdso]") || !strncmp(path, "linux-vdso", 10) ||
	       !strncmp(path, "linux-gate", 10);
}

/* The vDSO is in no file: uses the one in our own memory. */
static void look_at_vdso(const struct wanted *w, struct file_found *found)
{
	const char *image = (const char *)getauxval(AT_SYSINFO_EHDR);
	size_t bytes = 2 * (size_t)getpagesize(), i;
	const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;

	if (!image || memcmp(image, ELFMAG, SELFMAG) || image[EI_CLASS] != ELFCLASS64)
		return;
	/* section headers come last */
	i = head->e_shoff + (size_t)head->e_shnum * head->e_shentsize;
	bytes = i > sizeof(*head) && i < 1 << 20 ? i : bytes;
	found->fd = memfd_create("vdso", MFD_CLOEXEC);
	if (found->fd < 0)
		return;
	if (write(found->fd, image, bytes) == (ssize_t)bytes)
		found->state = judge(found->fd, w);
	if (found->state == FILES_FOUND) {
		strcpy(found->path, "[vdso]");
		return;
	}
	close(found->fd);
	found->fd = -1;
}

static void look_in_debug_dirs(const struct files *f, const struct wanted *w,
			       const struct stack_object *o, struct file_found *found)
{
	const char *const *dir = f->debug_dir;

	for (; dir && *dir; dir++)
		if (look_by_id(w, found, "", *dir, "") || look(w, found, "%s/%s", *dir, o->path) ||
		    look(w, found, "%s/%s", *dir, basename(o->path)))
			return;
}

void files_object(const struct files *f, const struct stack_object *o, struct file_found *found)
{
	struct wanted w = { .id = { o->build_id, o->build_id ? o->build_id_bytes : 0 },
			    .segments = o };

	nothing(found);
	if (is_vdso(o->path)) {
		look_at_vdso(&w, found);
		return;
	}
	if (!*o->path && !w.id.n)
		return;
	if (*o->path && look(&w, found, "%s%s%s", f->sysroot,
			     *f->sysroot && *o->path != '/' ? "/" : "", o->path))
		return;
	/* A path from another machine proves nothing unless the id matches. */
	if (*f->sysroot && *o->path && w.id.n && look(&w, found, "%s", o->path))
		return;
	look_in_debug_dirs(f, &w, o, found);
}

/* ---- its debug file ---- */

/* Looks in a directory that mirrors the file system or contains debug files. */
static bool look_below(const struct wanted *w, struct file_found *found, const char *root,
		       const char *dir, const char *object, const char *link)
{
	int folder = (int)(basename(object) - object);

	if (look_by_id(w, found, root, dir, ".debug"))
		return true;
	if (*link && (look(w, found, "%s%s/%.*s%s", root, dir, folder, object, link) ||
		      look(w, found, "%s%s/%s", root, dir, link)))
		return true;
	return look(w, found, "%s%s/%s.debug", root, dir, object) ||
	       look(w, found, "%s%s/%s.debug", root, dir, basename(object));
}

void files_debug(const struct files *f, const char *object, struct build_id id, const char *link,
		 uint32_t crc, struct file_found *found)
{
	struct wanted w = { .id = id, .has_crc = *link != '\0', .crc = crc };
	const char *const *dir = f->debug_dir;
	size_t root = strlen(f->sysroot);
	int folder = (int)(basename(object) - object);
	const char *inside = root && !strncmp(object, f->sysroot, root) ? object + root : object;

	nothing(found);
	if (!id.n && !*link)
		return;
	for (; dir && *dir; dir++)
		if (look_below(&w, found, "", *dir, inside, link))
			return;
	if (*link && (look(&w, found, "%.*s%s", folder, object, link) ||
		      look(&w, found, "%.*s.debug/%s", folder, object, link)))
		return;
	if (root && look_below(&w, found, f->sysroot, DEBUG_DIR, inside, link))
		return;
	look_below(&w, found, "", DEBUG_DIR, inside, link);
}

void files_alt(const struct files *f, const char *debug, struct build_id id, const char *name,
	       struct file_found *found)
{
	struct wanted w = { .id = id };
	const char *const *dir = f->debug_dir;
	int folder = (int)(basename(debug) - debug);

	nothing(found);
	if (!id.n)
		return;
	if (*name == '/') {
		if (look(&w, found, "%s%s", f->sysroot, name) || look(&w, found, "%s", name))
			return;
	} else if (look(&w, found, "%.*s%s", folder, debug, name)) {
		return;
	}
	for (; dir && *dir; dir++)
		if (look_by_id(&w, found, "", *dir, ".debug") ||
		    look(&w, found, "%s/.dwz/%s", *dir, basename(name)) ||
		    look(&w, found, "%s/%s", *dir, basename(name)))
			return;
	if (*f->sysroot && (look_by_id(&w, found, f->sysroot, DEBUG_DIR, ".debug") ||
			    look(&w, found, "%s" DEBUG_DIR "/.dwz/%s", f->sysroot, basename(name))))
		return;
	if (!look_by_id(&w, found, "", DEBUG_DIR, ".debug"))
		look(&w, found, DEBUG_DIR "/.dwz/%s", basename(name));
}
