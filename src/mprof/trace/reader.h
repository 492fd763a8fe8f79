/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * reader.h - declarations that the parts of the trace reader share; nothing else includes it.
 *
 * trace_open reads the header, lists the extents (extents.c), copies the slots of
 * threads that may still run (live.c) and the small records (records.c), calibrates
 * the clock (clock.c), sorts the chunks into streams, one for each thread (streams.c),
 * and reads the stacks of all processes (stacks_read.c).  trace_next merges the streams by time
 * (merge.c), each of which loads one chunk at a time and decodes it (decode.c).  Of a compressed
 * trace it reads one group after the other (packed.c).
 *
 * The file is read with pread, never mapped: it may be truncated or written
 * while we read, and a short read can be handled where SIGBUS cannot.
 */
#pragma once

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/hash.h"
#include "trace.h"

/* Enlarges a buffer to `bytes` and discards its content.  Returns false without memory. */
static inline bool scratch_room(uint8_t **buf, size_t *room, size_t bytes)
{
	if (*room < bytes) {
		free(*buf);
		*buf = malloc(bytes);
		*room = *buf ? bytes : 0;
	}
	return *room >= bytes;
}

#define CHUNK_BYTES_MAX (64u << 20) /* greatest payload of one chunk, FORMAT.md 4.1 */

/* An extent whose header was found and is in bounds. */
struct extent {
	/* A PACKED extent has the original's header, but its own offset and size. */
	struct mprof_extent head;
	uint64_t payload;   /* offset of its payload in the file */
	uint64_t bytes;	    /* payload bytes that are present in the file, or in `copy` */
	uint64_t *copy;	    /* the words of a slot when the trace was opened; NULL if in the file */
	uint64_t all_bytes; /* with `copy`: payload bytes in the file */
	uint32_t chunks;    /* the chunks that it was made from */
	uint16_t kind;	    /* in the file, so PACKED for a packed one */
};

struct extents {
	struct extent *item;
	size_t n, room;
};

/* One EVENTS, SLOT, STACKS, STACKS_SLOT or PACKED extent (of stacks), ready to be loaded. */
struct chunk {
	uint64_t payload;
	const uint64_t *copy; /* its words; NULL if in the file */
	uint32_t bytes;	      /* in the file, or in `copy` */
	uint32_t used;	      /* from its header; more than bytes if cut off */
	uint32_t check;
	uint16_t kind, image;
	bool slot;     /* words end at the first zero; packed slots, too */
	uint32_t seqs; /* how many numbers from seq on: a packed chunk may have many */
	uint64_t seq, first_ticks, last_ticks;
	uint32_t process, thread; /* for stack records, the image instead of a thread */
};

/* Where the extent of a chunk begins, for messages. */
static inline uint64_t chunk_offset(const struct chunk *c)
{
	return c->payload - sizeof(struct mprof_extent);
}

/* The chunks of one thread, in order, and the position of decoding. */
struct stream {
	const uint64_t *pos, *end;	  /* words not decoded yet, in buf */
	uint64_t ticks, addr;		  /* decoding state, see encode.h */
	uint64_t touched;		  /* for the next frees, + 1; 0 if unknown */
	uint64_t count;			  /* elements of the next short calloc */
	uint32_t alloc_stack, free_stack; /* nodes of the last STACK words */
	const struct stack_map *map;	  /* of its process's numbers; NULL if there is none */
	uint32_t process, thread;	  /* of the next event; a THREAD word changes thread */
	uint32_t next, last;		  /* chunks not loaded yet: [next, last) */
	uint32_t first;			  /* its first chunk */
	uint64_t *buf;
	size_t room; /* bytes of buf */
	size_t
	    taken;   /* words of the last loaded chunk, up to where its events end or decoding is */
	size_t skip; /* words of its first chunk that groups have */
};

/* Streams by the key of their next event; see event_key. */
struct merge_entry {
	uint64_t key;
	uint32_t stream;
};

struct trace {
	int fd;
	char *path;
	uint64_t file_bytes;
	uint64_t original_bytes; /* of the original of a copy (trace_set_original), else 0 */
	struct mprof_file_header header; /* a copy; the one in the file may be live */
	uint64_t header_bytes;		 /* bytes of the header in the file */
	uint64_t first_empty;		 /* offset of the first of damage.bytes_empty */
	bool is_live;			 /* a process wrote to it while it was opened */
	bool is_growing;		 /* the same for a profile */
	/* What groups of a run that goes on have, by process and thread (taken.c): */
	const struct mprof_taken_entry *taken;
	size_t taken_n;
	uint64_t taken_groups;	/* later groups do not count */
	bool has_taken;		/* it is such a trace; its other events are in streams */
	bool is_rest;		/* trace_open_rest() */
	uint64_t until_ticks;	/* of a live trace: the last time that is shown; 0 = all are */
	bool only_totals;	/* trace_show_totals() */
	bool may_complete;	/* live.c: what is incomplete may be complete in a moment */
	bool gap_stays;		/* live.c: space that was taken stayed empty */
	unsigned chunk_rereads; /* how often chunks of a live trace were not complete */

	struct chunk *chunk;
	size_t chunks;
	struct chunk *stack_chunk; /* of stack records */
	size_t stack_chunks;
	bool without_stacks; /* trace_open_without_stacks() */
	struct stacks_read *stacks;
	struct stream *stream;
	size_t streams;
	const uint32_t *chosen; /* trace_choose_processes() */
	size_t chosen_n;
	struct merge_entry *heap;
	size_t heap_n;

	struct trace_thread *thread;
	size_t threads;
	uint32_t *first_number; /* main_threads.c: by number of a thread; 0 = the same */
	size_t first_numbers;
	struct hash thread_chosen; /* by number */
	struct hash thread_name;   /* thread_names.c: by number, those that have a name */
	bool keeps_numbers;	   /* trace_keep_numbers() */

	void **copy; /* payloads that facts, samples and counts point into */
	size_t copies, copies_room;
	struct trace_fact *fact;
	size_t facts, facts_room;
	struct mprof_fact now; /* of a run that goes on: when it was read; ticks 0 = it has ended */
	struct owned_sample *sample;
	struct mprof_sample *sample_flat; /* the same samples, without their owners */
	size_t samples, samples_room;
	struct mprof_system *system; /* samples of the machine */
	size_t systems, systems_room;
	unsigned rereads;	 /* how often extents were overwritten while they were read */
	struct trace_peak *peak; /* at first all readings, finally one of each image */
	size_t peaks, peaks_room;
	struct trace_residency *residency;
	size_t residencies, residencies_room;
	struct trace_residency *variables;
	size_t variables_n, variables_room;
	struct trace_stack_use *use;
	struct trace_times *times;
	size_t times_n, times_room;
	size_t uses, uses_room;
	struct trace_reach *reach;
	size_t reaches, reaches_room;
	struct trace_misuse *misuse;
	size_t misuses, misuses_room;
	struct guarded_record *guarded;
	size_t guarded_n, guarded_room;
	struct counts_record *counts;
	size_t counts_n, counts_room;
	struct trace_totals *total;
	size_t totals, totals_room;
	struct own_memory *own;
	size_t owns, owns_room;
	struct trace_reduced *reduced;
	size_t reduced_n, reduced_room;

	uint64_t ns_per_tick; /* fixed point, 32 bits after the point */

	struct trace_damage damage;	   /* found since trace_open or the last trace_rewind */
	struct trace_damage damage_opened; /* as trace_open left it, for trace_rewind */
	struct trace_damage damage_seen;   /* greatest value of each so far: what callers see */

	struct unpacker *unpacker; /* made when the first packed chunk is loaded */
	struct packed *packed; /* of a trace with groups; without `has_taken` it has no streams */
	struct trace_source source; /* next is NULL if the file is read here */
};

/* A table of the library in a process, mapped at this time. */
struct own_memory {
	uint32_t process, image;
	uint64_t ticks;
	struct mprof_page_run run;
};

struct owned_sample {
	uint32_t process;
	struct mprof_sample s;
};

struct guarded_record {
	uint32_t process, image;
	const struct mprof_guarded *guarded;
};

struct counts_record {
	uint32_t process, thread;
	uint16_t image;
	const struct mprof_counts *counts;
};

/* Returns the time of the last event that is shown; 0 = all are. */
static inline uint64_t trace_last_shown(const struct trace *t)
{
	const uint64_t end = t->header.log_end & MPROF_TICKS_MASK;

	return !t->until_ticks || (end && end < t->until_ticks) ? end : t->until_ticks;
}

/* Are chunks being dropped while we read?  Then some that we expect no longer exist. */
static inline bool trace_is_dropping(const struct trace *t)
{
	return t->is_live && t->header.dropped_ticks;
}

/* Has the run dropped the chunks at this offset by now?  Then apparent damage there is harmless. */
bool trace_has_dropped(const struct trace *t, uint64_t offset);

/* Are all of them 0?  bytes: at least 1. */
static inline bool bytes_are_zero(const unsigned char *p, size_t bytes)
{
	return !p[0] && !memcmp(p, p + 1, bytes - 1);
}

/* Reads until `bytes` or the end of the file; returns how many were read. */
size_t trace_read(const struct trace *t, void *to, size_t bytes, uint64_t offset);

void trace_note_damage(struct trace *t, uint64_t *counter, uint64_t by, uint64_t offset);
/* Call this after changing t->damage directly. */
void trace_see_damage(struct trace *t);

/* Waits for data that a file being written does not have yet. */
void trace_wait(void);
/* Called for a damaged chunk: returns true after a pause if it may only be incomplete so far. */
bool trace_reread(struct trace *t);

/* extents.c.  The caller frees x->item. */
void extents_find(struct trace *t, struct extents *x);
/* The same of a trace that is open, whose damage is known. */
void extents_find_again(struct trace *t, struct extents *x);

/* live.c: the same for a file that may still be written, with the words of its slots. */
void live_find_extents(struct trace *t, struct extents *x);
/* For a profile, once its cells were read: replaces the extents of stack records by those that the
 * cells may name. */
void live_find_stacks(struct trace *t, struct extents *x);

/* In a damaged trace, main threads with a greater number are not joined. */
#define MAIN_THREADS_MOST (1u << 22)

/* taken.c: finds out what groups have while the run goes on. */
void taken_find(struct trace *t, const struct extents *x);
/* Returns what they have of a thread; NULL if nothing. */
const struct mprof_taken_entry *taken_of(const struct trace *t, uint32_t process, uint32_t thread);
/*
 * Opens what groups do not have yet, according to n entries, which remain the caller's: the trace
 * has no groups.
 */
int trace_open_rest(struct trace **out, const char *path, const struct mprof_taken_entry *taken,
		    size_t n, struct error *err);
/* Does it name blocks, and has places?  Only a trace that is compressed as a whole. */
static inline bool trace_is_whole(const struct trace *t)
{
	return t->packed && !t->has_taken;
}

/* main_threads.c */
void main_threads_find(struct trace *t);
void thread_names_find(struct trace *t); /* after main_threads_find() */
void main_threads_give(const struct trace *t, struct event *e, size_t n);

/* records.c: keeps an extent that does not have events. */
void records_take(struct trace *t, const struct extent *x);
void records_finish(struct trace *t);
/* Returns the payload of an extent, owned by t; NULL if it is bad. */
void *records_payload(struct trace *t, const struct extent *x, size_t least);
/* Returns the payload bytes of a kind of a profile's parts; 0 for another kind. */
size_t records_total_bytes(uint16_t kind);
void records_find_stacks(
    struct trace *t); /* finds the nodes of their stacks, after stacks_read() */
void records_free(struct trace *t);

/* own_memory.c: after records_finish(). */
void own_memory_cut(struct trace *t);

/* clock.c */
void clock_calibrate(struct trace *t);

/* stacks_read.c */
void stacks_read(struct trace *t);
void stacks_free(struct trace *t);

/* streams.c: without events, only for stack records. */
void streams_build(struct trace *t, const struct extents *x, bool events);
void streams_free(struct trace *t);

/* chunks.c: does the end of the file cut it, so that only the existing part is valid? */
bool chunk_is_cut(const struct trace *t, const struct chunk *c);
/* Loads the words of a chunk into *buf (grown as needed); returns how many, 0 if bad. */
size_t chunk_load(struct trace *t, const struct chunk *c, uint64_t **buf, size_t *room);
/* Returns the time of the last event in a chunk whose first dt is counted from `ticks`; 0 if it
 * has no event. */
uint64_t words_last_ticks(const uint64_t *word, size_t n, uint64_t ticks);
/* Has the run dropped the chunk since we found it? */
bool chunk_is_gone(const struct trace *t, const struct chunk *c);

/*
 * decode.c: up to n events of one stream, as long as their keys are below
 * `limit`.  *key is then the key of the next event, or a lower bound of it, or
 * KEY_END if the stream is at its end.
 */
#define KEY_END UINT64_MAX
size_t stream_decode(struct trace *t, struct stream *s, struct event *events, size_t n,
		     uint64_t limit, uint64_t *key);

/* merge.c */
void merge_start(struct trace *t);
/* For group_words.c: returns the stream at the top, and the limit of keys for it; NULL if its next
 * words are not in memory. */
struct stream *merge_top(struct trace *t, uint64_t *limit);

/* packed.c: the events of a compressed trace, group by group. */
/* Is there an extent that only a compressed trace has? */
bool packed_is_there(const struct extents *x);
/* Finds the groups; t has its stacks.  The definitions that groups refer to are read before the
 * first one.  0 or -ENOMEM. */
int packed_open(struct trace *t, const struct extents *x);
void packed_close(struct packed *p);
void packed_rewind(struct trace *t);
/* Like trace_next. */
size_t packed_next(struct trace *t, struct event *e, size_t n);
/* As trace_skip. */
void packed_skip(struct trace *t, uint64_t most, uint64_t *calls, uint64_t *events);

/* Like trace_place. */
bool packed_place(const struct packed *p, struct trace_place *place);
void packed_go(struct trace *t, const struct trace_place *place);
bool packed_place_at(struct trace *t, uint64_t ticks, struct trace_place *place);
bool packed_births(struct trace *t, const struct trace_place *near, uint64_t after, uint64_t to,
		   trace_birth_fn *tell, void *context);
bool packed_set_address(struct packed *p, uint32_t process, uint32_t block, uint64_t addr);
uint64_t packed_address(const struct packed *p, uint32_t process, uint32_t block);
