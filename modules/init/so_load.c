// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * so_load.c - INIT=SO_LOAD: the allocator in the shared object SO_PATH.
 *
 * Loaded with RTLD_DEEPBIND, so that its calls of its own functions do not reach us. An object that
 * needs more static TLS than the loader reserves cannot be loaded this way; the loader's message
 * and the remedy are reported.
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <mprof/module.h>

static void *object;

static void so_load_put(char **at, char *end, const char *s)
{
	while (*s && *at + 1 < end)
		*(*at)++ = *s++;
	**at = 0;
}

/*
 * Writes the remedy for an object that must be loaded before the program starts.  The configuration
 * is a variable of libmprof.so, while this file may be a module of its own.
 */
static void so_load_put_remedy(char **at, char *end, const struct mprof_config *config)
{
	Dl_info us;

	so_load_put(at, end, "; set INIT=LD_NEXT and LD_PRELOAD=");
	so_load_put(at, end, dladdr(config, &us) ? us.dli_fname : "libmprof.so");
	so_load_put(at, end, ":");
	so_load_put(at, end, config->so_path);
	so_load_put(at, end, " instead");
}

/*
 * Does the malloc that was found belong to another object?  An object
 * without one may depend on an allocator, but each depends on libc.
 */
static int so_load_is_of_libc(void *found)
{
	const struct link_map *map = object;
	void *libc = dlsym(RTLD_NEXT, "gnu_get_libc_version");
	Dl_info its, libcs;

	return found && libc && dladdr(found, &its) && dladdr(libc, &libcs) &&
	       its.dli_fbase == libcs.dli_fbase && __builtin_strcmp(its.dli_fname, map->l_name);
}

static int so_load_open(const struct mprof_config *config, char *why, size_t why_size)
{
	char *at = why, *end = why + why_size;
	const char *error;

	if (!*config->so_path) {
		so_load_put(&at, end, "INIT=SO_LOAD needs SO_PATH, the allocator's shared object");
		return -EINVAL;
	}
	object = dlopen(config->so_path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	if (object && !so_load_is_of_libc(dlsym(object, "malloc")))
		return 0;
	error = object ? NULL : dlerror();
	so_load_put(&at, end, "INIT=SO_LOAD: ");
	so_load_put(&at, end, error ? error : config->so_path);
	if (object)
		so_load_put(&at, end, " defines no malloc");
	else if (error && __builtin_strstr(error, "static TLS"))
		so_load_put_remedy(&at, end, config);
	return -ENOENT;
}

static void *so_load_symbol(const char *name)
{
	return dlsym(object, name);
}

const struct mprof_init_ops mprof_init_so_load MPROF_SHARED = {
	.abi = MPROF_MODULE_ABI,
	.loads = 1,
	.open = so_load_open,
	.symbol = so_load_symbol,
};
