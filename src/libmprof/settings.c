// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * settings.c - notes how the program configures its allocator, so that a playback can do the same:
 * variables of its environment, and calls of mallopt.
 */
#include <mprof/module.h>
#include <mprof/runner.h>
#include <string.h>

#include "config.h"
#include "core.h"
#include "facts.h"
#include "process.h"
#include "real_libc.h"
#include "scopes.h"
#include "text.h"
#include "times.h"

#define NOTED_MOST 64u /* calls of mallopt: a program may make them all the time */

void mp_settings_note(void)
{
	static const char *const names[] = { MPROF_SETTINGS };

	/* A value may be a path. */
	for (char **e = mp_config.anonymous ? NULL : environ; e && *e; e++)
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			if (!strncmp(*e, names[i], strlen(names[i])))
				mp_fact_set(*e);
}

/* Returns the variable of glibc that does the same; NULL if there is none. */
static const char *settings_name(int parameter)
{
	static const char *const names[] = {
		/* By -parameter: M_TRIM_THRESHOLD to M_ARENA_MAX of <malloc.h>. */
		[1] = "MALLOC_TRIM_THRESHOLD_=", [2] = "MALLOC_TOP_PAD_=",
		[3] = "MALLOC_MMAP_THRESHOLD_=", [4] = "MALLOC_MMAP_MAX_=",
		[7] = "MALLOC_ARENA_TEST=",	 [8] = "MALLOC_ARENA_MAX=",
	};

	return parameter < 0 && parameter >= -8 ? names[-parameter] : NULL;
}

EXPORT int mallopt(int parameter, int value)
{
	static unsigned noted;
	const char *name = settings_name(parameter);
	const int ret = mp_next()->mallopt(parameter, value);
	char buffer[64];
	struct text t = text_on(buffer, sizeof(buffer));

	if (ret && name && mp_recording() &&
	    mp_scope_base((const void *)(uintptr_t)mp_next()->mallopt) ==
		mp_scope_base(MP_REAL(malloc)) &&
	    __atomic_fetch_add(&noted, 1, __ATOMIC_RELAXED) < NOTED_MOST) {
		text_string(&t, name);
		/* As mallopt makes a size of it. */
		text_number(&t, (uint64_t)(int64_t)value);
		mp_fact_set(buffer);
	}
	return ret;
}
