// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * ldcache.c - reads the linker's cache in the form that glibc has written
 * since 2.2: a header, entries, and strings named by their offset.
 *
 * The file is read whole and every offset is checked against its size.
 */
#include "ldcache.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf.h"

#define MAGIC	  "glibc-ld.so.cache1.1"
#define CACHE_MAX (64u << 20)

struct cache_head {
	char magic[sizeof(MAGIC) - 1];
	uint32_t entries, string_bytes;
	uint32_t unused[5];
};

struct cache_entry {
	int32_t flags;
	uint32_t name, path; /* offsets in the file */
	uint32_t os;
	uint64_t hardware; /* not 0 if it is only for some processors */
};

/* Reads the whole file and appends a NUL; *size excludes it. */
static char *read_whole(const char *path, size_t *size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;
	char *data = NULL;

	if (fd < 0)
		return NULL;
	if (!fstat(fd, &st) && st.st_size < CACHE_MAX)
		data = calloc(1, (size_t)st.st_size + 1);
	if (data && read(fd, data, (size_t)st.st_size) != st.st_size) {
		free(data);
		data = NULL;
	}
	if (data)
		*size = (size_t)st.st_size;
	close(fd);
	return data;
}

static bool is_usable(const char *path)
{
	struct elf_facts elf;

	return !elf_read(path, &elf) && elf.ours && elf.type == ELF_SHARED;
}

static const char *search(const char *data, size_t size, const char *soname)
{
	struct cache_head head;
	struct cache_entry e;
	const char *found = NULL;
	size_t i, at;

	if (size < sizeof(head))
		return NULL;
	memcpy(&head, data, sizeof(head));
	if (memcmp(head.magic, MAGIC, sizeof(head.magic)))
		return NULL;
	for (i = 0; i < head.entries; i++) {
		at = sizeof(head) + i * sizeof(e);
		if (at + sizeof(e) > size)
			break;
		memcpy(&e, data + at, sizeof(e));
		/* Strings end within the buffer, because a NUL follows the file. */
		if (e.hardware || e.name >= size || e.path >= size)
			continue;
		if (!strncmp(data + e.name, soname, strlen(soname)) && is_usable(data + e.path))
			found = data + e.path;
	}
	return found;
}

char *ldcache_find(const char *cache, const char *soname)
{
	size_t size = 0;
	char *data = read_whole(cache, &size), *found = NULL;
	const char *path = data ? search(data, size, soname) : NULL;

	if (path)
		found = realpath(path, NULL);
	free(data);
	return found;
}
