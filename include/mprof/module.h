/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * module.h - the contract of INIT and MODE modules, built in or in a .so.
 *
 * An INIT module finds the backing allocator.  A MODE module decides what to record of each call.
 * Every call of the program goes through one pointer to a const table (struct mprof_api);
 * template.h generates the table of a MODE from the inline hooks that the module defines, so the
 * path of a malloc call is
 *
 *   program -> libmprof's malloc -> table entry of the MODE -> real malloc
 *
 * with the hook inlined in the third step.
 *
 * To add a MODE (modules/mode/skeleton.c is the tutorial):
 *   1. one file in modules/mode that defines the five hooks, includes
 *      template.h, and defines a const struct mprof_mode_ops;
 *   2. a row in modules.def (built in), or `cc -shared` and MODE=/path/to.so,
 *      where the ops must be called mprof_mode; a MODE that keeps a file has
 *      MPROF_MODE_FILE(KEY, KIND), so that mprof manages the file;
 *   3. a case in tests/preload.
 * To add an INIT: the same with struct mprof_init_ops, called mprof_init.
 *
 * Rules for code in hooks and in anything marked [hot]: no libc call, no lock, no allocation,
 * errno untouched.  Code marked [slow] may use the services of struct mprof_host and raw system
 * calls; it runs with every signal possible and must not call malloc, stdio, exit, abort or
 * locale functions either. A module never ends the program: it reports failures to
 * host->stop().
 */
#ifndef MPROF_MODULE_H
#define MPROF_MODULE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mprof/encode.h>
#include <mprof/format.h>
#include <mprof/functions.h>

#define MPROF_MODULE_ABI 7u

#define MPROF_HOT	  static inline __attribute__((always_inline))
#define MPROF_COLD	  __attribute__((cold, noinline))
#define mprof_likely(x)	  __builtin_expect(!!(x), 1)
#define mprof_unlikely(x) __builtin_expect(!!(x), 0)
#ifdef MPROF_BUILTIN
#define MPROF_SHARED __attribute__((visibility("hidden")))
#else
#define MPROF_SHARED
#endif

/*
 * The backing allocator.  Every pointer is set: to a function of the object that defines its
 * malloc, or to a substitute built from those (resolve.c).
 */
#define MPROF_SIGNATURE(ret, name, params, args) ret(*name) params;
struct mprof_real {
#define MPROF_MALLOC(id, code, name, class, shape, found) MPROF_CALL_##shape(MPROF_SIGNED, id, name)
#include <mprof/functions.def>
};

/*
 * The table that the program's calls go through. Entries may be called from any thread, also
 * before its first and after its last instruction.
 */
struct mprof_api {
#define MPROF_MALLOC(id, code, name, class, shape, found) MPROF_CALL_##shape(MPROF_SIGNED, id, name)
#include <mprof/functions.def>
	/* Blocks of functions outside this table (operator new and delete, WRAP). */
	void (*note_alloc)(unsigned fn, void *ptr, size_t size, size_t arg);
	void (*note_free)(unsigned fn, void *ptr, size_t size);
	/* Before and after a realloc; ptr and old may be NULL. */
	void (*note_resize)(unsigned fn, void *ptr, size_t size, size_t arg);
	void (*note_resized)(unsigned fn, void *old, void *ptr, size_t size, size_t arg);
	/* Calls of the mmap family at `ticks`, with the values of class MAP in FORMAT.md section
	 * 5.3. */
	void (*note_map)(unsigned fn, uint64_t ticks, const uint64_t value[4], unsigned error);
	/* Starts and ends of processes and threads, enum mprof_control. */
	void (*note_control)(unsigned what, uint64_t value);
};
#undef MPROF_SIGNATURE

/* MPROF_CONF, one field for each row of options.def.  Never changes and is never freed. */
struct mprof_config {
#define MPROF_OPTION_MODULE_INIT				 const char *
#define MPROF_OPTION_MODULE_MODE				 const char *
#define MPROF_OPTION_PATH					 const char *
#define MPROF_OPTION_UNWIND					 const char *
#define MPROF_OPTION_TEMPLATE					 const char *
#define MPROF_OPTION_SIGNAL					 const char *
#define MPROF_OPTION_WORDS					 const char *
#define MPROF_OPTION_GLOBS					 const char *
#define MPROF_OPTION_RANGES					 const char *
#define MPROF_OPTION_AMOUNT					 const char *
#define MPROF_OPTION_WRAPS					 const char *
#define MPROF_OPTION_NUMBER					 uint64_t
#define MPROF_OPTION(key, field, type, def, min, max, arg, help) MPROF_OPTION_##type field;
#include <mprof/options.def>
#undef MPROF_OPTION
};

/*
 * The record of a thread. A forked child finds this memory zeroed, so a child, however it was
 * created, has cur == end and data == NULL and takes the slow path.  Before a thread's first
 * event, mprof_self points to a record that is always zero.
 */
struct mprof_thread {
	/* [hot] written by this thread only */
	uint64_t *cur, *end; /* free space for event words in this thread's slot */
	uint64_t last_ticks; /* state of the encoding, encode.h */
	uint64_t last_addr;
	void *data; /* the MODE's own data; NULL in a new thread */
	/*
	 * While a record is being written: the stack pointer, so that a record abandoned by
	 * siglongjmp is recognised. A call from a signal handler meanwhile is "nested".
	 */
	uintptr_t busy;
	uint32_t number; /* number in the run, from 1; 0 if it is not a thread but a process's stack
			    records */
	uint32_t last_stack, last_free_stack; /* ids in the last STACK words of the slot */
	void *stack;			      /* for mprof_core.capture */
	/* [slow] */
	uint32_t tid;
	uint64_t seq;		   /* number of the chunk in the slot */
	struct mprof_extent *slot; /* mapped */
	uint64_t slot_offset;
	uint32_t slot_bytes;
	uint32_t flushes;
	struct mprof_extent *home; /* the thread's slot if there are many threads, else NULL */
	uint64_t home_offset;
	void *next;	    /* links records in a list */
	uint64_t countdown; /* [hot] for the MODE; 0 in a new thread */
	/* [slow] times.c */
	struct mprof_times *times; /* mapped; NULL until a call was timed */
	uint64_t time_random;
	uint32_t time_left;  /* words to store until the next turn; 0 = now */
	uint32_t time_in;    /* calls to the one that is timed; 0 = none */
	uint32_t time_long;  /* timed calls that are compared with CPU time */
	uint32_t time_words; /* in the slot when time_left was last reduced */
	uint64_t time_cpu;   /* ns that the thread had used before the timed call; 0 = not read */
};

/*
 * The only global object that hot paths read. Written before the first event, constant
 * afterwards.  A MODE that changes what blocks are (guard.c) replaces functions of `real` from
 * its start().
 */
struct mprof_core_data {
	struct mprof_real real;
	uintptr_t boot_base; /* where the boot arena begins; its blocks never reach the allocator */
	size_t boot_bytes;
	uint32_t chunk_headers; /* blocks have a size field in front, as in glibc: mprof_usable() */
	uint32_t clock;		/* enum mprof_clock */
	uint32_t clock_shift;
	uint64_t (*clock_slow)(void); /* CLOCK_MONOTONIC in ns */
	void *(*boot_realloc)(void *ptr, size_t size);
	size_t (*boot_usable)(void *ptr);
	int *(*error)(void); /* the address of errno */
	/*
	 * [hot] Returns the id of the call stack that ends with the call from `at`; 0 if unknown.
	 * NULL if stacks are not recorded.  The thread's record must be busy.
	 */
	uint32_t (*capture)(struct mprof_thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp);
	uint32_t free_stacks; /* 1 = record stacks of calls that free, too */
	uint32_t foreign;     /* 1, with WRAP: some blocks belong to other allocators */
	/* [hot] For mprof_usable(); returns 0 for a block of another allocator that is being
	 * freed. */
	size_t (*usable)(void *ptr);
	/*
	 * [optional, both or none] A MODE sets these to be told of C++ operators whose blocks come
	 * from malloc, unless the program has operators of its own: that the operator returned ptr,
	 * and that it is about to free ptr.
	 */
	void (*operator_made)(unsigned fn, void *ptr);
	void (*operator_ends)(unsigned fn, void *ptr);
};

/* A call site: the return address, and sp and fp there. */
struct mprof_place {
	uintptr_t pc, sp, fp;
};
#ifdef MPROF_BUILTIN
#define mprof_core mprof_core_local /* the same object, without an access to the GOT */
#endif
extern struct mprof_core_data mprof_core MPROF_SHARED;
/* initial-exec: other TLS models may call malloc, and so us, on first access. */
extern __thread struct mprof_thread *mprof_self __attribute__((tls_model("initial-exec")));

/* Services.  All [slow], safe from any thread; -errno on failure. */
struct mprof_host {
	uint32_t abi;
	const struct mprof_config *config;
	/*
	 * The record of the calling thread, created if it has none; NULL: do not record this call,
	 * which counts as lost if it was the program's.  If the record is busy, the function that
	 * set it was left by longjmp.
	 */
	struct mprof_thread *(*enter)(void);
	/* Creates the run's file at path, or joins it if it exists. */
	int (*file_open)(const char *magic, const char *path);
	/* A zeroed struct mprof_counts for this thread, mapped from the file; NULL if there is
	 * no space. */
	struct mprof_counts *(*counts_take)(struct mprof_thread *t);
	void (*counts_give)(struct mprof_thread *t); /* the thread has ended */
	/*
	 * Slots: take assigns one to the thread (sets cur, end, last_ticks, last_addr); flush
	 * copies it to a chunk and empties it; release flushes it and releases it.
	 */
	int (*slot_take)(struct mprof_thread *t);
	int (*slot_flush)(struct mprof_thread *t);
	void (*slot_release)(struct mprof_thread *t);
	/* Called by start(): sets mprof_core.capture according to UNWIND. */
	int (*stacks_start)(void);
	/* Counts losses, which the report shows. */
	void (*lost)(unsigned reason, uint64_t events);
	/*
	 * A descriptor of the program: open remembers which file it refers to; write writes
	 * everything at once, or returns -EBADF if it now refers to another file.
	 */
	int (*fd_open)(int fd);
	int (*fd_write)(int fd, const void *data, size_t bytes);
	/* Prints one line for the user that says why this MODE cannot start. */
	void (*note)(const char *why);
	/* Ends recording in this process.  why: one sentence. */
	void (*stop)(unsigned reason, const char *why);
	/*
	 * How much of a large block the program used, in whole pages: call begin after it was
	 * allocated, end before it is freed.  Bytes; -errno: unknown.  About 1.2 us each, and
	 * 0.4 us more for each megabyte.
	 */
	void (*resident_begin)(const void *block, size_t usable);
	int64_t (*resident_end)(const void *block, size_t usable);
	/*
	 * Reads the peak size of the process, if a reading is due. large: a block of 64 KiB or more
	 * is about to be freed or was just allocated.  Returns 1 if it did, which took some time.
	 */
	int (*look)(unsigned large, uint64_t now);
	const uint64_t *(*look_times)(void); /* [large]: when the next reading is due */
	/*
	 * Zeroed memory that a forked child inherits and that is never freed; about `touched`
	 * bytes of it will be used. NULL: none available.
	 */
	void *(*memory)(size_t bytes, size_t touched);
	/*
	 * A zeroed payload of an extent of this kind, mapped from the file: stores go to the
	 * file directly. A multiple of 64 bytes; not inherited by a forked child. NULL: no
	 * space; recording has ended.
	 */
	void *(*live)(unsigned kind, uint32_t thread, uint64_t seq, size_t bytes);
	const uint32_t *page_bytes;
	/*
	 * For a run with a file, once it is open.  The word is 1 while mprof ctl wants no new
	 * blocks counted, plus 2 for each clear.
	 */
	const uint32_t *(*paused)(void);
	/* When to call dump(now), or step(now), next.  sum: sets calls and bytes of the heap
	 * totals; past: and notes in a profile what is live of each stack. */
	const uint64_t *(*dump_due)(void);
	void (*dump)(uint64_t now, struct mprof_heap_totals *heap, void (*sum)(int past));
	/*
	 * Writes an error of the program to the file, prints it unless mprof will, and ends the
	 * process if GUARD says so.
	 */
	void (*misuse)(const struct mprof_misuse *m);
	/* Writes an extent of this kind; at most 1 KiB. */
	void (*put)(unsigned kind, const void *data, size_t bytes);
	/*
	 * What kind of memory is this, which no allocator returned?  enum mprof_place_what.
	 * allocator: an address in the allocator, whose own variables may be blocks.
	 */
	unsigned (*place)(const void *ptr, const void *allocator);
	/* Returns 0 once recording has ended for good; then none of our code may make a system
	 * call. */
	int (*recording)(void);
	/*
	 * The time, in ticks, when the run stopped keeping events; 0 while it keeps them.  Applies
	 * to all processes, once the file is open.
	 */
	const uint64_t *(*log_end)(void);
	/*
	 * Recording spent `ticks` in this process on a randomly chosen call that stands for `calls`
	 * calls.  If that exceeds OVERHEAD, adds to log_steps(), later ends the events of the run.
	 * Returns 1 if they have ended and totals cost too much, too.
	 */
	int (*spent)(uint64_t now, uint64_t ticks, uint32_t calls);
	/*
	 * How often this process was to keep fewer events so far, before the run keeps none: each
	 * time, those of its busiest stacks end.  0 again in a forked child.
	 */
	const uint32_t *(*log_steps)(void);
	/*
	 * Times one of the thread's next calls, and sets t->time_left to the number of calls after
	 * which to call this again.  Not needed by a MODE that calls slot_flush.
	 */
	void (*time_next)(struct mprof_thread *t);
	/* Like dump(), before a block ends: closes the steps of the course that are over. */
	void (*step)(uint64_t now, struct mprof_heap_totals *heap, void (*sum)(int past));
};

struct mprof_init_ops {
	uint32_t abi; /* MPROF_MODULE_ABI */
	/* 1 if open() loads objects, so that it must wait until the loader is idle (our
	 * constructor) */
	uint32_t loads;
	/*
	 * 1: symbol() finds what the program would call without the library, also for functions
	 * that the allocator lacks and that cannot be built from others
	 */
	uint32_t natural;
	/* [slow, optional] Called once.  Returns 0, or -errno with a sentence in why[why_size]. */
	int (*open)(const struct mprof_config *config, char *why, size_t why_size);
	/*
	 * [slow, required] Returns the allocator's symbol or NULL.  "malloc" and "free" must exist,
	 * and "realloc" or "malloc_usable_size".
	 */
	void *(*symbol)(const char *name);
};

/*
 * For a MODE in a .so that opens a file with host->file_open(): the key of options.def that names
 * the file, and TRACE, COUNTS or PROFILE, as in the row of a built-in MODE in modules.def.
 */
#define MPROF_MODE_FILE(key, kind) const char mprof_mode_file[] = "mprof_mode_file " #key " " #kind

struct mprof_mode_ops {
	uint32_t abi;		     /* MPROF_MODULE_ABI */
	const struct mprof_api *api; /* generated by template.h */
	/* 1 if the MODE ignores allocations, so that they may go to the allocator directly */
	uint32_t keeps_nothing;
	/*
	 * 1: note_map() gets the length that was mapped in the range of a munmap, which takes a
	 * system call; 0: the length that the program passed
	 */
	uint32_t counts_unmapped;
	/* [slow, optional] Called once in a process, before its first event.  With -errno the
	 * program runs unrecorded. */
	int (*start)(const struct mprof_host *host);
	/* [slow, optional] A thread has a new record; called before its first event. */
	void (*thread_start)(struct mprof_thread *t);
	/* [slow, optional] The thread has ended; another thread calls this. */
	void (*thread_exit)(struct mprof_thread *t);
	/* [slow, optional] The process is about to end or to exec; may run more than once. */
	void (*flush)(struct mprof_thread *t);
	/* [slow, optional] Called in a forked child, before its first event and thread_start. */
	void (*forked)(void);
	/*
	 * [slow, optional] Called first.  Returns the ops to use instead with this configuration;
	 * NULL keeps these.
	 */
	const struct mprof_mode_ops *(*choose)(const struct mprof_config *config);
	/*
	 * [slow, optional] The program selects what to keep of the calling thread, enum mprof_keep
	 * of program.h.
	 */
	void (*thread_keep)(unsigned keep);
};

/* [hot] The current stack pointer. */
MPROF_HOT uintptr_t mprof_stack(void)
{
	uintptr_t sp;

#if defined(__x86_64__)
	__asm__("mov %%rsp, %0" : "=r"(sp));
#else
	__asm__("mov %0, sp" : "=r"(sp));
#endif
	return sp;
}

/*
 * [hot] Returns the caller of the function that this is inlined into. That function must set up its
 * frame pointer, which __builtin_frame_address ensures.
 */
MPROF_HOT struct mprof_place mprof_caller(void)
{
	uintptr_t *frame = (uintptr_t *)__builtin_frame_address(0);

#if defined(__x86_64__)
	return (struct mprof_place){ (uintptr_t)__builtin_return_address(0), (uintptr_t)(frame + 2),
				     frame[0] };
#else
	return (struct mprof_place){ (uintptr_t)__builtin_return_address(0),
				     (uintptr_t)__builtin_dwarf_cfa(), frame[0] };
#endif
}

/* [hot] The run's clock.  About 6 ns in addition to a malloc where it is rdtsc. */
MPROF_HOT uint64_t mprof_ticks(void)
{
#if defined(__x86_64__)
	if (mprof_likely(mprof_core.clock == MPROF_CLOCK_TSC))
		return __builtin_ia32_rdtsc() >> mprof_core.clock_shift;
#elif defined(__aarch64__)
	if (mprof_likely(mprof_core.clock == MPROF_CLOCK_CNTVCT)) {
		uint64_t ticks;

		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
		return ticks >> mprof_core.clock_shift;
	}
#endif
	return mprof_core.clock_slow();
}

/*
 * [hot] The usable size of a live block that is not in the boot arena. glibc's function also
 * reads the next chunk, often a cache miss; the block's own header is enough (bit 1: the chunk
 * is a separate mapping). Used only if a test at the start gave the same results.
 */
MPROF_HOT size_t mprof_usable(void *ptr)
{
	if (mprof_likely(mprof_core.chunk_headers)) {
		size_t head = ((size_t *)ptr)[-1];

		if (mprof_likely(!(head & 2)))
			return (head & ~(size_t)7) - sizeof(size_t);
	}
	return mprof_core.usable(ptr);
}

/* [hot] The bytes that a call requested, from size and arg as template.h passes them; SIZE_MAX
 * on overflow. */
MPROF_HOT size_t mprof_bytes(unsigned fn, size_t size, size_t arg)
{
	size_t bytes;

	if (!(mprof_counts_elements >> fn & 1))
		return size;
	return __builtin_mul_overflow(size, arg, &bytes) ? SIZE_MAX : bytes;
}

/* [hot] Is the block in the boot arena? */
MPROF_HOT int mprof_is_boot(const void *ptr)
{
	return mprof_unlikely((uintptr_t)ptr - mprof_core.boot_base < mprof_core.boot_bytes);
}

#endif
