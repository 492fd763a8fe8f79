/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * place.h - recognising our files by their first bytes, and putting a new one at its path.
 */
#pragma once

#include <mprof/format.h>
#include <stddef.h>

#include "runid.h"
#include "text.h"

/* The first bytes of struct mprof_file_header, which would be large on a small stack. */
struct head {
	char magic[MPROF_MAGIC_SIZE];
	uint32_t version, header_size;
	uint8_t run_id[16];
	uint32_t flags;
};
MPROF_STATIC_ASSERT(offsetof(struct head, flags) == offsetof(struct mprof_file_header, flags),
		    "a prefix of the header");

static inline int has_magic(const struct head *h, const char *magic)
{
	return !__builtin_memcmp(h->magic, magic, MPROF_MAGIC_SIZE);
}

static inline int same_run(const struct head *h, const char *magic, const struct mp_run *run)
{
	return has_magic(h, magic) && h->version == MPROF_FORMAT_VERSION &&
	       !__builtin_memcmp(h->run_id, run->id, sizeof(run->id)) &&
	       !(h->flags & MPROF_FILE_COMPRESSED);
}

/*
 * May this file become PATH.old?  In a run that mprof began, only the file that mprof found at the
 * path may.
 */
static inline int mp_may_make_way(const struct head *h, const struct mp_run *run)
{
	return run->is_new || !__builtin_memcmp(h->run_id, run->earlier, sizeof(h->run_id));
}

/* Opens a regular file (how: O_RDWR) without blocking, whatever is at path.  Returns fd or
 * -errno. */
int mp_file_existing(const char *path, int how);
/*
 * Puts the finished file `temporary` at run->path.  A finished file of ours there becomes PATH.old;
 * if another live run uses the path, ".PID" is appended.  0; -EEXIST: the file of this run exists
 * already, join it; another -errno: nothing was touched, and why has the reason if it is more
 * specific than the system's.  `temporary` is removed in any case.
 */
int mp_place(const char *temporary, struct mp_run *run, const char *magic, struct text *why);
