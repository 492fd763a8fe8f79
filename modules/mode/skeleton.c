// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * skeleton.c - the tutorial: a MODE in its own shared object.
 *
 *   cc -shared -fPIC -I include -o skeleton.so modules/mode/skeleton.c
 *   MPROF_CONF='MODE=/path/to/skeleton.so LOG_FD=2' LD_PRELOAD=libmprof.so program
 *
 * It keeps the size of the largest request and writes it to LOG_FD when the
 * process ends.  A MODE is five hooks, template.h, and a struct of ops.
 */
#include <mprof/module.h>

static const struct mprof_host *host;
static uint64_t largest;

/*
 * Hooks are inlined into the path of every call. They may run in any thread at
 * any time, even in a signal handler: this one only uses an atomic.
 */
MPROF_HOT void skeleton_saw(uint64_t size)
{
	uint64_t old = __atomic_load_n(&largest, __ATOMIC_RELAXED);

	while (mprof_unlikely(size > old) &&
	       !__atomic_compare_exchange_n(&largest, &old, size, 0, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED))
		;
}

MPROF_HOT void on_alloc(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)ptr;
	skeleton_saw(mprof_bytes(fn, size, arg));
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
	(void)old;
	if (ptr)
		skeleton_saw(mprof_bytes(fn, size, arg));
}
/* This MODE ignores address space, processes and threads. */
static void note_map(unsigned fn, uint64_t ticks, const uint64_t value[4], unsigned error)
{
	(void)fn, (void)ticks, (void)value, (void)error;
}
static void note_control(unsigned what, uint64_t value)
{
	(void)what, (void)value;
}

#include <mprof/template.h>

static int skeleton_start(const struct mprof_host *h)
{
	host = h;
	return h->fd_open((int)h->config->log_fd);
}

/* No stdio and no malloc here: formats the digits itself, in one write. */
__attribute__((destructor)) static void say(void)
{
	char text[40] = "largest\t", digits[20];
	uint64_t n = largest;
	size_t used = 8;
	int i = 0;

	if (!host)
		return;
	do
		digits[i++] = (char)('0' + n % 10);
	while (n /= 10);
	while (i)
		text[used++] = digits[--i];
	text[used++] = '\n';
	host->fd_write((int)host->config->log_fd, text, used);
}

const struct mprof_mode_ops mprof_mode = {
	.abi = MPROF_MODULE_ABI,
	.api = &mode_api,
	.start = skeleton_start,
};
