// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * trace.c - opening, closing and querying a trace or counts file.
 *
 * trace_open does all the checking that needs no event; its copies from the file (header, facts,
 * samples, counts) do not change until trace_close.
 */
#include "reader.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <mprof/playback.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../util/large.h"
#include "../util/memory.h"
#include "lock.h"
#include "pack.h"

/* A recording is its owner's alone, as after "sudo mprof record". */
static int cannot_open(const char *path, int error, struct error *err)
{
	const struct passwd *owner;
	char number[16];
	struct stat st;

	if (error != EACCES || stat(path, &st) || st.st_uid == geteuid())
		return fail(err, -error, "cannot open '%s': %s", path, strerror(error));
	owner = getpwuid(st.st_uid);
	snprintf(number, sizeof(number), "%u", st.st_uid);
	return fail(err, -error,
		    "cannot open '%s': only user %s may read it; run mprof as this user, or give "
		    "the file to yours (chown)",
		    path, owner ? owner->pw_name : number);
}

static int open_file(struct trace *t, struct error *err)
{
	struct stat st;

	t->fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (t->fd < 0)
		return cannot_open(t->path, errno, err);
	if (fstat(t->fd, &st) < 0)
		return fail(err, -errno, "cannot examine '%s': %s", t->path, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return fail(err, -EBADMSG, "'%s' is %s", t->path,
			    S_ISDIR(st.st_mode) ? "a directory" : "not a regular file");
	if (!t->is_rest)
		lock_shared(t->fd);
	t->file_bytes = (uint64_t)st.st_size;
	memory_cap_file(t->file_bytes);
	return 0;
}

/* Names the wanted kind: of this magic, or, if NULL, any with figures of call stacks. */
static const char *wanted_name(const char *magic)
{
	return magic ? mprof_kind_name(magic) : "trace or profile";
}

static bool is_wanted(const struct mprof_file_header *h, const char *want)
{
	if (want)
		return !memcmp(h->magic, want, MPROF_MAGIC_SIZE);
	return memcmp(h->magic, MPROF_MAGIC_COUNTS, MPROF_MAGIC_SIZE) != 0;
}

/* Does the header have the wanted magic? */
static int check_kind(const struct trace *t, size_t got, const char *want, struct error *err)
{
	const struct mprof_file_header *h = &t->header;

	if (!got)
		return fail(err, -EBADMSG, "'%s' is empty, not a %s of mprof", t->path,
			    wanted_name(want));
	if (got >= MPROF_MAGIC_SIZE && !memcmp(h->magic, MPROF_PLAYBACK_MAGIC, MPROF_MAGIC_SIZE))
		return fail(err, -EBADMSG, "'%s' is a playback file; expected a %s", t->path,
			    wanted_name(want));
	if (got < MPROF_MAGIC_SIZE || !mprof_is_magic(h->magic))
		return fail(err, -EBADMSG, "'%s' is not a %s of mprof: wrong magic at byte 0",
			    t->path, wanted_name(want));
	if (is_wanted(h, want))
		return 0;
	if (!memcmp(h->magic, MPROF_MAGIC_PROFILE, MPROF_MAGIC_SIZE) &&
	    !memcmp(want, MPROF_MAGIC_TRACE, MPROF_MAGIC_SIZE))
		return fail(
		    err, -EBADMSG,
		    "'%s' is a profile, which has no individual calls; expected a trace from "
		    "mprof record",
		    t->path);
	return fail(err, -EBADMSG, "'%s' is a %s; expected a %s", t->path,
		    mprof_kind_name(h->magic), wanted_name(want));
}

/* Is it the header of a compressed file, which ends after the last used process entry? */
static bool is_short(const struct mprof_file_header *h)
{
	return h->flags & MPROF_FILE_COMPRESSED && h->header_size >= MPROF_HEADER_SHORT &&
	       h->header_size < MPROF_HEADER_SIZE &&
	       h->header_size <= MPROF_HEADER_SHORT + sizeof(h->process) &&
	       h->header_size % sizeof(h->process[0]) == 0;
}

static void widen_header(struct mprof_file_header *h)
{
	size_t entries = h->header_size - MPROF_HEADER_SHORT;

	memmove(h->process, (const char *)h + MPROF_HEADER_SHORT, entries);
	memset((char *)h->process + entries, 0, sizeof(h->process) - entries);
	memset(h->free_slots, 0, sizeof(h->free_slots));
}

/* Checks the header; its readable part suffices to name the reason for refusing the file. */
static int check_header(const struct trace *t, size_t got, const char *want, struct error *err)
{
	const struct mprof_file_header *h = &t->header;
	int ret = check_kind(t, got, want, err);

	if (ret)
		return ret;
	if (got >= 12 && h->version != MPROF_FORMAT_VERSION)
		return fail(err, -EBADMSG,
			    "'%s' has format version %" PRIu32 " at byte 8; this mprof reads %u",
			    t->path, h->version, MPROF_FORMAT_VERSION);
	if (got >= MPROF_HEADER_SHORT && h->header_size != MPROF_HEADER_SIZE && !is_short(h))
		return fail(err, -EBADMSG,
			    "'%s' has header size %" PRIu32 " at byte 12; expected %u", t->path,
			    h->header_size, MPROF_HEADER_SIZE);
	if (got < MPROF_HEADER_SHORT || got < h->header_size)
		return fail(err, -EBADMSG,
			    "'%s' ends inside its header at byte %zu of %u: it was truncated",
			    t->path, got,
			    got < MPROF_HEADER_SHORT ? MPROF_HEADER_SIZE : h->header_size);
	if (h->clock > MPROF_CLOCK_CNTVCT || h->clock_shift > 32)
		return fail(err, -EBADMSG,
			    "'%s' has clock %" PRIu32 " with shift %" PRIu32
			    " at byte 40; expected clocks 0 to %d and shifts 0 to 32",
			    t->path, h->clock, h->clock_shift, MPROF_CLOCK_CNTVCT);
	return 0;
}

#define CLOCK_HZ_MOST 100000000000ull /* of a clock that exists, by far */

/* Makes values that are divisors or indices, or whose sums would wrap, harmless in our copy. */
static void tame_header(struct mprof_file_header *h)
{
	if (h->page_size < 512 || (h->page_size & (h->page_size - 1)))
		h->page_size = 4096;
	if (!h->clock_hz || h->clock_hz > CLOCK_HZ_MOST)
		h->clock_hz = 1000000000u;
	h->start_ticks &= MPROF_TICKS_MASK;
}

static void add_lost(uint64_t *sums, const uint32_t *lost)
{
	for (int i = 0; i < MPROF_LOST_REASONS; i++)
		sums[i] += lost[i];
}

static void sum_lost(struct trace *t)
{
	add_lost(t->damage.lost, t->header.lost);
	for (size_t i = 0; i < MPROF_PROCESS_TABLE; i++)
		add_lost(t->damage.lost, t->header.process[i].lost);
}

/* Totals, or counts. */
static bool has_totals(const struct extents *x)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->item[i].kind == MPROF_EXTENT_HEAP || x->item[i].kind == MPROF_EXTENT_LANE ||
		    x->item[i].kind == MPROF_EXTENT_COUNTS)
			return true;
	return false;
}

/*
 * Zeros below the tail were taken by a process that was killed before it wrote;
 * but not if the header has lost its processes, if the first extent is missing,
 * or if a process noticed that the file had changed.
 */
static void find_cuts(struct trace *t, const struct extents *x)
{
	const struct mprof_file_header *h = &t->header;
	uint64_t chunks = 0;
	bool headless;

	if (h->flags & MPROF_FILE_COMPRESSED)
		return;
	headless = t->damage.bytes_empty && !t->damage.lost[MPROF_LOST_SPACE] &&
		   (!x->n || x->item[0].head.offset > t->header_bytes);
	if (mprof_header_is_cut(h))
		trace_note_damage(t, &t->damage.header_cut, 1,
				  offsetof(struct mprof_file_header, process));
	if (t->damage.header_cut || headless || t->damage.lost[MPROF_LOST_FILE]) {
		if (t->damage.bytes_empty)
			trace_note_damage(t, &t->damage.bytes_cut, t->damage.bytes_empty,
					  t->first_empty);
		t->damage.bytes_empty = 0;
	}
	/* Totals are taken from large parts of the file, which may stay partly unused. */
	if (has_totals(x))
		t->damage.bytes_empty = 0;
	for (size_t i = 0; i < x->n; i++)
		chunks += x->item[i].kind == MPROF_EXTENT_EVENTS ||
			  x->item[i].kind == MPROF_EXTENT_STACKS;
	if (!trace_is_dropping(t) && chunks < h->chunks)
		t->damage.chunks_unseen = h->chunks - chunks;
}

static void take_records(struct trace *t, const struct extents *x)
{
	for (size_t i = 0; i < x->n; i++)
		records_take(t, &x->item[i]);
	records_finish(t);
	own_memory_cut(t);
}

static int read_all(struct trace *t)
{
	struct extents x = { 0 };
	bool packed;
	int ret = 0;

	live_find_extents(t, &x);
	taken_find(t, &x);
	packed = t->has_taken ? t->taken_groups : !t->is_rest && packed_is_there(&x);
	sum_lost(t);
	find_cuts(t, &x);
	take_records(t, &x);
	live_find_stacks(t, &x);
	streams_build(t, &x, !packed || t->has_taken);
	stacks_read(t);
	records_find_stacks(t);
	if (packed)
		ret = packed_open(t, &x);
	free(x.item);
	if (ret)
		return ret;
	main_threads_find(t);
	thread_names_find(t);
	clock_calibrate(t);
	t->damage_opened = t->damage_seen = t->damage;
	merge_start(t);
	return 0;
}

static int open_trace(struct trace **out, const char *path, const char *kind_magic,
		      const struct trace *how, struct error *err)
{
	struct trace *t = must_memdup(how, sizeof(*t));
	int ret;

	large_heap();
	*out = NULL;
	t->fd = -1;
	t->path = must_strdup(path);
	ret = open_file(t, err);
	if (ret)
		goto failed;
	ret = check_header(t, trace_read(t, &t->header, sizeof(t->header), 0), kind_magic, err);
	if (ret)
		goto failed;
	t->header_bytes = t->header.header_size;
	if (is_short(&t->header))
		widen_header(&t->header);
	tame_header(&t->header);
	ret = read_all(t);
	if (ret) {
		fail(err, ret, "no memory to read '%s'", path);
		goto failed;
	}
	*out = t;
	return 0;
failed:
	trace_close(t);
	return ret;
}

int trace_open(struct trace **out, const char *path, const char *kind_magic, struct error *err)
{
	return open_trace(out, path, kind_magic, &(struct trace){ 0 }, err);
}

int trace_open_without_stacks(struct trace **out, const char *path, const char *kind_magic)
{
	return open_trace(out, path, kind_magic, &(struct trace){ .without_stacks = true }, NULL);
}

int trace_open_rest(struct trace **out, const char *path, const struct mprof_taken_entry *taken,
		    size_t n, struct error *err)
{
	const struct trace how = { .is_rest = true, .taken = taken, .taken_n = n };

	return open_trace(out, path, MPROF_MAGIC_TRACE, &how, err);
}

/* What the header of a file would say. */
static void make_header(struct trace *t)
{
	struct stat st;

	memcpy(t->header.magic, MPROF_MAGIC_TRACE, MPROF_MAGIC_SIZE);
	t->header.version = MPROF_FORMAT_VERSION;
	t->header.flags = MPROF_FILE_CLOSED;
	t->header.clock = MPROF_CLOCK_MONOTONIC;
	t->header.start_ticks = 1;
	t->header.processes = 1;
	tame_header(&t->header);
	t->ns_per_tick = 1ull << 32;
	t->file_bytes = stat(t->path, &st) ? 0 : (uint64_t)st.st_size;
}

struct trace *trace_open_source(const char *path, const struct trace_source *source)
{
	struct trace *t = must_calloc(1, sizeof(*t));

	t->fd = -1;
	t->source = *source;
	t->path = must_strdup(path);
	stacks_read(t);
	make_header(t);
	return t;
}

const struct trace_source *trace_source(const struct trace *t)
{
	return t->source.next ? &t->source : NULL;
}

void trace_close(struct trace *t)
{
	if (!t)
		return;
	if (t->fd >= 0)
		close(t->fd);
	streams_free(t);
	stacks_free(t);
	records_free(t);
	unpacker_free(t->unpacker);
	packed_close(t->packed);
	if (t->source.close)
		t->source.close(t->source.self);
	free(t->first_number);
	hash_release(&t->thread_name);
	hash_release(&t->thread_chosen);
	free(t->heap);
	free(t->path);
	free(t);
}

void trace_rewind(struct trace *t)
{
	t->damage = t->damage_opened;
	merge_start(t);
	if (t->packed)
		packed_rewind(t);
	if (t->source.next)
		t->source.rewind(t->source.self);
}

void trace_choose_processes(struct trace *t, const uint32_t *process, size_t n)
{
	t->chosen = process;
	t->chosen_n = n;
	trace_rewind(t);
}

void trace_skip(struct trace *t, uint64_t most, uint64_t *calls, uint64_t *events)
{
	if (trace_is_whole(t))
		packed_skip(t, most, calls, events);
}

bool trace_place(const struct trace *t, struct trace_place *place)
{
	return trace_is_whole(t) && packed_place(t->packed, place);
}

void trace_go(struct trace *t, const struct trace_place *place)
{
	t->damage = t->damage_opened;
	packed_go(t, place);
}

bool trace_place_at(struct trace *t, uint64_t ticks, struct trace_place *place)
{
	return t->packed && packed_place_at(t, ticks, place);
}

bool trace_set_address(struct trace *t, uint32_t process, uint32_t block, uint64_t addr)
{
	return packed_set_address(t->packed, process, block, addr);
}

uint64_t trace_address(const struct trace *t, uint32_t process, uint32_t block)
{
	return packed_address(t->packed, process, block);
}

bool trace_births(struct trace *t, const struct trace_place *near, uint64_t after, uint64_t to,
		  trace_birth_fn *tell, void *context)
{
	return trace_is_whole(t) && packed_births(t, near, after, to, tell, context);
}

bool trace_names_blocks(const struct trace *t)
{
	return trace_is_whole(t);
}

const struct mprof_file_header *trace_header(const struct trace *t)
{
	return &t->header;
}
const char *trace_path(const struct trace *t)
{
	return t->path;
}
uint64_t trace_bytes(const struct trace *t)
{
	const struct mprof_file_header *h = &t->header;

	if (t->original_bytes)
		return t->original_bytes;
	if (!(h->flags & MPROF_FILE_COMPRESSED) &&
	    h->dropped_bytes + h->replaced_bytes < t->file_bytes)
		return t->file_bytes - h->dropped_bytes - h->replaced_bytes;
	return t->file_bytes;
}

bool trace_set_original(struct trace *t, const struct trace *original)
{
	char *path = strdup(original->path);

	if (!path)
		return false;
	free(t->path);
	t->path = path;
	t->original_bytes = trace_bytes(original);
	return true;
}

bool trace_is_copy(const struct trace *t)
{
	return t->original_bytes;
}

bool trace_ended_since(const struct trace *t, uint32_t process)
{
	const size_t at = offsetof(struct mprof_file_header, process);
	struct mprof_process_entry now;

	if (t->header.flags & (MPROF_FILE_COMPRESSED | MPROF_FILE_CLOSED))
		return false;
	for (size_t i = 0; i < MPROF_PROCESS_TABLE; i++)
		if (trace_read(t, &now, sizeof(now), at + i * sizeof(now)) == sizeof(now) &&
		    now.number == process)
			return now.state == MPROF_PROCESS_EXITED ||
			       now.state == MPROF_PROCESS_KILLED;
	return false;
}

const struct trace_damage *trace_damage(const struct trace *t)
{
	return &t->damage_seen;
}

bool trace_is_sampled(const struct trace *t)
{
	const struct trace_totals *x;

	/* A process without a sample has only a heap. */
	for (x = t->total; x < t->total + t->totals; x++)
		if (x->kind == MPROF_EXTENT_SAMPLES ||
		    (x->kind == MPROF_EXTENT_HEAP &&
		     ((const struct mprof_heap_totals *)x->data)->sample_unit))
			return true;
	return false;
}

uint64_t trace_totals_end(const struct trace *t)
{
	const struct trace_fact *fact;
	const struct trace_totals *part;
	uint64_t end = trace_header(t)->start_ticks;
	size_t i, n = trace_facts(t, &fact);

	for (i = 0; i < n; i++)
		end = fact[i].fact->ticks > end ? fact[i].fact->ticks : end;
	n = trace_totals(t, &part);
	for (i = 0; i < n; i++) {
		const struct mprof_heap_totals *h = part[i].data;
		const struct mprof_course *c = part[i].data;
		uint64_t last = 0;

		if (part[i].kind == MPROF_EXTENT_HEAP)
			last = h->step_ticks > h->peak_ticks ? h->step_ticks : h->peak_ticks;
		else if (part[i].kind == MPROF_EXTENT_COURSE && c->steps <= MPROF_STEPS)
			last = c->began_ticks + c->steps * c->step_ticks;
		end = last > end ? last : end;
	}
	return end;
}
