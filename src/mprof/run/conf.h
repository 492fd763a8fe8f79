/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * conf.h - the value of MPROF_CONF that a run is started with.
 *
 * The caller's MPROF_CONF is kept, options of a command override it, and every key and value is
 * checked against options.def and modules.def, so that errors are reported before anything starts.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "../util/error.h"

enum conf_key {
#define MPROF_OPTION(key, field, type, value, min, max, arg, help) CONF_##key,
#include <mprof/options.def>
#undef MPROF_OPTION
	CONF_KEYS,
	CONF_NONE = CONF_KEYS,
};
extern const char *const conf_keys[]; /* their names; ends with NULL */

/* A NULL value was not set: the library's default applies. */
struct conf {
	char *value[CONF_KEYS]; /* owned */
};

/* Parses text (of MPROF_CONF; NULL is empty).  0, or -EINVAL with *err. */
int conf_parse(struct conf *conf, const char *text, struct error *err);
/* Checks and copies one value.  0, or -EINVAL with *err. */
int conf_set(struct conf *conf, enum conf_key key, const char *value, struct error *err);
int conf_set_number(struct conf *conf, enum conf_key key, uint64_t value, struct error *err);
/* Returns the value, or the default of options.def. */
const char *conf_get(const struct conf *conf, enum conf_key key);
/*
 * Returns the key that names the file of the MODE, and the magic of that file; CONF_NONE if the
 * MODE has no file.
 */
enum conf_key conf_file(const struct conf *conf, const char **magic);
/*
 * Returns the text for MPROF_CONF, quoted where needed, which the caller frees.  NULL with *err if
 * a value contains both kinds of quotes and cannot be written.
 */
char *conf_text(const struct conf *conf, struct error *err);
void conf_release(struct conf *conf);

/* Is %r known?  If not, conf_set_rank() may set it. */
bool conf_knows_rank(void);
void conf_set_rank(const char *rank);
/*
 * Replaces %p (pid), %h (host), %e (program: the last part of exe), %j (batch
 * job), %r (MPI rank), %% in a path, as the library does.  free() the result;
 * NULL and *err for another letter after %.
 */
char *conf_expand(const char *path, pid_t pid, const char *exe, struct error *err);
