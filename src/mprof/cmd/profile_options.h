/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * profile_options.h - the options of all commands that use call stacks: filters, forms of names,
 * suppressions.
 *
 * A command has a struct profile_cli in its options, calls profile_cli_init before usage_take, and
 * puts OPTION_ROWS(option_profile, cli) among its rows.  Then cli.options is what profile_make
 * takes.  profile_cli_release frees the lists.
 */
#pragma once

#include "../profile/profile.h"
#include "option.h"

struct profile_cli {
	struct profile_options options;
	const char *filter; /* an option that was given and selects blocks; may be NULL */
};

extern const struct option_row option_profile[];
/* A struct thread_choice. */
extern const struct option_type option_threads;
/* Used instead of it, with the same input: only the options for names. */
extern const struct option_row option_names[];

void profile_cli_init(struct profile_cli *c);
void profile_cli_release(struct profile_cli *c);

/*
 * Prints on stderr the most important objects without names; or only those whose last path
 * component is one of n modules.
 */
void profile_tell_remarks(const struct profile *p);
void profile_tell_remarks_of(const struct profile *p, const char *const *module, size_t n);
/* Warns of a rule of --rewrite or --stop-at that no function matches, in p and in another one,
 * which may be p. */
void profile_tell_rules(const struct profile *p, const struct profile *other);
/* Says that figures are estimates, if they are. */
void profile_tell_estimates(const struct profile *p);
