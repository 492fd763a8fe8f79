// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * libmprof_memory.c - the library's pools and its arena of the first moments, with what happens
 * between two steps of a thread put there by hand.
 */
#define MPROF_BUILTIN
#include "suites.h"

#include "../../src/libmprof/sys.h"

static void *map_or_fail(void *at, size_t bytes, int prot, int flags, int fd, uint64_t offset);
#define sys_mmap map_or_fail
#include "../../src/libmprof/boot.c"
#undef sys_mmap
#undef mprof_core
#define mprof_core mprof_core_local
#include "../../src/libmprof/pools.c"

/* What the two files need of the others. */
const struct mprof_api *mp_api = &mp_boot_api;
uint32_t mp_page_bytes = 4096;
struct mp_local *mp_local;
int mp_boot_try(const void *caller)
{
	(void)caller;
	return 0;
}
int mp_boot_waiting(void)
{
	return 0;
}
uint32_t mp_page_know(void)
{
	return mp_page_bytes;
}
uint64_t mp_clock_monotonic_ns(void)
{
	return 0;
}
void mp_no_note_alloc(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)fn, (void)ptr, (void)size, (void)arg;
}
void mp_no_note_free(unsigned fn, void *ptr, size_t size)
{
	(void)fn, (void)ptr, (void)size;
}
void mp_no_note_resized(unsigned fn, void *old, void *ptr, size_t size, size_t arg)
{
	(void)fn, (void)old, (void)ptr, (void)size, (void)arg;
}
void mp_no_note_map(unsigned fn, uint64_t ticks, const uint64_t value[4], unsigned error)
{
	(void)fn, (void)ticks, (void)value, (void)error;
}
void mp_no_note_control(unsigned what, uint64_t value)
{
	(void)what, (void)value;
}
void mp_self_bytes(int64_t bytes)
{
	(void)bytes;
}
void mp_lock_blocking(uint32_t *lock, uint64_t *signals)
{
	*lock = 1, *signals = 0;
}
void mp_unlock_blocking(uint32_t *lock, const uint64_t *signals)
{
	*lock = 0;
	(void)signals;
}
void *mp_wiped_memory(size_t bytes)
{
	(void)bytes;
	return NULL;
}

/* ---- pools ---- */

static char units[64 * 16];
static int maps; /* how often there is memory */

static int map_units(const struct mp_pool_kind *kind, uint32_t n, struct mp_piece *out)
{
	if (!maps || n * kind->unit > sizeof(units))
		return -ENOMEM;
	maps--;
	out->at = units;
	return 0;
}

/* What cannot be served adds nothing: 60 + (2^32 - 60) would be unit 0 again. */
START_TEST(refused_requests_do_not_wrap)
{
	static const struct mp_pool_kind kind = { 16, 64, map_units };
	struct mp_pool pool = { .lock = 0 };

	maps = 1;
	ck_assert_ptr_eq(mp_pool_memory(&pool, &kind, 60), units);
	ck_assert_ptr_null(mp_pool_memory(&pool, &kind, UINT32_MAX - 59));
	ck_assert_ptr_null(mp_pool_memory(&pool, &kind, 5));
	ck_assert_ptr_eq(mp_pool_memory(&pool, &kind, 1), units + (size_t)60 * 16);
	ck_assert_ptr_eq(mp_pool_memory(&pool, &kind, 3), units + (size_t)61 * 16);
	ck_assert_ptr_null(mp_pool_memory(&pool, &kind, 1));
}
END_TEST

/* ---- the arena ---- */

static char *other_first, *other_second;

/* While this thread's mmap fails, another thread's has succeeded, and it has taken two blocks. */
static void *map_or_fail(void *at, size_t bytes, int prot, int flags, int fd, uint64_t offset)
{
	static int depth;

	if (depth++)
		return mmap(at, bytes, prot, flags, fd, (off_t)offset);
	other_first = mp_boot_alloc(16, 100000);
	other_second = mp_boot_alloc(16, 100000);
	return (void *)-ENOMEM;
}

START_TEST(the_size_of_the_arena_is_that_of_its_memory)
{
	char *ours = mp_boot_alloc(16, 100000);

	ck_assert_ptr_nonnull(other_first);
	ck_assert_ptr_nonnull(other_second);
	ck_assert(mprof_is_boot(other_first));
	ck_assert_msg(mprof_is_boot(other_second), "a block of the arena is not recognised");
	ck_assert_ptr_nonnull(ours);
	ck_assert(mprof_is_boot(ours));
}
END_TEST

Suite *libmprof_memory_suite(void)
{
	Suite *s = suite_create("libmprof_memory");
	TCase *t = tcase_create("libmprof_memory");

	tcase_add_test(t, refused_requests_do_not_wrap);
	tcase_add_test(t, the_size_of_the_arena_is_that_of_its_memory);
	suite_add_tcase(s, t);
	return s;
}
