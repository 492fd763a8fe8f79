/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * hidden.c DIRECTORY - difficult cases for an unwinder: a library whose ELF header
 * cannot be read, and an allocation in every frame of a very deep recursion, where the library
 * drops outer frames: after STACK_BUDGET checked frames of stacks with more than STACK_DEEP.  Calls
 * from one of these exhaust it: few different stacks of that size are quick to read.
 */
#include "victim.h"

#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>

enum { DEEP = 9000, CALLS = 20000, DEPTH = 30000 };

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
	char *p = n < DEEP && n % 16 ? NULL : malloc(24);

	for (int i = 0; n == DEEP && i < CALLS; i++)
		free(malloc(24));
	must(p || n < DEEP);
	n = n < DEPTH ? down(n + 1) : n;
	free(p);
	return n;
}

static void *deep(void *arg)
{
	must(down(0) == DEPTH);
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
	say("atleast calls.malloc %d", DEPTH - DEEP + CALLS);
	say("ends 0");
	return 0;
}
