/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * signals.h - the signals that can request a dump (DUMP_SIGNAL), for the library, which must not
 * call libc here, and the command line.
 */
#ifndef MPROF_SIGNALS_H
#define MPROF_SIGNALS_H

#include <signal.h>
#include <stddef.h>

#define MPROF_SIGNALS_EXPECTED "expected USR1, USR2, HUP, 34 ... (man 7 signal)"

/* The number of "USR1", "SIGUSR1" or "10"; -1 for any other value.  Excluded are signals that
 * report a fault, those that cannot be caught, and 32 and 33, which libc keeps. */
static inline int mprof_signal_number(const char *value)
{
	static const struct {
		const char *name;
		int number;
	} known[] = {
#define MPROF_SIGNAL(name) { #name, SIG##name },
		/* clang-format off */
		MPROF_SIGNAL(USR1)
		MPROF_SIGNAL(USR2)
		MPROF_SIGNAL(HUP)
		MPROF_SIGNAL(INT)
		MPROF_SIGNAL(QUIT)
		MPROF_SIGNAL(TERM)
		MPROF_SIGNAL(ALRM)
		MPROF_SIGNAL(VTALRM)
		MPROF_SIGNAL(PROF)
		MPROF_SIGNAL(CHLD)
		MPROF_SIGNAL(CONT)
		MPROF_SIGNAL(TSTP)
		MPROF_SIGNAL(TTIN)
		MPROF_SIGNAL(TTOU)
		MPROF_SIGNAL(PIPE)
		MPROF_SIGNAL(URG)
		MPROF_SIGNAL(IO)
		MPROF_SIGNAL(PWR)
		MPROF_SIGNAL(WINCH)
		MPROF_SIGNAL(XCPU)
		MPROF_SIGNAL(XFSZ)
	/* clang-format on */
#undef MPROF_SIGNAL
	};
	const char *at = value;
	int n = 0;

	while (n < 100 && *at >= '0' && *at <= '9')
		n = 10 * n + *at++ - '0';
	if (at == value || *at)
		n = -1;
	if (n >= 34 && n <= 64)
		return n;
	if (value[0] == 'S' && value[1] == 'I' && value[2] == 'G')
		value += 3;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		size_t same = 0;

		while (value[same] && value[same] == known[i].name[same])
			same++;
		if (n == known[i].number || value[same] == known[i].name[same])
			return known[i].number;
	}
	return -1;
}

#endif
