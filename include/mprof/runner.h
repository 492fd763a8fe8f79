/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * runner.h - arguments and results of the runner.
 *
 * `mprof_replay KEY=VALUE...` plays one playback file once, in a process of its own, with the
 * allocator that is preloaded, and writes records to a descriptor. It allocates nothing itself:
 * tables are mapped and filled before the baseline is taken, so all memory measured afterwards
 * belongs to the allocator.
 *
 *   in=FILE            the playback file; mode=startup needs none
 *   out=FD             where records go; default 1
 *   mode=serial|threads|ordered|null|startup   null: serial with null=1
 *   null=0|1           1: do everything but call the allocator and touch memory
 *   touch=none|first|page|full|recorded   default page; recorded: page where nothing is recorded
 *   speed=K            wait for the recorded time / K (0: do not); not with mode=ordered
 *   keep=0|1           1: do not free blocks that are still live
 *   drain=MS,MS,...    measure RSS this long after the drain
 *   addresses=0|1      serial, ordered
 *   samples=N frames=N evenly spaced over the ops; in mode=threads approximately
 *   at=OP,OP,...       one more frame after each of these numbers of calls; at most 8
 *   latency=N          time one call in N on average; 0 = none
 *   thp=0|1            0: PR_SET_THP_DISABLE; default 1
 *   aslr=0|1           0: the same addresses in each run, where the system allows; default 1
 *   cpu=N              pin to a processor; -1, the default: do not
 *   passes=N           play ORDER N times, draining in between; figures are of all, samples and
 *                      frames of the last one; serial, not with addresses=1 or speed=K
 *   stall=S            give up after S seconds without progress; default 60, 0 = never
 *
 * Exit status: 0, 1 could not be played (ERROR says why), 2 bad KEY=VALUE, 3 bad playback file.
 * With one thread in the file, threads and ordered are serial.
 *
 * Real threads run on stacks that the runner mapped and filled before the baseline, so their memory
 * is not counted.  The memory that pthread_create itself allocates (the table of thread variables,
 * about 300 bytes a thread) is counted.  A thread whose stream has an EXIT ends there; the others
 * wait until everything is measured.  The first thread frees the remaining blocks, in the order of
 * slots.
 *
 * Records follow each other, each a struct mprof_run_record and `bytes` bytes.
 * ADDRESSES, SAMPLE and FRAME come in the order of ops.  RESULT is the last;
 * if it is missing, the run died.
 */
#ifndef MPROF_RUNNER_H
#define MPROF_RUNNER_H

/* Values of touch= and mode=, in the order of the runner's enumerators; options use the same words.
 */
#define MPROF_TOUCH_WORDS     "none", "first", "page", "full", "recorded"
#define MPROF_PLAY_MODE_WORDS "serial", "threads", "ordered"

/* The allocators that have names: X("name", "soname without a version", "Debian package(s)").
 */
#define MPROF_ALLOCATORS(X)                                               \
	X("glibc", "", "libc6")                                           \
	X("jemalloc", "libjemalloc.so", "libjemalloc2")                   \
	X("mimalloc", "libmimalloc.so", "libmimalloc2.0 or libmimalloc3") \
	X("tcmalloc", "libtcmalloc_minimal.so", "libtcmalloc-minimal4")   \
	X("tbb", "libtbbmalloc_proxy.so", "libtbbmalloc2")

/* Prefixes of variables that configure allocators; for glibc, those that mallopt(3) and ld.so(8)
 * list. */
#define MPROF_SETTINGS                                                                       \
	"MALLOC_", "GLIBC_TUNABLES", "_RJEM_MALLOC_CONF", "JE_MALLOC_CONF", "MIMALLOC_",     \
	    "TCMALLOC", "HEAPCHECK", "HEAPPROFILE", "TBB_MALLOC_", "TBBMALLOC_", "SNMALLOC", \
	    "RPMALLOC_", "SCUDO_OPTIONS", "HOARD_"

#ifdef __cplusplus
#include <cstdint>
#else
#include <stdint.h>
#endif

enum mprof_run_kind {
	MPROF_RUN_ADDRESSES = 1, /* struct mprof_run_address[] */
	MPROF_RUN_SAMPLE = 2,	 /* struct mprof_run_sample */
	MPROF_RUN_FRAME = 3,	 /* struct mprof_run_frame, then its ranges */
	MPROF_RUN_RESULT = 4,	 /* struct mprof_run_result */
	MPROF_RUN_ERROR = 5,	 /* text: why the file could not be played */
};

struct mprof_run_record {
	uint32_t kind, pad;
	uint64_t bytes; /* after this; a multiple of 8 */
};

/* Results of the ops that return a block (MALLOC, CALLOC, REALLOC, ALIGNED), in order. */
struct mprof_run_address {
	uint64_t addr;	 /* 0 if the call failed or returned no block */
	uint64_t usable; /* malloc_usable_size; 0 if the allocator has none */
};

struct mprof_run_sample {
	uint64_t op;	    /* calls before it */
	uint64_t ns;	    /* since the first call */
	uint64_t rss, anon; /* bytes above the baseline */
	uint64_t mapped;    /* bytes of address space above the baseline */
	uint64_t minflt;
};

/*
 * The allocator's pages after `sample.op` calls: writable anonymous memory except the runner's,
 * including what was mapped before the baseline.  `ranges` times: struct mprof_run_range and a
 * bitmap of its pages, bit i of byte i / 8, 1: resident, padded to 8 bytes.  A mapping is split at
 * 64 MiB; of one above 1 GiB, pieces without a resident page are omitted.
 */
struct mprof_run_frame {
	struct mprof_run_sample sample;
	uint64_t ranges;
};
struct mprof_run_range {
	uint64_t addr, pages; /* of 4096 bytes */
};

#define MPROF_RUN_DRAINS  8
#define MPROF_RUN_LATENCY 256

struct mprof_run_result {
	uint64_t calls;
	uint64_t failed; /* calls that returned NULL, where the program got a block */
	uint64_t wall_ns, user_ns, sys_ns, minflt, majflt; /* of the calls, without the drain */
	uint64_t base_rss, start_hwm; /* bytes, before the first call; start_hwm: VmHWM then */
	uint64_t peak_rss;	      /* VmHWM at the end of the calls - base_rss, 0 if below */
	uint64_t end_rss;	      /* above the baseline, after the last call */
	uint64_t drained_rss;	      /* immediately after all live blocks were freed */
	uint64_t drain_ms[MPROF_RUN_DRAINS], drain_rss[MPROF_RUN_DRAINS];
	uint64_t waits; /* threads: calls that had to wait for another thread; ordered: switches */
	uint64_t late_ns; /* paced: the greatest delay of a call */
	uint64_t drain_user_ns, drain_sys_ns;
	/* Sampled calls by class: bucket b counts ticks t with b = 4 * log2(t) + next two bits. */
	uint64_t latency_ticks_per_s;
	uint64_t latency[3][MPROF_RUN_LATENCY]; /* births, frees, reallocs */
	uint64_t thp;	  /* 0 never, 1 madvise, 2 always, as read in the process */
	uint64_t touch;	  /* 0 none, 1 first, 2 page, 3 full, 4 recorded; null touches nothing */
	uint64_t aslr;	  /* 0: addresses are not randomised */
	uint64_t threads; /* threads that played, including the first */
	uint64_t late_stacks;	/* mapped after the baseline: more threads at once than expected */
	uint64_t latency_empty; /* ticks that reading the clock takes; not subtracted */
	uint64_t reserved[3];
};

#endif
