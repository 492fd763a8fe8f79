// SPDX-License-Identifier: LGPL-3.0-or-later
/* html_tree.c - the nodes of a page, against sums and comparisons of every node. */
#include "suites.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "html/html_tree.h"
#include "util/alloc.h"

enum { SITES = 400, LINES = 5, DEPTH = 9, NODES_MOST = SITES * DEPTH };

static struct sym_line line[LINES];
static struct stacks stacks = { .nodes = SITES };
static struct profile profile = { .stacks = &stacks, .sites = { .count = SITES } };
static struct html_tree tree;
static uint32_t last[SITES]; /* by site: its node in the tree */
static uint64_t sum[VALUE_COUNT][NODES_MOST];

/* Makes a random tree.  A few nodes have no site; most figures are small, so that many are equal.
 */
static void make(uint64_t seed)
{
	const struct calltree_options o = { .same = LINE_LINE };
	const struct sym_line *path[DEPTH];

	tree = (struct html_tree){ .profile = &profile };
	calltree_init(&tree.tree, &o);
	tree.node_at = must_calloc(SITES + 1, sizeof(*tree.node_at));
	tree.node_of = must_calloc(SITES, sizeof(*tree.node_of));
	for (uint32_t i = 0; i < 2 * SITES; i++) {
		const size_t depth = 1 + random_after(&seed) % DEPTH;
		uint32_t node;

		for (size_t k = 0; k < depth; k++)
			path[k] = &line[random_after(&seed) % LINES];
		node = calltree_add(&tree.tree, path, depth, false, false, NULL);
		if (i % 2) {
			struct site site = { .key = i / 2 };

			site.v.peak_bytes = random_after(&seed) % 3;
			site.v.calls = 1 + random_after(&seed) % 2;
			site.v.bytes =
			    random_after(&seed) % 4 ? 8 : 1ull << random_after(&seed) % 32;
			html_tree_take(&tree, &site);
			tree.node_of[i / 2] = last[i / 2] = node;
		}
	}
	calltree_full(&tree.tree);
	ck_assert_uint_le(tree.tree.nodes, NODES_MOST);
	memset(sum, 0, sizeof(sum));
	for (size_t i = 0; i < SITES; i++)
		for (size_t k = 0; k < VALUE_COUNT; k++)
			for (uint32_t n = last[i];; n = tree.tree.node[n].parent) {
				sum[k][n] += tree.figure[k][i];
				if (!n)
					break;
			}
}

static bool is_used(uint32_t node)
{
	return sum[VALUE_CALLS][node] > 0;
}

/* Does a figure exceed this part of its total?  0: every node is shown. */
static bool is_large(uint32_t node, uint64_t part)
{
	bool large = !node || !part;

	for (size_t k = 0; k < VALUE_COUNT && !large; k++)
		large = sum[k][node] > sum[k][0] / part;
	return large && is_used(node);
}

static size_t count_large(uint64_t part)
{
	size_t n = 0;

	for (uint32_t i = 0; i < tree.tree.nodes; i++)
		n += is_large(i, part);
	return n;
}

/* Is x before y among siblings, or may it be? */
static bool in_order(uint32_t x, uint32_t y)
{
	if (sum[VALUE_PEAK][x] != sum[VALUE_PEAK][y])
		return sum[VALUE_PEAK][x] > sum[VALUE_PEAK][y];
	for (size_t k = 0; k < VALUE_COUNT; k++)
		if (sum[k][x] != sum[k][y])
			return sum[k][x] > sum[k][y];
	return strcmp(tree.tree.node[x].line->function, tree.tree.node[y].line->function) < 0;
}

static void check(size_t most)
{
	const struct calltree_node *n = tree.tree.node;
	uint32_t *page = must_calloc(tree.tree.nodes, sizeof(*page)), *after;
	struct html_map map;
	uint64_t part = 0;
	size_t used = count_large(0), shown = used;

	for (uint64_t p = 1ull << 24; shown > most && p; p /= 2)
		shown = count_large(part = p);
	after = must_calloc(tree.tree.nodes, sizeof(*after));
	html_tree_order(&tree, most, &map);
	ck_assert_uint_eq(tree.nodes, shown);
	ck_assert_uint_eq(map.nodes, shown);
	ck_assert_uint_eq(tree.merged, used - shown);
	ck_assert_uint_eq(tree.order[0], 0);
	for (uint32_t i = 1; i < tree.nodes; i++) {
		const uint32_t node = tree.order[i], before = after[n[node].parent];

		ck_assert(is_large(node, part));
		page[node] = i;
		/* Callers first, and the heavier of two siblings. */
		ck_assert(!n[node].parent || page[n[node].parent]);
		ck_assert(!before || in_order(before, node));
		after[n[node].parent] = node;
	}
	for (uint32_t i = 0; i < SITES; i++) {
		uint32_t node = last[i];

		while (node && !page[node])
			node = n[node].parent;
		ck_assert_uint_eq(tree.node_of[i], page[node]);
		ck_assert_uint_eq(map.node_of[i], page[node]);
	}
	ck_assert_uint_eq(map.node_of[SITES], HTML_NO_NODE);
	html_map_release(&map);
	free(page);
	free(after);
}

START_TEST(nodes_of_a_page)
{
	static const size_t most[] = { SIZE_MAX, 600, 100, 20, 1 };
	static char name[LINES][8];

	for (size_t i = 0; i < LINES; i++) {
		snprintf(name[i], sizeof(name[i]), "f%zu", i);
		line[i] =
		    (struct sym_line){ .function = name[i], .raw = "", .file = "", .module = "m" };
	}
	for (size_t i = 0; i < 50; i++) {
		make(i + 1);
		check(most[i % 5]);
		html_tree_release(&tree);
	}
}
END_TEST

Suite *html_tree_suite(void)
{
	Suite *s = suite_create("html_tree");
	TCase *c = tcase_create("nodes");

	tcase_add_test(c, nodes_of_a_page);
	suite_add_tcase(s, c);
	return s;
}
