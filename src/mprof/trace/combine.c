// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * combine.c - several profiles as one.
 *
 * Each file is read twice and never kept: first to number all processes and
 * threads, then to write its parts. So memory use follows the largest file.
 * A single one is kept in between: a server that starts processes all the time
 * would have new ones whenever its profile is read again.
 */
#include "../util/order.h"
#include "combine.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "reader.h"

/* A process of one file. */
struct member {
	size_t file;
	uint32_t old, now; /* its numbers */
	int64_t start;	   /* real ns */
	int32_t pid;
	uint64_t start_time;
	bool attached;
	char host[65];
};

/* A thread of one file. */
struct worker {
	size_t file;
	uint32_t process, old, now; /* process: its new number */
};

struct combining {
	FILE *out;
	const char *const *path;
	size_t paths;
	uint32_t flags; /* for the header */
	struct mprof_file_header header;
	struct member *member; /* sorted by file and old number, after numbering */
	size_t members, members_room;
	struct worker *worker;
	size_t workers, workers_room;
	uint32_t unit;
	const char *first_exact, *first_sampled;
	/* For the file that is being read: */
	struct trace *t;
	size_t file;
	unsigned char *buf;
	size_t room;
	struct error *err;
};

/* ---- time ---- */

static int64_t real_ns(const struct trace *t, uint64_t ticks)
{
	const int64_t ns = trace_ns(t, ticks);

	/* Anything that began before the file counts from its beginning. */
	return t->header.start_real_ns + (ns > 0 ? ns : 0);
}

/* Converts to ticks of the result; 0 stays 0. */
static uint64_t time_of(const struct combining *c, uint64_t ticks)
{
	return ticks ? (uint64_t)(real_ns(c->t, ticks) - c->header.start_real_ns) + 1 : 0;
}

static uint64_t span_of(const struct combining *c, uint64_t ticks)
{
	const unsigned __int128 ns = (unsigned __int128)ticks * c->t->ns_per_tick >> 32;

	return ns > UINT64_MAX ? UINT64_MAX : (uint64_t)ns;
}

/* ---- who is there ---- */

ORDER(by_old, struct member, RISING(file) ?: RISING(old))

ORDER(by_start, struct member,
      RISING(start) ?: BY_NAME(host) ?: RISING(pid) ?: RISING(start_time) ?: by_old(x, y))

ORDER(by_identity, struct member,
      BY_NAME(host) ?: RISING(pid) ?: RISING(start_time) ?: RISING(start) ?: by_old(x, y))

ORDER(by_worker, struct worker, RISING(process) ?: RISING(file) ?: RISING(old))

static struct member *find_member(const struct combining *c, size_t file, uint32_t old)
{
	const struct member key = { .file = file, .old = old };

	return c->members ? bsearch(&key, c->member, c->members, sizeof(key), by_old) : NULL;
}

static void add_member(struct combining *c, uint32_t old)
{
	struct member *m;

	/* Parts of one process are consecutive. */
	if (!old || (c->members && c->member[c->members - 1].file == c->file &&
		     c->member[c->members - 1].old == old))
		return;
	m = GROW_ONE(c->member, c->members, c->members_room);
	*m = (struct member){ .file = c->file, .old = old, .start = c->t->header.start_real_ns };
}

static void list_members(struct combining *c)
{
	const struct trace *t = c->t;
	size_t i;

	for (i = 0; i < MPROF_PROCESS_TABLE; i++)
		add_member(c, t->header.process[i].number);
	for (i = 0; i < t->facts; i++) {
		add_member(c, t->fact[i].process);
		add_member(c, t->fact[i].fact->parent);
	}
	for (i = 0; i < t->samples; i++)
		add_member(c, t->sample[i].process);
	for (i = 0; i < t->peaks; i++)
		add_member(c, t->peak[i].process);
	for (i = 0; i < t->residencies; i++)
		add_member(c, t->residency[i].process);
	for (i = 0; i < t->stack_chunks; i++)
		add_member(c, t->stack_chunk[i].process);
	for (i = 0; i < t->totals; i++)
		add_member(c, t->total[i].process);
	for (i = 0; i < t->counts_n; i++)
		add_member(c, t->counts[i].process);
}

/* Sorts members and removes duplicates. */
static void sort_members(struct combining *c, size_t first)
{
	size_t kept = first;

	SORT(c->member + first, c->members - first, by_old);
	for (size_t i = first; i < c->members; i++)
		if (kept == first || c->member[i].old != c->member[kept - 1].old)
			c->member[kept++] = c->member[i];
	c->members = kept;
}

/* Copies the first fact and the entry of each member, which identify it. */
static void describe_members(struct combining *c)
{
	const struct trace *t = c->t;
	struct member *m;

	for (size_t i = 0; i < MPROF_PROCESS_TABLE; i++) {
		const struct mprof_process_entry *e = &t->header.process[i];

		m = e->number ? find_member(c, c->file, e->number) : NULL;
		if (m) {
			m->pid = e->pid;
			m->start_time = e->start_time;
		}
	}
	for (size_t i = 0; i < t->facts; i++) {
		const struct trace_fact *f = &t->fact[i];

		m = find_member(c, c->file, f->process);
		if (m && f->fact->what == MPROF_FACT_ATTACHED)
			m->attached = true;
		if (!m || f->fact->what != MPROF_FACT_START)
			continue;
		m->start = real_ns(t, f->fact->ticks);
		m->pid = f->fact->pid;
		m->start_time = f->fact->start_time;
		snprintf(m->host, sizeof(m->host), "%s", f->host);
	}
}

static void add_worker(struct combining *c, uint32_t process, uint32_t thread)
{
	struct worker *w = c->workers ? &c->worker[c->workers - 1] : NULL;

	if (!thread || !process ||
	    (w && w->file == c->file && w->process == process && w->old == thread))
		return;
	w = GROW_ONE(c->worker, c->workers, c->workers_room);
	*w = (struct worker){ .file = c->file, .process = process, .old = thread };
}

/* process: its old number, until number_workers(). */
static void list_workers(struct combining *c)
{
	const struct trace *t = c->t;

	for (size_t i = 0; i < t->totals; i++)
		add_worker(c, t->total[i].process, t->total[i].thread);
	for (size_t i = 0; i < t->counts_n; i++)
		add_worker(c, t->counts[i].process, t->counts[i].thread);
	for (size_t i = 0; i < t->uses; i++)
		add_worker(c, t->use[i].process, t->use[i].thread);
}

/* ---- may they be combined? ---- */

static bool is_damaged(const struct trace_damage *d)
{
	return trace_lacks_events(d) || d->header_cut || d->sizes_bad || d->stacks_bad;
}

static int check_kind(struct combining *c)
{
	const char *path = c->path[c->file];

	for (size_t i = 0; i < c->t->totals; i++) {
		const struct trace_totals *x = &c->t->total[i];
		const struct mprof_heap_totals *h = x->data;

		if (x->kind == MPROF_EXTENT_SAMPLES && !c->first_sampled)
			c->first_sampled = path;
		if (x->kind == MPROF_EXTENT_CELLS && !c->first_exact)
			c->first_exact = path;
		if (x->kind != MPROF_EXTENT_HEAP || !h->sample_unit)
			continue;
		if (c->unit && c->unit != h->sample_unit)
			return fail(c->err, -EBADMSG,
				    "'%s' samples %s and an earlier profile does not; expected "
				    "profiles that all sample calls, or all bytes",
				    path, h->sample_unit == MPROF_SAMPLE_CALLS ? "calls" : "bytes");
		c->unit = (uint32_t)h->sample_unit;
	}
	if (c->first_sampled && c->first_exact)
		return fail(
		    c->err, -EBADMSG,
		    "'%s' contains samples, '%s' exact totals; expected profiles of one kind",
		    c->first_sampled, c->first_exact);
	return 0;
}

static void add_lost(uint32_t *sums, const uint32_t *lost)
{
	for (int i = 0; i < MPROF_LOST_REASONS; i++)
		if (__builtin_add_overflow(sums[i], lost[i], &sums[i]))
			sums[i] = UINT32_MAX;
}

/* Adds a file to the header of the result. */
static void add_header(struct combining *c)
{
	struct mprof_file_header *to = &c->header;
	const struct mprof_file_header *from = &c->t->header;

	if (!c->file) {
		*to = (struct mprof_file_header){ .version = MPROF_FORMAT_VERSION,
						  .header_size = MPROF_HEADER_SIZE,
						  .flags = MPROF_FILE_CLOSED,
						  .clock = MPROF_CLOCK_MONOTONIC,
						  .clock_hz = 1000000000,
						  .start_ticks = 1,
						  .start_real_ns = from->start_real_ns };
		memcpy(to->magic, MPROF_MAGIC_PROFILE, MPROF_MAGIC_SIZE);
	}
	for (size_t i = 0; i < sizeof(to->run_id); i++)
		to->run_id[i] ^= from->run_id[i];
	to->flags &= from->flags | ~MPROF_FILE_CLOSED;
	to->flags |= c->flags | (from->flags & (MPROF_FILE_FILTERED | MPROF_FILE_RUNNING));
	if (from->paused > to->paused)
		to->paused = from->paused;
	to->pauses += from->pauses;
	if (from->page_size > to->page_size)
		to->page_size = from->page_size;
	if (from->start_real_ns < to->start_real_ns)
		to->start_real_ns = from->start_real_ns;
	add_lost(to->lost, from->lost);
}

static int open_file(struct combining *c, size_t file)
{
	int ret;

	if (c->t)
		return 0;
	c->file = file;
	ret = trace_open(&c->t, c->path[file], MPROF_MAGIC_PROFILE, c->err);
	if (ret)
		return ret;
	if (is_damaged(&c->t->damage))
		return fail(c->err, -EBADMSG,
			    "'%s' is damaged at byte %" PRIu64
			    ": the result would not show what is missing",
			    c->path[file], c->t->damage.first_bad_offset);
	return 0;
}

static void close_file(struct combining *c)
{
	trace_close(c->t);
	c->t = NULL;
}

/* After the first reading. */
static void put_aside(struct combining *c)
{
	if (c->paths > 1)
		close_file(c);
}

static int look_over(struct combining *c, size_t file)
{
	const size_t first = c->members;
	int ret = open_file(c, file);

	if (!ret)
		ret = check_kind(c);
	if (!ret) {
		list_members(c);
		sort_members(c, first);
		describe_members(c);
		add_header(c);
		list_workers(c);
	}
	put_aside(c);
	return ret;
}

/* ---- numbers ---- */

/* Two files of one process, such as a dump, measured its ticks at different times, so they do not
 * have its start to the nanosecond. */
#define START_NEAR 1000000000

/* A process starts anew with each program that it runs, but not where mprof attaches to it again.
 */
static bool start_is_one(const struct member *a, const struct member *b)
{
	return b->start - a->start < START_NEAR || (a->attached && b->attached);
}

static int check_members(struct combining *c)
{
	SORT(c->member, c->members, by_identity);
	for (size_t i = 1; i < c->members; i++) {
		const struct member *a = &c->member[i - 1], *b = &c->member[i];

		if (a->file != b->file && start_is_one(a, b) && a->pid == b->pid &&
		    a->start_time == b->start_time && !strcmp(a->host, b->host))
			return fail(
			    c->err, -EBADMSG,
			    "'%s' and '%s' both contain process %d%s%s, which would be counted "
			    "twice; mprof diff compares them",
			    c->path[a->file], c->path[b->file], b->pid, *b->host ? " of " : "",
			    b->host);
	}
	return 0;
}

static int number_members(struct combining *c)
{
	const int ret = check_members(c);

	if (ret)
		return ret;
	SORT(c->member, c->members, by_start);
	for (size_t i = 0; i < c->members; i++)
		c->member[i].now = (uint32_t)i + 1;
	c->header.processes = (uint32_t)c->members;
	SORT(c->member, c->members, by_old);
	return 0;
}

static void number_workers(struct combining *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->workers; i++)
		c->worker[i].process = find_member(c, c->worker[i].file, c->worker[i].process)->now;
	SORT(c->worker, c->workers, by_worker);
	for (size_t i = 0; i < c->workers; i++)
		if (!kept || by_worker(&c->worker[i], &c->worker[kept - 1])) {
			c->worker[kept] = c->worker[i];
			c->worker[kept].now = (uint32_t)kept + 1;
			kept++;
		}
	c->workers = kept;
	c->header.threads = (uint32_t)kept;
}

/* Returns 0 for a process that joined after the first reading. */
static uint32_t process_of(const struct combining *c, uint32_t old)
{
	const struct member *m = old ? find_member(c, c->file, old) : NULL;

	return m ? m->now : 0;
}

static uint32_t thread_of(const struct combining *c, uint32_t process, uint32_t old)
{
	const struct worker key = { .file = c->file, .process = process, .old = old };
	const struct worker *w =
	    c->workers ? bsearch(&key, c->worker, c->workers, sizeof(key), by_worker) : NULL;

	return w ? w->now : 0;
}

/* ---- writing ---- */

static int write_failed(const struct combining *c)
{
	return fail(c->err, errno ? -errno : -EIO, "cannot write the combined profile: %s",
		    strerror(errno ? errno : EIO));
}

/* Space for a payload. */
static unsigned char *payload(struct combining *c, size_t bytes)
{
	GROW(c->buf, bytes + MPROF_EXTENT_ALIGN, c->room);
	return c->buf;
}

/* Writes an extent, whose payload is in c->buf.  Owners in head are those of the file being
 * read. */
static int put(struct combining *c, struct mprof_extent head, size_t used)
{
	const size_t whole = (sizeof(head) + used + MPROF_EXTENT_ALIGN - 1) / MPROF_EXTENT_ALIGN *
			     MPROF_EXTENT_ALIGN;
	const uint32_t process = process_of(c, head.process);

	if (head.process && !process)
		return fail(c->err, -EAGAIN,
			    "'%s' gained a process while it was being read; try again",
			    c->path[c->file]);
	head.magic = MPROF_EXTENT_MAGIC;
	head.offset = c->header.tail;
	head.size = (uint32_t)whole;
	head.used = (uint32_t)used;
	head.process = process;
	if (head.thread) {
		head.thread = thread_of(c, process, head.thread);
		if (!head.thread)
			return fail(c->err, -EAGAIN,
				    "'%s' gained a thread while it was being read; try again",
				    c->path[c->file]);
	}
	memcpy(&head.run, c->header.run_id, sizeof(head.run));
	head.check = head.kind == MPROF_EXTENT_COUNTS ||
			     (head.kind >= MPROF_EXTENT_HEAP &&
			      head.kind != MPROF_EXTENT_VARIABLES && head.kind != MPROF_EXTENT_OWN)
			 ? 0
			 : mprof_checksum(c->buf, used);
	head.first_ticks = time_of(c, head.first_ticks);
	head.last_ticks = time_of(c, head.last_ticks);
	memset(c->buf + used, 0, whole - sizeof(head) - used);
	c->header.tail += whole;
	if (fwrite(&head, sizeof(head), 1, c->out) != 1 ||
	    fwrite(c->buf, 1, whole - sizeof(head), c->out) != whole - sizeof(head))
		return write_failed(c);
	return 0;
}

/* ---- totals ---- */

static uint32_t rounded_span(const struct combining *c, uint32_t rounded, bool least)
{
	const uint64_t v = mprof_unrounded(least ? ~rounded : rounded);
	const uint32_t r = mprof_rounded(span_of(c, v));

	return !rounded ? 0 : least ? ~r : r;
}

static void convert_cell(const struct combining *c, struct mprof_cell *cell)
{
	cell->lifetime = span_of(c, cell->lifetime);
	cell->lifetime_least = rounded_span(c, cell->lifetime_least, true);
	cell->lifetime_most = rounded_span(c, cell->lifetime_most, false);
}

static void convert_course(const struct combining *c, struct mprof_course *course)
{
	course->began_ticks = time_of(c, course->began_ticks);
	course->step_ticks = span_of(c, course->step_ticks);
	for (size_t i = 0; i < 2; i++)
		if (course->past_ticks[i])
			course->past_ticks[i] = time_of(c, course->past_ticks[i]);
	for (size_t i = 0; i < MPROF_STEPS; i++)
		if (i < course->steps)
			course->step[i].ticks = time_of(c, course->step[i].ticks);
}

static void convert_total(const struct combining *c, uint16_t kind, void *data)
{
	struct mprof_cell *cell = data;
	struct mprof_sample_cell *sample = data;
	struct mprof_heap_totals *heap = data;

	if (kind == MPROF_EXTENT_HEAP) {
		heap->peak_ticks = time_of(c, heap->peak_ticks);
		heap->began_ticks = time_of(c, heap->began_ticks);
		heap->step_ticks = time_of(c, heap->step_ticks);
	}
	if (kind == MPROF_EXTENT_COURSE)
		convert_course(c, data);
	for (size_t i = 0; i < MPROF_CELLS; i++) {
		if (kind == MPROF_EXTENT_CELLS)
			convert_cell(c, &cell[i]);
		/* Times that are already in ns stay exact. */
		if (kind == MPROF_EXTENT_SAMPLES && c->t->ns_per_tick != 1ull << 32)
			sample[i].lifetime *= (double)c->t->ns_per_tick / 4294967296.0;
	}
}

/* How many bytes of a total are worth writing: a course has room for more steps than it needs. */
static size_t bytes_of(const struct trace_totals *x)
{
	const struct mprof_course *course = x->data;

	return x->kind == MPROF_EXTENT_COURSE && course->steps < MPROF_STEPS
		   ? MPROF_COURSE_BYTES(course->steps)
		   : records_total_bytes(x->kind);
}

static int put_totals(struct combining *c)
{
	int ret = 0;

	for (size_t i = 0; i < c->t->totals && !ret; i++) {
		const struct trace_totals *x = &c->t->total[i];
		const size_t bytes = bytes_of(x);
		unsigned char *to = payload(c, bytes);

		memcpy(to, x->data, bytes);
		if (bytes_are_zero(to, bytes))
			continue;
		convert_total(c, x->kind, to);
		ret = put(c,
			  (struct mprof_extent){ .kind = x->kind,
						 .image = x->image,
						 .process = x->process,
						 .thread = x->thread,
						 .seq = x->first },
			  bytes);
	}
	return ret;
}

static int put_counts(struct combining *c)
{
	int ret = 0;

	for (size_t i = 0; i < c->t->counts_n && !ret; i++) {
		const struct counts_record *x = &c->t->counts[i];
		struct mprof_counts *to = (void *)payload(c, sizeof(*to));

		if (!x->process) /* without an owner: a damaged file */
			continue;
		*to = *x->counts;
		to->end_ticks = time_of(c, to->end_ticks);
		ret = put(c,
			  (struct mprof_extent){ .kind = MPROF_EXTENT_COUNTS,
						 .process = x->process,
						 .thread = x->thread },
			  sizeof(*to));
	}
	return ret;
}

/* ---- stacks ---- */

/* Converts times within the records of a chunk; returns how many words it has. */
static size_t convert_words(const struct combining *c, uint64_t *w, size_t n)
{
	size_t i = 0, words;

	while (i < n && w[i]) {
		const unsigned type = w[i] & 15;

		words = mprof_record_words(w[i]);
		if (words > n - i)
			break;
		if ((type == MPROF_RECORD_OBJECT || type == MPROF_RECORD_GONE) && words > 1)
			w[i + 1] = time_of(c, w[i + 1]);
		i += words ? words : 1;
	}
	return i;
}

static int put_stacks(struct combining *c)
{
	uint64_t *buf = NULL;
	size_t room = 0, words;
	int ret = 0;

	for (size_t i = 0; i < c->t->stack_chunks && !ret; i++) {
		const struct chunk *x = &c->t->stack_chunk[i];

		words = x->used || x->slot ? chunk_load(c->t, x, &buf, &room) : 0;
		words = convert_words(c, buf, words);
		if (words)
			memcpy(payload(c, 8 * words), buf, 8 * words);
		else
			payload(c, 0);
		ret = put(c,
			  (struct mprof_extent){ .kind = MPROF_EXTENT_STACKS,
						 .image = x->image,
						 .process = x->process,
						 .seq = x->seq },
			  8 * words);
	}
	free(buf);
	return ret;
}

/* ---- facts and memory ---- */

static void convert_fact(const struct combining *c, struct mprof_fact *f)
{
	f->ticks = time_of(c, f->ticks);
	f->mono_ns = c->header.start_real_ns + (int64_t)f->ticks - 1;
	f->fork_ticks = time_of(c, f->fork_ticks);
	f->since_ticks = time_of(c, f->since_ticks);
	f->parent = process_of(c, f->parent);
}

/* Intervals are at the end, and count time since the thread began. */
static void convert_intervals(const struct combining *c, struct mprof_stack_use *u, uint32_t used)
{
	const unsigned bits = MPROF_INTERVAL_DEPTH_BITS;
	uint64_t *end = (uint64_t *)u + used / sizeof(*end), begin = time_of(c, u->begin_ticks);

	for (uint64_t *i = end; i > (uint64_t *)(u + 1) && (size_t)(end - i) < u->intervals;) {
		uint64_t at = u->begin_ticks + (*--i >> bits << MPROF_INTERVAL_TICKS);

		*i = ((time_of(c, at) - begin) >> MPROF_INTERVAL_TICKS) << bits |
		     (*i & ((1u << bits) - 1));
	}
}

/* A time of 0 means that there is no time. */
static void convert_stack_use(const struct combining *c, struct mprof_stack_use *u, uint32_t used)
{
	uint64_t *const ticks[] = { &u->deepest_ticks, &u->looked_ticks, &u->begin_ticks,
				    &u->end_ticks };

	convert_intervals(c, u, used);
	for (size_t i = 0; i < sizeof(ticks) / sizeof(ticks[0]); i++)
		*ticks[i] = *ticks[i] ? time_of(c, *ticks[i]) : 0;
}

/* Was its owner there at the first reading?  The program may be writing the file. */
static bool is_known(const struct combining *c, const struct mprof_extent *head)
{
	const uint32_t process = process_of(c, head->process);

	return (process || !head->process) &&
	       (!head->thread || thread_of(c, process, head->thread));
}

static int put_record(struct combining *c, const struct extent *x)
{
	struct mprof_fact *fact;
	struct mprof_sample *sample;
	struct mprof_residency *residency;
	struct mprof_stack_use *use;
	const void *from = records_payload(c->t, x, 0);
	uint32_t used;

	if (!from || !is_known(c, &x->head))
		return 0;
	/* records_payload() does not check `used` of a live extent. */
	used = x->head.used < x->bytes ? x->head.used : (uint32_t)x->bytes;
	memcpy(payload(c, used), from, used);
	fact = (void *)c->buf;
	sample = (void *)c->buf;
	residency = (void *)c->buf;
	if (x->kind == MPROF_EXTENT_FACT && used >= sizeof(*fact))
		convert_fact(c, fact);
	for (size_t i = 0; x->kind == MPROF_EXTENT_SAMPLE && i < used / sizeof(*sample); i++)
		sample[i].ticks = time_of(c, sample[i].ticks);
	if ((x->kind == MPROF_EXTENT_RESIDENCY || x->kind == MPROF_EXTENT_VARIABLES) &&
	    used >= sizeof(*residency)) {
		residency->ticks_before = time_of(c, residency->ticks_before);
		residency->ticks_after = time_of(c, residency->ticks_after);
	}
	use = (void *)c->buf;
	if (x->kind == MPROF_EXTENT_STACK_USE && used >= sizeof(*use))
		convert_stack_use(c, use, used);
	return put(c, x->head, used);
}

/* The time until which a run that goes on lasted. */
static int put_now(struct combining *c)
{
	struct mprof_fact *fact = (void *)payload(c, sizeof(*fact));

	if (!c->t->now.ticks)
		return 0;
	*fact = c->t->now;
	convert_fact(c, fact);
	return put(c, (struct mprof_extent){ .kind = MPROF_EXTENT_FACT }, sizeof(*fact));
}

static int put_records(struct combining *c)
{
	struct extents x = { 0 };
	int ret = 0;

	extents_find_again(c->t, &x);
	for (size_t i = 0; i < x.n && !ret; i++)
		if (x.item[i].kind == MPROF_EXTENT_FACT || x.item[i].kind == MPROF_EXTENT_SAMPLE ||
		    x.item[i].kind == MPROF_EXTENT_RESIDENCY ||
		    x.item[i].kind == MPROF_EXTENT_VARIABLES ||
		    x.item[i].kind == MPROF_EXTENT_OWN ||
		    x.item[i].kind == MPROF_EXTENT_STACK_USE ||
		    x.item[i].kind == MPROF_EXTENT_TIMES)
			ret = put_record(c, &x.item[i]);
	free(x.item);
	return ret ?: put_now(c);
}

/* ---- the file ---- */

static void put_entries(struct combining *c)
{
	for (size_t i = 0; i < MPROF_PROCESS_TABLE; i++) {
		struct mprof_process_entry e = c->t->header.process[i];

		e.number = process_of(c, e.number);
		if (e.number && e.number <= MPROF_PROCESS_TABLE)
			c->header.process[e.number - 1] = e;
		else
			add_lost(c->header.lost, e.lost);
	}
}

static int put_file(struct combining *c, size_t file)
{
	int ret = open_file(c, file);

	if (!ret) {
		put_entries(c);
		ret = put_records(c);
	}
	if (!ret)
		ret = put_stacks(c);
	if (!ret)
		ret = put_counts(c);
	if (!ret)
		ret = put_totals(c);
	close_file(c);
	return ret;
}

static int put_all(struct combining *c)
{
	int ret = 0;

	c->header.start_mono_ns = c->header.start_real_ns;
	c->header.tail = MPROF_HEADER_SIZE;
	if (fseeko(c->out, MPROF_HEADER_SIZE, SEEK_SET))
		return write_failed(c);
	for (size_t i = 0; i < c->paths && !ret; i++)
		ret = put_file(c, i);
	if (!ret && (fseeko(c->out, 0, SEEK_SET) ||
		     fwrite(&c->header, sizeof(c->header), 1, c->out) != 1 || fflush(c->out)))
		ret = write_failed(c);
	return ret;
}

int trace_combine(FILE *out, const char *const *path, size_t paths, uint32_t flags,
		  struct error *err)
{
	struct combining *c = must_calloc(1, sizeof(*c)); /* it has a header of 64 KiB in it */
	int ret = 0;

	c->out = out;
	c->path = path;
	c->paths = paths;
	c->flags = flags;
	c->err = err;
	for (size_t i = 0; i < paths && !ret; i++)
		ret = look_over(c, i);
	if (!ret)
		ret = number_members(c);
	if (!ret) {
		number_workers(c);
		ret = put_all(c);
	}
	close_file(c);
	free(c->member);
	free(c->worker);
	free(c->buf);
	free(c);
	return ret;
}
