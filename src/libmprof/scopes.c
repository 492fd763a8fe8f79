// SPDX-License-Identifier: LGPL-3.0-or-later
/* scopes.c - see scopes.h. */
#include "scopes.h"

#include <dlfcn.h>
#include <stddef.h>
#include <sys/auxv.h>

#include "core.h"
#include "real_libc.h"

/* dladdr compares all symbols of the object with the address: 15 us in libc, and a process of one
 * call asks a dozen times. */
const void *mp_scope_base(const void *at)
{
	struct dl_find_object found;
	Dl_info info;

	if (at && _dl_find_object && !_dl_find_object((void *)at, &found))
		return found.dlfo_map_start;
	return at && dladdr(at, &info) ? info.dli_fbase : NULL;
}

const char *mp_scope_file(const void *at)
{
	struct dl_find_object found;
	Dl_info info;

	/* The executable has no name in its link map. */
	if (_dl_find_object && !_dl_find_object((void *)at, &found) && *found.dlfo_link_map->l_name)
		return found.dlfo_link_map->l_name;
	return dladdr(at, &info) ? info.dli_fname : NULL;
}

/* The header of the object that contains this code. */
extern const ElfW(Ehdr) scope_own __asm__("__ehdr_start") MP_HIDDEN;

struct link_map *mp_scope_executable(void)
{
	/* A static program has no loader.  Nor has a loader that was started with a program as its
	 * argument: it has changed AT_PHDR to that of the program. */
	const uintptr_t own = (uintptr_t)&scope_own + scope_own.e_phoff;
	void *headers =
	    getauxval(AT_BASE) || getauxval(AT_PHDR) != own ? (void *)getauxval(AT_PHDR) : NULL;
	struct dl_find_object found;
	void *map = NULL;
	Dl_info info;

	if (headers && _dl_find_object && !_dl_find_object(headers, &found))
		return found.dlfo_link_map;
	return headers && dladdr1(headers, &info, &map, RTLD_DL_LINKMAP) ? map : NULL;
}

/* A lookup starts at the executable, because our own scope begins with us. */
void *mp_scope_seen(const char *name)
{
	struct link_map *executable = mp_scope_executable();

	return executable ? dlsym(executable, name) : NULL;
}

static const void *scope_object(const void *caller)
{
	struct dl_find_object found;

	if (_dl_find_object)
		return _dl_find_object((void *)caller, &found) ? NULL : found.dlfo_link_map;
	return mp_scope_base(caller);
}

/*
 * The functions that objects call by a name that no object of the global scope has.  A program may
 * load hundreds of such objects (Python with VTK), each of which calls several operators of C++,
 * and the loader takes longer the more there are.
 */
enum { SCOPE_BITS = 12, SCOPE_PROBES = 16 };
static struct scope {
	uint32_t epoch; /* the objects loaded then; the entry is valid for no others */
	const void *of, *object;
	void *real;
} scopes[(1 << SCOPE_BITS) + SCOPE_PROBES];

static struct scope *scope_first(const void *of, const void *object)
{
	const uint64_t key = ((uintptr_t)of << 20) ^ ((uintptr_t)object >> 3);

	return &scopes[key * 0x9E3779B97F4A7C15u >> (64 - SCOPE_BITS)];
}

static uint32_t epoch = 1; /* the epoch of all valid entries */

void mp_scopes_forget(void)
{
	__atomic_fetch_add(&epoch, 1, __ATOMIC_RELEASE);
}

void *mp_scope_ask(const char *library, const char *name)
{
	/* Not our own functions: dlclose would call mp_scopes_forget(). */
	void *handle = mp_next()->dlopen(library, RTLD_LAZY | RTLD_NOLOAD);
	void *real = handle ? dlsym(handle, name) : NULL;

	if (handle)
		mp_next()->dlclose(handle);
	return real;
}

void *mp_scope_known(const void *of, const void *caller)
{
	const void *object = scope_object(caller), *has, *in;
	const uint32_t now = __atomic_load_n(&epoch, __ATOMIC_ACQUIRE);
	const struct scope *s = scope_first(of, object), *const end = s + SCOPE_PROBES;
	void *real;

	for (; object && s < end; s++) {
		if (__atomic_load_n(&s->epoch, __ATOMIC_ACQUIRE) != now)
			continue;
		has = __atomic_load_n(&s->of, __ATOMIC_RELAXED);
		in = __atomic_load_n(&s->object, __ATOMIC_RELAXED);
		real = __atomic_load_n(&s->real, __ATOMIC_RELAXED);
		/* Pairs with the fence in scope_keep: all three are of one epoch. */
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (has == of && in == object &&
		    __atomic_load_n(&s->epoch, __ATOMIC_RELAXED) == now)
			return real;
	}
	return NULL;
}

static void scope_keep(const void *of, const void *object, void *real, uint32_t now)
{
	const uint32_t busy = UINT32_MAX;
	struct scope *s = scope_first(of, object), *const end = s + SCOPE_PROBES;

	for (; s < end; s++) {
		uint32_t had = __atomic_load_n(&s->epoch, __ATOMIC_RELAXED);

		/* Two threads must not share an entry. */
		if (had == now || had == busy ||
		    !__atomic_compare_exchange_n(&s->epoch, &had, busy, 0, __ATOMIC_RELAXED,
						 __ATOMIC_RELAXED))
			continue;
		__atomic_thread_fence(__ATOMIC_RELEASE);
		__atomic_store_n(&s->of, of, __ATOMIC_RELAXED);
		__atomic_store_n(&s->object, object, __ATOMIC_RELAXED);
		__atomic_store_n(&s->real, real, __ATOMIC_RELAXED);
		__atomic_store_n(&s->epoch, now, __ATOMIC_RELEASE);
		return;
	}
}

void *mp_scope_find(const void *of, const char *name, const char *library, const void *caller)
{
	const uint32_t now = __atomic_load_n(&epoch, __ATOMIC_ACQUIRE);
	const void *object = scope_object(caller);
	const char *file = mp_scope_file(caller);
	void *real = file ? mp_scope_ask(file, name) : NULL;

	if (!real && library) /* the library is not a direct dependency: look it up by name */
		real = mp_scope_ask(library, name);
	if (real && object)
		scope_keep(of, object, real, now);
	return real;
}
