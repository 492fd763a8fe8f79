// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * resolve.c - the functions of the allocator that an INIT module found.
 *
 * They must come from the object that defines its malloc: an allocator without pvalloc must not get
 * glibc's, whose blocks its free cannot handle.  Missing functions are built from existing ones.
 * Where that is impossible, the next definition after us is used, if the INIT module can find it: a
 * preloaded object that wraps only malloc and free relies on that (glibc's libmemusage.so).
 * Otherwise aligned blocks are padded ones of malloc (padded.c).
 *
 * No pointer stays NULL: the substitute follows from a function's shape in functions.def, and an
 * allocator without a function that has no substitute is refused.
 */
#include <dlfcn.h>
#include <errno.h>

#include "allocator.h"
#include "config.h"
#include "scopes.h"
#include "text.h"

typedef void any_fn(void);

#define real mprof_core.real

/* Substitute for an allocator that has malloc_usable_size. */
static void *made_realloc(void *ptr, size_t size)
{
	size_t keep = ptr ? real.malloc_usable_size(ptr) : 0;
	void *to = real.malloc(size);

	if (!to || !ptr)
		return to;
	__builtin_memcpy(to, ptr, keep < size ? keep : size);
	real.free(ptr);
	return to;
}

static void *memalign_by_posix(size_t align, size_t size)
{
	void *ptr = NULL;
	int error =
	    real.posix_memalign(&ptr, align < sizeof(void *) ? sizeof(void *) : align, size);

	if (error)
		errno = error;
	return error ? NULL : ptr;
}

/* Some implementations require a multiple of the alignment, as C11 does. */
static void *memalign_by_c11(size_t align, size_t size)
{
	size_t over = align ? size % align : 0;

	if (over && size > SIZE_MAX - align) {
		errno = ENOMEM;
		return NULL;
	}
	return real.aligned_alloc(align, over ? size + align - over : size);
}

static void *made_block(enum mprof_shape shape, size_t size, size_t arg)
{
	struct mp_extent want = mp_extent_of(shape, size, arg);
	void *ptr;

	if (!want.fits)
		return NULL;
	ptr = shape == MPROF_SHAPE_PLAIN || shape == MPROF_SHAPE_COUNT
		  ? real.malloc(want.bytes)
		  : real.memalign(want.align, want.bytes);
	return ptr && shape == MPROF_SHAPE_COUNT ? __builtin_memset(ptr, 0, want.bytes) : ptr;
}

static int made_out(void **out, size_t align, size_t size)
{
	int before = errno;
	void *ptr;

	if (align % sizeof(void *) || !align || align & (align - 1))
		return EINVAL;
	ptr = real.memalign(align, size);
	errno = before;
	if (!ptr)
		return ENOMEM;
	*out = ptr;
	return 0;
}

static void *made_resized(void *ptr, enum mprof_shape shape, size_t size, size_t arg)
{
	struct mp_extent want = mp_extent_of(shape, size, arg);

	return want.fits ? real.realloc(ptr, want.bytes) : NULL;
}

/* Makes substitutes for the functions that are not CORE, by their shape. */
#define MADE_ALLOC(id, name, shape, params, args, size, arg)       \
	static void *made_##name params                            \
	{                                                          \
		return made_block(MPROF_SHAPE_##shape, size, arg); \
	}
#define MADE_OUT(id, name, shape, params, args, size, arg) \
	static int made_##name params                      \
	{                                                  \
		return made_out(out, arg, size);           \
	}
#define MADE_REALLOC(id, name, shape, params, args, size, arg)            \
	static void *made_##name params                                   \
	{                                                                 \
		return made_resized(ptr, MPROF_SHAPE_##shape, size, arg); \
	}
#define MADE_FREE(id, name, shape, params, args, size, arg) \
	static void made_##name params                      \
	{                                                   \
		(void)(size), (void)(arg);                  \
		real.free(ptr);                             \
	}
#define MADE_QUERY(id, name, shape, params, args, size, arg) \
	static size_t made_##name params                     \
	{                                                    \
		(void)ptr;                                   \
		return 0;                                    \
	}
#define STAND_IN_CORE(id, name, shape)
#define STAND_IN_OWN(id, name, shape)			  MPROF_CALL_##shape(MADE, id, name)
#define STAND_IN_MADE(id, name, shape)			  MPROF_CALL_##shape(MADE, id, name)
#define MPROF_MALLOC(id, code, name, class, shape, found) STAND_IN_##found(id, name, shape)
#include <mprof/functions.def>

enum found { FOUND_CORE, FOUND_OWN, FOUND_MADE };

#define INSTEAD_CORE(name) NULL
#define INSTEAD_OWN(name)  (any_fn *)made_##name
#define INSTEAD_MADE(name) (any_fn *)made_##name
static const struct {
	const char *name;
	size_t at; /* in struct mprof_real */
	enum found found;
	any_fn *made;
} family[] = {
#define MPROF_MALLOC(id, code, name, class, shape, found) \
	{ #name, offsetof(struct mprof_real, name), FOUND_##found, INSTEAD_##found(name) },
#include <mprof/functions.def>
};
#define FAMILY (sizeof(family) / sizeof(family[0]))

static void real_set(size_t i, any_fn *fn)
{
	__builtin_memcpy((char *)&real + family[i].at, &fn, sizeof(fn));
}

static any_fn *real_get(size_t i)
{
	any_fn *fn;

	__builtin_memcpy(&fn, (char *)&real + family[i].at, sizeof(fn));
	return fn;
}

/* Returns the symbol if it lies in the same object as malloc. */
static any_fn *real_own(const struct mprof_init_ops *init, const char *name, const void *object)
{
	void *symbol = init->symbol(name);

	return symbol && mp_scope_base(symbol) == object ? *(any_fn **)&symbol : NULL;
}

static any_fn *real_natural(const struct mprof_init_ops *init, const char *name)
{
	void *symbol = init->natural ? init->symbol(name) : NULL;

	return *(any_fn **)&symbol;
}

/* Finds the functions that have no substitutes. */
static int real_find_core(const struct mprof_init_ops *init)
{
	if (!real.malloc)
		real.malloc = (__typeof__(real.malloc))real_natural(init, "malloc");
	if (!real.free)
		real.free = (__typeof__(real.free))real_natural(init, "free");
	if (!real.realloc)
		real.realloc = (__typeof__(real.realloc))real_natural(init, "realloc");
	if (!real.realloc && real.malloc_usable_size)
		real.realloc = made_realloc;
	return real.malloc && real.free && real.realloc ? 0 : -ENOENT;
}

static void real_find_memalign(const struct mprof_init_ops *init)
{
	if (!real.memalign && real.posix_memalign)
		real.memalign = memalign_by_posix;
	if (!real.memalign && real.aligned_alloc)
		real.memalign = memalign_by_c11;
	if (!real.memalign)
		real.memalign = (__typeof__(real.memalign))real_natural(init, "memalign");
	if (!real.memalign)
		mp_padded_start();
}

static int real_is_libc(const void *object)
{
	return object == mp_scope_base(dlsym(RTLD_NEXT, "gnu_get_libc_version"));
}

/* Do the headers of glibc's chunks agree with malloc_usable_size?  Checks our own blocks. */
static int real_chunk_headers_agree(const void *object)
{
	static const size_t sizes[] = { 1, 25, 1000, 5000 };
	const char *preloaded = text_getenv("LD_PRELOAD");
	int agree = real_is_libc(object);

	/* valgrind replaces glibc's malloc, and reports such a read. */
	if (preloaded && __builtin_strstr(preloaded, "vgpreload"))
		return 0;

	for (unsigned i = 0; agree && i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t *block = real.malloc(sizes[i]);

		if (!block)
			return 0;
		agree = !(block[-1] & 2) &&
			(block[-1] & ~(size_t)7) - sizeof(size_t) == real.malloc_usable_size(block);
		real.free(block);
	}
	return agree;
}

/* tcmalloc allocates at the first of these calls: make them now, while nothing is recorded. */
static void real_try_out(void)
{
	void *block = real.malloc(1);

	if (block)
		real.malloc_usable_size(block);
	real.free(block);
}

/* Returns 0, or the name of a function that nothing can serve, because a NULL pointer must never
 * be called. */
static const char *real_fill_in(void)
{
	for (size_t i = 0; i < FAMILY; i++) {
		if (!real_get(i))
			real_set(i, family[i].made);
		if (!real_get(i))
			return family[i].name;
	}
	return NULL;
}

int mp_resolve(const struct mprof_init_ops *init, struct text *why)
{
	const void *object = mp_scope_base(init->symbol("malloc"));
	const char *missing = NULL;

	for (size_t i = 0; i < FAMILY; i++)
		real_set(i, object && family[i].found != FOUND_MADE
				? real_own(init, family[i].name, object)
				: NULL);
	if (real_find_core(init) == 0) {
		real_find_memalign(init);
		missing = real_fill_in();
		if (!missing && mp_known.second) /* which would record these calls */
			return 0;
		if (!missing) {
			real_try_out();
			if (!real_is_libc(object))
				mp_quiet_start();
			mprof_core.chunk_headers = (uint32_t)real_chunk_headers_agree(object);
			return 0;
		}
	}
	text_string(why, "INIT=");
	text_string(why, mp_config.init);
	text_string(why, " found no ");
	text_string(why, missing ? missing
				 : "allocator: malloc, free and realloc must come from one object");
	return -ENOENT;
}
