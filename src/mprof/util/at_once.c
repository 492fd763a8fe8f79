// SPDX-License-Identifier: LGPL-3.0-or-later
/* at_once.c - see at_once.h. */
#include "at_once.h"

#include "order.h"

ORDER(by_time, uint64_t, COMPARE(*x, *y))

size_t most_at_once(uint64_t *first, uint64_t *last, size_t n)
{
	size_t most = 0, ended = 0;

	SORT(first, n, by_time);
	SORT(last, n, by_time);
	for (size_t i = 0; i < n; i++) {
		while (ended < i && last[ended] < first[i])
			ended++;
		most = i + 1 - ended > most ? i + 1 - ended : most;
	}
	return most;
}
