// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * wrap.c - WRAP: calls of the program's own allocation functions.
 *
 * The preloaded object of wrapped.h jumps here, so the return address is the caller's.  The
 * function of the program runs with its thread marked: what it requests from malloc for the block
 * is not recorded, or the block would count twice.  A wrapped function that another one calls is
 * part of that call.
 *
 * The hooks of a MODE find the stack and the usable size of a block themselves.  During a note,
 * `noting` supplies them: the stack of the wrapped function's caller, and the requested size,
 * because the memory around such a block is unknown; before a free it is 0.  A signal handler may
 * allocate during a note, or jump out of it.
 */
#include <dlfcn.h>
#include <errno.h>
#include <mprof/wrapped.h>

#include "allocator.h"
#include "config.h"
#include "core.h"
#include "dl_errors.h"
#include "scopes.h"
#include "stack_parts.h"
#include "start.h"
#include "thread.h"
#include "times.h"

#define NOTE_BYTES 4096u /* at most this many bytes of stack between the caller and a hook */

/* Any function takes at most three words; extra arguments are harmless (operators.c). */
typedef void *any_fn(size_t, size_t, size_t);

static __thread struct {
	const void *block; /* NULL while no note is made */
	size_t usable;
	struct mprof_place at;
} noting;

static uint32_t (*capture)(struct mprof_thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp);

/* Replaces mprof_core.capture: a hook is called from here, a few frames below the wrapped
 * function's caller. */
static uint32_t wrap_capture(struct mprof_thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	const struct mprof_place at = noting.at;

	return pc - mp_own.start < mp_own.end - mp_own.start && at.sp - sp < NOTE_BYTES
		   ? capture(t, at.pc, at.sp, at.fp)
		   : capture(t, pc, sp, fp);
}

static size_t wrap_usable(void *ptr)
{
	return ptr && ptr == noting.block ? noting.usable : mprof_core.real.malloc_usable_size(ptr);
}

/* Call before the MODE starts. */
void mp_wrap_start(void)
{
	if (!*mp_config.wrap)
		return;
	mprof_core.chunk_headers = 0;
	mprof_core.foreign = 1;
	mprof_core.usable = wrap_usable;
}

/* Call after the MODE has started: it chooses the unwinder. */
void mp_wrap_stacks(void)
{
	if (!*mp_config.wrap || !mprof_core.capture)
		return;
	capture = mprof_core.capture;
	mprof_core.capture = wrap_capture;
}

/* ---- the function of the program ---- */

static const uint8_t shapes[MPROF_FN_MAX] = {
#define MPROF_SHAPED(id, code, name, class, shape) [code] = MPROF_SHAPE_##shape,
#include <mprof/functions.def>
};

/* Substitutes a function of the program's own allocator for one that no object defines: see
 * wrap_find(). */
static void *wrap_stand_in(unsigned fn)
{
	switch (fn) {
#define MPROF_MALLOC(id, code, name, class, shape, found) \
	case code:                                        \
		return MP_REAL(name);
#include <mprof/functions.def>
	}
	return NULL;
}

/*
 * Finds the function that the caller would get without us.  If there is none, the program tests a
 * weak symbol that our definition makes true; then malloc and the others serve all functions of the
 * family.
 */
static MPROF_COLD void *wrap_find(struct mprof_wrapped *w, const void *caller)
{
	const char *name = (const char *)w + w->name;
	struct mprof_thread *before;
	void *real = mp_scope_known(w, caller);

	if (real)
		return real;
	mp_boot_try(caller);
	mp_quiet_begin(&before, NULL);
	mp_dl_errors_begin();
	real = dlsym(RTLD_NEXT, name);
	if (!real) {
		real = mp_scope_find(w, name, NULL, caller);
		/* The program's scope begins with the preloaded objects. */
		if (real && mp_scope_base(real) != mp_scope_base(w)) {
			mp_dl_errors_end();
			mp_quiet_end(before);
			return real;
		}
		real = wrap_stand_in(w->fn);
	}
	mp_dl_errors_end();
	mp_quiet_end(before);
	__atomic_store_n(&w->real, real, __ATOMIC_RELEASE);
	return real;
}

static MPROF_COLD void wrap_tell(struct mprof_wrapped *w)
{
	if (!__atomic_exchange_n(&w->called, 1, __ATOMIC_RELAXED) && mp_recording())
		mp_note_called((const char *)w + w->name);
}

static any_fn *wrap_real(struct mprof_wrapped *w, uintptr_t caller)
{
	void *real = __atomic_load_n(&w->real, __ATOMIC_ACQUIRE);
	int saved = errno;

	if (mprof_unlikely(!real))
		real = wrap_find(w, (const void *)caller);
	if (mprof_unlikely(!__atomic_load_n(&w->called, __ATOMIC_RELAXED)))
		wrap_tell(w);
	errno = saved;
	return *(any_fn **)&real;
}

/*
 * The words serve to notice a jump or an exception out of the function.
 */
static __attribute__((noinline)) void *wrap_call(any_fn *real, size_t a, size_t b, size_t c)
{
	struct mprof_thread *before;
	uintptr_t words[MP_QUIET_WORDS];
	void *result;

	mp_quiet_begin(&before, words);
	result = real(a, b, c);
	__asm__ volatile("" : : "r"(words) : "memory");
	mp_quiet_end(before);
	return result;
}

static void note_begin(struct mprof_place at, const void *block, size_t usable)
{
	noting.at = at;
	noting.usable = usable;
	noting.block = block;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static void note_end(void)
{
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	noting.at.sp = 0;
	noting.block = NULL;
}

/* ---- the entries ---- */

/* Finds size and the other argument, as hooks receive them, in the arguments after the block. */
static void wrap_arguments(unsigned shape, size_t a, size_t b, size_t *size, size_t *arg)
{
	const int two = shape == MPROF_SHAPE_COUNT || shape == MPROF_SHAPE_ALIGN ||
			shape == MPROF_SHAPE_OUT || shape == MPROF_SHAPE_RESIZE_COUNT ||
			shape == MPROF_SHAPE_FREE_ALIGN;

	*size = two ? b : shape == MPROF_SHAPE_FREE ? 0 : a;
	*arg = two ? a : 0;
}

void *mprof_wrapped_alloc(size_t a, size_t b, size_t c, struct mprof_wrapped *w) EXPORT;
void *mprof_wrapped_alloc(size_t a, size_t b, size_t c, struct mprof_wrapped *w)
{
	const struct mprof_place at = mprof_caller();
	any_fn *real = wrap_real(w, at.pc);
	size_t size, arg;
	void *ptr;

	if (mp_is_quiet())
		return real(a, b, c);
	ptr = wrap_call(real, a, b, c);
	wrap_arguments(shapes[w->fn], a, b, &size, &arg);
	note_begin(at, ptr, mprof_bytes(w->fn, size, arg));
	mp_table()->note_alloc(w->fn, ptr, size, arg);
	note_end();
	return ptr;
}

int mprof_wrapped_out(void **out, size_t align, size_t size, struct mprof_wrapped *w) EXPORT;
int mprof_wrapped_out(void **out, size_t align, size_t size, struct mprof_wrapped *w)
{
	const struct mprof_place at = mprof_caller();
	any_fn *real = wrap_real(w, at.pc);
	int error, before;

	if (mp_is_quiet())
		return (int)(intptr_t)real((size_t)out, align, size);
	error = (int)(intptr_t)wrap_call(real, (size_t)out, align, size);
	before = errno;
	errno = error; /* hooks read it after a failure */
	note_begin(at, error ? NULL : *out, size);
	mp_table()->note_alloc(w->fn, error ? NULL : *out, size, align);
	note_end();
	errno = before;
	return error;
}

void *mprof_wrapped_realloc(void *ptr, size_t b, size_t c, struct mprof_wrapped *w) EXPORT;
void *mprof_wrapped_realloc(void *ptr, size_t b, size_t c, struct mprof_wrapped *w)
{
	const struct mprof_place at = mprof_caller();
	any_fn *real = wrap_real(w, at.pc);
	size_t size, arg;
	void *to;

	if (mp_is_quiet())
		return real((size_t)ptr, b, c);
	wrap_arguments(shapes[w->fn], b, c, &size, &arg);
	note_begin(at, ptr, 0);
	mp_table()->note_resize(w->fn, ptr, size, arg);
	note_end();
	to = wrap_call(real, (size_t)ptr, b, c);
	note_begin(at, to, mprof_bytes(w->fn, size, arg));
	mp_table()->note_resized(w->fn, ptr, to, size, arg);
	note_end();
	return to;
}

void mprof_wrapped_free(void *ptr, size_t b, size_t c, struct mprof_wrapped *w) EXPORT;
void mprof_wrapped_free(void *ptr, size_t b, size_t c, struct mprof_wrapped *w)
{
	const struct mprof_place at = mprof_caller();
	any_fn *real = wrap_real(w, at.pc);
	size_t size, align;

	if (mp_is_quiet()) {
		real((size_t)ptr, b, c);
		return;
	}
	wrap_arguments(shapes[w->fn], b, c, &size, &align);
	note_begin(at, ptr, 0);
	mp_table()->note_free(w->fn, ptr, size);
	note_end();
	wrap_call(real, (size_t)ptr, b, c);
}
