/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * cache.h - what was found in an object, kept on disk for the next time.
 *
 * A file for each build-id in $XDG_CACHE_HOME/mprof/symbols-FORMAT (or
 * ~/.cache/mprof/...): a build-id names one content for ever, so nothing in it grows
 * old; what was found with a poorer source than there is today is not used.
 * But anybody can copy a build-id: what was found is believed without a look only for the
 * same path and, if a file is there, the same one (cache_load).
 * Nothing is cached for objects without a build-id.
 *
 * A file that is damaged, or belongs to somebody else, counts as not there.  Files
 * are replaced as a whole, so readers and writers may run at the same time; of two
 * writers one loses what it found.  Failures to write are nobody's business.
 * The directory is kept below CACHE_BYTES: what was not used for longest goes.
 */
#ifndef MPROF_SYM_CACHE_H
#define MPROF_SYM_CACHE_H

#include "files.h"
#include "location.h"

#define CACHE_FORMAT 2 /* another one, another directory: change it with what is stored */
#define CACHE_BYTES  ((uint64_t)256 << 20)

/* What answers were made from. */
enum cache_quality {
	CACHE_NOTHING,
	CACHE_EXPORTED, /* exported symbols */
	CACHE_SYMBOLS,
	CACHE_LINES, /* DWARF: there is nothing better */
};

struct cache;
struct cache_entry;

/* One object's.  All zero is an empty one. */
struct cache_file {
	enum cache_quality quality; /* of what was loaded */
	char *loaded;		    /* the file as it is on disk, checked; NULL */
	struct cache_entry *added;
	size_t count, room;
	bool doubtful; /* loaded, but not from the file that is at the path now */
};

/* What a file of the cache is about. */
struct cache_key {
	struct build_id id;
	const char *path;	    /* as it was recorded */
	struct file_identity there; /* of the file at that path; all zero: none */
};

/* NULL: there is no directory for it. */
struct cache *cache_open(void);
void cache_close(struct cache *c);

/*
 * c may be NULL.  What was found for another path counts as not there.  Without a file at the
 * path there is nothing else to believe.
 */
void cache_load(struct cache *c, struct cache_file *f, const struct cache_key *key);
void cache_store(struct cache *c, struct cache_file *f, const struct cache_key *key,
		 enum cache_quality quality);
void cache_release(struct cache_file *f);
/* What was loaded is of another file, after all. */
void cache_forget(struct cache_file *f);

/* Only what was loaded is found; strings live until cache_release. */
bool cache_find(const struct cache_file *f, uint64_t address,
		struct location location[LOCATIONS_MOST], size_t *n);
/* Strings must live until cache_store. */
void cache_add(struct cache_file *f, uint64_t address, const struct location *location, size_t n);

#endif
