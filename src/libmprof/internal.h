/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * internal.h - what the files of the library know of each other, grouped by
 * the file that defines it.
 *
 * Locks: glibc's loader lock (held by our callers at will), then stacks_lock, then
 * stream_lock, then the lock of a pool or counts_lock, which do not nest in each other.
 * All are held for a few instructions (a pool's and stream_lock: while a part of the file
 * is mapped) with signals blocked, never across a call into the program or the allocator,
 * and they lie in memory that a forked child finds zeroed: no child inherits a held
 * lock.  No thread needs one to begin, to allocate or to end, as long as its pool has
 * room and its stacks are known.
 */
#ifndef MP_INTERNAL_H
#define MP_INTERNAL_H

#include <errno.h>
#include <mprof/module.h>

#include "lists.h"
#include "pools.h"
#include "sys.h"
#include "text.h"

#define MP_HIDDEN __attribute__((visibility("hidden")))

/* core.c: which table is in place, and how it came there. */
extern const struct mprof_api *mp_api;
extern const struct mprof_api mp_boot_api; /* boot.c */
extern const struct mprof_api mp_pass_api; /* pass.c */
extern const struct mprof_mode_ops *mp_mode;
extern struct mprof_config mp_config;
/*
 * Initialises if nobody else is at it.  caller: an address in the code that called
 * us, because modules that load objects must wait while the loader itself calls.
 * 1: mp_api is not boot's any more.
 */
int mp_boot_try(const void *caller);
/* Nobody initialises yet, because a module that loads objects waits for libc. */
int mp_boot_waiting(void);
/* Recording is on in this process (it may have lost its file since: then services fail). */
int mp_recording(void);
/*
 * The one place that ends recording for good: services below return -errno, and whoever was
 * called from outside (by a MODE, by the program) passes it to this, which returns it.
 */
int mp_failed(int error);
/*
 * Between these nothing is recorded, and after a resume that is the end nothing of ours
 * makes a system call.  Any number of threads.
 */
void mp_suspend(const char *why);
void mp_resume(int is_end);
void mp_suspend_forked(void); /* in a child: none of the parent's suspensions counts */
extern const struct mprof_host mp_host;

/* Bytes in a page, a power of two. */
extern uint32_t mp_page_bytes;
uint32_t mp_page_know(void); /* what it is, before it was asked for */
static inline uint32_t mp_page(void)
{
	return mp_page_bytes;
}

static inline const struct mprof_api *mp_table(void)
{
	/* Pairs with the release in mp_boot_try(): a table's data is there before the table. */
	return __atomic_load_n(&mp_api, __ATOMIC_ACQUIRE);
}

/* boot.c: the arena for calls made before and during initialisation. */
void *mp_boot_alloc(size_t align, size_t size);
void *mp_boot_realloc(void *ptr, size_t size);
void *mp_boot_resize(void *ptr, enum mprof_shape shape, size_t size, size_t arg);
size_t mp_boot_usable(void *ptr);
extern uint32_t mp_boot_early; /* calls served from it before anything could be set up */

/* config.c: MPROF_CONF.  0, or -EINVAL with one sentence in why. */
int mp_config_read(const char *conf, struct mprof_config *out, struct text *why);
/* Expands %p %h %e %j %r %% and makes the path absolute. */
int mp_path_expand(const char *path, struct text *out);
/* Also %n, the number of a dump; where there is none, .N follows.  0: the one at exit. */
int mp_path_number(const char *path, int number, struct text *out);
int mp_has_word(const char *list, const char *word); /* of a value of type WORDS */
const char *mp_job(void);			     /* id of the batch job or NULL */
const char *mp_rank(void);			     /* among its processes or NULL */

/* What is asked of the environment and the loader once, at start, and needed later. */
struct mp_known {
	char notes[256];     /* MPROF_NOTES or "" */
	char job[64];	     /* batch job or "" */
	char rank[32];	     /* in it or "" */
	char allocator[512]; /* the object that has the backing malloc */
	char first[512];     /* the object whose malloc programs are bound to, if not ours; or "" */
};
extern struct mp_known mp_known;

/* modules.c: names and paths to modules. */
const struct mprof_init_ops *mp_find_init(const char *name, struct text *why);
const struct mprof_mode_ops *mp_find_mode(const char *name, struct text *why);
/*
 * May the loader open what stands at path?  0, and a sentence in why: a FIFO would hold
 * up the program, a device may do anything.  What the loader has to search for may be.
 */
int mp_is_loadable(const char *key, const char *path, struct text *why);

/* resolve.c: mprof_core.real from an INIT module, no pointer NULL.  0 or -errno. */
int mp_resolve(const struct mprof_init_ops *init, struct text *why);
/* padded.c: aligned blocks from mprof_core.real's malloc, free and realloc, which it wraps. */
void mp_padded_start(void);
/* quiet.c: wraps those functions of mprof_core.real that call others through us. */
void mp_quiet_start(void);

/* pass.c: the notes of a table that keeps nothing. */
void mp_no_note_alloc(unsigned fn, void *ptr, size_t size, size_t arg);
void mp_no_note_free(unsigned fn, void *ptr, size_t size);
void mp_no_note_map(unsigned fn, uint64_t ticks, const uint64_t value[4], unsigned error);
void mp_no_note_control(unsigned what, uint64_t value);

/* What a call of that shape requests.  fits 0: more than there is, and errno says so. */
struct mp_extent {
	size_t align, bytes;
	int fits;
};
static inline struct mp_extent mp_extent_of(enum mprof_shape shape, size_t size, size_t arg)
{
	struct mp_extent e = { 0, size, 1 };

	if (shape == MPROF_SHAPE_ALIGN || shape == MPROF_SHAPE_OUT)
		e.align = arg;
	else if (shape == MPROF_SHAPE_PAGE || shape == MPROF_SHAPE_PAGES)
		e.align = mp_page_know();
	else if (shape == MPROF_SHAPE_COUNT || shape == MPROF_SHAPE_RESIZE_COUNT)
		e.fits = !__builtin_mul_overflow(size, arg, &e.bytes);
	if (shape == MPROF_SHAPE_PAGES) {
		e.fits = size <= SIZE_MAX - e.align;
		e.bytes = (size + e.align - 1) & -e.align;
	}
	if (!e.fits)
		errno = ENOMEM;
	return e;
}

/* clock.c */
void mp_clock_choose(void);
uint64_t mp_clock_monotonic_ns(void);
uint64_t mp_clock_real_ns(void);
uint64_t mp_clock_hz(void); /* ticks a second; takes 50 us */

/* notes.c: the one line about a start that failed. */
void mp_note(const char *why);
/* Prints one line and ends the program, which cannot run without an allocator. */
void mp_give_up(const char *why) __attribute__((noreturn));
/* write without the signals that a dead pipe or a file size limit would send.  Bytes or -errno. */
long mp_write_quietly(int fd, const void *data, size_t bytes);

/* peak.c: looks for the moment when the process was largest.  All in ticks and bytes. */
struct mp_peak {
	uint64_t at_it;	       /* when the look at hand began; 0: nobody looks */
	uint64_t looked, most; /* when the mark was last seen, and the mark then */
	uint64_t next[2];      /* when it is time for another look; [1]: around a large block */
	uint64_t hidden;       /* marks up to here are another program's; 0: ours is known */
	uint64_t offset;       /* of the extent; 0: none yet */
};
void mp_peak_begin(int forked);			/* a process has joined, or a new program in it */
int mp_peak_look(unsigned large, uint64_t now); /* module.h */
const uint64_t *mp_peak_times(void);		/* module.h */
void mp_peak_falls(size_t bytes);		/* that many are about to be unmapped */
uint64_t mp_peak_last(void); /* the program is about to end: the mark, 0: not known */

/* threads.c */
#define MP_COUNTS_UNUSED 64
#define MP_CACHE_SIZES	 7
struct mp_local {
	uint32_t alive;	  /* 0: this memory is new or a forked child's */
	uint32_t process; /* our number in the run */
	uint32_t entry;	  /* index of our entry in the header, plus 1; 0: none */
	int32_t pid;
	uint32_t how; /* MPROF_CHILD_FORK: the moment of the fork is known exactly */
	uint32_t live_threads;
	uint32_t threaded;     /* there have been others than the first one */
	uint32_t mapped_slots; /* slots that are mappings of their own */
	struct mp_list unused; /* thread records */
	/* Threads whose destructors have run: their last frees may still come. */
	struct mp_list ended;	/* the last one first */
	struct mp_list zombies; /* those before them, oldest first */
	struct mp_list starts;
	struct mp_pool lines, slots, counts, caches, live, memory;
	uint64_t self_bytes; /* our memory in this process */
	uint64_t last_sample_ns;
	struct mp_peak peak;
	uint32_t summary_lock;
	uint32_t dumps; /* so far */
	uint32_t counts_taken;
	uint32_t counts_lock;		    /* of the merged record and those to be used again */
	struct mprof_counts *counts_merged; /* takes over ended threads' sums */
	struct mprof_counts *counts_unused[MP_COUNTS_UNUSED]; /* to be used again */
	uint32_t image;					      /* mprof_process_entry.image */
	uint32_t suspend_lock, suspended; /* threads between mp_suspend() and mp_resume() */
	uint32_t stacks_lock;
	uint32_t stream_begun;	  /* there are stack records of this process */
	uint32_t objects;	  /* OBJECT records so far */
	uint32_t stream_lock;	  /* while its next slot is taken */
	uint32_t stream_slots;	  /* so far */
	struct mp_stream *stream; /* where stack records go: stacks.c */
	struct stack_cache
	    *listening; /* of threads that have been on other stacks than their own */
	struct mp_list cache_arrays[MP_CACHE_SIZES]; /* to be used again, by size */
};
extern struct mp_local *mp_local;
extern struct mprof_thread mp_nobody;	/* always zero */
void mp_thread_begins(uint32_t number); /* in a new thread: the number its creator gave it */
/* Between these, what this thread calls of the malloc family is not recorded; end: was any? */
void mp_trial_begin(struct mprof_thread **before);
int mp_trial_end(struct mprof_thread *before);
/* Between these nothing that this thread calls of the malloc family is recorded. */
void mp_quiet_begin(struct mprof_thread **before);
void mp_quiet_end(struct mprof_thread *before);
int mp_threads_start(void);
int mp_enter(struct mprof_thread **out); /* module.h; 0 or -errno */
void mp_threads_forked(void);		 /* in a child: forget what the parent's threads had */
void mp_lock(uint32_t *lock);
void mp_unlock(uint32_t *lock);
/* While what a handler must not jump out of is done. */
void mp_signals_block(uint64_t *before);
void mp_signals_restore(const uint64_t *before);
/* With signals blocked, so that no handler jumps out and leaves it held. */
void mp_lock_blocking(uint32_t *lock, uint64_t *signals);
void mp_unlock_blocking(uint32_t *lock, const uint64_t *signals);
/* Memory that a forked child finds zeroed, or NULL. */
void *mp_wiped_memory(size_t bytes);
/* Zeroed cache lines, which a forked child finds zeroed again, or NULL. */
void *mp_lines_take(uint32_t lines);

/* file.c: the run's file. */
struct mp_file {
	int fd;		/* -1: none */
	uint32_t users; /* writers between the check of fd and the end of their write */
	uint64_t dev, ino;
	uint32_t broken; /* enum mprof_lost + 1 once the file is of no use any more */
	struct mprof_file_header *header;
	char path[4096];
};
extern struct mp_file mp_file;
int mp_file_open(const char *magic, const char *path);
const uint32_t *mp_file_paused(void); /* module.h */
/* Opens a regular file (how: O_RDWR) without waiting, whatever stands at path.  fd or -errno. */
int mp_file_existing(const char *path, int how);
/* Takes `bytes` (multiple of 64) of the file; align 64 or page size.  0: no room. */
uint64_t mp_extent_take(uint64_t bytes, uint64_t align);
/* Writes at offset after checking that fd is still our file.  0 or -errno. */
int mp_file_write(uint64_t offset, const void *data, size_t bytes);
/* Real disk blocks for a range, so that a store to its mapping cannot fail later. */
int mp_file_reserve(uint64_t offset, uint64_t bytes);
/* An extent written at once: header and payload of two parts. */
int mp_extent_write(unsigned kind, uint32_t thread, const void *a, size_t an, const void *b,
		    size_t bn);
/* The same about another process of the run. */
int mp_extent_write_of(const struct mprof_process_entry *of, unsigned kind, const void *a,
		       size_t an);
void mp_extent_fill(struct mprof_extent *x, unsigned kind, uint64_t offset, uint32_t size,
		    uint32_t thread);
void mp_lost(unsigned reason, uint64_t events);
struct mprof_process_entry *mp_entry(void); /* ours, or NULL */
/* Moves a descriptor out of the program's way; first: before there are threads. */
int mp_fd_high(int fd);
int mp_fd_high_first(int fd);

/* runid.c: which run this process belongs to. */
struct mp_run {
	uint32_t is_new;	     /* not from the environment: to be put there */
	uint8_t id[16], earlier[16]; /* earlier: the run whose file may become PATH.old */
	char path[4096];	     /* "" when the run has no file yet */
};
extern struct mp_run mp_run;
int mp_run_from_env(struct mp_run *run); /* 1: MPROF_RUN was there and well-formed */
void mp_run_random(struct mp_run *run);
/* From the constructor, when libc has its environ: what this process starts joins its run. */
void mp_run_to_env(void);

/* unwind.c: the stack of whoever called from pc, where sp was then and fp is. */
struct stack_cache;
uint32_t mp_capture(struct mprof_thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp);
/* Memory goes away: a stack may have been in it. */
void mp_stacks_unmapped(uintptr_t at, size_t bytes);
void mp_stack_forget(struct mprof_thread *t); /* the record gets another thread */
/* capture.c: which unwinder UNWIND means.  0 or -errno. */
int mp_stacks_start(void);
/* rules.c: rules may be of code that was unloaded */
void mp_rules_forget(void);
void mp_rules_forked(void); /* in a child: ends what a thread of the parent had begun */
/* stacks.c */
uint32_t mp_stacks_count(void); /* numbers given so far */
int mp_stacks_flush(void);	/* records go to the file, the slot to others; 0 or -errno */

/* slots.c */
void mp_self_bytes(int64_t more); /* memory of ours in this process */
int mp_slot_take(struct mprof_thread *t);
int mp_slot_flush(struct mprof_thread *t);
int mp_slot_release(struct mprof_thread *t);
/* Maps a part of the file for storing: its disk blocks are there.  0 or -errno. */
int mp_slots_map(uint64_t offset, uint64_t bytes, char **out);
/* Takes a new part of the file, reserves and maps it: a store to it cannot fail. */
int mp_slots_map_new(uint64_t bytes, uint64_t *offset, char **out);
/* counts.c */
struct mprof_counts *mp_counts_take(struct mprof_thread *t, int *error);
void mp_counts_give(struct mprof_thread *t);

/* live.c: module.h */
void *mp_live_memory(size_t bytes, size_t touched);
void *mp_live_take(unsigned kind, uint32_t thread, uint64_t seq, size_t bytes, int *error);

/* process.c */
int mp_process_join(uint64_t fork_ticks, uint32_t parent, int parent_pid);
int mp_process_forked(uint64_t when); /* 0: not known exactly */
void mp_process_forks(void);	      /* once, as early as can be: see forks coming */
void mp_process_watch(void);	      /* from the constructor: see the end coming */
void mp_process_flush(void);	      /* what this thread has goes to the file */
/* status.c */
uint64_t mp_start_time(void);
uint32_t mp_seccomp_filters(void);
int mp_memory_pages(uint64_t *mapped, uint64_t *resident);
uint64_t mp_break_start(void); /* where the break was when the program began, 0: not known */
uint64_t mp_high_water(void);  /* VmHWM in bytes, 0: not known */
/* resident.c */
void mp_resident_begin(const void *block, size_t usable); /* module.h */
int64_t mp_resident_end(const void *block, size_t usable);
/* facts.c */
void mp_fact(const struct mprof_fact *fact, const char *strings, size_t bytes);
/* image: the parent's, of a forked child */
void mp_fact_start(unsigned what, uint64_t fork_ticks, uint32_t parent, int parent_pid,
		   uint32_t image);
void mp_fact_end(int status);
/* How a child ended, as wait told this process; usage NULL: not known. */
void mp_fact_waited(const struct mprof_process_entry *child, int signal, int status,
		    const struct rusage *usage);
void mp_fact_exec(int child_pid, const char *path, int env_kept);
void mp_fact_child(int pid, unsigned how, const char *path, int env_kept);
void mp_fact_stopped(const char *why);
void mp_fact_resumed(void);
void mp_fact_deepbind(const char *path);
void mp_sample_maybe(void);
void mp_fact_remark(const char *why);
/* dumps.c */
void mp_dumps_start(void);
const uint64_t *mp_dump_due(void);	 /* module.h */
void mp_dump(uint64_t now);		 /* module.h */
int mp_signal_number(const char *value); /* -EINVAL */
/* summary.c: files of a process's own, from its profile.  number: of a dump, 0: at exit. */
void mp_summary_start(void);
void mp_summary_write(const char *what, int number);

/* descriptors.c: ours is guarded, the program's is watched. */
int mp_fd_open(int fd);
int mp_fd_write(int fd, const void *data, size_t bytes);
/* Our descriptor, checked to be still our file, or -errno; release ends its use. */
int mp_fd_hold(void);
void mp_fd_release(void);

/* sigbus.c: somebody truncated the file under our mappings. */
void mp_sigbus_guard(void);

#endif
