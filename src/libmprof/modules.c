// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * modules.c - names and paths to modules, and the allocator that an INIT
 * module found.
 *
 * All functions of the backing allocator must come from the object that has
 * its malloc: an allocator without pvalloc, say, must not get glibc's, whose
 * block its free would choke on.  What it lacks is made from what it has.
 */
#include <dlfcn.h>
#include <errno.h>

#include "internal.h"

#define MPROF_INIT(name, ops, help) extern const struct mprof_init_ops ops MP_HIDDEN;
#define MPROF_MODE(name, ops, help) extern const struct mprof_mode_ops ops MP_HIDDEN;
#include <mprof/modules.def>
#undef MPROF_INIT
#undef MPROF_MODE

static const struct mprof_init_ops *const inits[] = {
#define MPROF_INIT(name, ops, help) &ops,
#include <mprof/modules.def>
#undef MPROF_INIT
};
static const struct mprof_mode_ops *const modes[] = {
#define MPROF_MODE(name, ops, help) &ops,
#include <mprof/modules.def>
#undef MPROF_MODE
};
#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static int has_slash(const char *s)
{
	for (; *s; s++)
		if (*s == '/')
			return 1;
	return 0;
}

int mp_is_loadable(const char *key, const char *path, struct text *why)
{
	struct stat st;

	if (!has_slash(path) || sys_stat(path, &st, 0) < 0 || S_ISREG(st.st_mode))
		return 1;
	text_string(why, key);
	text_string(why, "='");
	text_string(why, path);
	text_string(why, "' is not a regular file; expected: a shared object");
	return 0;
}

/* A module in a .so of the user's. */
static const void *load(const char *key, const char *path, const char *symbol, struct text *why)
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
		text_string(why, "' was built for abi ");
		text_number(why, *(const uint32_t *)ops);
		text_string(why, ", this is ");
		text_number(why, MPROF_MODULE_ABI);
		return NULL;
	}
	text_string(why, "' cannot be used: ");
	error = dlerror();
	text_string(why, error ? error : "no such symbol");
	return NULL;
}

static void unknown(const char *key, const char *name, struct text *why)
{
	text_string(why, key);
	text_string(why, "='");
	text_string(why, name);
	text_string(why, "' is unknown; valid: ");
}

const struct mprof_init_ops *mp_find_init(const char *name, struct text *why)
{
	size_t i;

	if (has_slash(name))
		return load("INIT", name, "mprof_init", why);
	for (i = 0; i < COUNT(inits); i++)
		if (text_same(inits[i]->name, name))
			return inits[i];
	unknown("INIT", name, why);
	for (i = 0; i < COUNT(inits); i++) {
		text_string(why, inits[i]->name);
		text_string(why, ", ");
	}
	text_string(why, "or a path to a .so");
	return NULL;
}

const struct mprof_mode_ops *mp_find_mode(const char *name, struct text *why)
{
	size_t i;

	if (has_slash(name))
		return load("MODE", name, "mprof_mode", why);
	for (i = 0; i < COUNT(modes); i++)
		if (text_same(modes[i]->name, name))
			return modes[i];
	unknown("MODE", name, why);
	for (i = 0; i < COUNT(modes); i++) {
		text_string(why, modes[i]->name);
		text_string(why, ", ");
	}
	text_string(why, "or a path to a .so");
	return NULL;
}

/* What an allocator may lack, made from what it has. */
static void *made_calloc(size_t count, size_t size)
{
	size_t bytes;
	void *ptr;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	ptr = mprof_core.real.malloc(bytes);
	return ptr ? __builtin_memset(ptr, 0, bytes) : NULL;
}

static void *made_memalign(size_t align, size_t size)
{
	void *ptr = NULL;
	int error = mprof_core.real.posix_memalign(
	    &ptr, align < sizeof(void *) ? sizeof(void *) : align, size);

	if (error)
		errno = error;
	return error ? NULL : ptr;
}

static int made_posix_memalign(void **out, size_t align, size_t size)
{
	int before = errno;
	void *ptr;

	if (align % sizeof(void *) || !align || align & (align - 1))
		return EINVAL;
	ptr = mprof_core.real.memalign(align, size);
	errno = before;
	if (!ptr)
		return ENOMEM;
	*out = ptr;
	return 0;
}

static void *made_aligned_alloc(size_t align, size_t size)
{
	return mprof_core.real.memalign(align, size);
}

static void *made_valloc(size_t size)
{
	return mprof_core.real.memalign(mp_page(), size);
}

static void *made_pvalloc(size_t size)
{
	if (size > SIZE_MAX - mp_page()) {
		errno = ENOMEM;
		return NULL;
	}
	return mprof_core.real.memalign(mp_page(), (size + mp_page() - 1) & -(size_t)mp_page());
}

static size_t made_usable_size(void *ptr)
{
	(void)ptr;
	return 0;
}

static void made_free(void *ptr)
{
	mprof_core.real.free(ptr);
}

static void made_free_sized(void *ptr, size_t size)
{
	(void)size;
	mprof_core.real.free(ptr);
}

static void made_free_aligned_sized(void *ptr, size_t align, size_t size)
{
	(void)align, (void)size;
	mprof_core.real.free(ptr);
}

static const void *object_of(const void *symbol)
{
	Dl_info info;

	return symbol && dladdr(symbol, &info) ? info.dli_fbase : NULL;
}

/* The symbol if it lies in the same object as malloc. */
static void *own(const struct mprof_init_ops *init, const char *name, const void *object)
{
	void *symbol = init->symbol(name);

	return symbol && object_of(symbol) == object ? symbol : NULL;
}

/* Do the headers of glibc's chunks say what malloc_usable_size says?  On blocks of ours. */
static int chunk_headers_agree(const void *object)
{
	static const size_t sizes[] = { 1, 25, 1000, 5000 };
	const char *preloaded = text_getenv("LD_PRELOAD");
	int agree = object == object_of(dlsym(RTLD_NEXT, "gnu_get_libc_version"));

	/* valgrind serves glibc's malloc itself, and complains about such a look. */
	if (preloaded && __builtin_strstr(preloaded, "vgpreload"))
		return 0;

	for (unsigned i = 0; agree && i < COUNT(sizes); i++) {
		size_t *block = mprof_core.real.malloc(sizes[i]);

		if (!block)
			return 0;
		agree = !(block[-1] & 2) && (block[-1] & ~(size_t)7) - sizeof(size_t) ==
						mprof_core.real.malloc_usable_size(block);
		mprof_core.real.free(block);
	}
	return agree;
}

int mp_resolve(const struct mprof_init_ops *init, struct mprof_real *real, struct text *why)
{
	const void *object = object_of(init->symbol("malloc"));

	if (!object || !own(init, "free", object) || !own(init, "realloc", object)) {
		text_string(why, "INIT=");
		text_string(why, init->name);
		text_string(why, " found no allocator: malloc, free and realloc must come from one "
				 "object");
		return -ENOENT;
	}
#define FIND(name) real->name = (__typeof__(real->name))own(init, #name, object)
#define FIND_OR(name, made)                \
	do {                               \
		FIND(name);                \
		if (!real->name)           \
			real->name = made; \
	} while (0)
	FIND(malloc);
	FIND(free);
	FIND(realloc);
	FIND(memalign);
	FIND_OR(posix_memalign, made_posix_memalign);
	if (!real->memalign)
		real->memalign = made_memalign;
	if (real->memalign == made_memalign && real->posix_memalign == made_posix_memalign) {
		text_string(why, "the allocator has neither memalign nor posix_memalign");
		return -ENOENT;
	}
	FIND_OR(calloc, made_calloc);
	FIND_OR(aligned_alloc, made_aligned_alloc);
	FIND_OR(valloc, made_valloc);
	FIND_OR(pvalloc, made_pvalloc);
	FIND_OR(malloc_usable_size, made_usable_size);
	/* Rarely there, and a failing dlsym is dear: a free is what they are. */
	real->cfree = made_free;
	real->free_sized = made_free_sized;
	real->free_aligned_sized = made_free_aligned_sized;
	real->reallocarray = NULL; /* template.h and pass.c do it with realloc */
	/* tcmalloc allocates at the first of these: now, while that is not recorded. */
	void *block = real->malloc(1);
	if (block)
		real->malloc_usable_size(block);
	real->free(block);
	mprof_core.chunk_headers = (uint32_t)chunk_headers_agree(object);
	return 0;
}
