// SPDX-License-Identifier: LGPL-3.0-or-later
/* profile_calltree.c - trees of hand-written stacks, against sums done by hand. */
#include "suites.h"

#include <stdio.h>
#include <string.h>

#include "profile/calltree.h"
#include "profile/paths.h"

static struct sym_line pool[64];
static size_t pooled;

static const struct sym_line *at(const char *function, const char *file, uint32_t line)
{
	struct sym_line *l = &pool[pooled++];

	ck_assert_uint_le(pooled, sizeof(pool) / sizeof(pool[0]));
	*l = (struct sym_line){
		.function = function,
		.raw = "",
		.file = file,
		.module = "m",
		.line = line,
	};
	return l;
}

#define F(name)	       at(name, "", 0)
#define AT(name, f, l) at(name, f, l)

static struct calltree tree;

static void start(enum line_same same)
{
	const struct calltree_options o = { .same = same,
					    .value = { VALUE_PEAK, VALUE_CALLS },
					    .values = 2 };

	calltree_init(&tree, &o);
}

static void release(void)
{
	calltree_release(&tree);
}

#define ADD(backward, own, bytes, calls, ...)                                            \
	do {                                                                             \
		const struct sym_line *const path[] = { __VA_ARGS__ };                   \
		calltree_add(&tree, path, sizeof(path) / sizeof(path[0]), backward, own, \
			     (const uint64_t[]){ bytes, calls });                        \
	} while (0)

/* "name inclusive/exclusive[child child]" of values 0. */
static void write_node(uint32_t n, char *to, size_t room)
{
	size_t used;
	uint32_t c;

	snprintf(to, room, "%s %lu/%lu", n ? tree.node[n].line->function : "-",
		 (unsigned long)calltree_inclusive(&tree, n, 0),
		 (unsigned long)calltree_exclusive(&tree, n, 0));
	for (c = tree.node[n].child; c; c = tree.node[c].sibling) {
		used = strlen(to);
		snprintf(to + used, room - used, c == tree.node[n].child ? " [" : " ");
		used = strlen(to);
		write_node(c, to + used, room - used);
	}
	used = strlen(to);
	if (tree.node[n].child)
		snprintf(to + used, room - used, "]");
}

static void expect(const char *wanted)
{
	char text[2048];

	calltree_finish(&tree);
	write_node(0, text, sizeof(text));
	ck_assert_str_eq(text, wanted);
}

static void four_sites(bool backward)
{
	ADD(backward, true, 10, 1, F("main"), F("load"), F("parse"));
	ADD(backward, true, 20, 2, F("main"), F("load"), F("read"));
	ADD(backward, true, 40, 1, F("main"), F("draw"), F("parse"));
	ADD(backward, true, 5, 9, F("main"), F("load"));
}

START_TEST(from_the_root_inward)
{
	start(LINE_FUNCTION);
	four_sites(false);
	expect("- 75/0 [main 75/0 [draw 40/0 [parse 40/40] load 35/5 [read 20/20 parse 10/10]]]");
	ck_assert_uint_eq(calltree_inclusive(&tree, 0, 1), 13);
	ck_assert_uint_eq(tree.node[0].sites, 4);
	release();
}
END_TEST

START_TEST(from_who_asked_outward)
{
	start(LINE_FUNCTION);
	four_sites(true);
	expect("- 75/0 [parse 50/50 [draw 40/0 [main 40/0] load 10/0 [main 10/0]]"
	       " read 20/20 [load 20/0 [main 20/0]] load 5/5 [main 5/0]]");
	release();
}
END_TEST

/* f calls itself: one node, and the site counts once in it. */
START_TEST(recursion_is_one_node)
{
	start(LINE_FUNCTION);
	ADD(false, true, 3, 1, F("main"), F("f"), F("f"), F("f"));
	ADD(false, true, 4, 1, F("main"), F("f"), F("g"), F("f"));
	expect("- 7/0 [main 7/0 [f 7/3 [g 4/0 [f 4/4]]]]");
	release();
	start(LINE_FUNCTION);
	ADD(true, true, 3, 1, F("main"), F("f"), F("f"), F("f"));
	expect("- 3/0 [f 3/3 [main 3/0]]");
	release();
}
END_TEST

START_TEST(lines_or_functions)
{
	start(LINE_FUNCTION);
	ADD(false, true, 1, 1, AT("f", "x.c", 7));
	ADD(false, true, 2, 1, AT("f", "x.c", 9));
	expect("- 3/0 [f 3/3]");
	release();
	start(LINE_LINE);
	ADD(false, true, 1, 1, AT("f", "x.c", 7));
	ADD(false, true, 2, 1, AT("f", "x.c", 9));
	ADD(false, true, 4, 1, AT("f", "x.c", 7));
	expect("- 7/0 [f 5/5 f 2/2]");
	release();
}
END_TEST

/* Part of a path, whose end asked for nothing. */
START_TEST(who_does_not_ask_has_nothing_of_its_own)
{
	start(LINE_FUNCTION);
	ADD(true, false, 8, 1, F("main"), F("f"));
	ADD(true, true, 1, 1, F("main"), F("f"));
	expect("- 9/0 [f 9/1 [main 9/0]]");
	release();
}
END_TEST

START_TEST(many_nodes)
{
	char name[5000][8];
	struct sym_line line[5000];
	const struct sym_line *path[2];
	uint64_t sum = 0;
	uint32_t c, n = 0;
	size_t i;

	start(LINE_FUNCTION);
	for (i = 0; i < 5000; i++) {
		snprintf(name[i], sizeof(name[i]), "f%zu", i);
		line[i] =
		    (struct sym_line){ .function = name[i], .raw = "", .file = "", .module = "m" };
	}
	for (i = 0; i < 20000; i++) {
		path[0] = &line[i % 50];
		path[1] = &line[i * 7919 % 5000];
		calltree_add(&tree, path, 2, false, true, (const uint64_t[]){ i, 1 });
		sum += i;
	}
	calltree_finish(&tree);
	ck_assert_uint_eq(calltree_inclusive(&tree, 0, 0), sum);
	for (sum = 0, c = tree.node[0].child; c; c = tree.node[c].sibling, n++) {
		sum += calltree_inclusive(&tree, c, 0);
		ck_assert(!tree.node[c].sibling ||
			  calltree_inclusive(&tree, c, 0) >=
			      calltree_inclusive(&tree, tree.node[c].sibling, 0));
	}
	ck_assert_uint_eq(n, 50);
	ck_assert_uint_eq(sum, calltree_inclusive(&tree, 0, 0));
	release();
}
END_TEST

/* The tree is the same whether or not a path shares nodes with the one before. */
START_TEST(paths_share_nodes_with_the_latest)
{
	const struct calltree_options o = { .same = LINE_FUNCTION,
					    .value = { VALUE_PEAK, VALUE_CALLS },
					    .values = 2 };
	const struct sym_line *line[] = { F("a"), F("b"), F("c"), F("a") }, *path[8];
	struct calltree alone;
	uint32_t seed = 1;

	start(LINE_FUNCTION);
	calltree_init(&alone, &o);
	for (uint64_t i = 0; i < 5000; i++) {
		const size_t n = i * 7919 % 9, same = i % 5;
		const bool backward = i / 9 % 2, own = i / 18 % 3;
		uint32_t node;

		for (size_t k = same; k < n; k++) {
			seed = seed * 1103515245 + 12345;
			path[k] = line[seed >> 16 & 3];
		}
		for (size_t k = 0; !i && k < 8; k++)
			path[k] = line[0];
		node = calltree_add(&tree, path, n, backward, own, (const uint64_t[]){ i, 1 });
		alone.latest_lines = 0;
		ck_assert_uint_eq(
		    calltree_add(&alone, path, n, backward, own, (const uint64_t[]){ i, 1 }), node);
	}
	calltree_finish(&tree);
	calltree_finish(&alone);
	ck_assert_uint_gt(tree.nodes, 200);
	ck_assert_uint_eq(tree.nodes, alone.nodes);
	ck_assert_mem_eq(tree.figure, alone.figure, 4 * tree.nodes * sizeof(*tree.figure));
	ck_assert_uint_eq(calltree_inclusive(&tree, 0, 1), 5000);
	ck_assert_uint_eq(tree.node[0].sites, 5000);
	calltree_release(&alone);
	release();
}
END_TEST

START_TEST(names_by_pattern)
{
	ck_assert(paths_name_matches("parse", "parse"));
	ck_assert(paths_name_matches("parse", "parse(char const*, int)"));
	ck_assert(paths_name_matches("ns::parse", "ns::parse(int)"));
	ck_assert(paths_name_matches("*parse*", "json_parse_all"));
	ck_assert(!paths_name_matches("parse", "json_parse"));
	ck_assert(!paths_name_matches("parse", "parse2(int)"));
	ck_assert(paths_name_matches("(anonymous namespace)::f", "(anonymous namespace)::f(int)"));
	ck_assert(paths_name_matches("A::operator()", "A::operator()"));
}
END_TEST

static bool is_line(const char *pattern, const char *function)
{
	const struct sym_line line = {
		.function = function, .raw = function, .file = "/src/pack/__init__.py", .line = 12
	};

	return paths_is_function(pattern, &line);
}

/* As lists show them. */
START_TEST(names_with_a_place)
{
	ck_assert(is_line("<module> (__init__.py)", "<module>"));
	ck_assert(is_line("<module> (__init__.py:12)", "<module>"));
	ck_assert(is_line("<module> (pack/__init__.py:12)", "<module>"));
	ck_assert(is_line("<m* (/src/*.py)", "<module>"));
	ck_assert(is_line("f (__init__.py)", "f(int)"));
	ck_assert(!is_line("<module> (init__.py)", "<module>"));
	ck_assert(!is_line("<module> (other.py)", "<module>"));
	ck_assert(!is_line("<module> (__init__.py:1)", "<module>"));
	ck_assert(!is_line("<module> (__init__.py:)", "<module>"));
	ck_assert(!is_line("<lambda> (__init__.py:12)", "<module>"));
	ck_assert(!is_line(" (__init__.py)", ""));
	ck_assert(!is_line("()", "f"));
	ck_assert(!is_line(")", "f"));
	ck_assert(!is_line("", "f"));
	ck_assert(is_line("f(int, (anonymous namespace)::g)", "f(int, (anonymous namespace)::g)"));
	ck_assert(is_line("f(void (*)(int))", "f(void (*)(int))"));
}
END_TEST

START_TEST(interner_are_numbered_in_order)
{
	struct interner k = { .text = NULL };
	char s[16];
	uint32_t i, n;

	ck_assert_uint_eq(interner_find(&k, "a", 1), 0);
	for (n = 0; n < 2; n++)
		for (i = 0; i < 3000; i++) {
			snprintf(s, sizeof(s), "%u", i);
			ck_assert_uint_eq(interner_id(&k, s, strlen(s)), i + 1);
		}
	ck_assert_str_eq(interner_text(&k, 1001), "1000");
	ck_assert_uint_eq(interner_bytes(&k, 3000), 4);
	ck_assert_uint_eq(interner_id(&k, "1\0002", 3), 3001);
	ck_assert_uint_eq(interner_bytes(&k, 3001), 3);
	ck_assert_uint_eq(interner_id(&k, "", 0), 3002);
	ck_assert_uint_eq(interner_find(&k, "2999", 4), 3000);
	interner_release(&k);
}
END_TEST

Suite *profile_calltree_suite(void)
{
	Suite *s = suite_create("profile_calltree");
	TCase *c = tcase_create("trees");

	tcase_add_test(c, from_the_root_inward);
	tcase_add_test(c, from_who_asked_outward);
	tcase_add_test(c, recursion_is_one_node);
	tcase_add_test(c, lines_or_functions);
	tcase_add_test(c, who_does_not_ask_has_nothing_of_its_own);
	tcase_add_test(c, many_nodes);
	tcase_add_test(c, paths_share_nodes_with_the_latest);
	tcase_add_test(c, names_by_pattern);
	tcase_add_test(c, names_with_a_place);
	tcase_add_test(c, interner_are_numbered_in_order);
	suite_add_tcase(s, c);
	return s;
}
