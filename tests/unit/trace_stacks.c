// SPDX-License-Identifier: LGPL-3.0-or-later
/* trace_stacks.c - stack records of several processes as one tree, and events that name it. */
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "suites.h"
#include "trace/shorter_stacks.h"
#include "trace/stack_table.h"
#include "trace/trace.h"
#include "trace_build.h"

#define MAIN  0x555500000000ull
#define LIB   0x7fff00000000ull
#define BLOCK 0x602000000010ull

static struct build b;
static struct words records, words;
static struct trace *t;
static int fd = -1;

static void setup(void)
{
	build_start(&b, MPROF_MAGIC_TRACE);
	words_start(&records, 1000);
	words_start(&words, 1000);
}

static void teardown(void)
{
	trace_close(t);
	t = NULL;
	if (fd >= 0)
		close(fd);
	fd = -1;
	words_free(&records);
	words_free(&words);
	build_free(&b);
}

static const struct stacks *reopen(void)
{
	struct error err;

	ck_assert_msg(!trace_open(&t, build_path(&b, &fd), MPROF_MAGIC_TRACE, &err), "%s",
		      err.text);
	return trace_stacks(t);
}

/* The program and a library, as every process has them here, moved by `by`. */
static void add_objects(uint64_t ticks, uint64_t by)
{
	words_object(&records, ticks, MAIN + by, MAIN + by + 0x1000, 0x10000, "/bin/main",
		     "id-of-main");
	words_object(&records, ticks, LIB + by, LIB + by, 0x20000, "/lib/libx.so", "");
}

static void define(unsigned flags, uint32_t id, uint32_t joined, uint32_t depth, uint32_t n, ...)
{
	uint64_t frame[16];
	va_list ap;

	va_start(ap, n);
	for (uint32_t i = 0; i < n; i++)
		frame[i] = va_arg(ap, uint64_t);
	va_end(ap);
	words_define(&records, flags, id, joined, depth, frame, n);
}

/* The addresses of a stack, innermost first, without its root's marker. */
static uint32_t addresses(const struct stacks *s, uint32_t node, uint64_t *address)
{
	uint32_t n = 0;

	for (; node; node = s->node[node].parent) {
		ck_assert_uint_lt(s->node[node].parent, node);
		ck_assert_uint_lt(s->node[node].frame, s->frames);
		address[n++] = s->frame[s->node[node].frame].address;
	}
	return n;
}

static void flush(uint32_t process, uint16_t image, uint64_t seq)
{
	build_stacks(&b, process, image, seq, &records);
	words_free(&records);
	words_start(&records, 1000);
}

static uint32_t one_event(uint32_t process, uint16_t image, uint32_t id)
{
	static uint32_t thread;
	size_t at;

	words_stack(&words, 0, id);
	words_alloc(&words, MPROF_TAG_MALLOC, 2000 + thread, BLOCK, 40, 40);
	at = build_chunk(&b, process, ++thread, 1, &words);
	build_extent_at(&b, at)->image = image;
	words_free(&words);
	words_start(&words, 1000);
	return thread;
}

/* Stacks of the events by thread number. */
static void read_events(uint32_t *stack, size_t n)
{
	struct event e[8];
	size_t got;

	memset(stack, 0xff, n * sizeof(*stack));
	while ((got = trace_next(t, e, 8)))
		for (size_t i = 0; i < got; i++)
			if (e[i].thread < n)
				stack[e[i].thread] = e[i].stack;
}

START_TEST(joined)
{
	const struct stacks *s;
	uint64_t a[8];
	uint32_t stack[8], first, second;

	add_objects(1000, 0);
	define(0, 1, 0, 0, 3, MAIN + 0x1100, MAIN + 0x1200, LIB + 0x300);
	define(0, 2, 1, 2, 1, LIB + 0x400);
	define(0, 3, 2, 3, 2, LIB + 0x500, 0x1234ull);
	define(0, 4, 1, 0, 1, LIB + 0x300 + 1); /* nothing joined */
	define(0, 5, 1, 3, 0);			/* the same stack again */
	flush(1, 0, 1);
	first = one_event(1, 0, 1);
	second = one_event(1, 0, 3);
	one_event(1, 0, 4);
	one_event(1, 0, 5);
	s = reopen();
	ck_assert_uint_eq(s->definitions, 5);
	ck_assert_uint_eq(trace_damage(t)->stacks_bad, 0);
	ck_assert_uint_eq(s->objects, 3);
	ck_assert_str_eq(s->object[1].path, "/bin/main");
	ck_assert_mem_eq(s->object[1].build_id, "id-of-main", 10);
	ck_assert_uint_eq(s->object[1].segment[0].address, 0x1000);
	ck_assert_uint_eq(s->object[1].segment[0].flags, 5);
	ck_assert_ptr_null(s->object[2].build_id);
	read_events(stack, 8);
	ck_assert_uint_eq(addresses(s, stack[first], a), 3);
	ck_assert_uint_eq(a[0], 0x300);
	ck_assert_uint_eq(a[1], 0x1200);
	ck_assert_uint_eq(a[2], 0x1100);
	ck_assert_uint_eq(addresses(s, stack[second], a), 5);
	ck_assert_uint_eq(a[0], 0x1234);
	ck_assert_uint_eq(s->frame[s->node[stack[second]].frame].object, 0);
	ck_assert_uint_eq(a[1], 0x500);
	ck_assert_uint_eq(a[2], 0x400);
	ck_assert_uint_eq(a[3], 0x1200);
	ck_assert_uint_eq(addresses(s, stack[second + 1], a), 1);
	ck_assert_uint_eq(stack[second + 2], stack[first]);
	ck_assert_uint_eq(trace_damage(t)->stacks_bad + trace_damage(t)->stacks_missing, 0);
}
END_TEST

START_TEST(sides)
{
	struct event e[8];
	const struct stacks *s;

	define(0, 1, 0, 0, 1, 0x1000ull);
	define(0, 2, 0, 0, 1, 0x2000ull);
	flush(1, 0, 1);
	words_alloc(&words, MPROF_TAG_MALLOC, 1001, BLOCK, 40, 40);
	words_stack(&words, 0, 1);
	words_stack(&words, MPROF_STACK_OF_FREES, 2);
	words_alloc(&words, MPROF_TAG_MALLOC, 1002, BLOCK + 64, 40, 40);
	words_give(&words, MPROF_TAG_FREE, 1003, BLOCK);
	words_give(&words, MPROF_TAG_REALLOC_BEGIN, 1004, BLOCK + 64);
	words_alloc(&words, MPROF_TAG_REALLOC_END, 1005, BLOCK, 90000, 90000); /* LONG */
	words_long(&words, MPROF_FN_MUNMAP, 1006, 0, 0, (uint64_t[4]){ BLOCK, 4096 });
	words_long(&words, MPROF_FN_FREE, 1007, 0, 0, (uint64_t[4]){ BLOCK });
	build_chunk(&b, 1, 1, 1, &words);
	s = reopen();
	ck_assert_uint_eq(trace_next(t, e, 8), 7);
	ck_assert_uint_eq(e[0].stack, 0);
	for (int i = 1; i < 7; i++)
		ck_assert_uint_eq(s->frame[s->node[e[i].stack].frame].address,
				  i == 2 || i == 3 || i == 6 ? 0x2000 : 0x1000);
}
END_TEST

/* An address is that of the object that was there when the stack was defined. */
START_TEST(over_time)
{
	const struct stacks *s;
	uint32_t stack[8], first;

	words_object(&records, 1000, LIB, LIB, 0x1000, "/a.so", "a");
	define(0, 1, 0, 0, 1, LIB + 0x10);
	words_gone(&records, 1, 1500);
	define(0, 2, 0, 0, 1, LIB + 0x10);
	words_object(&records, 1600, LIB - 0x1000, LIB, 0x1000, "/b.so", "b");
	define(0, 3, 0, 0, 1, LIB + 0x10);
	words_gone(&records, 1, 1700); /* is not there any more */
	words_object(&records, 1800, LIB, LIB + 0x800, 0x1000, "/a.so", "a");
	define(0, 4, 0, 0, 1, LIB + 0x801);
	define(0, 5, 0, 0, 1, LIB + 0x11); /* its object was taken over */
	words_object(&records, 1900, LIB, LIB, 0x1000, "/b.so", "b");
	define(0, 6, 0, 0, 1, LIB + 0x1701); /* likewise, from below */
	flush(1, 0, 1);
	first = one_event(1, 0, 1);
	for (uint32_t id = 2; id <= 6; id++)
		one_event(1, 0, id);
	s = reopen();
	ck_assert_uint_eq(trace_damage(t)->stacks_bad, 1);
	ck_assert_uint_eq(s->objects, 3);
	read_events(stack, 8);
	ck_assert_uint_eq(s->frame[s->node[stack[first]].frame].object, 1);
	ck_assert_uint_eq(s->frame[s->node[stack[first + 1]].frame].object, 0);
	ck_assert_uint_eq(s->frame[s->node[stack[first + 2]].frame].object, 2);
	ck_assert_uint_eq(s->frame[s->node[stack[first + 2]].frame].address, 0x1010);
	ck_assert_uint_eq(s->frame[s->node[stack[first + 3]].frame].object, 1);
	ck_assert_uint_eq(s->frame[s->node[stack[first + 4]].frame].object, 0);
	ck_assert_uint_eq(s->frame[s->node[stack[first + 5]].frame].object, 0);
}
END_TEST

START_TEST(processes)
{
	struct mprof_fact fact = {
		.what = MPROF_FACT_START, .parent = 1, .fork_ticks = 1500, .stacks = 2
	};
	const struct stacks *s;
	uint64_t a[8];
	uint32_t stack[16], first;

	add_objects(1000, 0);
	define(0, 1, 0, 0, 1, MAIN + 0x1100);
	define(0, 2, 1, 1, 1, LIB + 0x200);
	flush(1, 0, 1);
	define(0, 3, 1, 1, 1, LIB + 0x300); /* behind the fork: not the child's */
	words_object(&records, 1600, 0x1000, 0x1000, 0x1000, "/later.so", "");
	flush(1, 0, 2);
	define(0, 3, 2, 2, 1, LIB + 0x400);
	define(0, 4, 0, 0, 1, 0x1010ull);
	flush(2, 0, 1);
	add_objects(3000, 0x100000);
	define(0, 1, 0, 0, 1, MAIN + 0x101100);
	flush(2, 1, 1);
	build_fact(&b, 2, &fact, "", 0);
	first = one_event(1, 0, 2);
	one_event(1, 0, 3);
	one_event(2, 0, 2);
	one_event(2, 0, 3);
	one_event(2, 0, 4);
	one_event(1, 0, 1);
	one_event(2, 1, 1);
	s = reopen();
	ck_assert_uint_eq(trace_damage(t)->stacks_bad, 0);
	read_events(stack, 16);
	ck_assert_uint_eq(stack[first], stack[first + 2]);
	ck_assert_uint_eq(addresses(s, stack[first + 1], a), 2);
	ck_assert_uint_eq(a[0], 0x300);
	ck_assert_uint_eq(addresses(s, stack[first + 3], a), 3);
	ck_assert_uint_eq(a[0], 0x400);
	ck_assert_uint_eq(a[1], 0x200);
	ck_assert_uint_eq(s->frame[s->node[stack[first + 4]].frame].object, 0);
	ck_assert_uint_eq(stack[first + 5], stack[first + 6]); /* wherever it was loaded */
	ck_assert_uint_eq(trace_damage(t)->stacks_missing, 0);
	trace_close(t);
	close(fd);
	ck_assert(!trace_open_without_stacks(&t, build_path(&b, &fd), MPROF_MAGIC_TRACE));
	read_events(stack, 16);
	ck_assert_uint_eq(stack[first], 0);
	ck_assert_uint_eq(stack[first + 3], 0);
}
END_TEST

START_TEST(roots)
{
	const struct stacks *s;
	uint32_t stack[8], first, node;

	define(MPROF_STACK_TRUNCATED, 1, 0, 0, 2, 0x1000ull, 0x2000ull);
	define(MPROF_STACK_TRUNCATED, 2, 1, 1, 1, 0x3000ull);
	define(0, 3, 0, 0, 1, 0x1000ull);
	define(MPROF_STACK_LOST_WAY, 4, 3, 1, 1, 0x4000ull);
	define(MPROF_STACK_LOST_WAY, 5, 0, 0, 0);
	define(0, 6, 0, 0, 1, 0x5000ull | MPROF_FRAME_EXACT);
	flush(1, 0, 1);
	first = one_event(1, 0, 2);
	one_event(1, 0, 4);
	one_event(1, 0, 5);
	one_event(1, 0, 6);
	s = reopen();
	ck_assert_uint_eq(trace_damage(t)->stacks_bad, 0);
	read_events(stack, 8);
	node = s->node[s->node[stack[first]].parent].parent;
	ck_assert_uint_eq(s->frame[s->node[node].frame].flags, STACK_FRAME_TRUNCATED);
	ck_assert_uint_eq(s->node[node].parent, 0);
	node = s->node[s->node[stack[first + 1]].parent].parent;
	ck_assert_uint_eq(s->frame[s->node[node].frame].flags, STACK_FRAME_LOST_WAY);
	ck_assert_uint_eq(node, stack[first + 2]);
	ck_assert_uint_eq(s->frame[s->node[stack[first + 3]].frame].flags, STACK_FRAME_EXACT);
}
END_TEST

/* A slot continues where the copies end; records in both count once. */
START_TEST(slot)
{
	const struct stacks *s;

	define(0, 1, 0, 0, 1, 0x1000ull);
	flush(1, 0, 1);
	define(0, 2, 1, 1, 1, 0x2000ull);
	build_stacks(&b, 1, 0, 2, &records);
	build_stacks_slot(&b, 1, 0, 2, &records, 4096);
	words_free(&records);
	define(0, 3, 2, 2, 1, 0x3000ull);
	words_put(&records, 0);
	define(0, 4, 2, 2, 1, 0x4000ull);
	build_stacks_slot(&b, 1, 0, 3, &records, 4096);
	s = reopen();
	ck_assert_uint_eq(s->definitions, 3);
	ck_assert_uint_eq(trace_damage(t)->stacks_bad, 0);
	ck_assert_uint_eq(s->nodes, 6);
	ck_assert_uint_eq(trace_damage(t)->chunks_bad + trace_damage(t)->chunks_missing, 0);
}
END_TEST

/* Numbers come out of order, and a record that nobody finished keeps its place. */
START_TEST(gap)
{
	const struct stacks *s;
	uint64_t a[8];
	uint32_t stack[8], first;

	define(0, 2, 0, 0, 1, 0x1000ull);
	words_put(&records, MPROF_RECORD_GAP | 4ull << 4);
	for (int i = 0; i < 3; i++)
		words_put(&records, MPROF_RECORD_STACK);
	define(0, 1, 2, 1, 1, 0x2000ull);
	words_put(&records, MPROF_RECORD_GAP | 1000ull << 4); /* longer than its chunk */
	define(0, 3, 0, 0, 1, 0x3000ull);		      /* not reached */
	flush(1, 0, 1);
	first = one_event(1, 0, 1);
	s = reopen();
	ck_assert_uint_eq(s->definitions, 2);
	ck_assert_uint_eq(trace_damage(t)->stacks_bad, 1);
	read_events(stack, 8);
	ck_assert_uint_eq(addresses(s, stack[first], a), 2);
	ck_assert_uint_eq(a[0], 0x2000);
	ck_assert_uint_eq(a[1], 0x1000);
}
END_TEST

/* Records that make no sense, one by one; the sound ones around them are kept. */
START_TEST(hostile)
{
	static const uint64_t frame[] = { 0x1000, 0x2000 };
	const struct stacks *s;
	uint32_t stack[8], first;

	define(0, 1, 0, 0, 1, 0x1000ull);
	define(0, 2, 3, 1, 1, 0x2000ull);	   /* joins one that comes later */
	define(0, 3, 3, 1, 1, 0x2000ull);	   /* joins itself */
	define(0, 4, 1, 2, 1, 0x2000ull);	   /* deeper than the joined one is */
	define(0, 5, 1, UINT32_MAX, 1, 0x2000ull); /* much deeper */
	define(0, 1, 0, 0, 1, 0x7000ull);	   /* defined again, otherwise */
	define(0, 1, 0, 0, 1, 0x1000ull);	   /* the same again is not bad */
	define(0, 0, 0, 0, 1, 0x1000ull);	   /* number 0 */
	define(0, UINT32_MAX, 0, 0, 1, 0x1000ull); /* a number out of all proportion */
	words_gone(&records, 7, 1100);
	words_object(&records, 1100, 0, 0x2000, 0, "/empty.so", "");
	define(0, 6, 1, 1, 1, 0x3000ull);
	words_define(&records, 0, 7, 0, 0, frame, 2);
	records.word[records.n - 4] |= 0xffffffull << 8; /* more frames than there are */
	define(0, 8, 0, 0, 1, 0x1000ull);		 /* not reached */
	flush(1, 0, 1);
	first = one_event(1, 0, 6);
	one_event(1, 0, 8);
	one_event(1, 0, 5);
	s = reopen();
	ck_assert_uint_eq(trace_damage(t)->stacks_bad, 10);
	ck_assert_uint_eq(s->definitions, 2);
	read_events(stack, 8);
	ck_assert_uint_eq(s->frame[s->node[stack[first]].frame].address, 0x3000);
	ck_assert_uint_eq(stack[first + 1], 0);
	ck_assert_uint_eq(stack[first + 2], 0);
	ck_assert_uint_eq(trace_damage(t)->stacks_missing, 2);
}
END_TEST

/* Every cut of a file is read without harm. */
START_TEST(cut)
{
	struct error err;

	add_objects(1000, 0);
	define(0, 1, 0, 0, 3, MAIN + 0x1100, MAIN + 0x1200, LIB + 0x300);
	define(0, 2, 1, 2, 1, LIB + 0x400);
	flush(1, 0, 1);
	one_event(1, 0, 2);
	for (size_t n = MPROF_HEADER_SIZE; n < b.n; n++) {
		struct event e[4];
		int cut_fd;

		ck_assert(
		    !trace_open(&t, build_path_prefix(&b, n, &cut_fd), MPROF_MAGIC_TRACE, &err));
		ck_assert_uint_le(trace_next(t, e, 4), 1);
		trace_close(t);
		close(cut_fd);
	}
	t = NULL;
}
END_TEST

/* Nodes are found again, however many children a node and its neighbours have. */
START_TEST(families)
{
	enum { PARENTS = 40, CHILDREN = 50 };
	uint32_t parent[PARENTS], child[PARENTS][CHILDREN];
	struct stack_table table;
	size_t nodes;

	stack_table_start(&table, STACK_NONE);
	for (uint32_t i = 0; i < PARENTS; i++)
		parent[i] = stack_table_node(&table, i ? parent[i - 1] : 0, 5 + i % 3);
	for (uint32_t k = 0; k < CHILDREN; k++)
		for (uint32_t i = 0; i < PARENTS; i++)
			child[i][k] = stack_table_node(&table, parent[i], 10 + k % (1 + i));
	nodes = table.nodes;
	for (uint32_t i = 0; i < PARENTS; i++)
		for (uint32_t k = 0; k < CHILDREN; k++) {
			uint32_t again = stack_table_node(&table, parent[i], 10 + k % (1 + i));

			ck_assert_uint_eq(again, child[i][k]);
			ck_assert_uint_eq(again, child[i][k % (1 + i)]);
			ck_assert_uint_eq(table.node[again].parent, parent[i]);
			ck_assert_uint_eq(table.node[again].frame, 10 + k % (1 + i));
		}
	ck_assert_uint_eq(table.nodes, nodes);
	ck_assert_uint_eq(nodes, 3 + PARENTS + PARENTS * (PARENTS + 1) / 2);
	stack_table_free(&table);
}
END_TEST

/* Two functions call each other and themselves, `levels` deep; each calls malloc. */
static uint32_t add_recursion(struct stack_table *t, uint32_t caller, unsigned levels)
{
	uint32_t ends = 0;

	for (uint32_t frame = 1; levels && frame <= 2; frame++) {
		const uint32_t node = stack_table_node(t, caller, frame);

		stack_table_node(t, node, 3);
		ends += 1 + add_recursion(t, node, levels - 1);
	}
	return ends;
}

/* With n frames, 2 ^ (n - 1) stacks differ, and shorter ones stay whole. */
START_TEST(shorter)
{
	struct stack_table table;
	struct stacks s = { .definitions = SHORTER_LEAST };
	struct shorter_stacks found;
	uint32_t ends;

	stack_table_start(&table, STACK_NONE);
	ends = add_recursion(&table, 0, 18);
	s.node = table.node;
	s.nodes = table.nodes;
	found = shorter_stacks_find(&s);
	ck_assert_uint_eq(found.all, ends);
	ck_assert_uint_eq(found.depth, 12);
	ck_assert_double_eq_tol((double)found.left, (1 << 11) + (1 << 11) - 2, 300);
	s.definitions--;
	found = shorter_stacks_find(&s);
	ck_assert_uint_eq(found.depth, 0);
	stack_table_free(&table);
}
END_TEST

Suite *trace_stacks_suite(void)
{
	Suite *s = suite_create("trace_stacks");
	TCase *c = tcase_create("stacks");

	tcase_add_checked_fixture(c, setup, teardown);
	tcase_add_test(c, joined);
	tcase_add_test(c, sides);
	tcase_add_test(c, over_time);
	tcase_add_test(c, processes);
	tcase_add_test(c, roots);
	tcase_add_test(c, slot);
	tcase_add_test(c, gap);
	tcase_add_test(c, hostile);
	tcase_add_test(c, cut);
	tcase_add_test(c, families);
	tcase_add_test(c, shorter);
	suite_add_tcase(s, c);
	return s;
}
