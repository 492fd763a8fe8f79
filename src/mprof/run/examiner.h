/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * examiner.h - examines the memory of processes of a run as they end (record --reach).
 *
 * A process that ends puts its number into the header of the file and waits (FORMAT.md 7.6).  A
 * child of mprof examines it: one that fails, for lack of memory or by a mistake, does the run no
 * harm.
 *
 * Threads: all calls from one, but for examiner_stop().
 */
#pragma once

#include <sys/types.h>

#include "../trace/append.h"

struct examiner {
	bool on;
	pid_t child;			  /* 0: none */
	uint32_t turn;			  /* number of the process that it examines */
	struct mprof_file_header *header; /* shared; NULL: not known yet */
	uint32_t stop;
};

/* Waits until this time, CLOCK_MONOTONIC, or until a process ended and was examined. */
void examiner_wait(struct examiner *x, struct append *file, const char *path, int64_t until);
/* Ends the waiting, from another thread. */
void examiner_stop(struct examiner *x);
/* From now on processes do not wait; one that is being examined goes on. */
void examiner_end(struct examiner *x, struct append *file);
