/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * loading.c DIRECTORY - loads and unloads libraries that come to lie at the same addresses, in
 * turns: a name must be that of the library that was there then.
 */
#include "stack.h"

#include <dlfcn.h>
#include <link.h>

FRAME static uintptr_t load(const char *directory, const char *name, size_t size)
{
	char path[4096];
	struct link_map *map;
	uintptr_t base;
	void (*run)(size_t);
	void *handle;

	snprintf(path, sizeof(path), "%s/plugin_%s.so", directory, name);
	handle = dlopen(path, RTLD_NOW);
	if (!handle)
		say("FAILED %s", dlerror());
	must(handle && dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0);
	base = map->l_addr;
	run = (void (*)(size_t))dlsym(handle, "plugin_run");
	must(run);
	run(size);
	run(size);
	must(dlclose(handle) == 0);
	STAY();
	return base;
}

int main(int argc, char **argv)
{
	static const char *const name[] = { "red", "green", "blue" };
	uintptr_t last = 0;
	int same = 0;

	must(argc > 1);
	for (int i = 0; i < 12; i++) {
		uintptr_t base = load(argv[1], name[i % 3], (size_t)(2001 + i));

		same += base == last;
		last = base;
		say("chain %d %s_inner %s_middle plugin_run load " MAIN, 2001 + i, name[i % 3],
		    name[i % 3]);
		say("count %d 2", 2001 + i);
	}
#ifdef __x86_64__
	/* Otherwise this tests nothing.  (An emulator may place them elsewhere.) */
	must(same >= 6);
#endif
	for (int k = 0; k < 3; k++) {
		say("chain %d %s_inner %s_begins @ld-linux+ @libc+ ... "
		    "load " MAIN,
		    3001 + 10 * k, name[k], name[k]);
		say("count %d 4", 3001 + 10 * k);
		say("chain %d %s_inner %s_ends ... load " MAIN, 3002 + 10 * k, name[k], name[k]);
	}
	return 0;
}
