/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * config.h - the configuration: MPROF_CONF, its paths, the modules that it names.
 *
 * Read once, during initialisation, by one thread; constant from then on.  Errors are one sentence
 * without a full stop in `why`.
 */
#pragma once

#include <mprof/module.h>

#include "text.h"

extern struct mprof_config mp_config;

/* config.c: MPROF_CONF.  0, or -EINVAL with one sentence in why. */
int mp_config_read(const char *conf, struct mprof_config *out, struct text *why);
/* Puts "invalid KEY 'VALUE': expected ", which the caller completes. */
void mp_config_invalid(const char *key, const char *value, struct text *why);
/* Expands %p %h %e %j %r %% and makes the path absolute. */
int mp_path_expand(const char *path, struct text *out);
/* The same, and expands %n, the number of a dump; without %n, appends .N.  number 0 = at exit. */
int mp_path_number(const char *path, int number, struct text *out);
/* Is the word, which ends at a comma or NUL, in a list?  Both as in a value of type WORDS. */
int mp_has_word(const char *list, const char *word);
const char *mp_job(void);		 /* id of the batch job or NULL */
const char *mp_rank(void);		 /* rank of this process in the job, or NULL */
int mp_is_wanted(void);			 /* 0 if ONLY or RANKS exclude this process */
int mp_is_rank_wanted(const char *rank); /* NULL if unknown, perhaps until MPI_Init */

/* Values read from the environment and the loader at the start, because they cannot be read
 * later. */
struct mp_known {
	char exe[512];	     /* the program, by the name that it was called by; "" if unknown */
	char notes[256];     /* MPROF_NOTES or "" */
	char conf[512];	     /* MPROF_CONF, "" if longer */
	char job[64];	     /* batch job or "" */
	char rank[32];	     /* rank in the batch job, or "" */
	char allocator[512]; /* the object that defines the backing malloc */
	char first[512];     /* the object that serves the program's malloc, if not ours; or "" */
	int attached;	     /* 1: the program ran before we were loaded */
	int second;	     /* 1: another copy of the library records, this one does nothing */
};
extern struct mp_known mp_known;

/* modules.c: finds modules by name or path. */
const struct mprof_init_ops *mp_find_init(const char *name, struct text *why);
const struct mprof_mode_ops *mp_find_mode(const char *name, struct text *why);
/*
 * May the loader open the file at path?  Returns 0 and puts a sentence into why if not: a FIFO
 * would block the program, and a device may do anything.  Allows a name that the loader has to
 * search for.
 */
int mp_is_loadable(const char *key, const char *path, struct text *why);
