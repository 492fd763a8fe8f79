/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * config.h - what is asked for: MPROF_CONF, its paths, the modules that it names.
 *
 * Read once, while we initialise, by one thread; constant from then on.  What is wrong is said in
 * `why`, one sentence without a dot.
 */
#ifndef MP_CONFIG_H
#define MP_CONFIG_H

#include <mprof/module.h>

#include "text.h"

extern struct mprof_config mp_config;

/* config.c: MPROF_CONF.  0, or -EINVAL with one sentence in why. */
int mp_config_read(const char *conf, struct mprof_config *out, struct text *why);
/* Expands %p %h %e %j %r %% and makes the path absolute. */
int mp_path_expand(const char *path, struct text *out);
/* Also %n, the number of a dump; where there is none, .N follows.  0: the one at exit. */
int mp_path_number(const char *path, int number, struct text *out);
int mp_has_word(const char *list, const char *word); /* of a value of type WORDS */
const char *mp_job(void);			     /* id of the batch job or NULL */
const char *mp_rank(void);			     /* among its processes or NULL */
int mp_is_wanted(void);				     /* 0: ONLY or RANKS leave this process out */

/* What is asked of the environment and the loader once, at start, and needed later. */
struct mp_known {
	char notes[256];     /* MPROF_NOTES or "" */
	char job[64];	     /* batch job or "" */
	char rank[32];	     /* in it or "" */
	char allocator[512]; /* the object that has the backing malloc */
	char first[512];     /* the object whose malloc programs are bound to, if not ours; or "" */
};
extern struct mp_known mp_known;

/* modules.c: names and paths to modules. */
const struct mprof_init_ops *mp_find_init(const char *name, struct text *why);
const struct mprof_mode_ops *mp_find_mode(const char *name, struct text *why);
/*
 * May the loader open what stands at path?  0, and a sentence in why: a FIFO would hold
 * up the program, a device may do anything.  What the loader has to search for may be.
 */
int mp_is_loadable(const char *key, const char *path, struct text *why);

#endif
