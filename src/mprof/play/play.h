/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * play.h - one playback in a separate process: starts the runner with a variant's allocator and
 * reads its records (include/mprof/runner.h).
 *
 *	const char *const args[] = { "in=...", "mode=serial", NULL };
 *	struct play p;
 *
 *	status = play_start(&p, v, args, limit_ms, err);
 *	while (!status && (status = play_next(&p, &record, err)) > 0)
 *		play_read(&p, buffer, record.bytes, err) ...
 *	play_end(&p, status < 0 ? NULL : err);   // always after a start that worked
 *
 * The runner has its own memory from exec on: VmHWM, unlike ru_maxrss, does not begin at the
 * launcher's. The runner dies with the thread that started it. Messages on its stderr are kept, not
 * shown.
 *
 * Threads: any, each with its own plays.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <mprof/runner.h>

#include "variant.h"

#define PLAY_FD 3 /* the runner writes records to it: out=3 is added to its arguments */

struct play {
	int fd; /* reads its records; -1 when closed */
	pid_t pid;
	int said;      /* a memory file with its stderr */
	int64_t until; /* CLOCK_MONOTONIC, ns; 0: no limit */
	int64_t limit_ms;
	const struct variant *variant;
	char line[160]; /* the first line on stderr; set by play_end() */
	bool complete;	/* true once RESULT has come */
	bool refused;	/* true after an ERROR record: the runner ends by itself */
	int failed;	/* the first -errno of reading, 0 if none; and its reason: */
	struct error why;
};

/*
 * Returns the path of mprof_replay, which the caller frees: in the directory that MPROF_LIB names
 * (or of that file), next to mprof, in ../libexec/mprof or ../lib/mprof.  NULL with *err if it is
 * not found.
 */
char *play_find(struct error *err);

/* Arguments for the functions below.  A zeroed struct is empty. */
struct play_args {
	char **text; /* KEY=VALUE..., ending with NULL */
	size_t n, room;
};

void play_args_put(struct play_args *a, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void play_args_free(struct play_args *a);

/*
 * args: KEY=VALUE of runner.h, without out, then NULL.  limit_ms: the play is killed if it takes
 * longer; 0 = no limit.
 */
int play_start(struct play *p, const struct variant *v, const char *const *args, int64_t limit_ms,
	       struct error *err);

/*
 * Reads the head of the next record. 1; 0 after the last one; -errno and *err. An ERROR record is
 * read here and becomes -EPROTO with its text.
 */
int play_next(struct play *p, struct mprof_run_record *r, struct error *err);
/* Reads exactly this many bytes of the record.  0, or -errno with *err: -ETIMEDOUT, -EPIPE if it
 * is truncated. */
int play_read(struct play *p, void *to, uint64_t bytes, struct error *err);
/* Skips this many bytes of the record. */
int play_skip(struct play *p, uint64_t bytes, struct error *err);

/*
 * Waits for its end (kills it first if it still runs and was not read to the end) and closes
 * everything.  0, or -errno with *err in one sentence: it could not be loaded, a signal, a time
 * limit, a status; -EBADMSG if the runner found the playback file damaged.
 */
int play_end(struct play *p, struct error *err);

/* Starts a play, skips all records but RESULT, and ends it. */
int play_result(const struct variant *v, const char *const *args, int64_t limit_ms,
		struct mprof_run_result *result, struct error *err);
