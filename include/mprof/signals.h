/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * signals.h - the signals that can request a dump (DUMP_SIGNAL), for the library, which must not
 * call libc here, and for the command line.
 */
#ifndef MPROF_SIGNALS_H
#define MPROF_SIGNALS_H

#include <signal.h>
#include <stddef.h>

/* Signals with names; those from 34 to 64 have only numbers. */
#define MPROF_SIGNALS(X) \
	X(USR1)          \
	X(USR2)          \
	X(HUP)           \
	X(INT)           \
	X(QUIT)          \
	X(TERM)          \
	X(ALRM)          \
	X(VTALRM)        \
	X(PROF)          \
	X(CHLD)          \
	X(CONT)          \
	X(TSTP)          \
	X(TTIN)          \
	X(TTOU)          \
	X(PIPE)          \
	X(URG)           \
	X(IO)            \
	X(PWR)           \
	X(WINCH)         \
	X(XCPU)          \
	X(XFSZ)
#define MPROF_SIGNAL_NAMED(name) #name ", "
#define MPROF_SIGNALS_EXPECTED	 MPROF_SIGNALS(MPROF_SIGNAL_NAMED) "or a number to 64"

/*
 * The number of "USR1", "SIGUSR1" or "10"; -1 for any other value.  Excluded are signals that
 * report a fault, those that cannot be caught, and 32 and 33, which libc uses.
 */
static inline int mprof_signal_number(const char *value)
{
	static const struct {
		const char *name;
		int number;
	} known[] = {
#define X(name) { #name, SIG##name },
		MPROF_SIGNALS(X)
#undef X
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
