/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* words.h - numbers as pictures say them.  Returned by value: words_bytes(n).s is a string. */
#ifndef MPROF_DRAW_WORDS_H
#define MPROF_DRAW_WORDS_H

#include <stdint.h>

struct words {
	char s[48];
};

struct words words_count(uint64_t n);			/* 1,234,567 */
struct words words_bytes(uint64_t bytes);		/* 55 bytes, 1.2 MiB */
struct words words_time(uint64_t ns);			/* 83 ns, 31.0 ms, 2.31 s */
struct words words_percent(uint64_t part, uint64_t of); /* 12 %; of 0: - */

#endif
