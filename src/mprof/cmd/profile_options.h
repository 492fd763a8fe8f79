/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * profile_options.h - the options that every command has which looks at call
 * stacks: which blocks count, how names read, what is suppressed.
 *
 * A command has a struct profile_cli in its options, calls profile_cli_init
 * before argp_parse, puts profile_argp among its argp children and, at
 * ARGP_KEY_INIT, says state->child_inputs[i] = &o->cli.  Then cli.options is what
 * profile_make takes.  profile_cli_release frees the lists.
 *
 * Options use keys from PROFILE_KEYS on; a command's own stay below.
 */
#ifndef MPROF_CMD_PROFILE_OPTIONS_H
#define MPROF_CMD_PROFILE_OPTIONS_H

#include <argp.h>

#include "../profile/profile.h"
#include "argument.h"

#define PROFILE_KEYS 4096

struct profile_cli {
	struct profile_options options;
	struct argument_list suppressions, debug_dir, rewrite, stop;
	const char *filter; /* an option that was given and says which blocks count; NULL */
};

extern const struct argp profile_argp;
/* Instead of it, with the same input: only how names read. */
extern const struct argp profile_names_argp;

void profile_cli_init(struct profile_cli *c);
void profile_cli_release(struct profile_cli *c);

/* For stderr: objects whose names could not be had, the most important ones; or only those
 * whose last part is one of n modules. */
void profile_tell_remarks(const struct profile *p);
/* That figures are estimates, if they are. */
void profile_tell_estimates(const struct profile *p);
void profile_tell_remarks_of(const struct profile *p, const char *const *module, size_t n);

#endif
