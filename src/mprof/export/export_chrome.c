// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * export_chrome.c - trace events of Chrome, for Perfetto and chrome://tracing:
 * for each process, counters of live blocks and of memory, and how long its programs and threads
 * ran.
 *
 * The run is divided into equal parts of time.  For each part and process, three points are kept:
 * the most and the least live bytes, and the end of the part. So the size of the file is bounded,
 * and every peak is exact. Memory: proportional to processes and threads.
 *
 * Times are microseconds with three digits, since the start of the run.
 */
#include <inttypes.h>

#include "flow.h"
#include "exports.h"
#include "../print/json.h"
#include "../pass/thread_title.h"
#include "../print/text.h"

#define POINTS 1000u
/* Larger than any pid of Linux.  It represents the sum of all processes (readers use 0 for the
 * idle task); plus the number of the process, it replaces a pid that was used before. */
#define PID_BEYOND 4194305u

struct moment_of {
	uint64_t ticks, bytes, blocks;
};

/* Live blocks of one process, or of all, and the current part of time. */
struct counter {
	uint64_t bytes, blocks;
	struct moment_of most, least;
	uint64_t last; /* ticks of the last change */
	uint64_t part; /* number of the part of time, + 1; 0 = none yet */
};

struct chrome {
	FILE *out;
	struct profile *profile;
	struct trace *trace;
	struct array counter;  /* struct counter, by number of the process; [0]: all of them */
	uint64_t start, width; /* of the run; of a part; in ticks */
	unsigned points;
	struct {
		uint64_t number, ticks, bytes; /* number: of the event; 0 = none */
		uint32_t process;
	} held;
	bool several; /* there are several processes */
	bool more;    /* events were written */
};

/* ---- events ---- */

static void put_begin(struct chrome *c, const char *phase, const char *name, uint32_t pid)
{
	fprintf(c->out, "%s\n{\"ph\":\"%s\",\"name\":", c->more ? "," : "", phase);
	json_put(c->out, name);
	fprintf(c->out, ",\"pid\":%u", pid);
	c->more = true;
}

static void put_us(struct chrome *c, const char *name, int64_t ns)
{
	uint64_t n = ns > 0 ? (uint64_t)ns : 0;

	fprintf(c->out, ",\"%s\":%" PRIu64 ".%03u", name, n / 1000, (unsigned)(n % 1000));
}

static int64_t ns_of(const struct chrome *c, uint64_t ticks)
{
	return walk_ns(&c->profile->walk, ticks);
}

static void put_counter(struct chrome *c, const char *name, const char *unit, uint32_t pid,
			uint64_t ticks, uint64_t value)
{
	put_begin(c, "C", name, pid);
	put_us(c, "ts", ns_of(c, ticks));
	fprintf(c->out, ",\"args\":{\"%s\":%" PRIu64 "}}", unit, value);
}

/* Returns the pid, or another number if an earlier process of the run had the same pid. */
static uint32_t pid_of(const struct chrome *c, uint32_t number)
{
	const struct tree *t = &c->profile->tree;
	const struct tree_process *p = tree_find(t, number);
	size_t i;

	if (!number || !p || p->pid <= 0)
		return PID_BEYOND + number;
	for (i = 0; i < t->processes && &t->process[i] != p; i++)
		if (t->process[i].pid == p->pid)
			return PID_BEYOND + number;
	return (uint32_t)p->pid;
}

/* ---- live blocks ---- */

static void put_moment(struct chrome *c, uint32_t pid, const struct moment_of *m)
{
	put_counter(c, "live bytes", "bytes", pid, m->ticks, m->bytes);
	put_counter(c, "live blocks", "blocks", pid, m->ticks, m->blocks);
}

static bool is_same(const struct moment_of *a, const struct moment_of *b)
{
	return a->ticks == b->ticks && a->bytes == b->bytes && a->blocks == b->blocks;
}

/* Writes the three points of a finished part. */
static void end_part(struct chrome *c, struct counter *k, uint32_t number)
{
	const uint32_t pid = pid_of(c, number);
	const struct moment_of end = { k->last, k->bytes, k->blocks };
	const struct moment_of *first = &k->most, *second = &k->least;

	if (!k->part)
		return;
	if (first->ticks > second->ticks) {
		first = &k->least;
		second = &k->most;
	}
	put_moment(c, pid, first);
	if (!is_same(first, second))
		put_moment(c, pid, second);
	if (!is_same(second, &end))
		put_moment(c, pid, &end);
	k->part = 0;
}

static void change(struct chrome *c, uint32_t number, uint64_t ticks, uint64_t bytes,
		   uint64_t blocks)
{
	struct counter *k = array_at(&c->counter, number, sizeof(*k));
	uint64_t part = (ticks > c->start ? ticks - c->start : 0) / c->width + 1;

	if (k->part != part)
		end_part(c, k, number);
	k->bytes += bytes;
	k->blocks += blocks;
	k->last = ticks;
	if (!k->part)
		k->most = k->least = (struct moment_of){ ticks, k->bytes, k->blocks };
	else if (k->bytes > k->most.bytes)
		k->most = (struct moment_of){ ticks, k->bytes, k->blocks };
	else if (k->bytes < k->least.bytes)
		k->least = (struct moment_of){ ticks, k->bytes, k->blocks };
	k->part = part;
}

static void changes(struct chrome *c, uint32_t process, uint64_t ticks, uint64_t bytes,
		    uint64_t blocks)
{
	change(c, process, ticks, bytes, blocks);
	if (c->several)
		change(c, 0, ticks, bytes, blocks);
}

/* Writes a block that realloc freed, if the new one does not pass the filters. */
static void put_held(void *self, struct flow *f, uint64_t ticks, uint64_t number)
{
	struct chrome *c = self;

	if (!c->held.number || c->held.number == number)
		return;
	changes(c, c->held.process, c->held.ticks, -c->held.bytes, UINT64_MAX);
	c->held.number = 0;
}

static void began(void *self, struct flow *f, const struct flow_block *b)
{
	struct chrome *c = self;
	const bool held = c->held.number;

	changes(c, b->process, b->ticks, b->block->size - (held ? c->held.bytes : 0), !held);
	c->held.number = 0;
}

/* After the old block of a realloc comes the new one: no counter is written between the two. */
static void ended(void *self, struct flow *f, const struct flow_block *b)
{
	struct chrome *c = self;

	if (b->resized) {
		c->held.process = b->process;
		c->held.ticks = b->ticks;
		c->held.bytes = b->block->size;
		c->held.number = b->number;
	} else {
		changes(c, b->process, b->ticks, -b->block->size, UINT64_MAX);
	}
}

static void left(void *self, struct flow *f, const struct flow_block *b, enum process_gone why)
{
	changes(self, b->process, b->ticks, -b->block->size, UINT64_MAX);
}

static void start(void *self, struct flow *f)
{
	struct chrome *c = self;
	const uint64_t end = walk_end_ticks(&f->walk->input, &f->walk->until);

	c->start = c->profile->header->start_ticks;
	c->width = (end - c->start) / c->points + 1;
	c->several = c->profile->tree.processes > 1;
}

static const struct flow_ops ops = {
	.threads = true,
	.start = start,
	.time = put_held,
	.began = began,
	.ended = ended,
	.left = left,
};

/* ---- processes and threads ---- */

static void put_name(struct chrome *c, const char *what, uint32_t pid, uint32_t tid,
		     const char *name)
{
	put_begin(c, "M", what, pid);
	if (tid)
		fprintf(c->out, ",\"tid\":%u", tid);
	fputs(",\"args\":{\"name\":", c->out);
	json_put(c->out, name);
	fputs("}}", c->out);
}

static void put_span(struct chrome *c, const char *name, uint32_t pid, uint32_t tid, uint64_t from,
		     uint64_t to)
{
	int64_t begin = ns_of(c, from), end = ns_of(c, to);

	put_begin(c, "X", name, pid);
	fprintf(c->out, ",\"tid\":%u", tid);
	put_us(c, "ts", begin);
	put_us(c, "dur", end > begin ? end - begin : 0);
	fputc('}', c->out);
}

static void put_title(struct chrome *c, uint32_t number, const char *name)
{
	const uint32_t pid = pid_of(c, number);

	put_name(c, "process_name", pid, 0, name);
	put_begin(c, "M", "process_sort_index", pid);
	fprintf(c->out, ",\"args\":{\"sort_index\":%u}}", number);
}

/* Writes each program of the process as a span on its main thread. */
static void put_process(struct chrome *c, const struct tree_process *p)
{
	const uint32_t pid = pid_of(c, p->number);
	const struct trace_fact *last = tree_image(p);
	uint64_t end = p->end_ticks ? p->end_ticks : c->profile->walk.last_ticks, to;
	size_t i;

	put_title(c, p->number, last ? text_base(last->exe) : "?");
	put_name(c, "thread_name", pid, pid, "main");
	for (i = 0; i < p->images; i++) {
		to = i + 1 < p->images ? p->image[i + 1]->fact->ticks : end;
		put_span(c, text_base(p->image[i]->exe), pid, pid, p->image[i]->fact->ticks, to);
	}
}

/* Writes threads; a main thread is shown as the programs of its process. */
static void put_threads(struct chrome *c, const struct array *threads)
{
	const struct flow_thread *t = threads->item;
	char name[80];
	uint32_t pid, tid;
	size_t i;

	for (i = 1; i < threads->count; i++) {
		if (!t[i].events)
			continue;
		pid = pid_of(c, t[i].process);
		tid = t[i].tid ? t[i].tid : PID_BEYOND + (uint32_t)i;
		if (tid == pid)
			continue;
		snprintf(name, sizeof(name), "thread %s",
			 thread_title(trace_thread_name(c->trace, (uint32_t)i), (uint32_t)i).s);
		put_name(c, "thread_name", pid, tid, name);
		put_span(c, name, pid, tid, t[i].first, t[i].last);
	}
}

/* Writes the largest sample of memory in each part of time. */
static void put_memory(struct chrome *c, uint32_t number)
{
	const struct mprof_sample *s, *most = NULL;
	const uint32_t pid = pid_of(c, number);
	size_t n = trace_samples(c->trace, number, &s), i;
	uint64_t part, before = 0;

	for (i = 0; i < n; i++) {
		part = (s[i].ticks > c->start ? s[i].ticks - c->start : 0) / c->width + 1;
		if (most && part != before) {
			put_counter(c, "RSS", "bytes", pid, most->ticks, most->rss);
			most = NULL;
		}
		if (!most || s[i].rss > most->rss)
			most = &s[i];
		before = part;
	}
	if (most)
		put_counter(c, "RSS", "bytes", pid, most->ticks, most->rss);
}

static void put_rest(struct chrome *c, const struct array *threads)
{
	const struct tree *t = &c->profile->tree;
	struct counter *k = c->counter.item;
	size_t i;

	for (i = 0; i < c->counter.count; i++)
		end_part(c, &k[i], (uint32_t)i);
	if (c->several)
		put_title(c, 0, "all processes");
	for (i = 0; i < t->processes; i++) {
		put_process(c, &t->process[i]);
		put_memory(c, t->process[i].number);
	}
	put_threads(c, threads);
}

int export_chrome(struct export *x, struct error *err)
{
	struct chrome c = {
		.out = x->out,
		.profile = x->profile,
		.trace = x->trace,
		.points = x->options->points ? x->options->points : POINTS,
	};
	struct flow f;
	int ret;

	fputs("{\"displayTimeUnit\":\"ms\",\"otherData\":{\"recorded_by\":\"mprof " MPROF_VERSION
	      "\"},\"traceEvents\":[",
	      c.out);
	ret = flow_run(&f, x, &ops, &c, err);
	if (!ret)
		put_rest(&c, &f.thread);
	fputs("\n]}\n", c.out);
	array_release(&c.counter);
	flow_release(&f);
	return ret;
}
