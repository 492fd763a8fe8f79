// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * areas.c - which mapping an address lies in: by one ioctl where the kernel
 * has it (Linux 6.11), else by reading /proc/self/maps.
 */
#include <errno.h>
#include <mprof/module.h>

#include "stack_parts.h"
#include "sys.h"
#include "text.h"

/* From <linux/fs.h> of Linux 6.11. */
struct query {
	uint64_t size, flags, addr;
	uint64_t start, end, vma_flags, page_size, offset, inode;
	uint32_t major, minor, name_size, build_id_size;
	uint64_t name, build_id;
};
#define PROCMAP_QUERY_CODE 0xc0686611u
MPROF_STATIC_ASSERT(sizeof(struct query) == 0x68, "the kernel's struct procmap_query");

static int area_ask(int fd, uintptr_t addr, struct area *out)
{
	struct query q = { .size = sizeof(q), .addr = addr };
	long ret = mp_sys(SYS_ioctl, fd, PROCMAP_QUERY_CODE, (long)&q, 0, 0, 0);

	if (ret < 0)
		return (int)ret;
	out->low = q.start;
	out->high = q.end;
	out->flags =
	    (q.vma_flags & 1 ? AREA_READABLE : 0) | (q.vma_flags & 2) | (q.vma_flags & 4 ? 1u : 0);
	return 0;
}

/* Parses "low-high rwxp ...".  1 if addr lies in it. */
static int area_parse(const char *line, uintptr_t addr, struct area *out)
{
	uint64_t low = 0, high = 0;
	size_t n = text_parse(line, 16, &low);

	n += 1 + text_parse(line + n + 1, 16, &high);
	out->low = low;
	out->high = high;
	out->flags = (line[n + 1] == 'r' ? AREA_READABLE : 0) | (line[n + 2] == 'w' ? 2u : 0) |
		     (line[n + 3] == 'x' ? 1u : 0);
	return addr >= low && addr < high;
}

/*
 * Calls take(line, arg) for each line of /proc/self/maps until it returns 1.  0, or -ENOENT if it
 * never did.
 */
static int area_lines(int fd, int (*take)(const char *line, void *arg), void *arg)
{
	char buffer[640];
	size_t have = 0;
	long n;

	while ((n = sys_read(fd, buffer + have, sizeof(buffer) - 1 - have)) > 0) {
		char *line = buffer, *end;

		have += (size_t)n;
		buffer[have] = 0;
		while ((end = __builtin_strchr(line, '\n'))) {
			if (take(line, arg))
				return 0;
			line = end + 1;
		}
		have -= (size_t)(line - buffer);
		/* A line longer than the buffer: its tail is only a path. */
		if (have == sizeof(buffer) - 1)
			have = 64;
		__builtin_memmove(buffer, line, have);
	}
	return -ENOENT;
}

struct area_search {
	uintptr_t addr;
	struct area *out;
};

static int area_is_it(const char *line, void *arg)
{
	const struct area_search *s = arg;

	return area_parse(line, s->addr, s->out);
}

int mp_area(uintptr_t addr, struct area *out)
{
	int fd = sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0), ret;

	if (fd < 0)
		return fd;
	ret = area_ask(fd, addr, out);
	if (ret < 0 && ret != -ENOENT)
		ret = area_lines(fd, area_is_it, &(struct area_search){ addr, out });
	sys_close(fd);
	return ret;
}

struct area_name {
	uintptr_t addr;
	struct text path;
};

static int area_is_named(const char *line, void *arg)
{
	struct area_name *s = arg;
	struct area a;

	if (!area_parse(line, s->addr, &a))
		return 0;
	while (*line != '/' && *line != '\n')
		line++;
	while (*line != '\n')
		text_char(&s->path, *line++);
	return 1;
}

int mp_area_path(uintptr_t addr, char *path, size_t size)
{
	struct area_name s = { addr, text_on(path, size) };
	int fd = sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0), ret;

	if (fd < 0)
		return fd;
	ret = area_lines(fd, area_is_named, &s);
	sys_close(fd);
	return ret < 0 || !s.path.used || s.path.full ? -ENOENT : 0;
}

struct area_sum {
	uintptr_t low, high;
	uint64_t bytes;
};

static int area_add(const char *line, void *arg)
{
	struct area_sum *s = arg;
	struct area a;
	uintptr_t from, to;

	area_parse(line, 0, &a);
	from = a.low > s->low ? a.low : s->low;
	to = a.high < s->high ? a.high : s->high;
	if (from < to)
		s->bytes += to - from;
	return a.high >= s->high;
}

int mp_areas_within(uintptr_t at, size_t bytes, uint64_t *mapped)
{
	struct area_sum s = { at, at + bytes, 0 };
	int fd = sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0);

	if (fd < 0)
		return fd;
	area_lines(fd, area_add, &s);
	sys_close(fd);
	*mapped = s.bytes;
	return 0;
}
