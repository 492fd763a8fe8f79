// SPDX-License-Identifier: LGPL-3.0-or-later
/* modules.c - names and paths to modules. */
#include <dlfcn.h>

#include "config.h"
#include "core.h"
#include "sys.h"
#include "text.h"

#define MPROF_INIT(name, ops, help)	       extern const struct mprof_init_ops ops MP_HIDDEN;
#define MPROF_MODE(name, ops, key, kind, help) extern const struct mprof_mode_ops ops MP_HIDDEN;
#include <mprof/modules.def>
#undef MPROF_INIT
#undef MPROF_MODE

/* A built-in module.  ops: its operations, of the type of its kind. */
struct module {
	const char *name;
	const void *ops;
};

static const struct module inits[] = {
#define MPROF_INIT(name, ops, help) { #name, &ops },
#include <mprof/modules.def>
#undef MPROF_INIT
};
static const struct module modes[] = {
#define MPROF_MODE(name, ops, key, kind, help) { #name, &ops },
#include <mprof/modules.def>
#undef MPROF_MODE
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int has_char(const char *s, char c)
{
	for (; *s; s++)
		if (*s == c)
			return 1;
	return 0;
}

static int has_slash(const char *s)
{
	return has_char(s, '/');
}

int mp_is_loadable(const char *key, const char *path, struct text *why)
{
	struct stat st;

	if (!has_slash(path) || sys_stat(path, &st, 0) < 0 || S_ISREG(st.st_mode))
		return 1;
	mp_config_invalid(key, path, why);
	text_string(why, "a shared object, which is a regular file");
	return 0;
}

/* Loads the user's module from a .so. */
static const void *module_load(const char *key, const char *path, const char *symbol,
			       struct text *why)
{
	const void *ops;
	const char *error;
	void *so;

	if (!mp_is_loadable(key, path, why))
		return NULL;
	so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	ops = so ? dlsym(so, symbol) : NULL;
	if (ops && *(const uint32_t *)ops == MPROF_MODULE_ABI)
		return ops;
	text_string(why, "module '");
	text_string(why, path);
	if (ops) {
		text_string(why, "' was built for ABI version ");
		text_number(why, *(const uint32_t *)ops);
		text_string(why, "; this libmprof.so has ");
		text_number(why, MPROF_MODULE_ABI);
		return NULL;
	}
	text_string(why, "' cannot be used: ");
	error = dlerror();
	text_string(why, error ? error : "no such symbol");
	return NULL;
}

/* Finds a module by its name in a table of n, or by a path to a .so that has `symbol`. */
static const void *module_find(const struct module *table, size_t n, const char *key,
			       const char *name, const char *symbol, struct text *why)
{
	size_t i;

	if (has_slash(name))
		return module_load(key, name, symbol, why);
	for (i = 0; i < n; i++)
		if (text_same(table[i].name, name))
			return table[i].ops;
	mp_config_invalid(key, name, why);
	for (i = 0; i < n; i++) {
		text_string(why, table[i].name);
		text_string(why, ", ");
	}
	text_string(why, "or the path of a shared object");
	if (has_char(name, '='))
		text_string(why, " (a space separates settings)");
	return NULL;
}

const struct mprof_init_ops *mp_find_init(const char *name, struct text *why)
{
	return module_find(inits, COUNT(inits), "INIT", name, "mprof_init", why);
}

const struct mprof_mode_ops *mp_find_mode(const char *name, struct text *why)
{
	return module_find(modes, COUNT(modes), "MODE", name, "mprof_mode", why);
}
