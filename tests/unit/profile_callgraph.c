// SPDX-License-Identifier: LGPL-3.0-or-later
/* profile_callgraph.c - call graphs and merged stacks of hand-written and of random stacks. */
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "profile/callgraph.h"
#include "profile/merged.h"

#define FUNCTIONS 6u
#define LINES	  2u
#define DEEPEST	  40u

static const char *const names[FUNCTIONS] = { "a", "b", "c", "d", "e", "f" };
static struct sym_line pool[FUNCTIONS][LINES];

/* "a" is the first line of a, "A" the second one. */
static const struct sym_line *line_of(char c)
{
	return c >= 'a' ? &pool[c - 'a'][0] : &pool[c - 'A'][1];
}

static void make_lines(void)
{
	for (uint32_t f = 0; f < FUNCTIONS; f++)
		for (uint32_t l = 0; l < LINES; l++)
			pool[f][l] = (struct sym_line){
				.function = names[f],
				.raw = "",
				.file = "x.c",
				.module = "m",
				.line = 10 * f + l,
			};
}

static struct callgraph graph;

static void start(bool simple, enum line_same same)
{
	const struct callgraph_options o = { .same = same, .simple = simple, .figures = 2 };

	make_lines();
	callgraph_init(&graph, &o);
}

static void add(const char *stack, uint64_t bytes)
{
	const struct sym_line *line[DEEPEST];
	uint64_t v[2] = { bytes, 1 };
	size_t n = strlen(stack), i;

	for (i = 0; i < n; i++)
		line[i] = line_of(stack[i]);
	callgraph_add(&graph, line, n, NULL, 0, v);
}

static const struct callgraph_node *find(const char *function, uint32_t line, uint32_t level)
{
	for (size_t i = 0; i < graph.nodes; i++)
		if (!strcmp(graph.node[i].line->function, function) &&
		    graph.node[i].line->line == line && graph.node[i].level == level)
			return &graph.node[i];
	ck_abort_msg("no node %s:%u'%u", function, line, level);
	return NULL;
}

static uint64_t between(const struct callgraph_node *from, const struct callgraph_node *to)
{
	for (size_t i = 0; i < graph.edges; i++)
		if (&graph.node[graph.edge[i].from] == from && &graph.node[graph.edge[i].to] == to)
			return graph.edge[i].v[0];
	return 0;
}

START_TEST(who_called_whom)
{
	start(false, LINE_LINE);
	add("ab", 10);
	add("Ab", 20);
	add("aB", 40);
	add("a", 3);
	ck_assert_uint_eq(graph.total[0], 73);
	ck_assert_uint_eq(graph.total[1], 4);
	ck_assert_uint_eq(graph.nodes, 4);
	ck_assert_uint_eq(find("a", 0, 1)->all[0], 53);
	ck_assert_uint_eq(find("a", 0, 1)->own[0], 3);
	ck_assert_uint_eq(find("a", 1, 1)->all[0], 20);
	ck_assert_uint_eq(find("b", 10, 1)->own[0], 30);
	ck_assert_uint_eq(find("b", 10, 1)->own[1], 2);
	ck_assert_uint_eq(between(find("a", 0, 1), find("b", 10, 1)), 10);
	ck_assert_uint_eq(between(find("a", 0, 1), find("b", 11, 1)), 40);
	ck_assert_uint_eq(between(find("b", 10, 1), find("a", 0, 1)), 0);
	callgraph_release(&graph);
}
END_TEST

START_TEST(a_stack_counts_once_in_a_loop)
{
	start(false, LINE_LINE);
	add("ababab", 5);
	ck_assert_uint_eq(find("a", 0, 1)->all[0], 5);
	ck_assert_uint_eq(find("b", 10, 1)->all[0], 5);
	ck_assert_uint_eq(find("b", 10, 1)->own[0], 5);
	ck_assert_uint_eq(between(find("a", 0, 1), find("b", 10, 1)), 5);
	ck_assert_uint_eq(between(find("b", 10, 1), find("a", 0, 1)), 5);
	callgraph_release(&graph);
}
END_TEST

/* down, turn, down, turn, down: the second level of down asks; nothing vanishes. */
START_TEST(recursion_has_two_levels)
{
	start(true, LINE_LINE);
	add("cababa", 7);
	ck_assert_uint_eq(find("c", 20, 1)->all[0], 7);
	ck_assert_uint_eq(find("a", 0, 1)->all[0], 7);
	ck_assert_uint_eq(find("a", 0, 1)->own[0], 0);
	ck_assert_uint_eq(find("b", 10, 1)->all[0], 7);
	ck_assert_uint_eq(find("a", 0, 2)->own[0], 7);
	ck_assert_uint_eq(between(find("b", 10, 1), find("a", 0, 2)), 7);
	callgraph_release(&graph);
}
END_TEST

/* d stands in the loop for the first time, so that the loop cannot be cut out. */
START_TEST(a_loop_with_news_stays)
{
	start(true, LINE_LINE);
	add("abadae", 9);
	ck_assert_uint_eq(find("d", 30, 1)->all[0], 9);
	ck_assert_uint_eq(find("a", 0, 3)->all[0], 9);
	ck_assert_uint_eq(between(find("a", 0, 2), find("d", 30, 1)), 9);
	ck_assert_uint_eq(between(find("a", 0, 3), find("e", 40, 1)), 9);
	callgraph_release(&graph);
}
END_TEST

static uint64_t all_of(char function, uint32_t level)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < graph.nodes; i++)
		if (*graph.node[i].line->function == function && graph.node[i].level == level)
			sum += graph.node[i].all[0];
	return sum;
}

static void nothing_is_counted_twice(const uint64_t wanted[FUNCTIONS])
{
	uint64_t *out = calloc(graph.nodes, sizeof(*out));

	for (size_t i = 0; i < graph.edges; i++)
		out[graph.edge[i].from] += graph.edge[i].v[0];
	for (size_t i = 0; i < graph.nodes; i++)
		ck_assert_uint_eq(graph.node[i].all[0], graph.node[i].own[0] + out[i]);
	for (char f = 0; f < (char)FUNCTIONS; f++)
		ck_assert_uint_eq(all_of((char)('a' + f), 1), wanted[(int)f]);
	free(out);
}

/* Whatever calls whatever: what readers add up is what the stacks say. */
START_TEST(random_recursion_adds_up)
{
	uint64_t wanted[FUNCTIONS] = { 0 }, own = 0, bytes;
	char stack[DEEPEST + 1];
	size_t n, i, k;

	srand(_i + 1);
	start(true, _i % 2 ? LINE_LINE : LINE_FUNCTION);
	for (k = 0; k < 300; k++) {
		n = 1 + (size_t)rand() % DEEPEST;
		bytes = 1 + (uint64_t)rand() % 1000;
		for (i = 0; i < n; i++)
			stack[i] = (char)((rand() % 2 ? 'a' : 'A') + rand() % (int)FUNCTIONS);
		stack[n] = '\0';
		add(stack, bytes);
		for (i = 0; i < FUNCTIONS; i++)
			if (strchr(stack, (char)('a' + i)) || strchr(stack, (char)('A' + i)))
				wanted[i] += bytes;
	}
	nothing_is_counted_twice(wanted);
	for (i = 0; i < graph.nodes; i++)
		own += graph.node[i].own[0];
	ck_assert_uint_eq(own, graph.total[0]);
	callgraph_release(&graph);
}
END_TEST

/* ---- merged stacks ---- */

static struct merged merged = MERGED_EMPTY;

static void merge(const char *stack, uint64_t calls)
{
	const struct sym_line *line[DEEPEST];
	uint64_t v[VALUE_COUNT] = { [VALUE_CALLS] = calls, [VALUE_PEAK] = UINT64_MAX / 4 };
	size_t n = strlen(stack), i;

	for (i = 0; i < n; i++)
		line[i] = line_of(stack[i]);
	merged_add(&merged, line, n, v);
}

static void expect_row(size_t i, const char *stack, uint64_t calls, uint64_t peak)
{
	const struct merged_row *row = &merged.row[i];
	char text[DEEPEST + 1] = "";

	for (size_t k = 0; k < merged_depth(&merged, row); k++)
		strcat(text, merged_line(&merged, row, k)->function);
	ck_assert_str_eq(text, stack);
	ck_assert_uint_eq(row->v[VALUE_CALLS], calls);
	ck_assert_uint_eq(row->v[VALUE_PEAK], peak);
}

START_TEST(lines_of_a_function_are_one)
{
	const uint64_t quarter = UINT64_MAX / 4;

	make_lines();
	merge("abc", 1);
	merge("d", 2);
	merge("aBc", 4);
	merge("abcc", 8);
	merge("ab", 16);
	ck_assert_uint_eq(merged.count, 4);
	expect_row(0, "abc", 5, 2 * quarter);
	expect_row(1, "d", 2, quarter);
	merged_sort(&merged);
	expect_row(0, "ab", 16, quarter);
	expect_row(1, "abc", 5, 2 * quarter);
	expect_row(2, "abcc", 8, quarter);
	expect_row(3, "d", 2, quarter);
	merged_release(&merged);
}
END_TEST

Suite *profile_callgraph_suite(void)
{
	Suite *s = suite_create("profile_callgraph");
	TCase *c = tcase_create("graphs");

	tcase_add_test(c, who_called_whom);
	tcase_add_test(c, a_stack_counts_once_in_a_loop);
	tcase_add_test(c, recursion_has_two_levels);
	tcase_add_test(c, a_loop_with_news_stays);
	tcase_add_loop_test(c, random_recursion_adds_up, 0, 10);
	tcase_add_test(c, lines_of_a_function_are_one);
	suite_add_tcase(s, c);
	return s;
}
