/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * victim.h - what the victims of tests/preload share.
 *
 * A victim prints on stdout what it does and what a recorder must have seen;
 * tests/preload/run compares.  One line each:
 *
 *   event FUNCTION ARGS [RESULT]  the next call of this process, in order; blocks have letters,
 *                                 a result of 0 is NULL.  With `exact` there are no other calls.
 *                                 At the end, touched=BYTES may follow: this much of the freed
 *                                 block was touched; `all`: its usable size.
 *   exact                         the event lines are all there is
 *   expect KEY VALUE              KEY of `report --json` (of `stat --json` for calls.*) is VALUE
 *   atleast KEY VALUE             is not below VALUE
 *   size BYTES COUNT              that many blocks of this exact size were allocated
 *   lossy                         calls made inside a recorder may be lost, if that is reported
 *   ends STATUS | ends -SIGNAL    how it will end
 *
 * Output goes through write alone, so that a victim makes no call by printing.
 */
#ifndef MPROF_TESTS_VICTIM_H
#define MPROF_TESTS_VICTIM_H

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

__attribute__((format(printf, 1, 2), unused)) static void say(const char *format, ...)
{
	char line[512];
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(line, sizeof(line) - 1, format, ap);
	va_end(ap);
	line[n++] = '\n';
	if (write(1, line, (size_t)n) != n)
		_exit(99);
}

/* A condition that mprof must not change. */
#define must(condition)                                                  \
	do {                                                             \
		if (!(condition)) {                                      \
			say("FAILED line %d: %s", __LINE__, #condition); \
			_exit(98);                                       \
		}                                                        \
	} while (0)

#endif
