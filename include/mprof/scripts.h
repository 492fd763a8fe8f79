/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * scripts.h - functions of scripts in call stacks: between libmprof_python.so, libmprof.so and
 * mprof.
 *
 * The interpreter enters each function through a stub of its own, which keeps two words in its
 * frame: the interpreter's data of the call (or 0), and a mark.  The unwinder reads from that data
 * which instruction of the script runs, and replaces the stub's return address by an address that
 * stands for the line: MPROF_SCRIPT_LINES + n.  Nothing is at such an address.  Processes of a run
 * have no addresses in common, because a forked child's new functions are not its parent's.
 *
 * /tmp/perf-PID.map names both, with lines "address size py::function:file:line", numbers in
 * hexadecimal without 0x as perf(1) reads them.  A '+' behind the line says that each address in
 * the range stands for the next line.  A process that becomes another user, as servers do, may not
 * write to the first user's file, so it has one file for each.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

#define MPROF_MAP_BEGINS "0 0 mprof\n" /* the first line of such a map */
#define MPROF_MAPS	 3u	       /* most files of a process */

/* The name of a file, by its number: the first is the one that perf(1) reads. */
static inline const char *mprof_map_name(unsigned file)
{
	return file ? "/tmp/perf-%d.%u.map" : "/tmp/perf-%d.map";
}

#define MPROF_SCRIPT_STUBS	0x100000000000ul /* chunks of stubs are here, below the lines */
#define MPROF_SCRIPT_LINES	0x200000000000ul
#define MPROF_SCRIPT_LINES_END	0x300000000000ul
#define MPROF_SCRIPT_OF_PROCESS (1ul << 22) /* bytes of stubs, and lines, of each process */
#define MPROF_SCRIPT_CHUNK	(1ul << 16) /* bytes; aligned to twice that */
#define MPROF_SCRIPT_STUB	32u	    /* bytes of a stub, and of its description */
#define MPROF_SCRIPT_MARK	0x6d707266u

/* Versions of CPython of which `mprof attach --python` reads what runs, in words. */
#define MPROF_SCRIPT_ATTACHED "3.11 to 3.15"

/* Describes the stub MPROF_SCRIPT_CHUNK bytes before it. */
struct mprof_script {
	uint64_t lines;	      /* the address that stands for its first line */
	const uint16_t *line; /* by instruction, from the first line; NULL if unknown */
	uint64_t instructions;
	uint64_t reserved;
};

/* Where the data of a call has the code and the instruction that runs; and where the first
 * instruction is from the code.  In bytes; instructions have 2. */
struct mprof_script_layout {
	uint32_t code, instruction, first;
};

/* Bits of the address of a code; from 3.14, the lowest ones may say how a frame holds it. */
#define MPROF_SCRIPT_CODE (-(uintptr_t)8)

/*
 * The table of lines of CPython 3.11 to 3.15 (Objects/locations.md there): entries of a byte
 * 1cccclll for l + 1 instructions, then bytes with the highest bit 0.  c 13 and 14: a signed
 * difference to the line of the last entry follows, its sign in the lowest bit; 10 to 12: it is
 * c - 10; 15: no line.
 */
struct mprof_script_table {
	const uint8_t *at, *end;
	int64_t line; /* of the last entry, from the function's first line */
};

/* Reads the next entry.  Returns how many instructions it has; 0 at the end. */
static inline unsigned mprof_script_next(struct mprof_script_table *t)
{
	const unsigned begins = t->at < t->end ? *t->at++ : 0, how = begins >> 3 & 15;
	unsigned by = 0, shift = 0;

	if (!begins)
		return 0;
	/* Numbers of 6 bits a byte, the lowest first; the seventh bit says that more follow. */
	for (; (how == 13 || how == 14) && t->at < t->end && shift < 30; shift += 6) {
		by |= (*t->at & 63u) << shift;
		if (!(*t->at++ & 64))
			break;
	}
	t->line += by & 1 ? -(int64_t)(by >> 1) : (int64_t)(by >> 1);
	t->line += how >= 10 && how <= 12 ? how - 10 : 0;
	while (t->at < t->end && !(*t->at & 128))
		t->at++;
	return (begins & 7) + 1;
}

/* Functions of libmprof.so.  Call it before the first stub runs.  The layout is copied. */
void mprof_set_scripts(const struct mprof_script_layout *layout);
/* Returns memory of zeros, at this address unless NULL, which counts as mprof's own; or NULL.  It
 * is never released. */
void *mprof_script_memory(void *at, size_t bytes);
/* Makes code of such memory, a multiple of pages; -1 if the system refuses. */
int mprof_script_code(void *at, size_t bytes);
