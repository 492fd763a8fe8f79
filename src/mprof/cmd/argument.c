// SPDX-License-Identifier: LGPL-3.0-or-later
/* argument.c - values of options. */
#include "argument.h"

#include <stdlib.h>

double argument_percent(const char *arg, struct argp_state *state)
{
	char *end;
	double p = strtod(arg, &end);

	if (*end || end == arg || !(p >= 0 && p <= 100))
		argp_error(state, "'%s' is no percentage: 0 to 100", arg);
	return p;
}
