/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * format.h - the on-disk structs of traces, counts files and profiles.
 *
 * One file contains one run: every process of the tree maps the same file and takes extents
 * from it with one atomic addition.  A file is a header of 64 KiB followed by extents, each a
 * multiple of 64 bytes, tiling the file from MPROF_HEADER_SIZE to header.tail.  FORMAT.md is
 * the specification and says what a reader must reject.  Everything is little-endian and
 * fixed-width.
 *
 * "ticks" are counts of the run's clock already shifted right by header.clock_shift.  "process"
 * and "thread" are numbers within this run, from 1, never reused; 0 means none.  They are not
 * pids and tids.
 */
#ifndef MPROF_FORMAT_H
#define MPROF_FORMAT_H

#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "mprof files are little-endian and are mapped directly: port encode.h first"
#endif

#ifdef __cplusplus
#define MPROF_STATIC_ASSERT static_assert
#else
#define MPROF_STATIC_ASSERT _Static_assert
#endif

#define MPROF_FORMAT_VERSION 2u
#define MPROF_HEADER_SIZE    65536u	 /* bytes before the first extent */
#define MPROF_HEADER_SHORT   256u	 /* of a compressed file, before its process entries */
#define MPROF_EXTENT_ALIGN   64u	 /* extents start at and span multiples of this */
#define MPROF_EXTENT_MAX     (1u << 30)	 /* greatest extent a reader accepts, bytes */
#define MPROF_EXTENT_MAGIC   0x74785a6du /* "mZxt" */

#define MPROF_MAGIC_TRACE   "mproftrc" /* 8 bytes, no NUL on disk */
#define MPROF_MAGIC_COUNTS  "mprofcnt"
#define MPROF_MAGIC_PROFILE "mprofprf"
#define MPROF_MAGIC_SIZE    8u

/* Names the kind of a file with this magic; NULL if mprof does not write such files. */
static inline const char *mprof_kind_name(const char *magic)
{
	if (!__builtin_memcmp(magic, MPROF_MAGIC_TRACE, MPROF_MAGIC_SIZE))
		return "trace";
	if (!__builtin_memcmp(magic, MPROF_MAGIC_COUNTS, MPROF_MAGIC_SIZE))
		return "counts file";
	return __builtin_memcmp(magic, MPROF_MAGIC_PROFILE, MPROF_MAGIC_SIZE) ? (const char *)0
									      : "profile";
}
static inline int mprof_is_magic(const char *magic)
{
	return mprof_kind_name(magic) != (const char *)0;
}

/* The functions that an event can name.  Codes are on disk. */
enum mprof_fn {
	MPROF_FN_NONE = 0,
#define MPROF_FUNCTION(id, code, name, class) MPROF_FN_##id = code,
#include <mprof/functions.def>
#undef MPROF_FUNCTION
	MPROF_FN_MAX = 32, /* size of the arrays in struct mprof_counts; codes are below */
};

enum mprof_fn_class {
	MPROF_CLASS_ALLOC = 1,
	MPROF_CLASS_FREE,
	MPROF_CLASS_REALLOC,
	MPROF_CLASS_MAP,
};

/* Does the function map or unmap address space?  Any code may be of one that does not. */
static inline int mprof_fn_maps(unsigned fn)
{
	enum {
		MAPS = 0
#define MPROF_FUNCTION(id, code, name, class) \
	| (MPROF_CLASS_##class == MPROF_CLASS_MAP ? 1 << code : 0)
#include <mprof/functions.def>
#undef MPROF_FUNCTION
	};

	return MAPS >> (fn & (MPROF_FN_MAX - 1)) & 1;
}

enum mprof_clock {
	MPROF_CLOCK_MONOTONIC = 0, /* CLOCK_MONOTONIC, nanoseconds */
	MPROF_CLOCK_TSC = 1,	   /* x86 rdtsc, invariant */
	MPROF_CLOCK_CNTVCT = 2,	   /* aarch64 cntvct_el0 */
};

/* Why something is missing.  Index of the lost[] counters. */
enum mprof_lost {
	MPROF_LOST_NESTED = 0, /* call from a signal handler during recording */
	MPROF_LOST_SPACE,      /* disk full, file size or quota limit */
	MPROF_LOST_MEMORY,     /* no memory or address space for a slot or record */
	MPROF_LOST_FILE,       /* file gone, truncated or descriptor lost for good */
	MPROF_LOST_EARLY,      /* before recording could start (boot arena) */
	MPROF_LOST_PROCESS,    /* a whole process could not join the run */
	MPROF_LOST_LOCKED,     /* the program restricted its system calls (seccomp), so nothing was
				  recorded from then on */
	MPROF_LOST_STACK, /* the call was recorded without its stack (no memory or space for it) */
	MPROF_LOST_REASONS = 8,
};

/* header.flags */
#define MPROF_FILE_COMPRESSED 1u  /* rewritten by mprof; index at the end */
#define MPROF_FILE_CLOSED     2u  /* mprof saw the run end and added its own facts */
#define MPROF_FILE_TOUCHED    4u  /* touched bytes of large blocks are recorded */
#define MPROF_FILE_FILTERED   8u  /* some processes were excluded on request */
#define MPROF_FILE_RUNNING    16u /* a dump: processes without a recorded end still ran */

enum mprof_process_state {
	MPROF_PROCESS_NONE = 0,
	MPROF_PROCESS_RUNNING = 1,
	MPROF_PROCESS_EXITED = 2,  /* status is the exit status */
	MPROF_PROCESS_KILLED = 3,  /* status is the signal; known from its parent */
	MPROF_PROCESS_EXECING = 4, /* called exec; a successful new image sets RUNNING again */
};

/*
 * One entry per process, mapped in the header, so that it survives SIGKILL.  Found again after
 * exec by (pid, start_time).  Process number n has entry n - 1; if the table is full, entries
 * of ended processes are reused, and `number` says whose an entry is.
 */
struct mprof_process_entry {
	uint32_t number; /* 0 = unused */
	int32_t pid;
	uint64_t start_time; /* field 22 of /proc/PID/stat */
	uint16_t state;	     /* enum mprof_process_state */
	uint16_t image;	     /* number of exec calls so far, modulo 65536 */
	int32_t status;
	uint32_t lost[MPROF_LOST_REASONS]; /* events, saturating; enum mprof_lost */
	uint64_t self_bytes;		   /* current memory of the library in the process */
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_process_entry) == 64, "on-disk layout");

/* header.waiting and header.examiner */
#define MPROF_WAITING_CLAIMED 0x80000000u /* the process is about to wait */
#define MPROF_EXAMINER_GONE   UINT32_MAX

#define MPROF_PROCESS_TABLE 896u
#define MPROF_FREE_SLOTS    896u

enum mprof_log_end {
	MPROF_LOG_END_BUDGET,	/* the file was too large */
	MPROF_LOG_END_OVERHEAD, /* recording took too much time */
};

struct mprof_file_header {
	char magic[MPROF_MAGIC_SIZE];
	uint32_t version;     /* MPROF_FORMAT_VERSION */
	uint32_t header_size; /* MPROF_HEADER_SIZE; less in a compressed file (FORMAT.md 8) */
	uint8_t run_id[16];
	uint32_t flags;
	uint32_t page_size;
	uint32_t clock;	      /* enum mprof_clock */
	uint32_t clock_shift; /* ticks = counter >> clock_shift */
	uint64_t clock_hz;    /* ticks a second, estimated at start; facts calibrate it */
	uint64_t start_ticks; /* these three were read at the same time */
	int64_t start_mono_ns;
	int64_t start_real_ns;
	/* The fields from here on change during the run, with atomic operations. */
	uint64_t tail;			   /* offset of the first byte that belongs to no extent */
	uint32_t processes;		   /* numbers assigned so far */
	uint32_t threads;		   /* numbers assigned so far */
	uint32_t lost[MPROF_LOST_REASONS]; /* of processes without an entry */
	uint64_t index_offset;		   /* compressed file: offset of the index extent */
	uint64_t room;			   /* disk blocks are reserved up to here */
	uint32_t filters;		   /* number of seccomp filters of the first process */
	uint32_t paused;     /* profile: 1 while paused by mprof ctl, plus 2 for each clear */
	uint64_t time_error; /* compressed file: the error of event times, in ticks */
	uint64_t chunks;     /* EVENTS and STACKS extents written so far; 0 if unknown */
	/* For a run that keeps only its last events (FORMAT.md 3.1); 0: nothing was dropped. */
	uint64_t dropped_to;	/* chunks before this offset may be dropped */
	uint64_t dropped_ticks; /* earlier events may be missing; all later ones are there */
	uint64_t dropped_bytes; /* bytes of event chunks that were dropped */
	/* For a run that stops keeping events at a limit (FORMAT.md 3.2). */
	uint64_t budget;      /* bytes of the file; 0: no limit */
	uint64_t log_end;     /* in ticks: no later events are recorded; 0 = all are */
	uint32_t log_end_why; /* enum mprof_log_end */
	uint32_t overhead; /* recording's limit in percent of the program's CPU time; 0 if none */
	uint64_t sampled_from; /* ticks; some totals of later events are estimates */
	uint64_t pauses; /* profile: times that it was paused, since the start or the last clear */
	uint64_t cleared_ticks; /* profile: the last clear; older heap totals are void */
	uint64_t free_slots[MPROF_FREE_SLOTS]; /* offset | log2(size), 0 if empty */
	/* record --reach (FORMAT.md 7.6): a process that ends waits until mprof has examined it. */
	uint32_t examiner;   /* mprof counts up while it is there to do so; 0: it is not yet */
	uint32_t waiting;    /* number of the process that waits; 0 = none */
	int32_t waiting_tid; /* its thread that waits */
	uint32_t waiting_pad;
	uint64_t waiting_exit;	  /* address of libc's exit() there; 0: a signal ends the process */
	uint64_t waiting_context; /* address of the ucontext_t of that signal; 0: none */
	/* Size of the chunks that groups replaced while the run went on (FORMAT.md 8.6). */
	uint64_t replaced_bytes;
	uint64_t detach; /* mprof attach: address of mprof_detach() in these processes */
	uint8_t pad[MPROF_HEADER_SIZE - 64u * MPROF_PROCESS_TABLE - 288u - 8u * MPROF_FREE_SLOTS];
	struct mprof_process_entry process[MPROF_PROCESS_TABLE];
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_file_header) == MPROF_HEADER_SIZE, "on-disk layout");

/*
 * Is a part of this header missing?  A process has an entry before it takes its first extent, and
 * no extent begins inside the header.
 */
static inline int mprof_header_is_cut(const struct mprof_file_header *h)
{
	if (h->tail < h->header_size)
		return 1;
	for (uint32_t i = 0; h->processes && i < MPROF_PROCESS_TABLE; i++)
		if (h->process[i].number)
			return 0;
	return h->processes != 0;
}

enum mprof_extent_kind {
	MPROF_EXTENT_FREE = 1,	  /* padding, or an unused slot */
	MPROF_EXTENT_SLOT,	  /* a thread's slot: event words up to the first zero word */
	MPROF_EXTENT_EVENTS,	  /* a slot's copy: `used` bytes of event words */
	MPROF_EXTENT_COUNTS,	  /* struct mprof_counts of one thread (thread 0 = unused) */
	MPROF_EXTENT_FACT,	  /* struct mprof_fact and strings */
	MPROF_EXTENT_SAMPLE,	  /* struct mprof_sample array */
	MPROF_EXTENT_RESIDENCY,	  /* struct mprof_residency and runs */
	MPROF_EXTENT_PACKED,	  /* compressed file: struct mprof_packed, packed stack records */
	MPROF_EXTENT_INDEX,	  /* compressed file: struct mprof_index_entry array */
	MPROF_EXTENT_STACKS_SLOT, /* a process's slot of stack records, up to the first zero word */
	MPROF_EXTENT_STACKS,	  /* its copy: `used` bytes of stack records */
	MPROF_EXTENT_GROUP,	  /* compressed file: struct mprof_group, events of all threads */
	MPROF_EXTENT_SORTS,	  /* compressed file: struct mprof_sorts, what groups refer to */
	MPROF_EXTENT_THREADS,	  /* compressed file: struct mprof_threads, who wrote the events */
	MPROF_EXTENT_HEAP,	  /* profile: struct mprof_heap_totals of one image of a process */
	MPROF_EXTENT_LANE,	  /* profile: struct mprof_lane, used by one thread after another */
	MPROF_EXTENT_CELLS,   /* profile: struct mprof_cell of a lane, stacks from number seq on */
	MPROF_EXTENT_MORE,    /* profile: struct mprof_cell_more, the same way */
	MPROF_EXTENT_SITES,   /* profile: struct mprof_site_live, of all lanes of a process */
	MPROF_EXTENT_SAMPLES, /* profile: struct mprof_sample_cell of a lane, as CELLS */
	MPROF_EXTENT_MISUSE,  /* struct mprof_misuse: an error that MODE=Guard found */
	MPROF_EXTENT_GUARDED, /* struct mprof_guarded of a process: what MODE=Guard did; live */
	MPROF_EXTENT_COURSE,  /* profile: struct mprof_course of one image of a process */
	MPROF_EXTENT_STACK_USE,	 /* struct mprof_stack_use of one thread; mapped and live */
	MPROF_EXTENT_VARIABLES,	 /* struct mprof_residency and runs, of the variables of objects */
	MPROF_EXTENT_CELL_SIZES, /* profile, on request: struct mprof_cell_sizes, as CELLS */
	MPROF_EXTENT_SYSTEM,	 /* struct mprof_system array */
	MPROF_EXTENT_TIMES,	 /* struct mprof_times of one thread; mapped and live */
	MPROF_EXTENT_OWN,	 /* struct mprof_page_run: memory of the library in a process */
	MPROF_EXTENT_REACH,	 /* struct mprof_reach, rows and roots */
	MPROF_EXTENT_TAKEN,	 /* struct mprof_taken: what groups have of a run that goes on */
	MPROF_EXTENT_BEHIND,	 /* kinds are below */
};

struct mprof_extent {
	uint32_t magic;	 /* MPROF_EXTENT_MAGIC */
	uint16_t kind;	 /* enum mprof_extent_kind */
	uint16_t image;	 /* mprof_process_entry.image of its process at that time */
	uint64_t offset; /* offset of this header in the file */
	uint32_t size;	 /* whole extent with this header; multiple of 64 */
	uint32_t used;	 /* bytes of payload in use; SLOT: 0 */
	uint32_t process;
	uint32_t thread;
	uint32_t run;	      /* first four bytes of run_id */
	uint32_t check;	      /* mprof_checksum of `used` bytes; 0 in SLOT and COUNTS */
	uint64_t seq;	      /* SLOT, EVENTS: number of this chunk within its thread, from 1 */
	uint64_t first_ticks; /* EVENTS, SLOT: the base of the first dt */
	uint64_t last_ticks;  /* EVENTS: time of the last event.  Others: time of writing */
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_extent) == 64, "on-disk layout");

#define MPROF_THREAD_NAME 16u /* bytes, as in the kernel */

/* One thread of a Count run.  Mapped and live; written by its thread only. */
struct mprof_counts_fn {
	uint64_t calls;
	uint64_t bytes;	 /* requested; product for calloc; length for the mmap family */
	uint64_t failed; /* calls that returned NULL or an error for a non-zero size */
};
struct mprof_counts {
	uint64_t tid;	    /* kernel thread id */
	uint64_t end_ticks; /* 0 while the thread runs */
	uint64_t merged;    /* further threads whose counts are included */
	uint64_t thread_pointer;
	char name[MPROF_THREAD_NAME]; /* as in mprof_stack_use */
	uint64_t reserved[2];
	struct mprof_counts_fn fn[MPROF_FN_MAX];
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_counts) == 832, "on-disk layout");

/*
 * How long some calls of a thread took, FORMAT.md section 7.5.  Written by its thread only.
 */
struct mprof_times_fn {
	uint64_t calls; /* that were timed */
	uint64_t ticks; /* their sum, in steps of `hz`, with the cost of reading the clock */
	double squares; /* sum of the squares */
	uint64_t most;	/* the longest one */
};
struct mprof_times {
	uint64_t tid;
	uint64_t hz;	     /* steps of the clock in a second */
	uint64_t cost_calls; /* of a function that does nothing; timed in the same way ... */
	uint64_t cost_ticks; /* ... and their sum: each timed call contains this cost */
	uint64_t cpu_ns;     /* in one record of a process: its CPU time while it was recorded */
	uint64_t reserved[3];
	struct mprof_times_fn fn[MPROF_FN_MAX];
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_times) == 1088, "on-disk layout");

/*
 * Which of its live blocks a process could still reach when mprof examined it, FORMAT.md section
 * 7.6.  Rows and roots follow, then `text` bytes of strings.
 */
#define MPROF_REACH_ROWS \
	65536u /* at most, those with the most unreachable bytes, then with the most */
struct mprof_reach {
	uint64_t ticks; /* when it was examined */
	uint32_t rows, roots;
	uint64_t blocks, bytes; /* all live blocks that were examined */
	uint32_t text;		/* bytes of strings, each with its NUL */
	uint32_t image;		/* of the process, whose stacks these are */
	uint64_t left_out;	/* own blocks of stacks that have no row: there were too many */
};
/* The process's own blocks of one stack. */
struct mprof_reach_row {
	uint32_t stack; /* number of the stack in its process; 0 = unknown */
	uint32_t root;	/* index + 1 of the root that most reachable bytes depend on; 0 = none */
	uint64_t blocks, bytes;				/* all of them */
	uint64_t unreachable_blocks, unreachable_bytes; /* no pointer led to them ... */
	uint64_t below_blocks, below_bytes; /* ... of these, blocks that another one points to */
};
enum mprof_reach_kind {
	MPROF_REACH_VARIABLE = 1, /* address: of the variable in its object, without the bias */
	MPROF_REACH_THREAD,	  /* thread-local memory of the thread `tid` */
	MPROF_REACH_STACK,	  /* its stack or registers */
	MPROF_REACH_MAPPED,	  /* memory that the program mapped; address */
	MPROF_REACH_BEHIND,
};
/* Where the first pointer was. */
struct mprof_reach_root {
	uint64_t address;
	uint32_t kind; /* enum mprof_reach_kind */
	int32_t tid;
	uint32_t path; /* VARIABLE: offset of the path of its object in the strings */
	uint32_t reserved;
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_reach) == 48, "on-disk layout");
MPROF_STATIC_ASSERT(sizeof(struct mprof_reach_row) == 56, "on-disk layout");
MPROF_STATIC_ASSERT(sizeof(struct mprof_reach_root) == 24, "on-disk layout");

/*
 * Totals, FORMAT.md section 10.  Mapped and live, as counts.  What one thread did with the
 * blocks of one stack: written by that thread only, with plain adds.  A free is added to the
 * cell of the thread that frees, so the allocation and the free of a block may be in two cells,
 * and only the sum over the lanes of a process gives what is live.
 */
struct mprof_cell {
	uint64_t calls, bytes;			/* successful calls */
	uint64_t freed_calls, freed_bytes;	/* blocks freed or passed to realloc */
	uint64_t lifetime;			/* sum over freed blocks, in ticks */
	uint32_t lifetime_least, lifetime_most; /* mprof_rounded(), the least inverted; 0 = none */
	uint32_t size_least, size_most;		/* requested bytes, stored likewise */
	int32_t unfolded_bytes, unfolded_calls; /* live, but not yet added to mprof_site_live */
};
/* Figures of rare events. */
struct mprof_cell_more {
	uint64_t temporary_calls, temporary_bytes; /* freed by the same thread's next call */
	uint64_t reallocs, realloc_moved;	   /* calls; those that moved the block */
	uint64_t realloc_bytes;			   /* upper bound of the bytes copied */
	int64_t realloc_grown; /* bytes by which blocks grew, minus bytes by which they shrank */
	uint64_t map_calls, map_bytes; /* mmap, mremap, growth by brk and sbrk */
};
/*
 * For all threads of a process: what is live, and what was live at the peak.  at_peak_* are the
 * live figures before the first change after the peak numbered `stamp`; if that is not the
 * process's peak, live_* have not changed since the peak.
 */
struct mprof_site_live {
	int64_t live_bytes, live_calls;
	int64_t at_peak_bytes, at_peak_calls;
	int64_t local_bytes, local_calls; /* the peak of this stack's own live bytes */
	int64_t stamp;
	union {
		/* trace: blocks allocated from then on may have no events; 0: all have */
		uint64_t log_end;
		/* profile: its live bytes at mprof_course.past_ticks, mprof_rounded() */
		uint32_t past[2];
	};
};
/*
 * MODE=Sample: like struct mprof_cell, for sampled blocks, each weighted by 1/p, where p is the
 * probability with which a block of its size is sampled (FORMAT.md section 10.1).
 */
struct mprof_sample_sums {
	uint64_t samples;
	double calls, bytes;		       /* sums of 1/p and of size/p */
	double calls_variance, bytes_variance; /* sums of (1-p)/p^2 and of (1-p)(size/p)^2 */
};
struct mprof_sample_cell {
	struct mprof_sample_sums made, freed;
	double heaviest_calls, heaviest_bytes; /* greatest sqrt(1-p)/p and sqrt(1-p) size/p */
	double lifetime;		       /* ticks of freed samples, weighted */
	uint32_t size_least, size_most;	       /* of samples, as in mprof_cell */
	uint64_t elapsed; /* sum of ticks since the thread's previous sample, without ours */
	uint64_t reserved[1];
};
#define MPROF_SAMPLE_BYTES 1u
#define MPROF_SAMPLE_CALLS 2u
MPROF_STATIC_ASSERT(sizeof(struct mprof_sample_cell) == 128, "on-disk layout");

#define MPROF_CELLS 16u /* in a row: one extent of CELLS, MORE or SITES */
MPROF_STATIC_ASSERT(sizeof(struct mprof_cell) == 64, "on-disk layout");
/* The payload of CELLS. */
struct mprof_cells {
	struct mprof_cell cell[MPROF_CELLS];
	uint64_t waste[MPROF_CELLS]; /* usable bytes beyond the requested ones, of a cell's calls */
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_cells) == 1152, "on-disk layout");
MPROF_STATIC_ASSERT(sizeof(struct mprof_cell_more) == 64, "on-disk layout");
MPROF_STATIC_ASSERT(sizeof(struct mprof_site_live) == 64, "on-disk layout");

/* The heap of one image of a process. */
struct mprof_heap_totals {
	/* Read whenever a thread folds; in the cache line of live_bytes, that would be a miss. */
	int64_t peak_bytes, peak_calls; /* peak_bytes is also the peak's number: it only rises */
	uint64_t peak_ticks;
	uint64_t peak_bound; /* error bound of the peak, in bytes; 0: the peak is exact */
	/* The current step of the course: the most live bytes so far, when, and the stack that
	 * allocated then; 0 if none. */
	int64_t step_bytes, step_calls;
	uint64_t step_ticks;
	uint64_t step_stack;
	int64_t live_bytes, live_calls; /* live blocks, as far as lanes have folded them */
	uint64_t began_ticks;	/* when recording began; older blocks belong to the parent */
	uint32_t lanes;		/* most in use at once */
	uint32_t several;	/* 1 if the process ever had more than one thread */
	uint64_t sample_period; /* MODE=Sample: mean distance between samples, in sample_unit */
	uint64_t sample_unit;	/* MPROF_SAMPLE_BYTES or MPROF_SAMPLE_CALLS; 0: every call counts */
	uint64_t calls, bytes;	/* blocks allocated and their bytes, when the last step ended */
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_heap_totals) == 128, "on-disk layout");

/* How the heap of one image of a process changed over time: steps of equal length. */
#define MPROF_STEPS	  256u /* when all are used, neighbours are joined */
#define MPROF_STEPS_FIRST 16u  /* room in the extent of a short run */
struct mprof_step {
	int64_t live_bytes, live_calls; /* most live bytes in the step, and the live calls then */
	uint64_t ticks;			/* when */
	uint64_t resident, mapped; /* memory of the process at the end of the step, or an estimate
				      (FORMAT.md); 0 = unknown */
	uint64_t calls, bytes;	   /* blocks allocated up to the end of the step */
	uint32_t stack;		   /* the stack that allocated then; 0 = none or unknown */
	uint32_t reserved;
};
struct mprof_course {
	uint64_t began_ticks, step_ticks; /* start of the first step; length of each */
	uint32_t steps;			  /* completed */
	uint32_t reserved;
	uint64_t past_ticks[2]; /* when live bytes of stacks were noted, the latest time last; 0:
				   never */
	uint64_t reserved_too[3];
	struct mprof_step step[MPROF_STEPS]; /* on disk: as many as the extent has room for */
};
#define MPROF_COURSE_BYTES(steps) \
	(sizeof(struct mprof_course) - (MPROF_STEPS - (steps)) * sizeof(struct mprof_step))
MPROF_STATIC_ASSERT(sizeof(struct mprof_step) == 64, "on-disk layout");
MPROF_STATIC_ASSERT(sizeof(struct mprof_course) == 64 + 64 * MPROF_STEPS, "on-disk layout");

/* Figures of a thread, and of later threads that used its lane, that are not in cells. */
#define MPROF_SIZE_BINS 48u /* 0 = size 0; n = 2^(n-1) to 2^n - 1; the last = all above */
struct mprof_lane {
	uint32_t threads; /* threads that have used it so far */
	uint32_t owned;	  /* 1 while a thread uses it */
	uint64_t missed; /* blocks whose free was not recorded: their address was allocated again */
	uint64_t strange;		   /* frees of unknown blocks */
	uint64_t unmap_calls, unmap_bytes; /* munmap, old mapping of mremap, lowered break */
	uint64_t reserved[3];
	uint64_t sizes[MPROF_SIZE_BINS];       /* calls by requested bytes */
	uint64_t freed_sizes[MPROF_SIZE_BINS]; /* freed blocks by requested bytes */
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_lane) == 832, "on-disk layout");
/* With SITE_SIZES: blocks of one stack and lane by size, as in struct mprof_lane. */
struct mprof_cell_sizes {
	struct {
		uint64_t calls, bytes, freed_calls, freed_bytes;
	} bin[MPROF_SIZE_BINS];
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_cell_sizes) == 1536, "on-disk layout");

/*
 * MODE=Guard, FORMAT.md section 11: one error of the program.  Stacks are numbered in the process's
 * image; 0 = unknown.  Functions are enum mprof_fn.
 */
enum mprof_misuse_what {
	MPROF_MISUSE_OVERRUN = 1, /* bytes after a block were changed */
	MPROF_MISUSE_UNDERRUN,	  /* bytes before a block were changed */
	MPROF_MISUSE_DOUBLE_FREE, /* a freed block was freed or reallocated */
	MPROF_MISUSE_FREED_WRITE, /* bytes of a freed block were changed */
	MPROF_MISUSE_INTERIOR,	  /* a pointer into a block, not to its beginning, was freed or
				     reallocated */
	MPROF_MISUSE_FOREIGN,  /* a pointer that no allocator returned was freed or reallocated */
	MPROF_MISUSE_MISMATCH, /* malloc, new and new[]: a block ended by a function of another */
	MPROF_MISUSE_BEHIND,
};
/* The kind of foreign memory, in mprof_misuse.place. */
enum mprof_place_what {
	MPROF_PLACE_HEAP = 0, /* heap, or unknown */
	MPROF_PLACE_STACK,
	MPROF_PLACE_OBJECT, /* the program or a library: a variable or code */
	MPROF_PLACE_UNMAPPED,
	MPROF_PLACE_MISALIGNED,
};
struct mprof_misuse {
	uint32_t what;	  /* enum mprof_misuse_what */
	uint32_t place;	  /* FOREIGN: enum mprof_place_what */
	uint64_t ticks;	  /* when it was found */
	uint64_t address; /* of the block; for FOREIGN, the pointer */
	uint64_t size;	  /* requested bytes */
	int64_t offset; /* of the first changed byte, or the pointer, from the block's beginning */
	uint64_t bytes; /* from the first to the last changed byte */
	uint32_t found, allocated, freed; /* call stacks */
	uint32_t found_thread, allocated_thread, freed_thread;
	uint16_t found_fn; /* the function that found it; 0 = a check at the end of the process */
	uint16_t allocated_fn, freed_fn;
	uint16_t seen_bytes; /* length of `seen`, which begins at the first changed byte */
	uint8_t seen[16];
	uint64_t reserved[2];
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_misuse) == 112, "on-disk layout");

/* What MODE=Guard did in a process; the last such extent is valid. */
struct mprof_guarded {
	uint64_t blocks;      /* allocated with guards */
	uint64_t freed;	      /* how many of these were freed */
	uint64_t bare;	      /* allocated without guards, because no memory was left for them */
	uint64_t strangers;   /* frees of blocks without guards, passed to the allocator */
	uint64_t errors;      /* errors found */
	uint64_t unwritten;   /* how many of these were too many for the file */
	uint64_t guard_bytes; /* bytes of a guard, before and after each block */
	uint64_t ended;	      /* 1: live blocks were checked, at the end of the image */
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_guarded) == 64, "on-disk layout");

/* 64 bits in 32: exact below 2^26, else rounded down to 26 binary digits.  Keeps the order. */
static inline uint32_t mprof_rounded(uint64_t v)
{
	unsigned shift = v >> 26 ? 38 - (unsigned)__builtin_clzll(v) : 0;

	return shift << 26 | (uint32_t)((v >> shift) & 0x3ffffff);
}
static inline uint64_t mprof_unrounded(uint32_t r)
{
	return (uint64_t)(r & 0x3ffffff) << (r >> 26);
}

/*
 * Facts about a process, in the order in which they became known.  After the struct come
 * NUL-terminated strings "key=value" up to `used`: exe, cwd, host, arg (once for each argument,
 * in order), allocator, init, mode, path, why.
 */
enum mprof_fact_what {
	MPROF_FACT_START = 1, /* recording of a process began */
	MPROF_FACT_EXEC,      /* the process runs another program from now on */
	MPROF_FACT_END,	      /* it is about to end: status */
	MPROF_FACT_WAITED,    /* its parent (or mprof) saw it end: status, signal, rusage */
	MPROF_FACT_CHILD,     /* it made a child: child_pid; how = enum mprof_child_how */
	MPROF_FACT_EXECING, /* it calls exec of path= ; env_kept: is the library still preloaded? */
	MPROF_FACT_STOPPED, /* recording ended early, for the reason why= */
	MPROF_FACT_OUTSIDE, /* a remark of mprof about the run, why= */
	MPROF_FACT_DEEPBIND, /* it loaded path= in such a way that its malloc and free are libc's
				and not recorded; how = enum mprof_bypass */
	MPROF_FACT_RESUMED,  /* the cause of the last STOPPED did not occur */
	MPROF_FACT_RANK,     /* its MPI rank: rank= */
	MPROF_FACT_CODE,     /* names of its generated code: arg= "address name", for each frame */
	MPROF_FACT_SET,	     /* its allocator is configured by set= "NAME=VALUE" */
	MPROF_FACT_RETURNED, /* exec returned in its vfork child child_pid: the last EXECING is void
			      */
	MPROF_FACT_OOM, /* the kernel's out-of-memory killer ended how processes since since_ticks
			 */
	MPROF_FACT_ATTACHED, /* it ran already when recording began */
	MPROF_FACT_DETACHED, /* mprof ended the recording, and it runs on */
	MPROF_FACT_HUGE, /* mprof saw it: huge_pages pages of its memory were parts of huge ones */
	MPROF_FACT_TOGETHER,   /* process 0: how processes of the run had together_bytes in memory,
				  pages that they share counted once */
	MPROF_FACT_OUTLIVED,   /* mprof saw that it still ran when the program had ended */
	MPROF_FACT_UNEXAMINED, /* mprof could not examine its memory (--reach), for the reason why=
				*/
};
enum mprof_bypass { MPROF_BYPASS_DEEPBIND, MPROF_BYPASS_NAMESPACE };
enum mprof_exec_how {
	MPROF_EXEC_DENIED = 1,
	MPROF_EXEC_OUT_OF_REACH,
	/* Programs that would not run with the library: */
	MPROF_EXEC_MACHINE,   /* of another machine, or of 32 bits */
	MPROF_EXEC_MUSL,      /* linked with musl */
	MPROF_EXEC_SANITIZED, /* built with a sanitizer */
	MPROF_EXEC_OLDER,     /* with a glibc older than the one that the library was built with */
};
enum mprof_child_how { MPROF_CHILD_FORK = 1, MPROF_CHILD_SPAWN, MPROF_CHILD_VFORK };

struct mprof_fact {
	uint32_t what; /* enum mprof_fact_what */
	int32_t pid;
	int32_t parent_pid;
	uint32_t parent; /* process number of the parent, 0 if not recorded */
	uint64_t ticks;	 /* these three were read at the same time and calibrate the clock */
	int64_t mono_ns;
	int64_t real_ns;
	uint64_t start_time; /* as in mprof_process_entry */
	int32_t status;	     /* END, WAITED: exit status */
	int32_t signal;	     /* WAITED: signal that killed it, else 0 */
	int32_t child_pid;   /* CHILD, EXECING and RETURNED of a vfork child */
	uint32_t how; /* CHILD: enum mprof_child_how.  DEEPBIND: enum mprof_bypass.  EXECING: enum
		       * mprof_exec_how, or 0.  OOM: how many processes (in
		       * WAITED of older files: in the whole machine and run).  START of a forked
		       * child: MPROF_CHILD_FORK, or 0 when fork_ticks is only when the child
		       * was first noticed (a raw clone) */
	uint32_t env_kept; /* CHILD by spawn, EXECING: 1 if LD_PRELOAD still names the library */
	uint32_t huge_pages;
	uint64_t fork_ticks;	     /* START of a forked child: when its parent called fork */
	uint64_t peak_rss_bytes;     /* END, WAITED: ru_maxrss */
	uint64_t user_ns, system_ns; /* END, WAITED */
	uint64_t self_bytes;	     /* memory of the library in the process */
	uint64_t minor_faults, major_faults; /* END, WAITED */
	uint32_t stacks;       /* START of a forked child: ids up to this are its parent's */
	uint32_t stacks_image; /* image of the parent at that time */
	union {
		uint64_t since_ticks;	 /* OOM */
		uint64_t together_bytes; /* TOGETHER */
	};
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_fact) == 144, "on-disk layout");

/* Memory of a process at one time, in bytes, read by the process itself or by mprof. 0 if unknown.
 */
struct mprof_sample {
	uint64_t ticks;
	uint64_t rss;
	uint64_t rss_anon;
	uint64_t virt;
	uint64_t minor_faults; /* since its start */
	uint64_t peak_rss;     /* the maximum so far of this program, from the kernel */
	uint64_t cpu_ns;       /* user and system time of the process, with peak_rss */
	uint64_t arena;	       /* how far the program break has moved since the program started */
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_sample) == 64, "on-disk layout");

/* Memory of the whole machine, in bytes, which other programs use, too; process 0. */
struct mprof_system {
	uint64_t ticks;
	uint64_t total, free;
	uint64_t available; /* free, or used for caches that the kernel can drop */
	uint64_t swap_total, swap_free;
	uint64_t swapped; /* of the run's processes */
	uint64_t limit;	  /* of the control groups that `mprof` is in, the least; 0: none */
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_system) == 64, "on-disk layout");

/*
 * Which pages of the private writable mappings were resident. `runs` structs mprof_page_run follow,
 * one for each range of resident pages, ascending, without overlaps.
 */
struct mprof_residency {
	uint64_t ticks_before, ticks_after; /* start and end of the reading */
	uint64_t rss;
	uint64_t runs;
};
struct mprof_page_run {
	uint64_t first; /* page number = address / header.page_size */
	uint64_t count;
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_residency) == 32, "on-disk layout");

/*
 * How much of its stack a thread used.  `deepest` is known at recorded calls, `touched` and
 * `resident` when the thread ended, or at looked_ticks.  The bytes of each frame of that call
 * follow, outermost first.  The intervals of the thread's time are at the end, the last one first.
 */
struct mprof_stack_use {
	uint64_t tid;
	uint64_t high;		/* end of the stack, where the thread began */
	uint64_t limit;		/* bytes below `high` that it may use; 0: no limit, or unknown */
	uint64_t deepest;	/* bytes from `high` to the lowest stack pointer; 0 = unknown */
	uint64_t deepest_ticks; /* when it was seen */
	uint64_t touched;	/* bytes from `high` to the lowest resident page */
	uint64_t resident;	/* bytes in resident pages of the stack */
	uint64_t looked_ticks;	/* when `touched` and `resident` were read; 0 = never */
	uint64_t begin_ticks;
	uint64_t end_ticks;	 /* 0 if the thread still runs or was killed */
	uint64_t thread_pointer; /* thread-local variables are relative to it */
	uint32_t stack;		 /* call stack at deepest_ticks */
	uint32_t others;	 /* ended threads that used no more stack and have no record */
	uint64_t sized;		 /* `deepest` when `frames` was written; 0 while it is written */
	uint32_t frames;	 /* how many sizes follow, each uint32_t; 0 = unknown */
	uint32_t intervals;	 /* how many there are, each uint64_t */
	char name[MPROF_THREAD_NAME]; /* of the thread, with a NUL; "": that of the program */
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_stack_use) == 128, "on-disk layout");

/* An interval: when it begins, in units since begin_ticks, and its deepest call, in units. */
#define MPROF_INTERVAL_TICKS	  14u /* log2 */
#define MPROF_INTERVAL_BYTES	  6u  /* log2 */
#define MPROF_INTERVAL_DEPTH_BITS 24u
#define MPROF_INTERVALS_MAX	  64u

/* Compressed stack records: the original header, then a frame of packed payload. */
struct mprof_packed {
	struct mprof_extent original; /* kind STACKS or STACKS_SLOT; offset as in the raw file */
	uint32_t packing;	      /* how the words were rearranged before zstd; FORMAT.md 8 */
	uint32_t raw_bytes;	      /* size after unpacking = original.used */
	uint32_t plain_bytes;	      /* size after zstd, before unpacking */
	uint32_t frame_bytes;	      /* of the zstd frames that follow */
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_packed) == 80, "on-disk layout");

/*
 * Events of all threads in the order of time; then three parts of zstd frames: what happened, when,
 * and at which addresses.  A reader may skip the last two.
 */
#define MPROF_GROUP_FRAMES 3u
struct mprof_group {
	uint64_t first_event; /* number in the run of the group's first event, from 1 */
	uint32_t events;
	uint32_t lanes;	 /* threads that take part */
	uint32_t homes;	 /* processes that take part */
	uint32_t sorts;	 /* number of the last sort that it may use */
	uint32_t stacks; /* number of the last stack that it may use */
	uint16_t shift;	 /* times are in units of 2^shift ticks */
	uint16_t exact;	 /* 1 if the exact ticks are stored, too */
	uint32_t plain_bytes[MPROF_GROUP_FRAMES];
	uint32_t frame_bytes[MPROF_GROUP_FRAMES];
	uint32_t calls; /* of the malloc family; 0: unknown, or none */
	uint32_t reserved;
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_group) == 64, "on-disk layout");

/* What events of groups have in common, numbered in the whole file; zstd frames follow. */
struct mprof_sorts {
	uint32_t first_sort, sorts; /* number of the first sort, from 1, and how many follow */
	uint32_t first_stack, stacks;
	uint32_t plain_bytes, frame_bytes;
	uint32_t reserved[2];
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_sorts) == 32, "on-disk layout");

/* The writers of the trace: a struct mprof_thread_entry for each writer of chunks follows. */
struct mprof_threads {
	uint64_t events;
	uint64_t groups;
	/* Damage of the raw file, which the compressed file does not show. */
	uint64_t chunks_missing;
	uint64_t stacks_missing;
	uint64_t reserved[4];
};
struct mprof_thread_entry {
	uint32_t process, thread;
	uint64_t chunks;
	uint64_t first_ticks, last_ticks;
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_threads) == 64, "on-disk layout");
MPROF_STATIC_ASSERT(sizeof(struct mprof_thread_entry) == 32, "on-disk layout");

/*
 * Events that groups have, while the run goes on: a struct mprof_taken_entry follows for each
 * thread that wrote some of them.
 */
struct mprof_taken {
	uint64_t events;
	uint64_t groups; /* the first ones, by seq; later groups do not count yet */
	uint64_t entries;
	uint64_t reserved;
};
struct mprof_taken_entry {
	uint32_t process, thread;
	uint64_t chunks; /* this many are in groups as a whole ... */
	uint64_t words;	 /* ... and this many words of the next one */
	uint64_t first_ticks, last_ticks;
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_taken) == 32, "on-disk layout");
MPROF_STATIC_ASSERT(sizeof(struct mprof_taken_entry) == 40, "on-disk layout");

/*
 * Stack records: sequences of 64-bit words in STACKS and STACKS_SLOT, one stream for each image
 * of a process, in the order of seq (FORMAT.md section 6).  The first word of a record is
 * stored last; a zero word ends a slot.
 *
 * STACK  type 4 | flags 4 | new frames 24 | id 32;  then one word: joined id 32 |
 *        depth 32;  then the new frames, outermost first.  The stack is the
 *        outermost `depth` frames of the joined one, then the new ones.  A frame is
 *        a return address; with MPROF_FRAME_EXACT it is the interrupted address.
 * OBJECT type 4 | words 28 | path bytes 32;  words that follow, of which the
 *        first MPROF_OBJECT_WORDS are ticks, bias (what was added to its virtual
 *        addresses), first and last+1 address, segments 32 | build-id bytes 32;  then
 *        three words a segment (address as loaded, bytes, file offset | flags << 60:
 *        4 r, 2 w, 1 x), then the build-id and the path, each padded to whole words.
 * GONE   type 4 | zero 28 | number 32: the OBJECT record of this number, counted from 1
 *        in this stream, is not there any more;  then one word: ticks.
 */
enum mprof_stack_record {
	MPROF_RECORD_STACK = 1,
	MPROF_RECORD_OBJECT = 2,
	MPROF_RECORD_GONE = 3,
	MPROF_RECORD_GAP = 4,
};

/* Returns the words of the record that begins with this one; may be 0 if it is not valid. */
static inline uint64_t mprof_record_words(uint64_t first)
{
	switch (first & 15) {
	case MPROF_RECORD_STACK:
		return 2 + (first >> 8 & 0xffffff);
	case MPROF_RECORD_OBJECT:
		return 1 + (first >> 4 & 0xfffffff);
	case MPROF_RECORD_GONE:
		return 2;
	}
	return first >> 4;
}
#define MPROF_STACK_TRUNCATED 1u /* flags: too deep, so outer frames are missing */
#define MPROF_STACK_LOST_WAY  2u /* flags: the walk ended before the outermost frame */
#define MPROF_FRAME_EXACT     (1ull << 63)
#define MPROF_OBJECT_WORDS    5u
#define MPROF_STACK_FRAMES    2048u /* a record has at most this many new frames */

struct mprof_index_entry {
	uint64_t offset; /* offset of a group in this file */
	uint64_t first_ticks, last_ticks;
	uint64_t first_event; /* number in the run, from 1 */
};
MPROF_STATIC_ASSERT(sizeof(struct mprof_index_entry) == 32, "on-disk layout");

#endif
