// SPDX-License-Identifier: LGPL-3.0-or-later
/* argument.c - arguments, and values of options. */
#include "argument.h"

#include <stdlib.h>

#include "../util/ranges.h"

uint32_t argument_number(const char *arg, const char *what, struct argp_state *state)
{
	uint64_t n = 0;

	if (parse_whole(arg, 1, UINT32_MAX, &n))
		argp_error(state, "'%s' is no %s: a whole number from 1 is", arg, what);
	return (uint32_t)n;
}

double argument_percent(const char *arg, struct argp_state *state)
{
	char *end;
	double p = strtod(arg, &end);

	if (*end || end == arg || !(p >= 0 && p <= 100))
		argp_error(state, "'%s' is no percentage: 0 to 100", arg);
	return p;
}

error_t argument_file(int key, char *arg, struct argp_state *state, const char **path,
		      const char *missing)
{
	if (key == ARGP_KEY_NO_ARGS)
		argp_error(state, "%s", missing);
	if (key != ARGP_KEY_ARG)
		return ARGP_ERR_UNKNOWN;
	if (*path)
		argp_error(state, "one file at a time, not '%s' as well", arg);
	*path = arg;
	return 0;
}
