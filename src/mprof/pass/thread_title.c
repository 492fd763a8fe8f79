// SPDX-License-Identifier: LGPL-3.0-or-later
/* thread_title.c - how an answer names a thread. */
#include "thread_title.h"

#include <inttypes.h>
#include <stdio.h>

struct text thread_title(const char *name, uint32_t number)
{
	struct text title;

	snprintf(title.s, sizeof(title.s), *name ? "%" PRIu32 " (%s)" : "%" PRIu32, number, name);
	return title;
}
