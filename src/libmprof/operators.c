// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * operators.c - C++ operator new and delete.
 *
 * libstdc++'s and libc++'s call malloc and free, so ours pass the call on without recording it. The
 * operators of an allocator that defines its own (jemalloc, tcmalloc, mimalloc, TBB's proxy,
 * preloaded or linked) may not call malloc, or only some forms do: if the next operator lies in the
 * object that has the backing malloc, a trial call shows whether it calls malloc, and operators
 * that do not are recorded here.  What the allocator makes for itself is not the program's.
 *
 * The next operator is the one that the program would get without us.  If the global scope has one,
 * all callers use it.  A C program has none; then each plugin written in C++ gets the one in its
 * own scope, remembered by the plugin's link map (scopes.c).  Lookups wait for the first call,
 * because a failing one is expensive.
 */
#include <dlfcn.h>
#include <mprof/module.h>
#include <stdlib.h>

#include "core.h"
#include "dl_errors.h"
#include "scopes.h"
#include "start.h"
#include "thread.h"
#include "times.h"

struct operator
{
	const char *name, *partner; /* partner: the matching delete or new */
	void *through;		    /* the real one, if all callers use it and it reaches malloc */
	void *real;		    /* in the global scope */
	uint32_t own;		    /* enum whose; written before real */
};

enum whose {
	OF_MALLOC, /* it reaches malloc, which records the call */
	OF_ITSELF, /* it does not, so that we record it */
	NOT_TRIED
};

/*
 * Does a MODE want to know of operators that reach malloc?  Not in a program that has some of its
 * own: their calls do not come here, so that those of the others would not match.
 */
static int operators_are_told(void)
{
	static const char *const name[] = { "_Znwm", "_Znam", "_ZdlPv", "_ZdaPv" };
	static uint32_t known; /* 1: they are, 2: not */
	uint32_t now = __atomic_load_n(&known, __ATOMIC_RELAXED);

	if (mprof_likely(!mprof_core.operator_made))
		return 0;
	if (mprof_unlikely(!now)) {
		now = 1;
		for (unsigned i = 0; i < sizeof(name) / sizeof(name[0]); i++)
			if (mp_scope_base(mp_scope_seen(name[i])) != mp_scope_base(&known))
				now = 2;
		__atomic_store_n(&known, now, __ATOMIC_RELAXED);
	}
	return now == 1;
}

/*
 * Is the caller the allocator itself?  Its own blocks are not the program's, and it may hold a
 * lock, so none of its functions may be called.
 */
static int operator_is_allocators(const void *caller)
{
	static uintptr_t start, bytes; /* bytes is stored last */
	struct dl_find_object found;
	uintptr_t had = __atomic_load_n(&bytes, __ATOMIC_ACQUIRE);

	if (mprof_unlikely(!had) && _dl_find_object && !_dl_find_object(MP_REAL(malloc), &found)) {
		had = (uintptr_t)found.dlfo_map_end - (uintptr_t)found.dlfo_map_start;
		__atomic_store_n(&start, (uintptr_t)found.dlfo_map_start, __ATOMIC_RELAXED);
		__atomic_store_n(&bytes, had, __ATOMIC_RELEASE);
	}
	return (uintptr_t)caller - __atomic_load_n(&start, __ATOMIC_RELAXED) < had;
}

/*
 * The live blocks that the allocator made for itself.  Who frees a block does not tell whose it is,
 * because a tail call hides its caller: libstdc++ makes such a call when the allocator makes a
 * std::string, and another kind when it ends one.  So deletes look here.  A row is a cache line.
 */
enum { ROW_BITS = 6, ROW_BLOCKS = 8 };
static struct {
	void *row[1 << ROW_BITS][ROW_BLOCKS];
	uint32_t live, lost; /* lost: 1 once a row was full */
} allocators __attribute__((aligned(64)));

static void **operator_row(const void *ptr)
{
	return allocators.row[((uintptr_t)ptr >> 4) * 0x9E3779B97F4A7C15u >> (64 - ROW_BITS)];
}

static void operator_keep(void *ptr)
{
	void **row = operator_row(ptr), *none;

	for (unsigned i = 0; i < ROW_BLOCKS; i++) {
		none = NULL;
		if (__atomic_compare_exchange_n(&row[i], &none, ptr, 0, __ATOMIC_RELEASE,
						__ATOMIC_RELAXED)) {
			__atomic_add_fetch(&allocators.live, 1, __ATOMIC_RELEASE);
			return;
		}
	}
	__atomic_store_n(&allocators.lost, 1, __ATOMIC_RELEASE);
}

/* Was ptr kept?  It no longer is. */
static int operator_forget(const void *ptr)
{
	void **row = operator_row(ptr);

	if (!__atomic_load_n(&allocators.live, __ATOMIC_ACQUIRE))
		return 0;
	for (unsigned i = 0; i < ROW_BLOCKS; i++)
		if (__atomic_load_n(&row[i], __ATOMIC_ACQUIRE) == ptr) {
			__atomic_store_n(&row[i], NULL, __ATOMIC_RELEASE);
			__atomic_sub_fetch(&allocators.live, 1, __ATOMIC_RELEASE);
			return 1;
		}
	return 0;
}

/* Shall we record that an operator which may not reach malloc returned ptr to caller? */
static int operator_gave(const struct operator* o, void *ptr, const void *caller)
{
	if (o->own == OF_MALLOC)
		return 0;
	if (operator_is_allocators(caller)) {
		if (ptr)
			operator_keep(ptr);
		return 0;
	}
	return o->own == OF_ITSELF;
}

/* And that caller passes it ptr?  The allocator also frees strings that libstdc++ made for it, in
 * calls that were recorded. */
static int operator_takes(const struct operator* o, void *ptr, const void *caller)
{
	if (o->own == OF_MALLOC || (ptr && operator_forget(ptr)))
		return 0;
	if (operator_is_allocators(caller))
		return !__atomic_load_n(&allocators.lost, __ATOMIC_ACQUIRE);
	return o->own == OF_ITSELF;
}

/* All forms of new and delete accept these: a size or block, a size or an alignment, a tag. */
typedef void *any_new(size_t, size_t, size_t);
typedef void any_delete(void *, size_t, size_t);

/* Does the operator reach the malloc family?  Tries twice, because the first call may also map
 * memory. */
static int operator_reaches_malloc(void *real, void *partner, int is_new)
{
	struct mprof_thread *before;
	int reached = 0;
	void *ptr;

	for (int i = 0; i < 2; i++) {
		mp_trial_begin(&before);
		if (is_new) {
			ptr = ((any_new *)real)(64, 64, 64);
			reached = mp_trial_end(before);
			mp_trial_begin(&before);
			((any_delete *)partner)(ptr, 64, 64);
			mp_trial_end(before);
		} else {
			ptr = ((any_new *)partner)(64, 64, 64);
			mp_trial_end(before);
			mp_trial_begin(&before);
			((any_delete *)real)(ptr, 64, 64);
			reached = mp_trial_end(before);
		}
	}
	return reached;
}

/* Stores the result only once the allocator is known, because the allocator may call us while it
 * is being found. */
static void *operator_know_global(struct operator* o, void *real, int is_new, const void *caller)
{
	void *partner;

	if (!mp_boot_try(NULL) || operator_is_allocators(caller))
		return real;
	o->own = OF_MALLOC;
	if (mp_recording() && mp_scope_base(real) == mp_scope_base(MP_REAL(malloc))) {
		partner = dlsym(RTLD_NEXT, o->partner);
		if (mp_scope_base(partner) == mp_scope_base(real) &&
		    !operator_reaches_malloc(real, partner, is_new))
			o->own = OF_ITSELF;
	}
	__atomic_store_n(&o->real, real, __ATOMIC_RELEASE);
	if (o->own == OF_MALLOC && !operators_are_told())
		__atomic_store_n(&o->through, real, __ATOMIC_RELEASE);
	return real;
}

static void *operator_new_aligned(size_t size, size_t align)
{
	return aligned_alloc(align, (size + align - 1) & -align);
}

/*
 * For a program that is linked with libmprof.a and whose only functions of C++ are operators: the
 * archive has them, so the linker has left out the library that would throw.  A tail call, so that
 * the caller of new is the caller of malloc.
 */
static void *operator_made(const char *name, int is_new)
{
	if (!is_new)
		return (void *)free;
	return __builtin_strstr(name, "align_val_t") ? (void *)operator_new_aligned
						     : (void *)malloc;
}

static void *operator_find(struct operator* o, int is_new, const void *caller)
{
	void *real = dlsym(RTLD_NEXT, o->name);

	if (real)
		return operator_know_global(o, real, is_new, caller);
	real = mp_scope_find(o, o->name, "libstdc++.so.6", caller);
	if (!real)
		return operator_know_global(o, operator_made(o->name, is_new), is_new, caller);
	o->own = OF_MALLOC;
	return real;
}

static MPROF_COLD void *operator_look_up(struct operator* o, int is_new, const void *caller)
{
	void *real = mp_scope_known(o, caller);

	if (real)
		return real;
	mp_dl_errors_begin();
	real = operator_find(o, is_new, caller);
	mp_dl_errors_end();
	return real;
}

/* Not if each caller has its own real operator: the next one would take us for the caller. */
static int operator_is_told(const struct operator* o)
{
	return o->own == OF_MALLOC && __atomic_load_n(&o->real, __ATOMIC_ACQUIRE) &&
	       operators_are_told();
}

MPROF_HOT void *operator_real(struct operator* o, int is_new, const void *caller)
{
	void *real = __atomic_load_n(&o->real, __ATOMIC_ACQUIRE);

	return mprof_likely(real != NULL) ? real : operator_look_up(o, is_new, caller);
}

#define UNPACKED(...) __VA_ARGS__

/*
 * A function that passes the call on costs a load and a test; the others are not inlined, because
 * they need room on the stack.  Where the real operator reaches malloc, all of them jump to it: it
 * may jump on to another operator of ours, which must see the caller.
 */
#define OPERATOR(result, symbol, other, params, args)                                             \
	static struct operator symbol##_known = { .name = #symbol,                                \
						  .partner = #other,                              \
						  .own = NOT_TRIED };                             \
	static __attribute__((noinline))                                                          \
	result symbol##_unsure(UNPACKED params, const void *caller);                              \
	EXPORT result symbol params;                                                              \
	EXPORT result symbol params                                                               \
	{                                                                                         \
		result(*real) params =                                                            \
		    (result(*) params)__atomic_load_n(&symbol##_known.through, __ATOMIC_ACQUIRE); \
                                                                                                  \
		if (mprof_likely(real != NULL))                                                   \
			return real args;                                                         \
		return symbol##_unsure(UNPACKED args, __builtin_return_address(0));               \
	}                                                                                         \
	static result symbol##_unsure(UNPACKED params, const void *caller)

#define NEW(symbol, partner, fn, params, args, align)                                             \
	OPERATOR(void *, symbol, partner, params, args)                                           \
	{                                                                                         \
		void *(*real)params = (void *(*)params)operator_real(&symbol##_known, 1, caller); \
		void *ptr;                                                                        \
                                                                                                  \
		if (symbol##_known.own == OF_MALLOC && !operator_is_told(&symbol##_known))        \
			return real args;                                                         \
		ptr = real args;                                                                  \
		if (symbol##_known.own == OF_MALLOC && ptr)                                       \
			mprof_core.operator_made(fn, ptr);                                        \
		if (operator_gave(&symbol##_known, ptr, caller))                                  \
			mp_table()->note_alloc(fn, ptr, size, align);                             \
		return ptr;                                                                       \
	}

/* Calls of the allocator come before the first that can be tried.  If they reach free, it is not
 * recorded there too. */
#define DELETE(symbol, partner, fn, params, args, size)                                         \
	OPERATOR(void, symbol, partner, params, args)                                           \
	{                                                                                       \
		void(*real) params = (void(*) params)operator_real(&symbol##_known, 0, caller); \
		struct mprof_thread *before;                                                    \
                                                                                                \
		if (ptr && operator_is_told(&symbol##_known))                                   \
			mprof_core.operator_ends(fn, ptr);                                      \
		if (!operator_takes(&symbol##_known, ptr, caller)) {                            \
			real args;                                                              \
		} else if (symbol##_known.own == OF_ITSELF) {                                   \
			mp_table()->note_free(fn, ptr, size);                                   \
			real args;                                                              \
		} else {                                                                        \
			mp_trial_begin(&before);                                                \
			real args;                                                              \
			mp_trial_end(before);                                                   \
			mp_table()->note_free(fn, ptr, size);                                   \
		}                                                                               \
	}

#define TAG   const void *no
#define NEW_  MPROF_FN_NEW
#define NEW_A MPROF_FN_NEW_ARRAY
#define DEL_  MPROF_FN_DELETE
#define DEL_A MPROF_FN_DELETE_ARRAY

/* Names of the Itanium C++ ABI; m is size_t, St11align_val_t the alignment. */
NEW(_Znwm, _ZdlPv, NEW_, (size_t size), (size), 0)
NEW(_Znam, _ZdaPv, NEW_A, (size_t size), (size), 0)
NEW(_ZnwmRKSt9nothrow_t, _ZdlPv, NEW_, (size_t size, TAG), (size, no), 0)
NEW(_ZnamRKSt9nothrow_t, _ZdaPv, NEW_A, (size_t size, TAG), (size, no), 0)
NEW(_ZnwmSt11align_val_t, _ZdlPvSt11align_val_t, NEW_, (size_t size, size_t align), (size, align),
    align)
NEW(_ZnamSt11align_val_t, _ZdaPvSt11align_val_t, NEW_A, (size_t size, size_t align), (size, align),
    align)
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, _ZdlPvSt11align_val_t, NEW_,
    (size_t size, size_t align, TAG), (size, align, no), align)
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, _ZdaPvSt11align_val_t, NEW_A,
    (size_t size, size_t align, TAG), (size, align, no), align)

DELETE(_ZdlPv, _Znwm, DEL_, (void *ptr), (ptr), 0)
DELETE(_ZdaPv, _Znam, DEL_A, (void *ptr), (ptr), 0)
DELETE(_ZdlPvm, _Znwm, DEL_, (void *ptr, size_t size), (ptr, size), size)
DELETE(_ZdaPvm, _Znam, DEL_A, (void *ptr, size_t size), (ptr, size), size)
DELETE(_ZdlPvRKSt9nothrow_t, _Znwm, DEL_, (void *ptr, TAG), (ptr, no), 0)
DELETE(_ZdaPvRKSt9nothrow_t, _Znam, DEL_A, (void *ptr, TAG), (ptr, no), 0)
DELETE(_ZdlPvSt11align_val_t, _ZnwmSt11align_val_t, DEL_, (void *ptr, size_t align), (ptr, align),
       0)
DELETE(_ZdaPvSt11align_val_t, _ZnamSt11align_val_t, DEL_A, (void *ptr, size_t align), (ptr, align),
       0)
DELETE(_ZdlPvmSt11align_val_t, _ZnwmSt11align_val_t, DEL_, (void *ptr, size_t size, size_t align),
       (ptr, size, align), size)
DELETE(_ZdaPvmSt11align_val_t, _ZnamSt11align_val_t, DEL_A, (void *ptr, size_t size, size_t align),
       (ptr, size, align), size)
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, _ZnwmSt11align_val_t, DEL_,
       (void *ptr, size_t align, TAG), (ptr, align, no), 0)
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, _ZnamSt11align_val_t, DEL_A,
       (void *ptr, size_t align, TAG), (ptr, align, no), 0)
