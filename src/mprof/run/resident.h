/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * resident.h - which pages of another process's anonymous memory are resident.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mprof/format.h>

/* Runs in ascending order, not adjacent. */
struct resident {
	struct mprof_page_run *run; /* owned */
	size_t runs, room;
	uint64_t huge; /* pages in transparent huge pages; only RESIDENT_SCAN knows */
};

enum resident_way {
	RESIDENT_SCAN,	  /* ioctl PAGEMAP_SCAN: the kernel skips empty ranges (Linux 6.7) */
	RESIDENT_PAGEMAP, /* reading /proc/PID/pagemap, 8 bytes a page */
};

/*
 * Reads which pages of the private writable anonymous mappings of pid are present. 0; -EFBIG if
 * there is too much to read (2^22 pages of address space without PAGEMAP_SCAN, or 2^18 runs);
 * -errno, usually -EACCES for another user's process.  r is refilled and keeps its capacity.
 */
int resident_read(struct resident *r, pid_t pid, enum resident_way way);
/*
 * Finds the part of a line of maps that earlier lines, up to *done, do not cover: a mapping that
 * grows while maps is read may occur twice.  False if there is none.
 */
bool resident_part(const char *line, uint64_t *done, uint64_t *start, uint64_t *end);
void resident_release(struct resident *r);
