/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * cache_format.h - the layout of a cache file, shared by its reader and its writer.
 *
 * Head, entries by ascending address, lines, variables, strings.  In the byte order of the machine;
 * `order` is 1 only if it is the same.  String 0 is "".
 */
#pragma once

#include "cache.h"

#define CACHE_MAGIC	 "mprofsy7"
#define CACHE_NAME	 130		    /* hex of a build-id */
#define CACHE_FILE_BYTES ((size_t)64 << 20) /* larger ones are neither read nor written */

struct cache_head {
	char magic[8];
	uint32_t order; /* 1 */
	uint32_t crc;	/* CRC-32 of all bytes that follow */
	uint32_t quality, id_bytes;
	uint8_t id[64];
	uint32_t entries, lines;
	uint32_t strings; /* bytes */
	uint32_t path;	  /* offset in strings: the object's path, as recorded */
	uint32_t variables;
	uint32_t variables_known; /* 0: not looked up yet; CACHE_VARIABLES_... */
	struct file_identity from;
};

struct cache_stored {
	uint64_t address;
	uint32_t first, n; /* lines */
};

struct cache_line {
	uint32_t raw, file; /* offsets in strings */
	uint32_t line, zero;
	uint64_t offset;
};

#define CACHE_VARIABLES_ALL	 1u
#define CACHE_VARIABLES_STRIPPED 2u /* local ones are missing */

struct cache_variable {
	uint64_t address, size;
	uint32_t name, file; /* offsets in strings */
	uint32_t line, tls;
};

struct cache_view {
	const struct cache_head *head;
	const struct cache_stored *entry;
	const struct cache_line *line;
	const struct cache_variable *variable;
	const char *strings;
};

struct cache {
	int directory;
	bool wrote;
};

/* A new entry: it owns the locations, but not their strings. */
struct cache_entry {
	uint64_t address;
	struct location *location;
	size_t n;
};

/* The variables that were looked up in this run; it owns the array, but not its strings. */
struct cache_variables {
	struct object_variable *of;
	size_t n;
	bool stripped;
};

struct cache_view cache_view(const char *bytes);
/* False for an id without a file name. */
bool cache_name(struct build_id id, char name[CACHE_NAME]);
