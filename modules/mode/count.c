// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * count.c - MODE=Count: calls, bytes requested and failures, for each thread
 * and function, in a mapped record of the counts file.
 *
 * The numbers are in the file from the moment they are counted, so nothing is
 * lost by SIGKILL.  Only the thread itself writes its record, with plain adds:
 * an add to memory is one instruction, which a signal handler cannot split.
 */
#include <mprof/module.h>

static const struct mprof_host *host;

/* Its countdown has ended: a call of the thread is to be timed. */
static MPROF_COLD void count_time_next(struct mprof_thread *t)
{
	host->time_next(t);
	t->countdown = t->time_left;
}

/* Handles the first event of a thread. */
static MPROF_COLD void count_add_slow(unsigned fn, uint64_t bytes, unsigned failed)
{
	struct mprof_thread *t = host->enter();
	struct mprof_counts *c;

	if (!t)
		return;
	c = t->data;
	if (c) {
		c->fn[fn].calls++;
		c->fn[fn].bytes += bytes;
		c->fn[fn].failed += failed;
	}
}

/*
 * [hot] Two loads, two adds, a countdown. Assumes this thread has a record; otherwise data is NULL.
 */
MPROF_HOT void count_add(unsigned fn, uint64_t bytes, unsigned failed)
{
	struct mprof_thread *t = mprof_self;
	struct mprof_counts *c = t->data;

	if (mprof_unlikely(!c)) {
		count_add_slow(fn, bytes, failed);
		return;
	}
	c->fn[fn].calls++;
	c->fn[fn].bytes += bytes;
	if (failed)
		c->fn[fn].failed += failed;
	if (mprof_unlikely(!--t->countdown))
		count_time_next(t);
}

MPROF_HOT void on_alloc(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)ptr;
	count_add(fn, mprof_bytes(fn, size, arg), 0);
}
/* A request of 0 bytes may return NULL: that is not a failure. */
MPROF_HOT void on_fail(unsigned fn, size_t size, size_t arg, unsigned error)
{
	(void)error;
	count_add(fn, 0, mprof_bytes(fn, size, arg) != 0);
}
MPROF_HOT void on_free(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)ptr, (void)size, (void)arg;
	count_add(fn, 0, 0);
}
MPROF_HOT void on_realloc_begin(unsigned fn, void *ptr, size_t size, size_t arg)
{
	(void)fn, (void)ptr, (void)size, (void)arg;
}
MPROF_HOT void on_realloc_end(unsigned fn, void *old, void *ptr, size_t size, size_t arg)
{
	(void)old;
	size = mprof_bytes(fn, size, arg);
	count_add(fn, ptr ? size : 0, !ptr && size);
}
static void note_map(unsigned fn, uint64_t ticks, const uint64_t value[4], unsigned error)
{
	(void)ticks;
	count_add(fn, error ? 0 : value[1], error != 0);
}
static void note_control(unsigned what, uint64_t value)
{
	(void)what, (void)value;
}

#include <mprof/template.h>

static int count_start(const struct mprof_host *h)
{
	host = h;
	return h->file_open(MPROF_MAGIC_COUNTS, h->config->counts_path);
}

static void count_thread_start(struct mprof_thread *t)
{
	t->data = host->counts_take(t);
	t->countdown = 1;
}

static void count_thread_exit(struct mprof_thread *t)
{
	host->counts_give(t);
}

const struct mprof_mode_ops mprof_mode_count MPROF_SHARED = {
	.abi = MPROF_MODULE_ABI,
	.api = &mode_api,
	.counts_unmapped = 1,
	.start = count_start,
	.thread_start = count_thread_start,
	.thread_exit = count_thread_exit,
};
