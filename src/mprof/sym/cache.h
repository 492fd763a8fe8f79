/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * cache.h - functions and variables found in an object, kept on disk for later runs.
 *
 * One file for each build-id in $XDG_CACHE_HOME/mprof/symbols-FORMAT (or ~/.cache/mprof/...): a
 * build-id always names the same content, so entries do not expire; those from a poorer source than
 * is available now are not used. But anybody can copy a build-id: entries are used without a check
 * only for the same path and, if a file is there, the same file (cache_load). Objects without a
 * build-id are not cached.
 *
 * A file that is damaged, or owned by another user, is ignored.  Files are replaced as a whole, so
 * readers and writers may run at the same time; of two writers one loses its results.  Failures to
 * write are not reported. The directory is kept below CACHE_BYTES by removing the least recently
 * used files.
 */
#pragma once

#include "files.h"
#include "location.h"

#define CACHE_FORMAT 3 /* also names the directory: change it with the layout */
#define CACHE_BYTES  ((uint64_t)256 << 20)

/* The source of the entries. */
enum cache_quality {
	CACHE_NOTHING,
	CACHE_EXPORTED, /* exported symbols */
	CACHE_SYMBOLS,
	CACHE_LINES, /* DWARF: the best source */
};

struct cache;
struct cache_entry;
struct cache_variables;

/* The cache of one object.  All zero: empty. */
struct cache_file {
	enum cache_quality quality; /* quality of the loaded entries */
	char *loaded;		    /* the file's contents, checked; NULL if not loaded */
	struct cache_entry *added;
	size_t count, room;
	struct cache_variables *found; /* NULL if none were looked up */
	bool doubtful;		       /* loaded, but the file at the path may be another one */
};

/* The object that a cache file describes. */
struct cache_key {
	struct build_id id;
	const char *path;	    /* as recorded */
	struct file_identity there; /* the file at that path; all zero if none */
};

/* Returns NULL if there is no directory for it. */
struct cache *cache_open(void);
void cache_close(struct cache *c);

/*
 * c may be NULL.  Entries of another path are ignored.  Without a file at the path, no other source
 * can be verified.
 */
void cache_load(struct cache *c, struct cache_file *f, const struct cache_key *key);
void cache_store(struct cache *c, struct cache_file *f, const struct cache_key *key,
		 enum cache_quality quality);
void cache_release(struct cache_file *f);
/* Forgets the loaded entries, because they belong to another file. */
void cache_forget(struct cache_file *f);

/* Finds loaded entries only; strings are valid until cache_release. */
bool cache_find(const struct cache_file *f, uint64_t address,
		struct location location[LOCATIONS_MOST], size_t *n);
/* Strings must remain valid until cache_store. */
void cache_add(struct cache_file *f, uint64_t address, const struct location *location, size_t n);

/* False if the loaded file does not have the variables; the caller frees *of. */
bool cache_find_variables(const struct cache_file *f, struct object_variable **of, size_t *n,
			  bool *stripped);
/* All variables of the object.  Strings must remain valid until cache_store. */
void cache_add_variables(struct cache_file *f, const struct object_variable *of, size_t n,
			 bool stripped);
