/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* memory.c - how much memory a command may take. */
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "format.h"
#include "unfinished.h"

static struct {
	bool on;
	uint64_t read;	/* bytes of files */
	uint64_t asked; /* the user's limit, 0 if none */
	uint64_t bytes; /* the limit in force */
	struct rlimit before;
} cap = { .bytes = UINT64_MAX };

uint64_t memory_free(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	char line[128];

	while (f && !kib && fgets(line, sizeof(line), f))
		sscanf(line, "MemAvailable: %llu", &kib);
	if (f)
		fclose(f);
	return kib ? kib * 1024
		   : (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

static uint64_t usual(void)
{
	uint64_t bytes, most = memory_free() / 4 * 3;

	if (__builtin_mul_overflow(cap.read, MEMORY_PER_BYTE, &bytes) ||
	    __builtin_add_overflow(bytes, MEMORY_LEAST, &bytes))
		bytes = UINT64_MAX;
	if (most < MEMORY_FLOOR)
		most = MEMORY_FLOOR;
	return bytes < most ? bytes : most;
}

#define MORE   "; --memory SIZE allows more"
#define ULIMIT ", the limit of ulimit -v"

/* The limit of the address space, as set in a shell; UINT64_MAX = unlimited. */
static uint64_t shells_limit(void)
{
	struct rlimit space;

	return getrlimit(RLIMIT_AS, &space) || space.rlim_cur == RLIM_INFINITY ? UINT64_MAX
									       : space.rlim_cur;
}

static void set_limit(void)
{
/* A sanitizer's own tables are larger than all limits. */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	struct rlimit limit = cap.before;

	if (limit.rlim_cur > cap.bytes)
		limit.rlim_cur = cap.bytes;
	setrlimit(RLIMIT_DATA, &limit);
#endif
}

static void renew(void)
{
	if (!cap.on)
		return;
	cap.bytes = cap.asked ? cap.asked : usual();
	set_limit();
}

void memory_cap(void)
{
	if (!cap.on && getrlimit(RLIMIT_DATA, &cap.before) == 0)
		cap.on = true;
	renew();
}

void memory_cap_file(uint64_t bytes)
{
	if (__builtin_add_overflow(cap.read, bytes, &cap.read))
		cap.read = UINT64_MAX;
	renew();
}

void memory_cap_at(uint64_t bytes)
{
	cap.asked = bytes;
	renew();
}

uint64_t memory_cap_bytes(void)
{
	return cap.bytes;
}

uint64_t memory_cap_asked(void)
{
	return cap.asked;
}

void memory_uncap(void)
{
	if (cap.on)
		setrlimit(RLIMIT_DATA, &cap.before);
}

void memory_recap(void)
{
	if (cap.on)
		set_limit();
}

void memory_explain(char *text, size_t room)
{
	const uint64_t space = shells_limit();
	size_t n = strlen(text);

	/* The sentence may already contain the explanation. */
	if (!cap.on || n >= room || strstr(text, MORE) || strstr(text, ULIMIT))
		return;
	if (space < cap.bytes)
		snprintf(text + n, room - n, " within %s" ULIMIT, format_bytes(space).s);
	else
		snprintf(text + n, room - n, " within %s" MORE, format_bytes(cap.bytes).s);
}

/* ---- the end ---- */

static struct {
	char title[64];
	int status;
	pid_t us;     /* the process that set the title, not a child */
	pid_t child;  /* 0 if none runs */
	pid_t ending; /* the thread that ends the program; 0 if none does */
} end = { .title = "mprof", .status = 1 };

void memory_out_title(const char *title)
{
	snprintf(end.title, sizeof(end.title), "%s", title);
	end.us = getpid();
}

void memory_out_status(int status)
{
	end.status = status;
}

void memory_out_child(int pid)
{
	__atomic_store_n(&end.child, pid, __ATOMIC_RELAXED);
}

static void say(void)
{
	const uint64_t space = shells_limit();
	char text[512];
	size_t n;

	snprintf(text, sizeof(text), "%s: out of memory", end.title);
	memory_explain(text, sizeof(text));
	n = strlen(text);
	if (space != UINT64_MAX && !strstr(text, ULIMIT))
		snprintf(text + n, sizeof(text) - n, " (ulimit -v: %s)", format_bytes(space).s);
	fflush(stdout);
	fprintf(stderr, "%s\n", text);
}

/* The child's parent reaps it; only its status is read here. */
static void wait_for_child(pid_t child)
{
	siginfo_t info = { .si_code = 0 };

	while (waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR)
		;
	if (info.si_code)
		end.status = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
}

void memory_out(void)
{
	pid_t nobody = 0, child;

	if (!__atomic_compare_exchange_n(&end.ending, &nobody, gettid(), false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE)) {
		/* Called again by a function that runs at exit, or by another thread, which ends
		 * with the program. */
		while (nobody != gettid())
			pause();
		_exit(end.status);
	}
	say();
	if (end.us && end.us != getpid())
		_exit(end.status);
	child = __atomic_load_n(&end.child, __ATOMIC_RELAXED);
	if (child)
		wait_for_child(child);
	unfinished_remove();
	exit(end.status);
}

void memory_give_way(void)
{
	const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)!write(fd, "1000", 4);
	close(fd);
}
