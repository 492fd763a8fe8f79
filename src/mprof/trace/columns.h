/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * columns.h - the columns of packing 1 (FORMAT.md 8.2).
 *
 * The plain bytes of a packed chunk are the lengths of the columns, 32 bits
 * each, and then the columns.  Zeros at the end of a column are left out: who
 * reads on behind its end reads zeros.  A value of several bytes goes into as
 * many columns, its low byte into the first.
 */
#ifndef MPROF_TRACE_COLUMNS_H
#define MPROF_TRACE_COLUMNS_H

#include <stdint.h>

#include <mprof/encode.h>

enum column {
	COLUMN_OP,	/* a tag, with more; one for each record */
	COLUMN_DT_TAKE, /* low bytes of the dt of short allocations */
	COLUMN_DT_GIVE, /* and of short frees */
	COLUMN_DT_HIGH, /* upper four bits of both */
	COLUMN_SIZE_LOW,
	COLUMN_SIZE_HIGH,
	COLUMN_SLACK,			/* minus the expected one */
	COLUMN_REF,			/* enum predict_ref of allocations */
	COLUMN_PLACE,			/* 3 bytes: place of what a free gives back */
	COLUMN_NEAR = COLUMN_PLACE + 3, /* 4 bytes: distance of a short allocation, in eights */
	COLUMN_FAR = COLUMN_NEAR + 4,	/* 8 bytes: distance to the last one in here */
	COLUMN_WORD = COLUMN_FAR + 8,	/* 8 bytes: words and LONG heads as they are */
	COLUMN_VALUE = COLUMN_WORD + 8, /* 3 times 8 bytes: values 1, 2 less 1, 3 of a LONG */
	COLUMNS = COLUMN_VALUE + 24,
	COLUMNS_COMMON = COLUMN_NEAR, /* those that nearly every record reads */
};

/* What COLUMN_OP holds: a tag, maybe with OP_UNKNOWN, or OP_WORD. */
#define OP_WORD	   15u /* a word of no further meaning, in COLUMN_WORD */
#define OP_UNKNOWN 16u /* what is given back has no place: its address is in COLUMN_FAR */
#define OP_OUTSIDE 32u /* LONG of the mmap family, or one without a block */

/* What a LONG record does with the address that is its first value. */
enum long_role { LONG_OUTSIDE, LONG_TAKES, LONG_GIVES };

enum long_role long_role(uint64_t head);

#endif
