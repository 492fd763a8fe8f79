// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * operators.c - C++ operator new and delete.
 *
 * libstdc++'s and libc++'s reach malloc and free, which are us: those are only
 * passed on.  An allocator with operators of its own (jemalloc, tcmalloc,
 * mimalloc, TBB's proxy, preloaded or linked) does not, or only in some forms:
 * when the next operator lies in the object that has the backing malloc, a
 * trial tells, and calls of those that do not are recorded here.
 *
 * Each operator is looked up on its first call: a C program has none, and a
 * failing lookup is dear.  A C++ plugin of a C program is loaded out of sight
 * of RTLD_NEXT; then the C++ library is asked for by name.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "internal.h"

#define EXPORT __attribute__((visibility("default")))

struct operator
{
	const char *name;
	void *real;
	uint32_t own; /* it does not reach malloc: record it */
};

static const void *base_of(const void *symbol)
{
	Dl_info info;

	return dladdr(symbol, &info) ? info.dli_fbase : NULL;
}

static void *find(const char *name)
{
	static const char *const libraries[] = { "libstdc++.so.6", "libc++.so.1",
						 "libc++abi.so.1" };
	void *symbol = dlsym(RTLD_NEXT, name), *so;

	for (unsigned i = 0; !symbol && i < 3; i++) {
		so = dlopen(libraries[i], RTLD_LAZY | RTLD_NOLOAD);
		if (so)
			symbol = dlsym(so, name);
	}
	return symbol;
}

/* No C++ library at all: linked statically into a plugin.  Then malloc is what they do. */
static void *fallback_new(size_t size)
{
	void *ptr = malloc(size ? size : 1);

	if (!ptr)
		abort(); /* as an uncaught std::bad_alloc, which we have nothing to throw with */
	return ptr;
}

/* Any form of new and delete takes these: a size, an alignment or a tag, a tag. */
static void try_new(void *real)
{
	void *(*call)(size_t, size_t, size_t) = (void *(*)(size_t, size_t, size_t))real;

	mprof_core.real.free(call(64, 64, 64));
}

static void try_delete(void *real)
{
	void (*call)(void *, size_t, size_t) = (void (*)(void *, size_t, size_t))real;

	call(mprof_core.real.memalign(64, 64), 64, 64);
}

/* Remembered once the allocator is known: it may call us while it is being found. */
static MPROF_COLD void *look_up(struct operator* o, int is_new)
{
	void *real = find(o->name);

	if (!real)
		real = is_new ? (void *)fallback_new : (void *)free;
	if (!mp_boot_try(NULL))
		return real;
	if (mp_recording() && base_of(real) == base_of(*(void **)&mprof_core.real.malloc))
		o->own = !mp_reaches_malloc(is_new ? try_new : try_delete, real);
	__atomic_store_n(&o->real, real, __ATOMIC_RELEASE);
	return real;
}

MPROF_HOT void *real_of(struct operator* o, int is_new)
{
	void *real = __atomic_load_n(&o->real, __ATOMIC_ACQUIRE);

	return mprof_likely(real != NULL) ? real : look_up(o, is_new);
}

#define NEW(symbol, fn, params, args, align)                           \
	EXPORT void *symbol params;                                    \
	EXPORT void *symbol params                                     \
	{                                                              \
		static struct operator o = { #symbol, NULL, 0 };       \
		void *(*real)params = (void *(*)params)real_of(&o, 1); \
		void *ptr;                                             \
                                                                       \
		if (mprof_likely(!o.own))                              \
			return real args;                              \
		ptr = real args;                                       \
		mp_table()->note_alloc(fn, ptr, size, align);          \
		return ptr;                                            \
	}

#define DELETE(symbol, fn, params, args, size)                       \
	EXPORT void symbol params;                                   \
	EXPORT void symbol params                                    \
	{                                                            \
		static struct operator o = { #symbol, NULL, 0 };     \
		void(*real) params = (void(*) params)real_of(&o, 0); \
                                                                     \
		if (mprof_unlikely(o.own))                           \
			mp_table()->note_free(fn, ptr, size);        \
		real args;                                           \
	}

/* The Itanium C++ ABI's names; m is size_t, St11align_val_t the alignment. */
NEW(_Znwm, MPROF_FN_NEW, (size_t size), (size), 0)
NEW(_Znam, MPROF_FN_NEW_ARRAY, (size_t size), (size), 0)
NEW(_ZnwmRKSt9nothrow_t, MPROF_FN_NEW, (size_t size, const void *no), (size, no), 0)
NEW(_ZnamRKSt9nothrow_t, MPROF_FN_NEW_ARRAY, (size_t size, const void *no), (size, no), 0)
NEW(_ZnwmSt11align_val_t, MPROF_FN_NEW, (size_t size, size_t align), (size, align), align)
NEW(_ZnamSt11align_val_t, MPROF_FN_NEW_ARRAY, (size_t size, size_t align), (size, align), align)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, MPROF_FN_NEW, (size_t size, size_t align, const void *no),
    (size, align, no), align)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, MPROF_FN_NEW_ARRAY,
    (size_t size, size_t align, const void *no), (size, align, no), align)

DELETE(_ZdlPv, MPROF_FN_DELETE, (void *ptr), (ptr), 0)
DELETE(_ZdaPv, MPROF_FN_DELETE_ARRAY, (void *ptr), (ptr), 0)
DELETE(_ZdlPvm, MPROF_FN_DELETE, (void *ptr, size_t size), (ptr, size), size)
DELETE(_ZdaPvm, MPROF_FN_DELETE_ARRAY, (void *ptr, size_t size), (ptr, size), size)
DELETE(_ZdlPvRKSt9nothrow_t, MPROF_FN_DELETE, (void *ptr, const void *no), (ptr, no), 0)
DELETE(_ZdaPvRKSt9nothrow_t, MPROF_FN_DELETE_ARRAY, (void *ptr, const void *no), (ptr, no), 0)
DELETE(_ZdlPvSt11align_val_t, MPROF_FN_DELETE, (void *ptr, size_t align), (ptr, align), 0)
DELETE(_ZdaPvSt11align_val_t, MPROF_FN_DELETE_ARRAY, (void *ptr, size_t align), (ptr, align), 0)
DELETE(_ZdlPvmSt11align_val_t, MPROF_FN_DELETE, (void *ptr, size_t size, size_t align),
       (ptr, size, align), size)
DELETE(_ZdaPvmSt11align_val_t, MPROF_FN_DELETE_ARRAY, (void *ptr, size_t size, size_t align),
       (ptr, size, align), size)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, MPROF_FN_DELETE,
       (void *ptr, size_t align, const void *no), (ptr, align, no), 0)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, MPROF_FN_DELETE_ARRAY,
       (void *ptr, size_t align, const void *no), (ptr, align, no), 0)
