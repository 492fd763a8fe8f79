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
/* Expands %p %h %e %j %r %% and makes the path absolute. */
int mp_path_expand(const char *path, struct text *out);
/* Also %n, the number of a dump; without it, .N is appended.  number 0: at exit. */
int mp_path_number(const char *path, int number, struct text *out);
int mp_has_word(const char *list, const char *word); /* list: a value of type WORDS */
const char *mp_job(void);			     /* id of the batch job or NULL */
const char *mp_rank(void);			     /* among its processes or NULL */
int mp_is_wanted(void);				     /* 0: ONLY or RANKS exclude this process */
int mp_is_rank_wanted(const char *rank);	     /* NULL: unknown, perhaps until MPI_Init */

/* Read from the environment and the loader at start, because later it cannot be. */
struct mp_known {
	char exe[512];	     /* the program, by the name that it was run by; "" without /proc */
	char notes[256];     /* MPROF_NOTES or "" */
	char conf[512];	     /* MPROF_CONF, "" if longer */
	char job[64];	     /* batch job or "" */
	char rank[32];	     /* in it or "" */
	char allocator[512]; /* the object that defines the backing malloc */
	char first[512];     /* the object that serves the program's malloc, if not ours; or "" */
};
extern struct mp_known mp_known;

/* modules.c: names and paths to modules. */
const struct mprof_init_ops *mp_find_init(const char *name, struct text *why);
const struct mprof_mode_ops *mp_find_mode(const char *name, struct text *why);
/*
 * May the loader open the file at path?  0, and a sentence in why: a FIFO would block the program,
 * a device may do anything.  A name that the loader has to search for may be opened.
 */
int mp_is_loadable(const char *key, const char *path, struct text *why);
