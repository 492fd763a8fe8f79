// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * resolve.c - the functions of the allocator that an INIT module found.
 *
 * They must come from the object that has its malloc: an allocator without pvalloc, say,
 * must not get glibc's, whose block its free would choke on.  What it lacks is made from
 * what it has.  What cannot be made is what the program would call without us, where the
 * INIT module can say that: a preloaded object that wraps malloc and free only counts on
 * it (glibc's libmemusage.so).  Else aligned blocks are padded ones of malloc (padded.c).
 *
 * No pointer is left NULL: a function without a row below does not compile.
 */
#include <dlfcn.h>
#include <errno.h>

#include "internal.h"

typedef void any_fn(void);

#define real mprof_core.real

static void *made_calloc(size_t count, size_t size)
{
	size_t bytes;
	void *ptr;

	if (__builtin_mul_overflow(count, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	ptr = real.malloc(bytes);
	return ptr ? __builtin_memset(ptr, 0, bytes) : NULL;
}

/* Of an allocator that says how long its blocks are. */
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

static void *made_reallocarray(void *ptr, size_t count, size_t size)
{
	size_t bytes;

	if (!__builtin_mul_overflow(count, size, &bytes))
		return real.realloc(ptr, bytes);
	errno = ENOMEM;
	return NULL;
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

/* Some take a multiple of the alignment only, as C11 has it. */
static void *memalign_by_c11(size_t align, size_t size)
{
	size_t over = align ? size % align : 0;

	if (over && size > SIZE_MAX - align) {
		errno = ENOMEM;
		return NULL;
	}
	return real.aligned_alloc(align, over ? size + align - over : size);
}

static int made_posix_memalign(void **out, size_t align, size_t size)
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

static void *made_aligned_alloc(size_t align, size_t size)
{
	return real.memalign(align, size);
}

static void *made_valloc(size_t size)
{
	return real.memalign(mp_page(), size);
}

static void *made_pvalloc(size_t size)
{
	if (size > SIZE_MAX - mp_page()) {
		errno = ENOMEM;
		return NULL;
	}
	return real.memalign(mp_page(), (size + mp_page() - 1) & -(size_t)mp_page());
}

static size_t made_usable_size(void *ptr)
{
	(void)ptr;
	return 0;
}

static void made_free(void *ptr)
{
	real.free(ptr);
}

static void made_free_sized(void *ptr, size_t size)
{
	(void)size;
	real.free(ptr);
}

static void made_free_aligned_sized(void *ptr, size_t align, size_t size)
{
	(void)align, (void)size;
	real.free(ptr);
}

/*
 * X(name, look, made): look for it in malloc's object?  Rarely there, and a failing dlsym
 * is dear: a free is what some of them are.  made: what stands in for it; NULL: find_core()
 * or find_memalign() see to it.
 */
#define HOW_FOUND(X)                               \
	X(malloc, 1, NULL)                         \
	X(free, 1, NULL)                           \
	X(calloc, 1, made_calloc)                  \
	X(realloc, 1, NULL)                        \
	X(reallocarray, 0, made_reallocarray)      \
	X(memalign, 1, NULL)                       \
	X(posix_memalign, 1, made_posix_memalign)  \
	X(aligned_alloc, 1, made_aligned_alloc)    \
	X(valloc, 1, made_valloc)                  \
	X(pvalloc, 1, made_pvalloc)                \
	X(malloc_usable_size, 1, made_usable_size) \
	X(cfree, 0, made_free)                     \
	X(free_sized, 0, made_free_sized)          \
	X(free_aligned_sized, 0, made_free_aligned_sized)

static const struct {
	const char *name;
	size_t at; /* in struct mprof_real */
	int look;
	any_fn *made;
} family[] = {
#define X(name, look, made) { #name, offsetof(struct mprof_real, name), look, (any_fn *)made },
	HOW_FOUND(X)
#undef X
};
#define FAMILY (sizeof(family) / sizeof(family[0]))
MPROF_STATIC_ASSERT(FAMILY * sizeof(any_fn *) == sizeof(struct mprof_real),
		    "each function of MPROF_MALLOC_FAMILY has a row");

static void set(size_t i, any_fn *fn)
{
	__builtin_memcpy((char *)&real + family[i].at, &fn, sizeof(fn));
}

static any_fn *get(size_t i)
{
	any_fn *fn;

	__builtin_memcpy(&fn, (char *)&real + family[i].at, sizeof(fn));
	return fn;
}

static const void *object_of(const void *symbol)
{
	Dl_info info;

	return symbol && dladdr(symbol, &info) ? info.dli_fbase : NULL;
}

/* The symbol if it lies in the same object as malloc. */
static any_fn *own(const struct mprof_init_ops *init, const char *name, const void *object)
{
	void *symbol = init->symbol(name);

	return symbol && object_of(symbol) == object ? *(any_fn **)&symbol : NULL;
}

static any_fn *natural(const struct mprof_init_ops *init, const char *name)
{
	void *symbol = init->natural ? init->symbol(name) : NULL;

	return *(any_fn **)&symbol;
}

/* What nothing can stand in for. */
static int find_core(const struct mprof_init_ops *init)
{
	if (!real.malloc)
		real.malloc = (__typeof__(real.malloc))natural(init, "malloc");
	if (!real.free)
		real.free = (__typeof__(real.free))natural(init, "free");
	if (!real.realloc)
		real.realloc = (__typeof__(real.realloc))natural(init, "realloc");
	if (!real.realloc && real.malloc_usable_size)
		real.realloc = made_realloc;
	return real.malloc && real.free && real.realloc ? 0 : -ENOENT;
}

static void find_memalign(const struct mprof_init_ops *init)
{
	if (!real.memalign && real.posix_memalign)
		real.memalign = memalign_by_posix;
	if (!real.memalign && real.aligned_alloc)
		real.memalign = memalign_by_c11;
	if (!real.memalign)
		real.memalign = (__typeof__(real.memalign))natural(init, "memalign");
	if (!real.memalign)
		mp_padded_start();
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

/* tcmalloc allocates at the first of these: now, while that is not recorded. */
static void try_out(void)
{
	void *block = real.malloc(1);

	if (block)
		real.malloc_usable_size(block);
	real.free(block);
}

int mp_resolve(const struct mprof_init_ops *init, struct text *why)
{
	const void *object = object_of(init->symbol("malloc"));

	for (size_t i = 0; i < FAMILY; i++)
		set(i, object && family[i].look ? own(init, family[i].name, object) : NULL);
	if (find_core(init) < 0) {
		text_string(why, "INIT=");
		text_string(why, init->name);
		text_string(why, " found no allocator: malloc, free and realloc must come from one "
				 "object");
		return -ENOENT;
	}
	find_memalign(init);
	for (size_t i = 0; i < FAMILY; i++)
		if (!get(i))
			set(i, family[i].made);
	try_out();
	mprof_core.chunk_headers = (uint32_t)chunk_headers_agree(object);
	return 0;
}
