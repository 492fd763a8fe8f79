/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * trace.h - reading trace and counts files.
 *
 * A file is mapped, its extents are found and checked once (trace_open), then
 * events are delivered in order of time over all threads of all processes, in
 * batches.  Memory grows with the number of threads, extents and facts, never
 * with the number of events.  A file is not trusted: damaged, missing or
 * contradictory parts are skipped, counted in struct trace_damage and reported;
 * only a file of another kind or version is refused.
 *
 * Threads: a struct trace belongs to one thread.  Pointers into it live until
 * trace_close.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <mprof/encode.h>
#include <mprof/format.h>

#include "../util/error.h"
#include "stacks.h"

struct trace;

enum event_kind {
	EVENT_CALL,	     /* a call that is complete in one record */
	EVENT_REALLOC_BEGIN, /* addr = the old block, size = the new size requested */
	EVENT_REALLOC_END,   /* addr = the new block or 0 (then error, or freed by size 0) */
	EVENT_CONTROL,	     /* control, value: enum mprof_control */
	EVENT_LOST,	     /* control = enum mprof_lost, value = how many */
};

/*
 * One decoded event.  By class of fn:
 *   ALLOC    addr (0: failed), size requested, usable (if addr is not 0), arg = alignment;
 *            calloc and reallocarray: size = product, UINT64_MAX when it overflows;
 *            event_factors() has the factors
 *   FREE     addr, size and arg as passed to the sized forms, else 0; usable: see
 *            event_touched()
 *   REALLOC  as ALLOC, in two halves; of the first, usable as with FREE
 *   MAP      mmap: addr, size=length, usable=prot|flags<<32, arg=fd as int32 | offset page<<32
 *            munmap: addr, size        mremap: addr=new, size=new, usable=old addr, arg=old size,
 *            0 where the old mapping stays
 *            brk, sbrk: addr=new break, size=|change|, usable=old break, arg=increment (signed)
 */
struct event {
	uint64_t ticks;
	uint64_t addr;
	uint64_t size;
	uint64_t usable;
	uint64_t arg;
	union {
		uint64_t value; /* CONTROL, LOST */
		struct {
			uint32_t stack; /* CALL, REALLOC: a node of trace_stacks(), 0 if unknown */
			uint32_t block; /* number of its block, see block_numbers.h; 0 if unknown */
		};
	};
	uint32_t process; /* number in this run, from 1 */
	uint32_t thread;  /* number in this run, from 1 */
	uint16_t error;	  /* errno of a failed call, else 0 */
	uint8_t kind;	  /* enum event_kind */
	uint8_t fn;	  /* enum mprof_fn */
	uint8_t control;
	uint8_t factors; /* enum event_factor_kind */
	uint8_t pad[2];
};

/* Where an event of calloc or reallocarray has the second factor, besides the product. */
enum event_factor_kind {
	FACTORS_COUNT,	  /* arg = number of elements; size / arg = bytes of one */
	FACTORS_NO_COUNT, /* the number of elements is 0; arg = bytes of one */
	FACTORS_OVERFLOW, /* arg = number of elements; usable = bytes of one, as nothing was
			     returned */
	FACTORS_LOST,	  /* overflow, but a block was returned: bytes of one are unknown */
};

/* Finds the arguments of calloc or reallocarray.  False if *element is unknown. */
static inline bool event_factors(const struct event *e, uint64_t *count, uint64_t *element)
{
	*count = e->factors == FACTORS_NO_COUNT ? 0 : e->arg;
	*element = e->factors == FACTORS_NO_COUNT   ? e->arg
		   : e->factors == FACTORS_OVERFLOW ? e->usable
		   : e->arg			    ? e->size / e->arg
						    : 0;
	return e->factors != FACTORS_LOST;
}

/* Is this a call of the malloc family, begun at the same time as its only event, or the end of a
 * realloc? */
static inline bool event_is_call(const struct event *e)
{
	return (e->kind == EVENT_CALL && !mprof_fn_maps(e->fn)) || e->kind == EVENT_REALLOC_END;
}

/* For an event that allocates a block: returns usable bytes beyond the requested ones. */
static inline uint64_t event_slack(const struct event *e)
{
	return (e->usable - e->size) & -(uint64_t)(e->usable > e->size);
}

/*
 * For an event that frees a block: were its pages read? Then *bytes of it were used; the caller
 * checks the bound.
 */
static inline bool event_touched(const struct event *e, uint64_t *bytes)
{
	*bytes = e->usable - 1;
	return e->usable != 0;
}

/* Set in the address of a block whose allocation was not read.  The other bits are no address:
 * they differ for each such block of a process. */
#define EVENT_STAND_IN (1ull << 63)
static inline bool event_is_of_unread(const struct event *e)
{
	return e->block && e->addr & EVENT_STAND_IN;
}

/* A fact with its strings split.  Strings are NUL-terminated, never NULL. */
struct trace_fact {
	const struct mprof_fact *fact;
	uint32_t process, image;
	uint64_t offset; /* in the file, for messages */
	const char *exe, *cwd, *host, *allocator, *init, *mode, *path, *why, *job, *rank;
	const char *kernel, *cpus, *conf, *set; /* FORMAT.md; "" if unknown */
	const char *held, *freed;		/* numbers of ATTACHED, or "" */
	const char *malloc_of; /* object whose malloc is called instead of the library's, or "" */
	size_t argc;
	const char **argv;
};
/* The texts of a fact that has none. */
#define TRACE_FACT_TEXTS                                                                       \
	.exe = "", .cwd = "", .host = "", .allocator = "", .init = "", .mode = "", .path = "", \
	.why = "", .job = "", .rank = "", .kernel = "", .cpus = "", .conf = "", .set = "",     \
	.malloc_of = "", .held = "", .freed = ""

/* An error that MODE=Guard found: stacks are nodes of trace_stacks(), 0 if unknown. */
struct trace_misuse {
	const struct mprof_misuse *m;
	uint32_t process, image;
	uint32_t found, allocated, freed;
};

/* How much of its stack a thread used. */
struct trace_stack_use {
	const struct mprof_stack_use *u;
	uint32_t process, image, thread;
	uint32_t frames;	  /* of the call stack u->stack, if their sizes are known, else 0 */
	const uint32_t *size;	  /* bytes of each, outermost first; their sum is u->deepest */
	const uint64_t *interval; /* FORMAT.md; interval i is i words before it */
	uint32_t intervals;
};

/* Which of its live blocks a process could reach when it was examined: checked against the size. */
struct trace_reach {
	uint32_t process, image;
	const struct mprof_reach *head;
	const struct mprof_reach_row *row; /* head->rows */
	const struct mprof_reach_root *root;
	const char *text;
};

/* How long some calls of a thread took. */
struct trace_times {
	const struct mprof_times *x;
	uint32_t thread;
};

struct trace_residency {
	uint32_t process;
	const struct mprof_residency *head;
	const struct mprof_page_run *run;
	uint64_t runs; /* checked against the extent's size */
	uint64_t own;  /* resident pages of the library's tables, which are not among the runs */
};

/*
 * The largest rise of the kernel's high-water mark that a program of a process
 * read itself: rss was reached after from_ticks and by ticks.
 */
struct trace_peak {
	uint32_t process, image;
	uint64_t from_ticks, ticks;
	uint64_t rss;
	uint64_t cpu_ns, arena; /* at ticks; as in struct mprof_sample */
};

/*
 * One writer of chunks. Threads that ended share another one, whose events have the numbers of
 * their owners: to count threads, use the events.
 */
struct trace_thread {
	uint32_t number, process;
	uint64_t chunks;
	uint64_t first_ticks, last_ticks; /* when the trace was opened, including live slots */
};

/* A part of a profile: format.h says which struct `data` is by `kind`, and how large. */
struct trace_totals {
	uint16_t kind, image;
	uint32_t process, thread;
	uint32_t first; /* CELLS, MORE, SITES: number of the first one's stack */
	const void *data;
};

/* A stack that the recorder wrote no more events of, from some time on (--budget, --overhead). */
struct trace_reduced {
	uint32_t node;	/* in trace_stacks */
	uint64_t ticks; /* all of its blocks that were allocated before have their events */
};

/* What is missing or wrong in the file. */
struct trace_damage {
	uint64_t bytes_skipped;	 /* bytes between extents without anything valid */
	uint64_t chunks_bad;	 /* with wrong checksum or bounds */
	uint64_t chunks_missing; /* a gap in a thread's sequence numbers */
	uint64_t words_bad;	 /* undecodable; the rest of that chunk was skipped */
	uint64_t bytes_missing;	 /* header.tail is after the end of the file */
	uint64_t bytes_empty;	 /* zeros where an extent should be: space that was never written */
	uint64_t bytes_cut;	 /* the same in a file that was truncated while it was written */
	uint64_t header_cut;	 /* 1 if its header was truncated, too */
	uint64_t chunks_unseen;	 /* written according to the header, but not found */
	uint64_t sizes_bad;	 /* extents that overlap another one */
	uint64_t stacks_bad;	 /* invalid stack records */
	uint64_t stacks_missing; /* STACK words whose number no record defines */
	uint64_t lines_bad;	 /* lines of another tool's record that were left out */
	uint64_t lines_cut;	 /* 1 if that record ends in the middle */
	uint64_t lost[MPROF_LOST_REASONS]; /* counted by the library itself */
	uint64_t first_bad_offset;	   /* of any of the above; 0 if there is none */
};

/*
 * Opens and checks.  Returns 0, or -errno with *err saying what is wrong, at which byte, and what
 * is expected: -ENOENT..., -EBADMSG for a file of another kind. kind_magic: MPROF_MAGIC_*; NULL = a
 * trace or a profile, both of which have figures of call stacks.
 */
int trace_open(struct trace **out, const char *path, const char *kind_magic, struct error *err);
/* The same without call stacks, which take most of the time: the stack of each event is unknown. */
int trace_open_without_stacks(struct trace **out, const char *path, const char *kind_magic);
void trace_close(struct trace *t);

/*
 * A trace with events from another reader: a record of another tool
 * (import/import.h). It has one process, no facts, no stacks, and times in ns
 * if it has any.
 */
struct trace_source {
	void *self;
	const char *format; /* "mtrace"; lives as long as the trace */
	bool timed;	    /* otherwise ticks only count events, TRACE_UNTIMED ns for each */
	/* Like trace_next; ticks from 1 and never backwards.  Counts unreadable parts in *d. */
	size_t (*next)(void *self, struct event *events, size_t n, struct trace_damage *d);
	void (*rewind)(void *self);
	void (*close)(void *self);
};
#define TRACE_UNTIMED 1000u

/* Takes ownership of the source. */
struct trace *trace_open_source(const char *path, const struct trace_source *source);
/* Returns NULL for a trace of mprof's own. */
const struct trace_source *trace_source(const struct trace *t);

const struct mprof_file_header *trace_header(const struct trace *t);
const char *trace_path(const struct trace *t);
/* Returns the size of the file, without dropped parts. */
uint64_t trace_bytes(const struct trace *t);
/* t is a compressed copy: from now on its path and size are those of the original.  False
 * without memory. */
bool trace_set_original(struct trace *t, const struct trace *original);
bool trace_is_copy(const struct trace *t);

/*
 * Reads up to n events in the order of time; 0 at the end.  At equal times, frees and creations of
 * threads come before allocations; otherwise the thread with the lower number comes first.  Within
 * a thread it is always the order of the calls.  Use batches of 256, which stay in the first cache.
 */
size_t trace_next(struct trace *t, struct event *events, size_t n);
/*
 * Do events identify their blocks? Then event.block is the number of the block
 * in its process while it is live; the block of a failed realloc is named by
 * its end. Otherwise it is 0.
 */
bool trace_names_blocks(const struct trace *t);
/* In a trace that is not compressed: reads only events of these processes from now on, from the
 * first one.  The list lives as long as the trace. */
void trace_choose_processes(struct trace *t, const uint32_t *process, size_t n);
/* Goes back to the first event. */
void trace_rewind(struct trace *t);

/*
 * At the first event of a compressed trace, skips groups whose number of calls (event_is_call) is
 * known, as long as these are fewer than `most` in total.  Adds the skipped calls and events.
 * Addresses of blocks that were allocated there are unknown afterwards.
 */
void trace_skip(struct trace *t, uint64_t most, uint64_t *calls, uint64_t *events);

/* The position of reading in a compressed trace. */
struct trace_place {
	size_t group;	      /* the current group */
	uint64_t first_event; /* number of its first event */
	uint32_t events;      /* events of it that were read */
	bool whole;	      /* all groups before it were read */
};

/* False: this position cannot be restored, for example in a trace that is not compressed. */
bool trace_place(const struct trace *t, struct trace_place *place);
/*
 * Goes to a position, in a trace that names blocks. The addresses of blocks allocated before are
 * unknown until trace_set_address sets them, before the next event is read; false without memory.
 */
void trace_go(struct trace *t, const struct trace_place *place);
/* Finds the beginning of the group that has the first event at a time or later, or an earlier
 * group.  False as above, or if that is the first group. */
bool trace_place_at(struct trace *t, uint64_t ticks, struct trace_place *place);
bool trace_set_address(struct trace *t, uint32_t process, uint32_t block, uint64_t addr);
/* Returns the address of the block with this number (event.block) at the current position; 0 if
 * unknown. */
uint64_t trace_address(const struct trace *t, uint32_t process, uint32_t block);
/*
 * Tells the events after number `after` up to `to` that allocated a block, without addr, usable
 * and block, reading from a position at or near them.  Numbers are those of a trace without
 * damage.  False if something is damaged there.  Rewind or go to a place before further reading.
 */
typedef void trace_birth_fn(void *context, const struct event *e);
bool trace_births(struct trace *t, const struct trace_place *near, uint64_t after, uint64_t to,
		  trace_birth_fn *tell, void *context);

size_t trace_facts(const struct trace *t, const struct trace_fact **facts);
size_t trace_threads(const struct trace *t, const struct trace_thread **threads);
/* Returns the first number of a thread, which trace_next() uses: after an exec, the main thread
 * of a process has a new number in the file. */
uint32_t trace_thread(const struct trace *t, uint32_t number);
/* Returns the name that the program gave the thread, or "": it has none, or too many threads ended
 * before it.  Any bytes; valid until trace_close(). */
const char *trace_thread_name(const struct trace *t, uint32_t number);
bool trace_has_thread_names(const struct trace *t);
/* Returns how many threads' names were not kept, if they had any. */
uint64_t trace_unnamed_threads(const struct trace *t);
/* A thread, or the threads with such names; a zeroed one chooses all. */
struct thread_choice {
	uint32_t number;
	const char *pattern; /* of names (fnmatch); NULL if a number is chosen */
};
/* Finds the threads that a pattern chooses; called before trace_chooses(). */
void trace_choose_threads(struct trace *t, const struct thread_choice *choice);
bool trace_has_chosen(const struct trace *t); /* did it find any? */
/* Are not all threads chosen? */
static inline bool thread_is_chosen(const struct thread_choice *c)
{
	return c->number || c->pattern;
}
bool trace_chooses(const struct trace *t, const struct thread_choice *choice, uint32_t number);
/* Returns the main threads: as the kernel does it, their tid is the pid of their process.  The keys
 * are those of trace_thread_key(); the caller releases the table. */
struct hash; /* util/hash.h */
struct hash trace_main_threads(const struct trace *t);
static inline uint64_t trace_thread_key(uint32_t process, uint32_t tid)
{
	return (uint64_t)process << 32 | tid;
}
/* keep: trace_next() uses the numbers of the file, for a copy of it. */
void trace_keep_numbers(struct trace *t, bool keep);
/* Returns resident pages at some times, in the order of time. */
size_t trace_samples(const struct trace *t, uint32_t process, const struct mprof_sample **samples);
/* Returns the memory of the machine at some times, in the order of time. */
size_t trace_system(const struct trace *t, const struct mprof_system **system);
/* Returns peaks of all processes, one for each of their programs, in the order of process and
 * image. */
size_t trace_peaks(const struct trace *t, const struct trace_peak **peaks);
size_t trace_residencies(const struct trace *t, const struct trace_residency **r);
/* Returns pages of the variables of objects, as in a residency, in the order of time. */
size_t trace_variables(const struct trace *t, const struct trace_residency **r);
/* Returns stack uses of all processes, in the order of process, image and thread. */
size_t trace_stack_uses(const struct trace *t, const struct trace_stack_use **uses);
size_t trace_times(const struct trace *t, const struct trace_times **times);
/* Returns the latest examination of each image of a process that was examined. */
size_t trace_reaches(const struct trace *t, const struct trace_reach **reaches);
/* Adds an examination, the payload of a REACH extent, which it takes over and frees. */
void trace_add_reach(struct trace *t, uint32_t process, void *payload, size_t bytes);
/* Returns errors that MODE=Guard found, in the order of time. */
size_t trace_misuses(const struct trace *t, const struct trace_misuse **misuses);
bool trace_is_guarded(const struct trace *t); /* is the file of that MODE? */
/* Sums what it did in all processes.  unchecked: live blocks of those that did not end by
 * themselves. */
void trace_guarded(const struct trace *t, struct mprof_guarded *sum, uint64_t *unchecked);
/* Adds a name of generated code, "ADDRESS NAME" from `skip` on, which the trace takes over and
 * frees; trace_sort_code() follows the last one. */
void trace_add_code(struct trace *t, char *text, size_t skip);
void trace_sort_code(struct trace *t);
/* Returns all stacks of the run; never NULL. */
const struct stacks *trace_stacks(const struct trace *t);
/* Counts files: returns the i-th thread's record, NULL after the last one. */
const struct mprof_counts *trace_counts(const struct trace *t, size_t i, uint32_t *process,
					uint32_t *thread);
/* Returns the damage found by opening and by all readings so far; complete once trace_next()
 * returned 0.  trace_rewind() does not reset it. */
const struct trace_damage *trace_damage(const struct trace *t);
/* Does a file that is still written say by now how the process ended? */
bool trace_ended_since(const struct trace *t, uint32_t process);
/* Is anything wrong with the file itself, besides what was lost while it was recorded? */
bool trace_is_damaged(const struct trace_damage *d);
/* Are events missing because of that? */
bool trace_lacks_events(const struct trace_damage *d);

/* Returns false for a profile or counts file, or after trace_show_totals(). */
bool trace_has_events(const struct trace *t);
/*
 * Does it have totals of whole processes?  A profile does, and a trace of which not all events were
 * kept (--last, --budget).
 */
bool trace_has_totals(const struct trace *t);
/* Makes such a trace a profile from now on, without events and threads. */
void trace_show_totals(struct trace *t);
/* Returns the stacks of which not all events were kept, by node, each once. */
size_t trace_reduced(const struct trace *t, const struct trace_reduced **list);
/* Is this name of a host, of a fact, that of this machine? */
bool trace_host_is_here(const char *host);
/* Is it a profile whose figures are estimates? */
bool trace_is_sampled(const struct trace *t);
/* Returns all parts of a profile, in the order of process, image and kind. */
size_t trace_totals(const struct trace *t, const struct trace_totals **totals);
/* Returns the latest time that a profile contains, in ticks. */
uint64_t trace_totals_end(const struct trace *t);
/* Returns the node in trace_stacks for a stack number of a process's image; 0 if unknown. */
uint32_t trace_stack_node(const struct trace *t, uint32_t process, uint32_t image, uint32_t id);

/* Converts to ns since the run's start, by the run's clock, calibrated by all facts. */
int64_t trace_ns(const struct trace *t, uint64_t ticks);
/* Returns the last ticks within `ns` of the run's start; at least the start itself. */
uint64_t trace_ticks(const struct trace *t, uint64_t ns);
