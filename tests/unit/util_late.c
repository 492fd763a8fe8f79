// SPDX-License-Identifier: LGPL-3.0-or-later
/* util_late.c - libraries that are loaded when they are needed. */
#include "suites.h"

#include "util/late.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LIBM	 "libm.so.6"
#define MATHS(X) X(, fmax) X(, hypot)

static const char *const maths_names[] = { MATHS(LATE_NAME) };

START_TEST(functions_are_found)
{
	struct {
		MATHS(LATE_MEMBER)
	} maths = { 0 };

	ck_assert_int_eq(late_load(LIBM, "counts", maths_names, &maths, sizeof(maths), NULL), 0);
	ck_assert_double_eq(maths.fmax(2, 3), 3);
	ck_assert_double_eq(maths.hypot(3, 4), 5);
	/* Once it is there, nobody asks for it again. */
	ck_assert_int_eq(late_load("no.so", "counts", maths_names, &maths, sizeof(maths), NULL), 0);
}
END_TEST

START_TEST(what_is_missing_is_said)
{
	static const char *const names[] = { "fmax", "no_such_function" };
	void *function[2] = { NULL };
	struct error err;

	ck_assert_int_eq(late_load("libno.so.9", "counts", names, function, sizeof(function), &err),
			 -ELIBACC);
	ck_assert_ptr_nonnull(strstr(err.text, "cannot load libno.so.9, which counts: "));
	ck_assert_int_eq(late_load(LIBM, "counts", names, function, sizeof(function), &err),
			 -ELIBACC);
	ck_assert_ptr_nonnull(strstr(err.text, "no_such_function"));
	ck_assert_ptr_null(function[0]);
}
END_TEST

Suite *util_late_suite(void)
{
	Suite *s = suite_create("util_late");
	TCase *c = tcase_create("all");

	tcase_add_test(c, functions_are_found);
	tcase_add_test(c, what_is_missing_is_said);
	suite_add_tcase(s, c);
	return s;
}
