// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * so_load.c - INIT=SO_LOAD: the allocator in the shared object SO_PATH.
 *
 * RTLD_DEEPBIND, so that what it calls of its own family is itself and not us.
 * An object that needs more static TLS than the loader keeps in reserve cannot
 * be loaded this way; the loader's sentence and what to do instead are passed on.
 */
#include <dlfcn.h>
#include <errno.h>
#include <mprof/module.h>

static void *object;

static void put(char **at, char *end, const char *s)
{
	while (*s && *at + 1 < end)
		*(*at)++ = *s++;
	**at = 0;
}

static int open_object(const struct mprof_config *config, char *why, size_t why_size)
{
	char *at = why, *end = why + why_size;
	const char *error;

	if (!*config->so_path) {
		put(&at, end, "INIT=SO_LOAD needs SO_PATH, the allocator's shared object");
		return -EINVAL;
	}
	object = dlopen(config->so_path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
	if (object)
		return 0;
	error = dlerror();
	put(&at, end, "INIT=SO_LOAD: ");
	put(&at, end, error ? error : config->so_path);
	put(&at, end, "; use INIT=LD_NEXT with LD_PRELOAD=libmprof.so:");
	put(&at, end, config->so_path);
	put(&at, end, " instead");
	return -ENOENT;
}

static void *symbol(const char *name)
{
	return dlsym(object, name);
}

const struct mprof_init_ops mprof_init_so_load MPROF_SHARED = {
	.abi = MPROF_MODULE_ABI,
	.name = "SO_LOAD",
	.help = "the allocator in the shared object SO_PATH",
	.loads = 1,
	.open = open_object,
	.symbol = symbol,
};
