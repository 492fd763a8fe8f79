/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * format.h - numbers for people, the same in every answer, picture and page.
 *
 * Returned by value, so that they can be used as printf("%s", format_count(n).s).
 * src/web/words.ts does the same in pages; tests/format.tsv contains what both must print.
 */
#pragma once

#include <stdint.h>

struct text {
	char s[64];
};

struct long_text {
	char s[512];
};

struct text format_count(uint64_t n);	       /* 1,234,567 */
struct text format_number(uint64_t n);	       /* 1234: of a process, a thread */
struct text format_address(uint64_t address);  /* 7f00a4c2 */
struct text format_signed(int64_t n);	       /* -1,234 */
struct text format_bytes(uint64_t bytes);      /* 55 bytes, 1.2 MiB */
struct long_text format_exact(uint64_t bytes); /* 55 bytes, 1,258,291 bytes (1.2 MiB) */
struct text format_ns(uint64_t ns);	       /* 83 ns, 1.25 us, 31.0 ms, 2 min 5 s */
struct text format_since(int64_t ns);	       /* the same; negative before the start */
struct text format_date(int64_t real_ns);      /* ns since 1970: 2026-11-26 21:01:07Z (RFC 3339) */
struct text format_percent(uint64_t part, uint64_t of); /* 12 %, <1 %, >99 %; - if `of` is 0 */
struct text format_ratio(double ratio);			/* 0.87 */
struct text format_mean(uint64_t sum, uint64_t n);	/* 1,234.5; 0.0 if n is 0 */
struct text format_many(uint64_t n, const char *one, const char *many); /* 1 block, 2 blocks */
