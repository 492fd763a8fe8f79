/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * functions.h - the shapes of the functions in functions.def: what they are called with.
 *
 * The shape determines signatures, the entries of a MODE, substitutes for functions that an
 * allocator lacks, and the lines of LogFD and `mprof dump`.
 */
#ifndef MPROF_FUNCTIONS_H
#define MPROF_FUNCTIONS_H

#include <stddef.h>

#include <mprof/format.h>

/*
 * MPROF_SHAPES: X(SHAPE, "values", operation) with the values in the order of the call:
 *   o the block that is freed   n count   s size, after n: of one element   a alignment
 *   r the block that is returned; S and A: size and alignment that some forms lack
 * operation: what plays it back (enum mprof_play).
 */
#define MPROF_SHAPES(X)                  \
	X(NONE, "", END)                 \
	X(PLAIN, "sr", MALLOC)           \
	X(COUNT, "nsr", CALLOC)          \
	X(ALIGN, "asr", ALIGNED)         \
	X(OUT, "asr", ALIGNED)           \
	X(PAGE, "sr", ALIGNED)           \
	X(PAGES, "sr", ALIGNED)          \
	X(FREE, "o", FREE)               \
	X(FREE_SIZE, "os", FREE)         \
	X(FREE_ALIGN, "oas", FREE)       \
	X(RESIZE, "osr", REALLOC)        \
	X(RESIZE_COUNT, "onsr", REALLOC) \
	X(USABLE, "o", END)              \
	X(NEW, "sAr", MALLOC)            \
	X(DELETE, "oSA", FREE)           \
	X(MAP, "", END)

enum mprof_shape {
#define X(shape, values, operation) MPROF_SHAPE_##shape,
	MPROF_SHAPES(X)
#undef X
};

/*
 * The C signature.  MPROF_CALL_<SHAPE>(F, id, name) becomes one of
 *
 *   F_ALLOC(id, name, shape, (parameters), (arguments), size, arg)     returns a block
 *   F_OUT(...)		the same through `out`; returns an error number
 *   F_REALLOC(...)	takes the block `ptr`, returns one
 *   F_FREE(...)	takes the block `ptr`
 *   F_QUERY(...)	takes the block `ptr`, returns a size_t
 *
 * size and arg are what template.h hands to hooks: arg is the alignment or the count.
 */
#define MPROF_CALL_PLAIN(F, id, name) F##_ALLOC(id, name, PLAIN, (size_t size), (size), size, 0)
#define MPROF_CALL_PAGE(F, id, name)  F##_ALLOC(id, name, PAGE, (size_t size), (size), size, 0)
#define MPROF_CALL_PAGES(F, id, name) F##_ALLOC(id, name, PAGES, (size_t size), (size), size, 0)
#define MPROF_CALL_COUNT(F, id, name) \
	F##_ALLOC(id, name, COUNT, (size_t count, size_t size), (count, size), size, count)
#define MPROF_CALL_ALIGN(F, id, name) \
	F##_ALLOC(id, name, ALIGN, (size_t align, size_t size), (align, size), size, align)
#define MPROF_CALL_OUT(F, id, name)                                                               \
	F##_OUT(id, name, OUT, (void **out, size_t align, size_t size), (out, align, size), size, \
		align)
#define MPROF_CALL_RESIZE(F, id, name) \
	F##_REALLOC(id, name, RESIZE, (void *ptr, size_t size), (ptr, size), size, 0)
#define MPROF_CALL_RESIZE_COUNT(F, id, name)                                        \
	F##_REALLOC(id, name, RESIZE_COUNT, (void *ptr, size_t count, size_t size), \
		    (ptr, count, size), size, count)
#define MPROF_CALL_FREE(F, id, name) F##_FREE(id, name, FREE, (void *ptr), (ptr), 0, 0)
#define MPROF_CALL_FREE_SIZE(F, id, name) \
	F##_FREE(id, name, FREE_SIZE, (void *ptr, size_t size), (ptr, size), size, 0)
#define MPROF_CALL_FREE_ALIGN(F, id, name)                                                         \
	F##_FREE(id, name, FREE_ALIGN, (void *ptr, size_t align, size_t size), (ptr, align, size), \
		 size, align)
#define MPROF_CALL_USABLE(F, id, name) F##_QUERY(id, name, USABLE, (void *ptr), (ptr), 0, 0)

/*
 * MPROF_CALL_<SHAPE>(MPROF_SIGNED, id, name): MPROF_SIGNATURE(return type, name, (parameters),
 * (arguments)), which the includer defines.
 */
#define MPROF_SIGNED_ALLOC(id, name, shape, params, args, size, arg) \
	MPROF_SIGNATURE(void *, name, params, args)
#define MPROF_SIGNED_REALLOC(id, name, shape, params, args, size, arg) \
	MPROF_SIGNATURE(void *, name, params, args)
#define MPROF_SIGNED_OUT(id, name, shape, params, args, size, arg) \
	MPROF_SIGNATURE(int, name, params, args)
#define MPROF_SIGNED_FREE(id, name, shape, params, args, size, arg) \
	MPROF_SIGNATURE(void, name, params, args)
#define MPROF_SIGNED_QUERY(id, name, shape, params, args, size, arg) \
	MPROF_SIGNATURE(size_t, name, params, args)

/* Has bit `code` for each function of the shape: constant where the compiler knows the code. */
static const uint32_t mprof_counts_elements =
#define MPROF_SHAPED(id, code, name, class, shape)                  \
	(uint32_t)(MPROF_SHAPE_##shape == MPROF_SHAPE_COUNT ||      \
		   MPROF_SHAPE_##shape == MPROF_SHAPE_RESIZE_COUNT) \
		<< code |
#include <mprof/functions.def>
    0;

#endif
