// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * import_aosp.c - what Android's malloc debug writes with record_allocs, and its
 * tool memory_replay plays (system/extras/memory_replay, traces/README and
 * AllocParser.cpp).
 *
 *   TID: malloc ADDRESS SIZE		TID: free ADDRESS
 *   TID: calloc ADDRESS COUNT SIZE	TID: memalign ADDRESS ALIGNMENT SIZE
 *   TID: realloc NEW OLD SIZE		TID: thread_done 0x0
 *
 * each with two more numbers since 2022, the times in ns before and behind the
 * call.  Lines stand in the order in which calls began to be recorded.  The
 * kernel gives the tid of a thread that is gone to another one, so a tid becomes
 * a number that is new behind its thread_done.
 */
#include <stdlib.h>
#include <string.h>

#include "import_ops.h"

#define CALL  "TID: "
#define TIMES " [START_NS END_NS]"

static const struct row {
	const char *name;
	uint8_t fn; /* 0: the end of a thread */
	const char *shape, *right;
} rows[] = {
	{ "malloc", MPROF_FN_MALLOC, "rs", "'" CALL "malloc ADDRESS SIZE" TIMES "'" },
	{ "free", MPROF_FN_FREE, "o", "'" CALL "free ADDRESS" TIMES "'" },
	{ "calloc", MPROF_FN_CALLOC, "rns", "'" CALL "calloc ADDRESS COUNT SIZE" TIMES "'" },
	{ "realloc", MPROF_FN_REALLOC, "ros", "'" CALL "realloc NEW OLD SIZE" TIMES "'" },
	{ "memalign", MPROF_FN_MEMALIGN, "ras",
	  "'" CALL "memalign ADDRESS ALIGNMENT SIZE" TIMES "'" },
	{ "thread_done", 0, "r", "'" CALL "thread_done 0x0" TIMES "'" },
};
#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* Threads by tid: open addressing, nothing is ever taken out. */
struct thread {
	uint64_t tid;	 /* + 1; 0: an empty place */
	uint32_t number; /* 0: it has ended, the next call is another thread's */
};

struct state {
	struct thread *thread;
	size_t room, n; /* room: a power of two */
	uint32_t last;	/* number given */
};

static struct thread *find(const struct state *s, uint64_t tid)
{
	size_t i = (tid * 0x9e3779b97f4a7c15ull) >> 32;

	while (s->thread[i & (s->room - 1)].tid && s->thread[i & (s->room - 1)].tid != tid + 1)
		i++;
	return &s->thread[i & (s->room - 1)];
}

static bool grow(struct state *s)
{
	struct state bigger = *s;

	bigger.room = s->room ? 2 * s->room : 64;
	bigger.thread = calloc(bigger.room, sizeof(*bigger.thread));
	if (!bigger.thread)
		return false;
	for (size_t i = 0; i < s->room; i++)
		if (s->thread[i].tid)
			*find(&bigger, s->thread[i].tid - 1) = s->thread[i];
	free(s->thread);
	*s = bigger;
	return true;
}

/* NULL: no memory. */
static struct thread *thread_of(struct importer *im, uint64_t tid)
{
	struct state *s = im->state;
	struct thread *t;

	if (4 * s->n >= 3 * s->room && !grow(s)) {
		im->failed = true;
		return NULL;
	}
	t = find(s, tid);
	if (!t->tid) {
		t->tid = tid + 1;
		s->n++;
	}
	if (!t->number)
		t->number = ++s->last;
	return t;
}

/* The words before the arguments. */
static const struct row *scan_head(const char **at, uint64_t *tid)
{
	size_t n;

	scan_blanks(at);
	if (!scan_number(at, 10, tid) || *tid >= INT32_MAX || *(*at)++ != ':')
		return NULL;
	scan_blanks(at);
	n = strcspn(*at, " \t");
	for (size_t i = 0; i < ROWS; i++)
		if (strlen(rows[i].name) == n && !memcmp(*at, rows[i].name, n)) {
			*at += n;
			return &rows[i];
		}
	return NULL;
}

static bool fits(const char *line)
{
	uint64_t tid;

	return scan_head(&line, &tid) != NULL;
}

/* memalign takes any number there; what it makes of it is the next power of two. */
static uint64_t power_of_two(uint64_t align)
{
	return align < 2 || align > 1ull << 63 ? align & 1
					       : 1ull << (64 - __builtin_clzll(align - 1));
}

/* Both or neither, and nothing behind them. */
static bool scan_times(const char **at, uint64_t *start, uint64_t *end)
{
	const char *s = *at;

	if (scan_end(&s))
		return true;
	return scan_next(at, 10, start) && scan_next(at, 10, end) && scan_end(at);
}

static const char *take(struct importer *im, const char *line)
{
	struct import_call c = { 0 };
	uint64_t tid, start = 0, end = 0;
	const struct row *row = scan_head(&line, &tid);
	struct thread *t;

	if (!row)
		return "'TID: FUNCTION ADDRESS ...' with malloc, calloc, realloc, memalign, free or"
		       " thread_done";
	if (!scan_call(&line, row->shape, &c) || !scan_times(&line, &start, &end))
		return row->right;
	t = thread_of(im, tid);
	if (!t)
		return NULL;
	c.fn = row->fn;
	c.thread = t->number;
	c.align = power_of_two(c.align);
	/* What gives back has done so before its end, what hands out not before it. */
	c.ns = row->fn == MPROF_FN_FREE ? start : end;
	if (row->fn) {
		import_call(im, &c);
		return NULL;
	}
	import_thread_end(im, t->number, end);
	t->number = 0;
	return NULL;
}

static void release(struct importer *im)
{
	free(((struct state *)im->state)->thread);
}

const struct import_ops import_aosp = { fits, take, NULL, release, sizeof(struct state) };
