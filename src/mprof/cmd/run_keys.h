/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * run_keys.h - options of commands that run a program which are keys of MPROF_CONF.  Bounds and
 * units are those of options.def.
 */
#pragma once

#include "../run/run.h"
#include "option.h"

struct run_keys {
	uint64_t number[CONF_KEYS];
	bool given[CONF_KEYS];
	const char *word[CONF_KEYS]; /* NULL if not given */
	const char *allocator, *preset, *config, *const *set, *const *wrap, *const *wrap_prefix;
	bool python, show, quiet;
};

/* A number with the bounds of its key. */
extern const struct option_type option_ranges, option_amount, option_key, option_key_word;
/* The name or number of a signal that can request a dump, kept as text. */
extern const struct option_type option_signal;

/* A key with a number as its value; those of BYTES are sizes. */
#define OPTION_KEY(name, arg, keys, key, help, ...)                                       \
	OPTION_CUSTOM(0, name, arg, uint64_t, keys.number[CONF_##key], &option_key, help, \
		      .least = CONF_##key, .given = OPTION_AT(keys.given[CONF_##key]),    \
		      __VA_ARGS__)
/* The same in a table whose OPTIONS is struct run_keys. */
#define OPTION_KEY_HERE(name, arg, key, help, ...)                                   \
	OPTION_CUSTOM(0, name, arg, uint64_t, number[CONF_##key], &option_key, help, \
		      .least = CONF_##key, .given = OPTION_AT(given[CONF_##key]), __VA_ARGS__)
#define OPTION_KEY_HERE_SET(name, key, value, help) \
	OPTION_SET(0, name, number[CONF_##key], value, help, .given = OPTION_AT(given[CONF_##key]))
#define OPTION_KEY_SET(name, keys, key, value, help)              \
	OPTION_SET(0, name, keys.number[CONF_##key], value, help, \
		   .given = OPTION_AT(keys.given[CONF_##key]))

#define OPTION_AMOUNT(name, member, help) \
	OPTION_CUSTOM(0, name, "SIZE", const char *, member, &option_amount, help)

/* How call stacks are recorded. */
extern const struct option_row option_run_stacks[];
#define OPTION_RUN_STACKS(keys) OPTION_ROWS(option_run_stacks, keys)

/* Which blocks a profile has, and when it is dumped. */
extern const struct option_row option_run_totals[];
#define OPTION_RUN_TOTALS(keys) OPTION_ROWS(option_run_totals, keys)

/* Settings without their own option, and which processes are recorded. */
extern const struct option_row option_run_settings[];
#define OPTION_RUN_SETTINGS(keys) OPTION_ROWS(option_run_settings, keys)

/*
 * Sets those that were given: the preset, then the configuration file, --set, the other options,
 * the allocator.  mode and path may be NULL.  False after a message.
 */
bool run_keys_set(struct run_plan *plan, const struct run_keys *keys, const char *mode,
		  enum conf_key file, const char *path);
/* Was any of them given? */
bool run_keys_given(const struct run_keys *keys);
void run_keys_release(struct run_keys *keys);

/* Called by usage.check, whose usage.missing is NULL: a program is needed unless settings are
 * shown. */
int run_keys_check(const struct run_keys *keys, char *const *argv, const char *missing,
		   struct error *err);
