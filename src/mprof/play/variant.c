// SPDX-License-Identifier: LGPL-3.0-or-later
/* variant.c - lists of allocators with settings. */
#include "variant.h"

#include <ctype.h>
#include <errno.h>
#include <mprof/runner.h>
#include <stdlib.h>
#include <string.h>

#include "../run/library.h"
#include "../util/alloc.h"

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

static const char *const settings[] = { MPROF_SETTINGS, NULL };

bool variant_is_setting(const char *variable)
{
	size_t i;

	for (i = 0; settings[i]; i++)
		if (!strncmp(variable, settings[i], strlen(settings[i])))
			return true;
	return false;
}

static void release(struct variant *v)
{
	size_t i;

	for (i = 0; i < v->envs; i++)
		free(v->env[i]);
	free(v->env);
	free(v->name);
	free(v->so);
	free(v->version);
}

void variants_release(struct variants *vs)
{
	size_t i;

	for (i = 0; i < vs->n; i++)
		release(&vs->v[i]);
	free(vs->v);
	*vs = (struct variants){ 0 };
}

static bool is_taken(const struct variants *vs, const char *name)
{
	size_t i;

	for (i = 0; i < vs->n; i++)
		if (!strcmp(vs->v[i].name, name))
			return true;
	return false;
}

/* Returns the name, or name#2 ..., that is not in the list yet. */
static char *free_name(const struct variants *vs, const char *name)
{
	char *made = must_strdup(name);
	unsigned n;

	for (n = 2; is_taken(vs, made); n++) {
		free(made);
		made = must_printf("%s#%u", name, n);
	}
	return made;
}

static void add_env(struct variant *v, const char *text, size_t length)
{
	GROW(v->env, v->envs + 1, v->env_room);
	v->env[v->envs++] = must_strndup(text, length);
}

static bool has_env(const struct variant *v, const char *setting)
{
	const size_t n = strcspn(setting, "=") + 1;
	size_t i;

	for (i = 0; i < v->envs; i++)
		if (!strncmp(v->env[i], setting, n))
			return true;
	return false;
}

/* Is it NAME=VALUE, with a name that a shell accepts? */
static bool is_assignment(const char *s, size_t length)
{
	size_t n = strspn(s, NAME_CHARACTERS);

	return n && n < length && s[n] == '=' && !isdigit((unsigned char)*s);
}

/* Parses the inside of the brackets. */
static int add_settings(struct variant *v, const char *s, struct error *err)
{
	size_t n;

	for (; *s; s += n + (s[n] != '\0')) {
		n = strcspn(s, " \t;");
		if (!n)
			continue;
		if (!is_assignment(s, n))
			return fail(err, -EINVAL,
				    "invalid --allocator '[%.*s]': expected NAME=VALUE, for "
				    "example MALLOC_ARENA_MAX=2",
				    (int)n, s);
		add_env(v, s, n);
	}
	return 0;
}

/* Adds a variant with so, name and settings, whose sweeps are filled in. */
static int add_one(struct variants *vs, char *so, const char *name, const char *set,
		   struct error *err)
{
	struct variant *v;
	int ret;

	GROW(vs->v, vs->n + 1, vs->room);
	v = &vs->v[vs->n];
	*v = (struct variant){
		.so = so,
		.name = free_name(vs, name),
		.version = variant_version(so),
	};
	ret = vs->n < VARIANTS_MOST
		  ? add_settings(v, set, err)
		  : fail(err, -EINVAL, "more than %d allocators and settings at a time",
			 VARIANTS_MOST);
	if (ret)
		release(v);
	else
		vs->n++;
	return ret;
}

/* Returns the last part of a path, ignoring slashes in brackets. */
static const char *behind_slash(const char *entry)
{
	const char *slash = memrchr(entry, '/', strcspn(entry, "["));

	return slash ? slash + 1 : entry;
}

/* Adds one entry without sweeps, LABEL=NAME[...]. */
static int add_plain(struct variants *vs, char *entry, struct error *err)
{
	char *open = strchr(entry, '['), *so, *label, *name = entry;
	struct error why;
	size_t n = strspn(entry, NAME_CHARACTERS "-.+");
	int ret;

	if (n && entry[n] == '=') {
		entry[n] = '\0';
		name = entry + n + 1;
	}
	label = must_strdup(entry == name ? behind_slash(entry) : entry);
	if (open) {
		*open++ = '\0';
		open[strlen(open) - 1] = '\0'; /* without the closing bracket */
	}
	so = allocator_resolve(name, &why);
	ret =
	    so ? add_one(vs, so, label, open ? open : "", err) : fail(err, -EINVAL, "%s", why.text);
	free(label);
	return ret;
}

/* Replaces the first {a,b} of the entry by a, then by b. */
static int add_swept(struct variants *vs, char *entry, struct error *err)
{
	char *open = strchr(entry, '{'), *close = open ? strchr(open, '}') : NULL, *s, *one;
	int ret = 0;
	size_t n;

	if (!open && !strchr(entry, '}'))
		return add_plain(vs, entry, err);
	if (!close || memchr(open + 1, '{', (size_t)(close - open - 1)))
		return fail(err, -EINVAL, "invalid --allocator '%s': expected {a,b,c}", entry);
	for (s = open + 1; !ret && s <= close; s += n + 1) {
		n = strcspn(s, ",}");
		one = must_printf("%.*s%.*s%s", (int)(open - entry), entry, (int)n, s, close + 1);
		ret = add_swept(vs, one, err);
		free(one);
	}
	return ret;
}

static int add_all(struct variants *vs, struct error *err)
{
	const struct allocator *a;
	char *so;
	int ret = 0;

	for (a = allocator_table; a->name && !ret; a++) {
		so = allocator_find(a);
		if (so)
			ret = add_one(vs, so, a->name, "", err);
	}
	return ret;
}

/*
 * Returns the length of the entry at s, to its comma or the end; 0 if brackets do not match, or
 * something follows them.
 */
static size_t entry_length(const char *s)
{
	size_t n;
	int inside = 0;

	for (n = 0; s[n] && (inside || s[n] != ','); n++) {
		inside += (s[n] == '[') - (s[n] == ']');
		if (inside < 0 || (s[n] == ']' && !inside && s[n + 1] && s[n + 1] != ','))
			return 0;
	}
	return inside ? 0 : n;
}

static int add_entry(struct variants *vs, const char *s, size_t n, struct error *err)
{
	char *entry = must_strndup(s, n);
	const int ret = strcmp(entry, "all") ? add_swept(vs, entry, err) : add_all(vs, err);

	free(entry);
	return ret;
}

int variants_parse(struct variants *vs, const char *list, struct error *err)
{
	const char *s = list;
	size_t n;
	int ret = 0;

	do {
		s += strspn(s, " \t\n");
		n = entry_length(s);
		if (!n)
			return fail(err, -EINVAL,
				    "invalid --allocator '%s': expected a list of allocators, for "
				    "example glibc,jemalloc[MALLOC_CONF=narenas:2],/path/lib.so",
				    list);
		ret = add_entry(vs, s, n, err);
		s += n;
	} while (!ret && *s++);
	return ret;
}

bool variant_setting(const char *s)
{
	return is_assignment(s, strlen(s));
}

void variants_set(struct variants *vs, const char *setting)
{
	size_t i;

	for (i = 0; i < vs->n; i++)
		if (!has_env(&vs->v[i], setting))
			add_env(&vs->v[i], setting, strlen(setting));
}

bool variant_add(struct variant *v, const char *setting)
{
	char *name = must_strndup(setting, strcspn(setting, "="));
	const bool add = !has_env(v, setting) && !getenv(name);

	free(name);
	if (add)
		add_env(v, setting, strlen(setting));
	return add;
}
