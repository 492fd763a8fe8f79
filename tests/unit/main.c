// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * main.c - runs every suite of suites.def, each test in a process of its own.  `unit K N`: the K-th
 * of N parts, which may run at once.  CK_RUN_SUITE=NAME: only this suite; the name is that of its
 * row and file.
 */
#include "suites.h"

#include <stdlib.h>

int main(int argc, char **argv)
{
	const size_t parts = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
	const size_t part = argc > 2 ? strtoul(argv[1], NULL, 10) - 1 : 0;
	static Suite *(*const suites[])(void) = {
#define SUITE(name) name##_suite,
#include "suites.def"
#undef SUITE
	};
	SRunner *runner = srunner_create(NULL);
	int failed;

	setenv("CK_DEFAULT_TIMEOUT", "600",
	       0); /* only for what never ends: Check's 4 s assert a time */
	for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++)
		if (i % parts == part)
			srunner_add_suite(runner, suites[i]());
	srunner_set_fork_status(runner, CK_FORK);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
