/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * resident.c - reads /proc/PID/maps and /proc/PID/pagemap.
 *
 * Only the "present" bit is used: unlike frame numbers it is shown to
 * everyone who may ptrace the process.
 */
#include "resident.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#define PAGES_MAX (1u << 22)
#define RUNS_MAX  (1u << 18)
#define PRESENT	  (1ull << 63)
#define ENTRIES	  8192u
#define REGIONS	  512u

/* From linux/fs.h of Linux 6.7; older headers lack it. */
struct page_region {
	uint64_t start, end, categories;
};
struct pm_scan_arg {
	uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
	uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
#define SCAN_IOCTL   _IOWR('f', 16, struct pm_scan_arg)
#define SCAN_PRESENT (1u << 3)
#define SCAN_ZERO    (1u << 5) /* the kernel's page of zeros: read, but never written */
#define SCAN_HUGE    (1u << 6)
#define HUGETLBFS    " /anon_hugepage" /* path of a mapping with MAP_HUGETLB */

static int add_run(struct resident *r, uint64_t first, uint64_t count)
{
	struct mprof_page_run *last = r->runs ? &r->run[r->runs - 1] : NULL, *more;
	size_t room;

	if (last && last->first + last->count == first) {
		last->count += count;
		return 0;
	}
	if (r->runs == r->room) {
		room = r->room ? 2 * r->room : 256;
		if (room > RUNS_MAX)
			return -EFBIG;
		more = realloc(r->run, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		r->run = more;
		r->room = room;
	}
	r->run[r->runs++] = (struct mprof_page_run){ first, count };
	return 0;
}

static int scan(struct resident *r, int fd, uint64_t start, uint64_t end, uint64_t page)
{
	struct page_region region[REGIONS];
	struct pm_scan_arg arg = { .size = sizeof(arg),
				   .start = start,
				   .end = end,
				   .vec = (uintptr_t)region,
				   .vec_len = REGIONS,
				   .category_inverted = SCAN_ZERO,
				   .category_mask = SCAN_PRESENT | SCAN_ZERO,
				   .return_mask = SCAN_PRESENT | SCAN_HUGE };
	uint64_t pages;
	int i, n, code = 0;

	do {
		n = ioctl(fd, SCAN_IOCTL, &arg);
		if (n < 0)
			return -errno;
		for (i = 0; i < n && !code; i++) {
			pages = (region[i].end - region[i].start) / page;
			if (region[i].categories & SCAN_HUGE)
				r->huge += pages;
			code = add_run(r, region[i].start / page, pages);
		}
		if (arg.walk_end <= arg.start)
			break;
		arg.start = arg.walk_end;
	} while (!code && arg.start < end);
	return code;
}

static int read_bits(struct resident *r, int fd, uint64_t start, uint64_t end, uint64_t page)
{
	uint64_t entry[ENTRIES], at = start / page, last = end / page, i, from;
	ssize_t n;
	int code;

	while (at < last) {
		n = pread(fd, entry, 8 * (last - at < ENTRIES ? last - at : ENTRIES),
			  (off_t)(8 * at));
		if (n <= 0)
			return n ? -errno : 0;
		n /= 8;
		for (i = 0; i < (uint64_t)n; i++) {
			if (!(entry[i] & PRESENT))
				continue;
			for (from = i; i < (uint64_t)n && entry[i] & PRESENT; i++)
				;
			code = add_run(r, at + from, i - from);
			if (code)
				return code;
		}
		at += (uint64_t)n;
	}
	return 0;
}

/* Is this line of maps private, writable and anonymous?  MAP_HUGETLB makes a file without a path.
 */
static bool wanted(const char *line, uint64_t *start, uint64_t *end)
{
	char perms[5];
	unsigned long inode;

	return sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %*s %*s %lu", start, end, perms, &inode) ==
		   4 &&
	       perms[1] == 'w' && perms[3] == 'p' && (inode == 0 || strstr(line, HUGETLBFS));
}

bool resident_part(const char *line, uint64_t *done, uint64_t *start, uint64_t *end)
{
	if (!wanted(line, start, end) || *end <= *done)
		return false;
	if (*start < *done)
		*start = *done;
	*done = *end;
	return true;
}

static int read_maps(struct resident *r, FILE *maps, int fd, enum resident_way way)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), start, end, pages = 0, done = 0, huge;
	char line[4352];
	int code = 0;

	while (!code && fgets(line, sizeof(line), maps)) {
		if (!resident_part(line, &done, &start, &end))
			continue;
		if (way == RESIDENT_SCAN) {
			huge = r->huge;
			code = scan(r, fd, start, end, page);
			if (strstr(line, HUGETLBFS)) /* not transparent */
				r->huge = huge;
			continue;
		}
		pages += (end - start) / page;
		code = pages > PAGES_MAX ? -EFBIG : read_bits(r, fd, start, end, page);
	}
	return code;
}

int resident_read(struct resident *r, pid_t pid, enum resident_way way)
{
	char path[64];
	FILE *maps;
	int fd, code;

	r->runs = 0;
	r->huge = 0;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	if (!maps) {
		code = -errno;
		close(fd);
		return code;
	}
	code = read_maps(r, maps, fd, way);
	fclose(maps);
	close(fd);
	return code;
}

void resident_release(struct resident *r)
{
	free(r->run);
	memset(r, 0, sizeof(*r));
}
