/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* compact.h - rewriting a finished trace in a tenth of the space. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../util/error.h"

#define COMPACT_LEVEL_DEFAULT 1	   /* of zstd */
#define COMPACT_LEVEL_BEST    9	   /* a tenth smaller for twice the time */
#define COMPACT_ERROR_NS      1000 /* largest error of times, unless they must be exact */

struct event;
struct trace;

struct compact_options {
	int level;  /* of zstd */
	bool exact; /* keep all times exact */
	int to;	    /* descriptor of an empty file to write instead; 0 = replace the trace */
	/* A signal handler may set it: then stops soon, with -EINTR.  May be NULL. */
	const volatile sig_atomic_t *stop;
	/* These may be NULL; all get `context`.  Each event goes to one of the first two. */
	void *context;
	void (*events)(void *context, const struct event *e, size_t n);
	void (*sums)(void *context, uint64_t calls, uint64_t asked); /* asked: bytes */
	void (*finished)(void *context, const struct trace *t);	     /* after it; damage is known */
	void (*progress)(void *context, uint64_t done, uint64_t all); /* bytes of the trace */
};

/*
 * Compresses a trace that is no longer written (FORMAT.md 8) into a new file in the same directory,
 * which then replaces the old one. The old file stays unchanged if anything fails or if it is
 * damaged (-EBADMSG); a compressed trace is not changed, and a counts file is refused. Times are
 * then accurate to COMPACT_ERROR_NS, or exact; the order of events is unchanged. Bytes outside
 * extents are not copied. events and finished are not called for one that was compressed before.
 * Returns 0 or -errno with *err.
 */
int trace_compress(const char *path, const struct compact_options *o, struct error *err);
