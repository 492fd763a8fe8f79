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
 * each with two more numbers since 2022, the times in ns before and after the call. Lines are in
 * the order in which calls began to be recorded. The kernel reuses tids, so after thread_done a tid
 * gets a new number.
 */
#include <stdlib.h>
#include <string.h>

#include "import_ops.h"
#include "../util/hash.h"

#define CALL  "TID: "
#define TIMES " [START_NS END_NS]"

static const struct row {
	const char *name;
	uint8_t fn; /* 0 = the end of a thread */
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

struct state {
	/* tid -> number + 1; 1 = it has ended, so the next call is another thread's. */
	struct hash number;
	uint32_t last; /* the last number assigned */
};

/* Returns the value in `number`. */
static uint64_t *thread_of(struct importer *im, uint64_t tid)
{
	struct state *s = im->state;
	uint64_t *number = hash_at(&s->number, tid);

	if (*number <= 1)
		*number = (uint64_t)++s->last + 1;
	return number;
}

/* Reads the words before the arguments. */
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

/* Rounds up to a power of two, as memalign does. */
static uint64_t power_of_two(uint64_t align)
{
	return align < 2 || align > 1ull << 63 ? align & 1
					       : 1ull << (64 - __builtin_clzll(align - 1));
}

/* Reads both times or neither; nothing may follow. */
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
	uint64_t *number;

	if (!row)
		return "'TID: FUNCTION ADDRESS ...' with malloc, calloc, realloc, memalign, free or"
		       " thread_done";
	if (!scan_call(&line, row->shape, &c) || !scan_times(&line, &start, &end))
		return row->right;
	number = thread_of(im, tid);
	c.fn = row->fn;
	c.thread = (uint32_t)(*number - 1);
	c.align = power_of_two(c.align);
	/* A free counts from the beginning of its call, an allocation from its end. */
	c.ns = row->fn == MPROF_FN_FREE ? start : end;
	if (row->fn) {
		import_call(im, &c);
		return NULL;
	}
	import_thread_end(im, (uint32_t)(*number - 1), end);
	*number = 1;
	return NULL;
}

static void release(struct importer *im)
{
	hash_release(&((struct state *)im->state)->number);
}

const struct import_ops import_aosp = { fits, take, NULL, release, sizeof(struct state) };
