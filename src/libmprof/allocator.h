/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * allocator.h - the allocator that serves the program, substitutes for functions that it lacks, and
 * the arena that serves calls before the allocator is known.
 *
 * Found once, during initialisation.  Errors are the allocator's own: NULL and errno.
 */
#pragma once

#include <errno.h>
#include <mprof/module.h>

#include "core.h"
#include "text.h"

/* boot.c: the arena for calls made before and during initialisation. */
void *mp_boot_alloc(size_t align, size_t size);
void *mp_boot_resize(void *ptr, enum mprof_shape shape, size_t size, size_t arg);
size_t mp_boot_usable(void *ptr);
extern uint32_t mp_boot_early; /* calls served from the arena before initialisation was possible */

/* resolve.c: fills mprof_core.real from an INIT module, leaving no NULL pointer.  0 or -errno. */
int mp_resolve(const struct mprof_init_ops *init, struct text *why);
/* padded.c: aligned blocks from the malloc, free and realloc in mprof_core.real, which it wraps. */
void mp_padded_start(void);
/* quiet.c: wraps functions of mprof_core.real that call others through our exports. */
void mp_quiet_start(void);

/* wrap.c: records functions of the program, too.  Called before and after the MODE starts. */
void mp_wrap_start(void);
void mp_wrap_stacks(void);

/* pass.c: the note functions of a table that records nothing. */
#define MP_NO_NOTES                                                          \
	.note_alloc = mp_no_note_alloc, .note_free = mp_no_note_free,        \
	.note_resize = mp_no_note_alloc, .note_resized = mp_no_note_resized, \
	.note_map = mp_no_note_map, .note_control = mp_no_note_control
void mp_no_note_alloc(unsigned fn, void *ptr, size_t size, size_t arg);
void mp_no_note_free(unsigned fn, void *ptr, size_t size);
void mp_no_note_resized(unsigned fn, void *old, void *ptr, size_t size, size_t arg);
void mp_no_note_map(unsigned fn, uint64_t ticks, const uint64_t value[4], unsigned error);
void mp_no_note_control(unsigned what, uint64_t value);

/* What a call of this shape requests.  fits 0 = the size overflows; errno is set then. */
struct mp_extent {
	size_t align, bytes;
	int fits;
};
static inline struct mp_extent mp_extent_of(enum mprof_shape shape, size_t size, size_t arg)
{
	struct mp_extent e = { 0, size, 1 };

	if (shape == MPROF_SHAPE_ALIGN || shape == MPROF_SHAPE_OUT)
		e.align = arg;
	else if (shape == MPROF_SHAPE_PAGE || shape == MPROF_SHAPE_PAGES)
		e.align = mp_page_know();
	else if (shape == MPROF_SHAPE_COUNT || shape == MPROF_SHAPE_RESIZE_COUNT)
		e.fits = !__builtin_mul_overflow(size, arg, &e.bytes);
	if (shape == MPROF_SHAPE_PAGES) {
		e.fits = size <= SIZE_MAX - e.align;
		e.bytes = (size + e.align - 1) & -e.align;
	}
	if (!e.fits)
		errno = ENOMEM;
	return e;
}
