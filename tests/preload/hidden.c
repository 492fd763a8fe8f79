/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * hidden.c DIRECTORY - difficult cases for an unwinder: a library whose ELF header
 * cannot be read, and an allocation in every frame of a very deep recursion.
 */
#include "victim.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>

enum { DEPTH = 300000 };

static void unreadable(const char *directory)
{
	char path[4096];
	struct link_map *map;
	int (*run)(int);
	void *handle, *header;

	snprintf(path, sizeof(path), "%s/plugin_c.so", directory);
	handle = dlopen(path, RTLD_NOW);
	must(handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0);
	run = (int (*)(int))dlsym(handle, "plugin_run");
	header = (void *)map->l_addr;
	must(run && mprotect(header, 4096, PROT_NONE) == 0);
	must(run(20) == 21);
	must(mprotect(header, 4096, PROT_READ) == 0);
	must(dlclose(handle) == 0);
}

__attribute__((noinline)) static long down(long n)
{
	char *p = malloc(24);

	must(p);
	if (n)
		n = down(n - 1);
	free(p);
	return n + 1;
}

static void *deep(void *arg)
{
	must(down(DEPTH - 1) == DEPTH);
	return arg;
}

int main(int argc, char **argv)
{
	pthread_attr_t attr;
	pthread_t id;

	must(argc > 1);
	unreadable(argv[1]);
	must(pthread_attr_init(&attr) == 0);
	must(pthread_attr_setstacksize(&attr, 64u << 20) == 0);
	must(pthread_create(&id, &attr, deep, NULL) == 0);
	must(pthread_join(id, NULL) == 0);
	say("atleast calls.malloc %d", DEPTH);
	say("ends 0");
	return 0;
}
