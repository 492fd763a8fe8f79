/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * variant.h - an allocator with its settings, on which a file is played.
 *
 * A list is written
 *
 *	LIST     entry[,entry...]
 *	entry    all | [LABEL=]NAME|PATH[SETTINGS]
 *	SETTINGS "[" VARIABLE=VALUE [blank or ; VARIABLE=VALUE]... "]"
 *
 * NAME is one of run/library.h, `all` every one that is installed.  Commas inside brackets belong
 * to the value. {a,b,c} in a value is a sweep: the entry becomes one variant for each value;
 * several sweeps multiply.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "../util/error.h"

#define VARIANTS_MOST 64

struct variant {
	char *name; /* unique in its list: the label, or the entry as written without directories */
	char *so;   /* absolute path to preload; "" is glibc */
	char **env; /* "NAME=VALUE", which overrides inherited variables */
	size_t envs, env_room;
	char *version; /* of the package, else the file's name with its version */
	bool clear;    /* do not inherit variables of allocators */
};

struct variants {
	struct variant *v;
	size_t n, room;
};

/*
 * Appends the variants of the list to *vs; a name that exists already gets "#2" and so on. 0, or
 * -EINVAL with *err; release *vs in any case.
 */
int variants_parse(struct variants *vs, const char *list, struct error *err);
/* Is it NAME=VALUE? */
bool variant_setting(const char *s);
/* Sets a variable for all variants that do not set NAME themselves. */
void variants_set(struct variants *vs, const char *setting);
/* Sets a variable for this one, unless it or our environment sets NAME.  Was it set? */
bool variant_add(struct variant *v, const char *setting);
void variants_release(struct variants *vs);

/* Is it a variable ("NAME" or "NAME=VALUE") that changes how an allocator works? */
bool variant_is_setting(const char *variable);

/*
 * Returns the version of a shared object ("" for glibc), which the caller frees: the version of its
 * Debian package, else its file name.
 */
char *variant_version(const char *so);

/*
 * Returns the environment of a playback on v: ours without variables that preload or record,
 * without settings of allocators if v clears them, with v's settings and its allocator preloaded.
 * Free it with play_env_free().
 */
char **play_env(const struct variant *v);
void play_env_free(char **env);
