// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * follow.c - compressing a trace while the run that writes it goes on.
 *
 * A round opens what groups do not have yet, as a reader of a live trace would, adds it to the
 * groups that we go on with, and appends them to the file:
 *
 *   SORTS, GROUP ... -> TAKEN (from now on they count) -> chunks become FREE, their blocks are
 * freed
 *
 * A reader holds a lock on the file from opening to closing (lock.h), and we need it alone for the
 * last two steps; if we do not get it, they wait for a later round.
 *
 * Each round reads the stacks anew, in a tree with other numbers, so we give nodes numbers of our
 * own, which stay.
 */
#include "follow.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../util/order.h"
#include "../util/whole.h"
#include "compact_job.h"
#include "lock.h"
#include "stack_map.h"

#define REPLACED 1u /* seq of a FREE extent in place of chunks */

struct follow {
	char *path;
	struct append file;
	struct job job;
	struct events *events;
	struct mprof_taken_entry *taken; /* how far the groups have come, by process and thread */
	size_t taken_n;
	struct stack_map *map; /* of the last round, with our numbers; no parents */
	size_t maps;
	uint32_t nodes; /* numbers in use, with 0 */
	uint64_t tail;	/* of the file, without what was written since the last round began */
	uint64_t told;	/* groups that count */
	bool begun;
};

/* ---- numbers of stacks ---- */

static void forget_maps(struct follow *f)
{
	for (size_t i = 0; i < f->maps; i++)
		free(f->map[i].node);
	free(f->map);
	f->map = NULL;
	f->maps = 0;
}

static const struct stack_map *old_map(const struct follow *f, const struct stack_map *m)
{
	const struct stack_map *k = f->map;
	const size_t i = FIRST_WHERE(n, f->maps,
				     k[n].process > m->process ||
					 (k[n].process == m->process && k[n].image >= m->image));

	return i < f->maps && k[i].process == m->process && k[i].image == m->image ? &k[i] : NULL;
}

/* Finds the numbers of nodes that had one in the last round. */
static void number_known(const struct follow *f, const struct stack_map *m, uint32_t *number)
{
	const struct stack_map *old = old_map(f, m);

	/* The fact that tells what a child inherited may have been missing. */
	if (!old || old->base != m->base)
		return;
	for (uint32_t i = 0; i < m->nodes && i < old->nodes; i++)
		if (m->node[i] != STACK_UNDEFINED && old->node[i] != STACK_UNDEFINED)
			number[m->node[i]] = old->node[i];
}

static void number_new(struct follow *f, const struct stack_map *m, uint32_t *number)
{
	for (uint32_t i = 0; i < m->nodes; i++) {
		if (m->node[i] == STACK_UNDEFINED)
			continue;
		if (m->node[i] && !number[m->node[i]])
			number[m->node[i]] = f->nodes++;
		m->node[i] = number[m->node[i]];
	}
}

/* Replaces the nodes in the maps of the trace by our numbers. */
static void number_stacks(struct follow *f)
{
	struct trace *t = f->job.from;
	uint32_t *number = must_calloc(trace_stacks(t)->nodes + 1, sizeof(*number));
	const struct stack_map *map;
	const size_t maps = stacks_maps(t, &map);

	for (size_t i = 0; i < maps; i++)
		number_known(f, &map[i], number);
	for (size_t i = 0; i < maps; i++)
		number_new(f, &map[i], number);
	free(number);
	forget_maps(f);
	f->map = must_memdup(map, maps * sizeof(*map));
	f->maps = maps;
	for (size_t i = 0; i < maps; i++) {
		f->map[i].parent = NULL;
		f->map[i].node = must_memdup(map[i].node, map[i].nodes * sizeof(*map[i].node));
	}
	f->job.nodes = f->nodes;
}

/* ---- how far the groups have come ---- */

static void place_of(const struct trace *t, const struct stream *s, struct mprof_taken_entry *e)
{
	const struct chunk *c;

	if (s->next == s->first && !s->pos)
		return; /* its turn has not come yet */
	c = &t->chunk[s->next - 1];
	e->chunks = c->seq;
	e->words = 0;
	if (s->pos != s->end || c->slot) {
		e->chunks--;
		e->words = s->pos != s->end ? (uint64_t)(s->pos - s->buf) : s->taken;
	}
}

/* Threads and streams are both in the order of processes and threads. */
static void note_places(struct follow *f)
{
	const struct trace *t = f->job.from;
	struct mprof_taken_entry *taken = must_calloc(t->threads + 1, sizeof(*taken));
	size_t stream = 0;

	for (size_t i = 0; i < t->threads; i++) {
		const struct trace_thread *thread = &t->thread[i];
		const struct mprof_taken_entry *old = taken_of(t, thread->process, thread->number);
		const struct stream *s = &t->stream[stream];

		if (old)
			taken[i] = *old;
		taken[i].process = thread->process;
		taken[i].thread = thread->number;
		taken[i].first_ticks = thread->first_ticks;
		taken[i].last_ticks = thread->last_ticks;
		if (stream < t->streams && t->chunk[s->first].process == thread->process &&
		    t->chunk[s->first].thread == thread->number) {
			place_of(t, s, &taken[i]);
			stream++;
		}
	}
	free(f->taken);
	f->taken = taken;
	f->taken_n = t->threads;
}

static int tell_places(struct follow *f)
{
	const size_t entries = f->taken_n * sizeof(*f->taken),
		     used = sizeof(struct mprof_taken) + entries;
	struct mprof_taken *to = (struct mprof_taken *)job_payload(&f->job, used);

	if (!to)
		return -ENOMEM;
	*to = (struct mprof_taken){ .events = f->job.events,
				    .groups = events_groups(f->events),
				    .entries = f->taken_n };
	if (entries)
		memcpy(to + 1, f->taken, entries);
	f->told = to->groups;
	return job_add_own(&f->job, MPROF_EXTENT_TAKEN, used, to->groups, NULL);
}

/* ---- freeing ---- */

/* Adjacent extents that are not needed any more. */
struct run {
	uint64_t from, to;
	bool fresh; /* not all of it is one FREE extent yet */
};

static bool is_replaced(const struct follow *f, const struct extent *x)
{
	const struct trace *t = f->job.from;
	const struct mprof_taken_entry *e;
	struct trace now = { .taken = f->taken, .taken_n = f->taken_n };

	switch (x->kind) {
	case MPROF_EXTENT_TAKEN: /* those in the list are older than the one just written */
		return true;
	case MPROF_EXTENT_EVENTS:
		e = taken_of(&now, x->head.process, x->head.thread);
		return e && x->head.seq <= e->chunks &&
		       x->head.offset + x->head.size <= t->file_bytes;
	default:
		return false;
	}
}

static int write_free(const struct follow *f, uint64_t from, uint64_t to)
{
	struct mprof_extent x = { .magic = MPROF_EXTENT_MAGIC,
				  .kind = MPROF_EXTENT_FREE,
				  .offset = from,
				  .size = (uint32_t)(to - from),
				  .seq = REPLACED };

	memcpy(&x.run, f->job.from->header.run_id, sizeof(x.run));
	return write_at(f->file.fd, &x, sizeof(x), from);
}

/* Makes one FREE extent of the run, and frees its blocks. */
static void free_run(const struct follow *f, struct run *r)
{
	const uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	const uint64_t first = (r->from + sizeof(struct mprof_extent) + page - 1) & -page;
	const uint64_t last = r->to & -page;

	if (r->fresh && !write_free(f, r->from, r->to) && first < last)
		fallocate(f->file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)first,
			  (off_t)(last - first));
	*r = (struct run){ 0 };
}

/* Each chunk becomes FREE by itself first: what is inside a FREE extent does not count if it is
 * FREE, too. */
static void free_chunk(const struct follow *f, const struct extent *x)
{
	struct mprof_file_header *h = f->file.header;

	if (x->kind == MPROF_EXTENT_EVENTS && h->chunks)
		__atomic_fetch_sub(&h->chunks, 1, __ATOMIC_RELAXED);
	__atomic_fetch_add(&h->replaced_bytes, x->head.size, __ATOMIC_RELAXED);
	write_free(f, x->head.offset, x->head.offset + x->head.size);
}

static void free_replaced(const struct follow *f)
{
	struct extents list = { 0 };
	struct run run = { 0 };

	extents_find_again(f->job.from, &list);
	for (size_t i = 0; i < list.n; i++) {
		const struct extent *x = &list.item[i];
		const uint64_t end = x->head.offset + x->head.size;
		const bool replaced = is_replaced(f, x);

		if (!replaced && !(x->kind == MPROF_EXTENT_FREE && x->head.seq == REPLACED)) {
			free_run(f, &run);
			continue;
		}
		if (run.to != x->head.offset || end - run.from > MPROF_EXTENT_MAX) {
			free_run(f, &run);
			run.from = x->head.offset;
		} else {
			run.fresh = true;
		}
		if (replaced)
			free_chunk(f, x);
		run.fresh |= replaced;
		run.to = end;
	}
	free_run(f, &run);
	free(list.item);
}

/* Says that the groups belong to the trace now.  While it is open elsewhere, a later round does. */
static int commit(struct follow *f)
{
	int ret = 0;

	if (f->told == events_groups(f->events) || lock_alone(f->file.fd))
		return 0;
	ret = tell_places(f);
	if (!ret)
		free_replaced(f);
	lock_release(f->file.fd);
	return ret;
}

/* ---- rounds ---- */

static uint64_t tail_of(const struct follow *f)
{
	return __atomic_load_n(&f->file.header->tail, __ATOMIC_RELAXED);
}

/* Processes that will write no more. */
struct ended {
	const struct trace *t;
	uint32_t *process; /* those that said so, or that the header says so of, rising */
	size_t n;
};

static bool has_streams(const struct trace *t, uint32_t process)
{
	const size_t i =
	    FIRST_WHERE(k, t->streams, t->chunk[t->stream[k].first].process >= process);

	return i < t->streams && t->chunk[t->stream[i].first].process == process;
}

static bool is_over(const void *context, uint32_t process)
{
	const struct ended *d = context;
	const size_t i = FIRST_WHERE(k, d->n, d->process[k] >= process);

	return i < d->n && d->process[i] == process && !has_streams(d->t, process);
}

ORDER(by_process, uint32_t, COMPARE(*x, *y))

/*
 * Processes that had ended as the round began, and wrote nothing in it, have no more events.  The
 * header has entries of some of them only.
 */
static void forget_ended(struct follow *f)
{
	const struct trace *t = f->job.from;
	struct ended d = { .t = t };

	d.process = must_calloc(t->facts + MPROF_PROCESS_TABLE, sizeof(*d.process));
	for (size_t i = 0; i < t->facts; i++)
		if (t->fact[i].fact->what == MPROF_FACT_END)
			d.process[d.n++] = t->fact[i].process;
	for (size_t i = 0; i < MPROF_PROCESS_TABLE; i++) {
		const struct mprof_process_entry *e = &t->header.process[i];

		if (e->number && e->state != MPROF_PROCESS_RUNNING &&
		    e->state != MPROF_PROCESS_EXECING)
			d.process[d.n++] = e->number;
	}
	SORT(d.process, d.n, by_process);
	events_forget(f->events, is_over, &d);
	free(d.process);
}

static bool has_key(const char *conf, const char *key)
{
	const size_t n = strlen(key);
	const char *at = conf;

	for (; (at = strstr(at, key)); at += n)
		if ((at == conf || at[-1] == ' ') && at[n] == '=' && strtoull(at + n + 1, NULL, 10))
			return true;
	return false;
}

/* May the run drop chunks itself, or is its file bounded?  It may not have dropped any yet. */
static bool is_bounded(const struct trace *t)
{
	bool bounded = t->header.budget || t->header.dropped_ticks;

	for (size_t i = 0; i < t->facts && !bounded; i++)
		bounded = has_key(t->fact[i].conf, "LAST_BYTES") ||
			  has_key(t->fact[i].conf, "LAST_SECONDS");
	return bounded;
}

static int open_rest(struct follow *f, struct error *err)
{
	int ret;

	trace_close(f->job.from);
	f->job.from = NULL;
	ret = trace_open_rest(&f->job.from, f->path, f->taken, f->taken_n, err);
	if (!ret && memcmp(f->job.from->header.run_id, f->file.header->run_id,
			   sizeof(f->file.header->run_id)))
		ret = fail(err, -ESTALE, "'%s' is another file now", f->path);
	if (!ret && is_bounded(f->job.from))
		ret = fail(err, -ENOTSUP,
			   "'%s' has a bound (LAST_BYTES, LAST_SECONDS or BUDGET): it can only be "
			   "compressed when the run has ended",
			   f->path);
	if (!ret)
		number_stacks(f);
	return ret;
}

/* The first TAKEN makes a reader expect groups.  If there is one, another mprof has begun. */
static int begin(struct follow *f, struct error *err)
{
	struct extents list = { 0 };
	bool others = false;

	extents_find_again(f->job.from, &list);
	for (size_t i = 0; i < list.n; i++)
		others |= list.item[i].kind == MPROF_EXTENT_TAKEN;
	free(list.item);
	if (others)
		return fail(err, -EEXIST, "'%s' was compressed in part by another mprof", f->path);
	f->begun = true;
	f->job.shift = job_shift(&f->job);
	f->file.header->time_error = f->job.options->exact ? 0 : 1u << f->job.shift;
	return tell_places(f) ? fail(err, -EIO, "cannot write to '%s'", f->path) : 0;
}

static int add_events(struct follow *f)
{
	const int ret = events_add(f->events, f->job.nodes, false);

	if (ret)
		return ret;
	if (job_is_damaged(&f->job))
		return -EBADMSG;
	note_places(f);
	return commit(f);
}

int follow_round(struct follow *f, struct error *err)
{
	const uint64_t tail = tail_of(f);
	int ret = open_rest(f, err);

	if (!ret && !f->begun)
		ret = begin(f, err);
	if (ret)
		return ret;
	/* Otherwise it may only be incomplete so far. */
	if (!job_is_damaged(&f->job) && !f->job.from->damage.chunks_missing) {
		forget_ended(f);
		ret = add_events(f);
	}
	trace_close(f->job.from);
	f->job.from = NULL;
	f->tail = tail;
	return ret ? fail(err, ret, "cannot compress '%s': %s", f->path, strerror(-ret)) : 0;
}

uint64_t follow_grown(const struct follow *f)
{
	return tail_of(f) - f->tail;
}

int follow_finish(struct follow *f, struct error *err)
{
	struct job *j = &f->job;
	int ret = open_rest(f, err);

	if (ret)
		return ret;
	if (!f->begun)
		j->shift = job_shift(j);
	j->live = NULL;
	j->fd = -1;
	j->keeps_groups = true;
	j->before = j->events;
	j->events_of = f->events;
	return job_replace(j, f->path, err);
}

/* ---- begin and end ---- */

static int open_file(struct follow *f, struct error *err)
{
	struct mprof_file_header *h = must_calloc(1, sizeof(*h));
	const int fd = open(f->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	int ret = -EBADMSG;

	if (fd >= 0 && pread(fd, h, sizeof(*h), 0) == (ssize_t)sizeof(*h) &&
	    !memcmp(h->magic, MPROF_MAGIC_TRACE, MPROF_MAGIC_SIZE) &&
	    !(h->flags & MPROF_FILE_COMPRESSED))
		ret = append_open(&f->file, f->path, h->run_id);
	if (fd >= 0)
		close(fd);
	free(h);
	if (ret)
		return fail(err, ret, "'%s' is not a trace that a run writes", f->path);
	/* Beyond the end of the file, this only tests the file system. */
	if (fallocate(f->file.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 1ll << 40, 4096))
		return fail(err, -errno, "the file system of '%s' cannot free parts of a file: %s",
			    f->path, strerror(errno));
	return 0;
}

int follow_start(struct follow **out, const char *path, const struct compact_options *o,
		 struct error *err)
{
	struct follow *f = must_calloc(1, sizeof(*f));
	int ret;

	f->path = must_strdup(path);
	f->file.fd = -1;
	f->nodes = 1;
	f->told = UINT64_MAX;
	f->job = (struct job){ .options = o, .live = &f->file };
	ret = open_file(f, err);
	if (!ret) {
		f->job.fd = f->file.fd;
		f->job.packer = packer_new(o->level);
		f->events = events_new(&f->job);
		if (!f->job.packer || !f->events)
			ret = fail(err, -ENOMEM, "no memory to compress '%s'", path);
	}
	if (ret) {
		follow_free(f);
		return ret;
	}
	f->tail = MPROF_HEADER_SIZE;
	*out = f;
	return 0;
}

void follow_free(struct follow *f)
{
	if (!f)
		return;
	events_free(f->events);
	job_release(&f->job);
	append_close(&f->file);
	forget_maps(f);
	free(f->taken);
	free(f->path);
	free(f);
}
