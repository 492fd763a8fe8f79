/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * plugins.c DIRECTORY - a C program that loads and unloads plugins, one of them in C++ and
 * hidden (RTLD_LOCAL), so that libstdc++ comes and goes under a running recorder.
 */
#include "victim.h"

#include <dlfcn.h>
#include <pthread.h>

enum { LOOPS = 60 };
static char c_plugin[4096], cxx_plugin[4096];

static void use(const char *path, int flags)
{
	void *handle = dlopen(path, flags);
	int (*run)(int);

	if (!handle)
		say("FAILED %s", dlerror());
	must(handle);
	run = (int (*)(int))dlsym(handle, "plugin_run");
	must(run && run(20) == 21);
	must(dlclose(handle) == 0);
}

static void *load(void *arg)
{
	for (int i = 0; i < LOOPS; i++)
		use(arg, i % 2 ? RTLD_NOW | RTLD_LOCAL : RTLD_LAZY | RTLD_LOCAL);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t id;

	must(argc > 1);
	snprintf(c_plugin, sizeof(c_plugin), "%s/plugin_c.so", argv[1]);
	snprintf(cxx_plugin, sizeof(cxx_plugin), "%s/plugin_cxx.so", argv[1]);
	must(dlopen("/nonexistent/plugin.so", RTLD_NOW) == NULL && dlerror());
	must(dlsym(RTLD_DEFAULT, "no_such_symbol_anywhere") == NULL && dlerror());
	must(pthread_create(&id, NULL, load, c_plugin) == 0);
	load(cxx_plugin);
	must(pthread_join(id, NULL) == 0);
	say("size 4321 %d", LOOPS);
	say("size 5432 %d", 2 * LOOPS);
	say("ends 0");
	return 0;
}
