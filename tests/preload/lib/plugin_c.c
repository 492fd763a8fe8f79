/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* plugin_c.c - a plugin with a constructor, a destructor and a thread variable too big to be
 * static. */
#include <stdlib.h>

static __thread char big[8192];
static void *kept;

__attribute__((constructor)) static void begin(void)
{
	kept = malloc(4321);
}

__attribute__((destructor)) static void end(void)
{
	free(kept);
}

int plugin_run(int n)
{
	big[n] = 1;
	return n + big[n];
}
