// SPDX-License-Identifier: LGPL-3.0-or-later
/* main.c - runs every suite of suites.h, each test in a process of its own. */
#include "suites.h"

#include <stdlib.h>

int main(void)
{
	static Suite *(*const suites[])(void) = {
#define SUITE(name) name##_suite,
#include "suites.def"
#undef SUITE
	};
	SRunner *runner = srunner_create(NULL);
	int failed;

	for (size_t i = 0; i < sizeof(suites) / sizeof(suites[0]); i++)
		srunner_add_suite(runner, suites[i]());
	srunner_set_fork_status(runner, CK_FORK);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
