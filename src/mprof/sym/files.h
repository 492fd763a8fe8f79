/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * files.h - finds the file of an object on this machine, and its debug file.
 *
 * A file is accepted only if it is the one that ran: its build-id is the recorded one; without a
 * build-id, its segments are.  A debug file must have the build-id of the object, or the checksum
 * in the object's .gnu_debuglink.
 *
 * Errors: a descriptor or -1.  The path of the file is written to `path`.
 */
#pragma once

#include <limits.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../trace/stacks.h"

struct files {
	const char *sysroot;	      /* "" if none */
	const char *const *debug_dir; /* ends with NULL; may be NULL */
};

struct build_id {
	const uint8_t *bytes;
	size_t n; /* 0 = no build-id */
};

enum files_state {
	FILES_FOUND,
	FILES_MISSING,
	FILES_REPLACED, /* there is a file, but with another build-id or other segments */
	FILES_NOT_ELF,
	FILES_UNREADABLE, /* the system does not let us open it */
};

/* Identifies a file, to detect another file with a copied build-id. */
struct file_identity {
	uint64_t device, inode, bytes;
	int64_t changed_ns;
};

struct file_found {
	int fd; /* -1 if not found.  The caller closes it */
	char path[PATH_MAX];
	enum files_state state;
	int error;		       /* FILES_UNREADABLE: why, a number of errno */
	struct file_identity identity; /* of the file found */
};

/*
 * Is it a regular file, or missing?  A trace may name any file: opening a device may have effects,
 * and opening a FIFO blocks.
 */
bool files_regular(const char *path);

/* Identifies the regular file at the object's own path, neither opened nor checked; all zero if
 * none. */
struct file_identity files_identity(const struct files *f, const struct stack_object *o);

/* Finds the object's own file. */
void files_object(const struct files *f, const struct stack_object *o, struct file_found *found);

/*
 * Finds the debug file of `object` (its path; link and crc from its .gnu_debuglink, or "" and 0).
 */
void files_debug(const struct files *f, const char *object, struct build_id id, const char *link,
		 uint32_t crc, struct file_found *found);

/* Finds the file that dwz created for `debug` (its path), under the name in it. */
void files_alt(const struct files *f, const char *debug, struct build_id id, const char *name,
	       struct file_found *found);
