// SPDX-License-Identifier: LGPL-3.0-or-later
/* play_env.c - the environment of a playback. */
#include "variant.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util/alloc.h"

/* These variables are never passed on: they would change the runner's allocator. */
static const char *const dropped[] = { "LD_PRELOAD=", "LD_AUDIT=", "MPROF_CONF=", "MPROF_RUN=",
				       NULL };

static bool same_name(const char *a, const char *b)
{
	size_t n = strcspn(a, "=");

	return !strncmp(a, b, n) && (b[n] == '=' || !b[n]);
}

static bool is_kept(const char *s, const struct variant *v)
{
	size_t i;

	for (i = 0; dropped[i]; i++)
		if (!strncmp(s, dropped[i], strlen(dropped[i])))
			return false;
	for (i = 0; i < v->envs; i++)
		if (same_name(v->env[i], s))
			return false;
	return !v->clear || !variant_is_setting(s);
}

char **play_env(const struct variant *v)
{
	size_t n = 0, i;
	char **env;

	while (environ && environ[n])
		n++;
	env = must_calloc(n + v->envs + 2, sizeof(*env));
	n = 0;
	if (*v->so)
		env[n++] = must_printf("LD_PRELOAD=%s", v->so);
	for (i = 0; environ && environ[i]; i++)
		if (is_kept(environ[i], v))
			env[n++] = must_strdup(environ[i]);
	for (i = 0; i < v->envs; i++)
		env[n++] = must_strdup(v->env[i]);
	return env;
}

void play_env_free(char **env)
{
	size_t i;

	for (i = 0; env && env[i]; i++)
		free(env[i]);
	free(env);
}
