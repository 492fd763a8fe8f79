/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * run.h - the interface between the parts of the runner.
 *
 * One process plays one file once.  main.c reads the settings; file.c opens the file, and check.c
 * and check_threads.c check all of it, so that the loops that play it (call.h, serial.c, ordered.c,
 * threads.c) need no tests; baseline.c measures the process before the first call; then the file is
 * played and the result written (records.c).
 *
 * Invariant: between the baseline and the last record, the runner does not allocate, map or touch a
 * new page (except pthread_create's own allocation), so all growth is the allocator's. Every
 * failure ends the process with an ERROR record: die().
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <mprof/playback.h>
#include <mprof/runner.h>

enum { PAGE = 4096 }; /* not a macro, because a shape of functions.def has this name */
#define ALWAYS	    inline __attribute__((always_inline))
#define COLD	    __attribute__((noinline, cold))
#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

enum { STATUS_RUN = 1, STATUS_USAGE = 2, STATUS_FILE = 3 };
enum mode { MODE_SERIAL, MODE_THREADS, MODE_ORDERED, MODE_NULL, MODE_STARTUP };
enum touch { TOUCH_NONE, TOUCH_FIRST, TOUCH_PAGE, TOUCH_FULL, TOUCH_RECORDED, TOUCHES };

#define LIST_MOST 8 /* numbers in drain= and at= */

struct list {
	uint64_t n, value[LIST_MOST];
};

struct settings {
	const char *in;
	uint64_t out, mode, null, touch, speed, keep, addresses, samples, frames, latency, thp,
	    aslr;
	uint64_t passes, stall;
	uint64_t cpu; /* plus one; 0 = not pinned */
	struct list drain, at;
};
extern struct settings settings;

/* settings.c: an invalid argument ends the process. */
void settings_read(int argc, char **argv);

/* file.c: the playback file. */
struct file {
	int fd;
	struct mprof_playback_header head;
	struct mprof_play_thread *thread; /* head.threads of them */
};
extern struct file playback;
void file_open(const char *path);
/* Maps the words of a stream for the check before the run; file_unmap unmaps them. */
const uint64_t *file_map(uint64_t offset, uint64_t bytes);
void file_unmap(const uint64_t *words, uint64_t bytes);
bool file_parallel(void); /* does it have THREAD streams? */

/* Where playing ORDER stops for a sample or a frame: before this word, after `op` calls. */
struct stop {
	uint64_t op, word;
	bool sample, frame;
};
struct stops {
	struct stop *at;
	size_t n, told; /* told: how many stops are done */
};

/* check.c, check_threads.c: die(STATUS_FILE) unless ORDER is valid; set the words of the stops. */
struct order {
	uint64_t words; /* without END */
	uint64_t calls;
	uint32_t thread_pool; /* most threads alive at once, besides the first */
};
/* scratch: a zeroed word for each slot */
void check_order(struct order *order, struct stops *stops, uint64_t *scratch);
/* Does the same for the THREAD streams; scratch: two zeroed words for each slot. */
void check_threads(const struct order *order, uint64_t *scratch);

/* memory.c: mapped, filled and registered as the runner's own; never unmapped. */
void *own_map(size_t bytes);
void *own_reserve(size_t bytes); /* not filled */
struct span {
	uintptr_t begin, end;
};
const struct span *own_spans(size_t *n);

/* baseline.c */
struct usage {
	uint64_t wall_ns, cpu_ns, sys_ns, minflt, majflt; /* sys_ns: a part of cpu_ns */
};
struct baseline {
	uint64_t rss, anon, hwm, mapped; /* bytes */
	uint64_t minflt, begin_ns, ticks;
};
extern struct baseline baseline;
void baseline_open(void); /* opens the files that it reads; call it before baseline_take */
void baseline_take(void);
void usage_now(struct usage *u);
void usage_add(struct usage *sum, const struct usage *from, const struct usage *to);
void sample_now(struct mprof_run_sample *s, uint64_t op);
uint64_t rss_now(void);
uint64_t hwm_now(void);
uint64_t thp_now(void);
uint64_t now_ns(void);

/* plan.c: plans samples and frames, and records them. */
void plan_make(struct stops *stops, uint64_t calls);
void stop_tell(const struct stop *stop);
void frames_prepare(void); /* frames.c */
void frame_tell(uint64_t op);

/* records.c */
void record(uint32_t kind, const void *data, size_t bytes);
void record_begin(uint32_t kind, uint64_t bytes); /* record_bytes follow */
void record_bytes(const void *data, size_t bytes);
_Noreturn void die(int status, const char *what, ...); /* %s, %u (uint64_t) and %% only */
_Noreturn void die_errno(int status, const char *what, const char *name);
extern uint64_t records_telling; /* threads waiting for the reader of our records */
extern int records_to;		 /* the descriptor, from the settings */

/* watch.c: ends a process that makes no progress. */
void watch_start(void);
void watch_stop(void);
extern uint64_t watch_moves; /* every thread that progresses adds to it occasionally */
static inline void watch_moved(void)
{
	__atomic_fetch_add(&watch_moves, 1, __ATOMIC_RELAXED);
}

/* The ways to play: each returns when the last call is done and no thread plays any more. */
struct played {
	struct usage used; /* of the calls */
	uint64_t calls, failed, waits, late_ns;
	uint64_t latency[3][MPROF_RUN_LATENCY]; /* as in the result */
};
void play_serial(const struct order *order, struct stops *stops, struct played *played);
void play_ordered(const struct order *order, struct stops *stops, struct played *played);
void play_threads(const struct order *order, struct stops *stops, struct played *played);

/* drain.c: the table of live blocks.  A slot has `stride` words, the first one with the address. */
extern uint64_t *live_table;
void table_make(size_t stride);
void table_clear(void);
void drain_table(void); /* frees the remaining blocks */

/* pace.c: waits until a recorded time; returns by how many ns it was late. */
uint64_t pace(uint64_t recorded_ns);
