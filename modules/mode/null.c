// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * null.c - MODE=Null: accepts every call and records nothing. Measures the cost of everything
 * around it; the smallest correct MODE.
 */
#include <mprof/module.h>

MPROF_HOT void on_alloc(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)fn, (void)ptr, (void)size, (void)arg;
}
MPROF_HOT void on_fail(unsigned fn, size_t size, size_t arg, unsigned error)
{
	(void)fn, (void)size, (void)arg, (void)error;
}
MPROF_HOT void on_free(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)fn, (void)ptr, (void)size, (void)arg;
}
MPROF_HOT void on_realloc_begin(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)fn, (void)ptr, (void)size, (void)arg;
}
MPROF_HOT void on_realloc_end(unsigned fn, void *old, void *ptr, size_t size, size_t arg)
{
	(void)fn, (void)old, (void)ptr, (void)size, (void)arg;
}
static void note_map(unsigned fn, uint64_t ticks, const uint64_t value[4], unsigned error)
{
	(void)fn, (void)ticks, (void)value, (void)error;
}
static void note_control(unsigned what, uint64_t value)
{
	(void)what, (void)value;
}

#include <mprof/template.h>

const struct mprof_mode_ops mprof_mode_null MPROF_SHARED = {
	.abi = MPROF_MODULE_ABI,
	.api = &mode_api,
	.keeps_nothing = 1,
};
