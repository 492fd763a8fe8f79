// SPDX-License-Identifier: LGPL-3.0-or-later
/* profile_findings.c - what findings propose, and what they leave to another one. */
#include "suites.h"

#include "profile/findings.h"

static struct sym_line line, through;
static struct finding finding;

/* Half of the calls are of one line of the program, with small blocks. */
static void start(void)
{
	line = (struct sym_line){ .function = "f",
				  .raw = "f",
				  .file = "/home/prog.c",
				  .module = "prog",
				  .line = 7,
				  .known = true };
	through = (struct sym_line){
		.function = "g", .raw = "g", .file = "", .module = "prog", .known = true
	};
	finding = (struct finding){
		.kind = FINDING_HOT,
		.line = &line,
		.at_line = { .part = 5000, .calls = 5000, .largest = FINDINGS_POOLED },
		.at_stack = { .part = 4999, .calls = 4999, .largest = 16 },
		.part = 10000,
		.of = 20000,
		.aligned = 2500,
	};
}

static enum finding_change proposed(void)
{
	return finding_proposal(&finding).change;
}

START_TEST(a_pool_for_small_blocks)
{
	const struct finding_proposal p = finding_proposal(&finding);

	ck_assert_int_eq(p.change, PROPOSES_POOL);
	ck_assert(p.of_line);
	ck_assert_uint_eq(p.calls, 5000);
	finding.aligned++; /* more than half of its calls may be of these */
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	start();
	finding.at_line.largest++;
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	start();
	finding.at_line.part--; /* less than half of the finding */
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	start();
	finding.part = finding.of = finding.at_line.part = finding.at_line.calls = 1000;
	finding.aligned = 0;
	ck_assert_int_eq(proposed(), PROPOSES_POOL);
	finding.at_line.calls--;
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
}
END_TEST

START_TEST(the_stack_where_no_line_is_known)
{
	struct finding_proposal p;

	line.line = 0;
	line.file = "";
	finding.part = 9998;
	finding.aligned = 0;
	p = finding_proposal(&finding);
	ck_assert_int_eq(p.change, PROPOSES_POOL);
	ck_assert(!p.of_line);
	ck_assert_uint_eq(p.calls, 4999);
	line.known = false; /* nor a name */
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	line.known = true;
	line.module = "libown.so.1"; /* nor in the program */
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
}
END_TEST

START_TEST(what_the_reader_cannot_change)
{
	finding.reduced = true;
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	start();
	line.script = true;
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	start();
	line.module = "python3.11";
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	start();
	finding.through = &through;
	ck_assert_int_eq(proposed(), PROPOSES_POOL);
	through.module = "libc.so.6"; /* allocates there, and takes no allocator */
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	through.function = "std::string::_M_mutate";
	ck_assert_int_eq(proposed(), PROPOSES_POOL);
	through.module = "prog";
	through.function = "std::panicking::begin_panic";
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	through.function = "core::panicking::panic_fmt";
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
}
END_TEST

/* A copy is better avoided, unless its calls are nearly all that the program does. */
START_TEST(copies_are_dropped)
{
	finding.through = &through;
	through.raw = "_ZN3recC2ERKS_";
	ck_assert_int_eq(proposed(), PROPOSES_POOL);
	finding.all_through = true;
	ck_assert_int_eq(proposed(), PROPOSES_DROP);
	finding.of = 5556;
	ck_assert_int_eq(proposed(), PROPOSES_DROP);
	finding.of = 5555;
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	start();
	finding.kind = FINDING_TEMPORARY;
	finding.at_line.calls = 10001; /* less than half of them are temporary */
	ck_assert_int_eq(proposed(), PROPOSES_DROP);
	finding.at_line.calls = 10002;
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
}
END_TEST

START_TEST(what_grows_is_reserved)
{
	finding.kind = FINDING_GROWN;
	finding.grown.chains = 3;
	finding.grown.merged = 2;
	ck_assert_int_eq(proposed(), PROPOSES_RESERVE);
	ck_assert_uint_eq(finding_proposal(&finding).calls, 3);
	line.line = 0; /* of several stacks, and none can be named */
	ck_assert_int_eq(proposed(), PROPOSES_NOTHING);
	finding.grown.merged = 1;
	ck_assert_int_eq(proposed(), PROPOSES_RESERVE);
}
END_TEST

static struct findings findings;

static void tell(uint64_t stacks, uint64_t globals)
{
	findings.outside = (struct outside){
		.process = 1, .outside = 4000, .unseen = 1000, .stacks = stacks, .globals = globals
	};
	findings.stacks.process = findings.stacks.variables_process = 1;
	findings_tell_outside_once(&findings);
}

static void expect_told(bool outside, bool stacks, bool variables)
{
	ck_assert_int_eq(findings.outside.process != 0, outside);
	ck_assert_int_eq(findings.stacks.process != 0, stacks);
	ck_assert_int_eq(findings.stacks.variables_process != 0, variables);
}

START_TEST(memory_outside_is_told_once)
{
	tell(750, 0);
	expect_told(false, true, true);
	tell(375, 375);
	expect_told(false, true, true);
	tell(500, 249);
	expect_told(true, false, true);
	tell(249, 250);
	expect_told(true, true, false);
	tell(250, 250);
	expect_told(true, false, false);
	tell(249, 249);
	expect_told(true, true, true);
	findings.outside.unseen = 0; /* all of it moved, or was mapped */
	findings_tell_outside_once(&findings);
	expect_told(true, true, true);
}
END_TEST

/* Mapped memory may be a stack; and stacks of another process are no part of it. */
START_TEST(memory_outside_of_one_process)
{
	findings.outside = (struct outside){
		.process = 1, .outside = 4000, .unseen = 1000, .stacks = 1000, .by_who = 1
	};
	findings.stacks.process = 1;
	findings_tell_outside_once(&findings);
	expect_told(true, false, false);
	findings.outside =
	    (struct outside){ .process = 1, .outside = 4000, .unseen = 1000, .stacks = 1000 };
	findings.stacks.process = findings.stacks.variables_process = 2;
	findings_tell_outside_once(&findings);
	expect_told(true, true, true);
}
END_TEST

Suite *profile_findings_suite(void)
{
	Suite *s = suite_create("profile_findings");
	TCase *c = tcase_create("all");

	tcase_add_checked_fixture(c, start, NULL);
	tcase_add_test(c, a_pool_for_small_blocks);
	tcase_add_test(c, the_stack_where_no_line_is_known);
	tcase_add_test(c, what_the_reader_cannot_change);
	tcase_add_test(c, copies_are_dropped);
	tcase_add_test(c, what_grows_is_reserved);
	tcase_add_test(c, memory_outside_is_told_once);
	tcase_add_test(c, memory_outside_of_one_process);
	suite_add_tcase(s, c);
	return s;
}
