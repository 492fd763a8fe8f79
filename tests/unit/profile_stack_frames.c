// SPDX-License-Identifier: LGPL-3.0-or-later
/* profile_stack_frames.c - bytes of the functions on a thread's stack. */
#include "suites.h"

#include <string.h>

#include "profile/paths.h"
#include "profile/stack_frames.h"

/*
 * Nodes: 1 start - 2 rec - 3 rec - 4 rec - 5 leaf, and the same without outer frames from 6 on:
 * 6 [truncated] - 7 rec - 8 leaf.
 */
static struct stack_object object[] = { { .path = "" }, { .path = "/none/libx.so" } };
static struct stack_frame frame[] = { { 0 },
				      { .address = 0x100, .object = 1 },
				      { .address = 0x200, .object = 1 },
				      { .address = 0x300, .object = 1 },
				      { .flags = STACK_FRAME_TRUNCATED } };
static struct stack_node node[] = { { 0 },    { 0, 1 }, { 1, 2 }, { 2, 2 }, { 3, 2 },
				    { 4, 3 }, { 0, 4 }, { 6, 2 }, { 7, 3 } };
static const struct stacks stacks = {
	.object = object,
	.objects = 2,
	.frame = frame,
	.frames = 5,
	.node = node,
	.nodes = 9,
};
static struct profile_paths paths;
static struct profile p;

static void open_names(void)
{
	const struct sym_options o = { .no_cache = true };
	const struct paths_options as = { .wrappers = true };
	struct error err;

	p = (struct profile){ .stacks = &stacks, .paths = &paths };
	ck_assert_int_eq(sym_open(&p.sym, &stacks, &o, &err), 0);
	paths_init(&paths, &stacks, p.sym, &as);
}

static void close_names(void)
{
	paths_release(&paths);
	sym_close(p.sym);
}

static bool find(struct stack_frames *f, uint32_t stack, const uint32_t *size, uint32_t frames)
{
	const struct stack_of s = { .stack = stack, .size = size, .frames = frames };

	return stack_frames_find(f, &s, &p);
}

static void has(const struct stack_frames *f, size_t i, const char *function, uint64_t bytes,
		uint64_t frames)
{
	ck_assert_uint_lt(i, f->count);
	ck_assert_str_eq(f->of[i].line->function, function);
	ck_assert_uint_eq(f->of[i].bytes, bytes);
	ck_assert_uint_eq(f->of[i].frames, frames);
}

START_TEST(recursion_is_one_function)
{
	static const uint32_t size[] = { 16, 100, 100, 120, 250 };
	struct stack_frames f;

	ck_assert(find(&f, 5, size, 5));
	ck_assert_uint_eq(f.count, 3);
	has(&f, 0, "libx.so+0x200", 320, 3);
	has(&f, 1, "libx.so+0x300", 250, 1);
	has(&f, 2, "libx.so+0x100", 16, 1);
	ck_assert_uint_eq(f.line[3], 120);
	ck_assert_uint_eq(f.outer, 0);
	stack_frames_release(&f);
}
END_TEST

/* A frame outside the used part of the stack has no bytes. */
START_TEST(functions_without_bytes_are_left_out)
{
	static const uint32_t size[] = { 0, 100, 100, 100, 8 };
	struct stack_frames f;

	ck_assert(find(&f, 5, size, 5));
	ck_assert_uint_eq(f.count, 2);
	has(&f, 0, "libx.so+0x200", 300, 3);
	stack_frames_release(&f);
}
END_TEST

/* Sizes of all frames are known, or the outermost one reaches to the end of the stack. */
START_TEST(frames_further_out)
{
	static const uint32_t all[] = { 16, 100, 100, 120, 250 }, two[] = { 336, 250 };
	struct stack_frames f;

	ck_assert(find(&f, 8, all, 5));
	ck_assert_uint_eq(f.outer, 216);
	has(&f, 0, "libx.so+0x300", 250, 1);
	has(&f, 1, "libx.so+0x200", 120, 1);
	stack_frames_release(&f);
	ck_assert(find(&f, 8, two, 2));
	ck_assert_uint_eq(f.outer, 336);
	ck_assert_uint_eq(f.count, 1);
	has(&f, 0, "libx.so+0x300", 250, 1);
	stack_frames_release(&f);
}
END_TEST

/* Sizes of another stack, or none. */
START_TEST(unknown_sizes)
{
	static const uint32_t size[] = { 16, 100, 100, 120 };
	struct stack_frames f;

	ck_assert(!find(&f, 5, size, 4));
	ck_assert_ptr_null(f.line);
	ck_assert_uint_eq(f.count, 0);
	stack_frames_release(&f);
	ck_assert(!find(&f, 5, NULL, 0));
	ck_assert(!find(&f, 0, size, 4));
}
END_TEST

Suite *profile_stack_frames_suite(void)
{
	Suite *s = suite_create("profile_stack_frames");
	TCase *c = tcase_create("all");

	tcase_add_checked_fixture(c, open_names, close_names);
	tcase_add_test(c, recursion_is_one_function);
	tcase_add_test(c, functions_without_bytes_are_left_out);
	tcase_add_test(c, frames_further_out);
	tcase_add_test(c, unknown_sizes);
	suite_add_tcase(s, c);
	return s;
}
