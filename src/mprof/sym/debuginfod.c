/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* debuginfod.c - files from the servers that DEBUGINFOD_URLS names. */
#include "debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../util/alloc.h"

#define LIBRARY "libdebuginfod.so.1"
#define SILENT	"no server of DEBUGINFOD_URLS answers"

/* Declarations of elfutils/debuginfod.h, which is in a separate package. */
struct client;
typedef struct client *begin_call(void);
typedef void end_call(struct client *);
typedef int find_call(struct client *, const unsigned char *id, int bytes, char **path);
typedef int progress_call(struct client *, long, long);
typedef void set_progress_call(struct client *, progress_call *);

struct debuginfod {
	void *library;
	struct client *client;
	find_call *find_debug, *find_object;
	end_call *end;
	bool tried, asked, answered;
	long spent_ms;
	long long began_ms; /* start of the current fetch */
	const char *why;
};

/* libdebuginfod's user pointer is not in all versions; we have one client at a time. */
static struct debuginfod *asking;

static long long now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ll + t.tv_nsec / 1000000;
}

static bool time_is_over(const struct debuginfod *d)
{
	return d->spent_ms + (now_ms() - d->began_ms) >= DEBUGINFOD_SECONDS * 1000ll;
}

/* Any value but 0 ends the transfer. */
static int progress(struct client *client, long done, long whole)
{
	return asking && time_is_over(asking);
}

static const char *load(struct debuginfod *d)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	set_progress_call *set_progress;
	begin_call *begin;

	if (!urls || !*urls)
		return "DEBUGINFOD_URLS names no server";
	/* Limits the wait for a silent server, instead of three times 90 s. */
	setenv("DEBUGINFOD_TIMEOUT", "10", 0);
	setenv("DEBUGINFOD_RETRY_LIMIT", "0", 0);
	d->library = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
	if (!d->library)
		return LIBRARY " is not installed";
	*(void **)&begin = dlsym(d->library, "debuginfod_begin");
	*(void **)&d->end = dlsym(d->library, "debuginfod_end");
	*(void **)&d->find_debug = dlsym(d->library, "debuginfod_find_debuginfo");
	*(void **)&d->find_object = dlsym(d->library, "debuginfod_find_executable");
	*(void **)&set_progress = dlsym(d->library, "debuginfod_set_progressfn");
	if (!begin || !d->end || !d->find_debug || !d->find_object || !set_progress)
		return LIBRARY " has a different version";
	d->client = begin();
	if (!d->client)
		return LIBRARY " does not start";
	set_progress(d->client, progress);
	return NULL;
}

static void fetch(struct debuginfod *d, find_call *find, struct build_id id,
		  struct file_found *found)
{
	char *path = NULL;
	int fd;

	d->began_ms = now_ms();
	asking = d;
	fd = find(d->client, id.bytes, (int)id.n, &path);
	asking = NULL;
	d->asked = true;
	d->answered |= fd >= 0 || fd == -ENOENT;
	if (time_is_over(d))
		d->why = "the servers did not answer in time";
	else if (fd == -ETIME && !d->answered)
		d->why = SILENT; /* the next request would wait just as long */
	d->spent_ms += (long)(now_ms() - d->began_ms);
	if (fd >= 0) {
		found->fd = fd;
		found->state = FILES_FOUND;
		snprintf(found->path, sizeof(found->path), "%s", path ? path : "");
	}
	free(path);
}

static bool ready(struct debuginfod *d, struct build_id id)
{
	if (!d->tried)
		d->why = load(d);
	d->tried = true;
	return !d->why && id.n;
}

struct debuginfod *debuginfod_open(void)
{
	return must_calloc(1, sizeof(struct debuginfod));
}

void debuginfod_close(struct debuginfod *d)
{
	if (!d)
		return;
	if (d->client)
		d->end(d->client);
	free(d); /* the library stays: libcurl must not be unloaded */
}

void debuginfod_debug(struct debuginfod *d, struct build_id id, struct file_found *found)
{
	if (ready(d, id))
		fetch(d, d->find_debug, id, found);
}

void debuginfod_object(struct debuginfod *d, struct build_id id, struct file_found *found)
{
	if (ready(d, id))
		fetch(d, d->find_object, id, found);
}

const char *debuginfod_why(const struct debuginfod *d)
{
	if (!d || d->why)
		return d ? d->why : NULL;
	return d->asked && !d->answered ? SILENT : NULL;
}
