// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * host.c - the services for MODEs (module.h).  Where one fails, recording ends.
 */
#include <mprof/module.h>

#include "config.h"
#include "core.h"
#include "file.h"
#include "limits.h"
#include "peak.h"
#include "process.h"
#include "slots.h"
#include "stacks.h"
#include "stop.h"
#include "sys.h"
#include "thread.h"
#include "times.h"

static struct mprof_thread *host_enter(void)
{
	struct mprof_thread *t;

	mp_failed(mp_enter(&t));
	if (t)
		mp_stack_interval(t);
	return t;
}

/* Opens the file of the run and adds this process to it. */
static int host_file_open(const char *magic, const char *path)
{
	int ret;

	if (mp_file.header) /* a forked child has its parent's mapping */
		return mp_file.broken ? -EIO : 0;
	ret = mp_file_open(magic, path);
	if (ret < 0)
		return ret;
	ret = mp_process_join(0, 0, sys_getppid());
	if (!__builtin_memcmp(magic, MPROF_MAGIC_PROFILE, MPROF_MAGIC_SIZE))
		mp_dumps_start();
	else
		mp_course_start();
	if (mp_config.reach && !__builtin_memcmp(magic, MPROF_MAGIC_TRACE, MPROF_MAGIC_SIZE))
		mp_end_signals_start();
	if (ret < 0)
		mp_note("the process could not join the run: the file is full");
	else if (mp_config.touched)
		__atomic_fetch_or(&mp_file.header->flags, MPROF_FILE_TOUCHED, __ATOMIC_RELAXED);
	return ret;
}

static struct mprof_counts *host_counts_take(struct mprof_thread *t)
{
	int error = 0;
	struct mprof_counts *c = mp_counts_take(t, &error);

	mp_failed(error);
	return c;
}

static int host_slot_take(struct mprof_thread *t)
{
	return mp_failed(mp_slot_take(t));
}

static int host_slot_flush(struct mprof_thread *t)
{
	mp_stack_interval(t);
	if (mp_slot_turn(t))
		mp_times_turn(t);
	return mp_failed(mp_slot_room(t));
}

static void host_slot_release(struct mprof_thread *t)
{
	mp_failed(mp_slot_release(t));
}

static void *host_live(unsigned kind, uint32_t thread, uint64_t seq, size_t bytes)
{
	int error = 0;
	void *at = mp_live_take(kind, thread, seq, bytes, &error);

	mp_failed(error);
	return at;
}

static void host_time_next(struct mprof_thread *t)
{
	mp_stack_interval(t);
	mp_times_turn(t);
}

const struct mprof_host mp_host MP_HIDDEN = {
	.abi = MPROF_MODULE_ABI,
	.config = &mp_config,
	.enter = host_enter,
	.file_open = host_file_open,
	.counts_take = host_counts_take,
	.counts_give = mp_counts_give,
	.slot_take = host_slot_take,
	.slot_flush = host_slot_flush,
	.slot_release = host_slot_release,
	.stacks_start = mp_stacks_start,
	.lost = mp_lost,
	.fd_open = mp_fd_open,
	.fd_write = mp_fd_write,
	.note = mp_note,
	.stop = mp_stop,
	.resident_begin = mp_resident_begin,
	.resident_end = mp_resident_end,
	.look = mp_peak_look,
	.look_times = mp_peak_times,
	.paused = mp_file_paused,
	.dump_due = mp_dump_due,
	.dump = mp_dump,
	.memory = mp_live_memory,
	.live = host_live,
	.page_bytes = &mp_page_bytes,
	.misuse = mp_misuse,
	.put = mp_put,
	.place = mp_memory_place,
	.recording = mp_recording,
	.log_end = mp_file_log_end,
	.spent = mp_overhead_spent,
	.log_steps = mp_log_steps,
	.time_next = host_time_next,
	.step = mp_step,
};
