/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * process.c - reads /proc/PID/stat, status and statm, /proc/meminfo, and limits of control groups.
 */
#include "process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int read_path(const char *path, char *text, size_t size)
{
	ssize_t n;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	n = read(fd, text, size - 1);
	close(fd);
	if (n <= 0)
		return n ? -errno : -ESRCH;
	text[n] = '\0';
	return 0;
}

static int read_file(pid_t pid, const char *name, char *text, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return read_path(path, text, size);
}

static uint64_t status_bytes(const char *text, const char *name)
{
	const char *at = strstr(text, name);

	return at ? strtoull(at + strlen(name), NULL, 10) * 1024 : 0;
}

void process_add_status(struct process_memory *m, const char *text)
{
	const uint64_t huge = status_bytes(text, "\nHugetlbPages:"),
		       resident = status_bytes(text, "\nVmRSS:");

	if (resident) {
		m->rss = resident;
		m->rss_anon = status_bytes(text, "\nRssAnon:");
	}
	m->peak_rss = status_bytes(text, "\nVmHWM:");
	m->peak_rss += m->peak_rss ? huge : 0;
	m->rss += huge;
	m->rss_anon += huge;
	m->swapped = status_bytes(text, "\nVmSwap:");
}

/* Where status does not tell it: before Linux 4.5, and in gVisor. */
static uint64_t statm_anon(pid_t pid, uint64_t page)
{
	uint64_t resident = 0, shared = 0;
	char text[256];

	if (read_file(pid, "statm", text, sizeof(text)) ||
	    sscanf(text, "%*s %" SCNu64 " %" SCNu64, &resident, &shared) != 2)
		return 0;
	return (resident > shared ? resident - shared : 0) * page;
}

int process_memory(pid_t pid, struct process_memory *m)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), resident = 0;
	char text[16384], *p;
	int code = read_file(pid, "stat", text, sizeof(text));

	if (code)
		return code;
	/* The name may contain blanks and brackets; the rest of the line cannot. */
	p = strrchr(text, ')');
	if (!p ||
	    sscanf(p + 1,
		   " %c %*s %*s %*s %*s %*s %*s %" SCNu64
		   " %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %" SCNu64 " %" SCNu64 " %" SCNu64,
		   &m->state, &m->minor_faults, &m->start_time, &m->virt, &resident) != 5)
		return -EBADMSG;
	m->rss = resident * page;
	m->rss_anon = m->peak_rss = m->swapped = 0;
	if (read_file(pid, "status", text, sizeof(text)))
		return 0;
	process_add_status(m, text);
	if (m->rss && !strstr(text, "\nRssAnon:"))
		m->rss_anon += statm_anon(pid, page);
	return 0;
}

struct process_shares process_shares(pid_t pid)
{
	char text[4096];

	if (read_file(pid, "smaps_rollup", text, sizeof(text)))
		return (struct process_shares){ .pss = 0 };
	return (struct process_shares){ .huge = status_bytes(text, "\nAnonHugePages:"),
					.pss = status_bytes(text, "\nPss:") };
}

int system_memory(struct mprof_system *m)
{
	const struct {
		const char *name;
		uint64_t *to;
	} field[] = {
		{ "MemTotal:", &m->total },	    { "MemFree:", &m->free },
		{ "MemAvailable:", &m->available }, { "SwapTotal:", &m->swap_total },
		{ "SwapFree:", &m->swap_free },
	};
	char text[4096];
	int code = read_path("/proc/meminfo", text, sizeof(text));
	size_t i;

	*m = (struct mprof_system){ .ticks = 0 };
	for (i = 0; !code && i < sizeof(field) / sizeof(field[0]); i++) {
		const char *p = strstr(text, field[i].name);

		if (!p || sscanf(p + strlen(field[i].name), "%" SCNu64, field[i].to) != 1)
			return -EBADMSG;
		*field[i].to *= 1024;
	}
	return code;
}

/* Returns the number in a file of a group; UINT64_MAX without one, as for "max". */
static uint64_t group_number(const char *group, const char *file)
{
	char path[PATH_MAX], text[32], *end;
	uint64_t value;

	if ((size_t)snprintf(path, sizeof(path), "%s%s", group, file) >= sizeof(path) ||
	    read_path(path, text, sizeof(text)))
		return UINT64_MAX;
	value = strtoull(text, &end, 10);
	return end > text ? value : UINT64_MAX;
}

/* Returns the least limit of the group at root/name and those above it. */
static uint64_t least_limit(const char *root, const char *name, const char *limit)
{
	const int length = (int)strcspn(name, "\n");
	uint64_t least = UINT64_MAX, value;
	char *group = NULL, *slash;

	if (asprintf(&group, "%s%.*s", root, length, name) < 0)
		return least;
	for (;;) {
		value = group_number(group, limit);
		if (value < least)
			least = value;
		slash = strrchr(group, '/');
		if (!slash || slash < group + strlen(root))
			break;
		*slash = '\0';
	}
	free(group);
	return least;
}

uint64_t system_group_limit(void)
{
	static const struct {
		const char *root, *line, *limit;
	} hierarchy[] = {
#define GROUPS(root, line, limit, used, cached, events) { root, line, limit },
#include <mprof/groups.def>
#undef GROUPS
	};
	struct mprof_system machine;
	uint64_t least, value;
	char text[8192] = "\n";
	const char *at;

	if (system_memory(&machine) || read_path("/proc/self/cgroup", text + 1, sizeof(text) - 1))
		return 0;
	least = machine.total;
	for (size_t i = 0; i < sizeof(hierarchy) / sizeof(hierarchy[0]); i++) {
		at = strstr(text, hierarchy[i].line);
		if (!at)
			continue;
		value = least_limit(hierarchy[i].root, at + strlen(hierarchy[i].line),
				    hierarchy[i].limit);
		if (value < least)
			least = value;
	}
	return least < machine.total ? least : 0;
}

static bool read_kills(const char *path, uint64_t *kills)
{
	static const char name[] = "\noom_kill ";
	char text[32768] = "\n";
	const char *at = read_path(path, text + 1, sizeof(text) - 1) ? NULL : strstr(text, name);

	if (at)
		*kills = strtoull(at + sizeof(name) - 1, NULL, 10);
	return at;
}

/* Finds the file of the group at root/name, or of the nearest above it that has one. */
static bool find_events(const char *root, const char *name, const char *events, struct oom_kills *k)
{
	size_t length = strcspn(name, "\n");

	for (;;) {
		if ((size_t)snprintf(k->path, sizeof(k->path), "%s%.*s%s", root, (int)length, name,
				     events) < sizeof(k->path) &&
		    read_kills(k->path, &k->count))
			return true;
		if (!length)
			return false;
		while (length && name[--length] != '/')
			;
	}
}

/* Begins to count those of another group, or of the machine if the group does not tell. */
static void count_group(struct oom_kills *k)
{
	static const struct {
		const char *root, *line, *events;
	} hierarchy[] = {
#define GROUPS(root, line, limit, used, cached, events) { root, line, events },
#include <mprof/groups.def>
#undef GROUPS
	};
	const char *at;

	for (size_t i = 0; i < sizeof(hierarchy) / sizeof(hierarchy[0]); i++) {
		at = strstr(k->group, hierarchy[i].line);
		if (at && find_events(hierarchy[i].root, at + strlen(hierarchy[i].line),
				      hierarchy[i].events, k))
			return;
	}
	snprintf(k->path, sizeof(k->path), "/proc/vmstat");
	if (!read_kills(k->path, &k->count))
		k->count = 0;
}

/* Does it end?  Then /proc shows the root as its group in hierarchies of version 1. */
static bool is_exiting(pid_t pid)
{
	enum { PF_EXITING = 4 };
	char text[4096];
	const char *p = read_file(pid, "stat", text, sizeof(text)) ? NULL : strrchr(text, ')');
	unsigned flags;

	return !p || sscanf(p + 1, " %*c %*s %*s %*s %*s %*s %u", &flags) != 1 ||
	       flags & PF_EXITING;
}

uint32_t oom_kills_more(struct oom_kills *k, pid_t pid)
{
	char group[sizeof(k->group)] = "\n";
	const uint64_t before = k->count;
	uint32_t more = 0;

	if (*k->path && read_kills(k->path, &k->count) && k->count > before)
		more = (uint32_t)(k->count - before);
	if (pid && !read_file(pid, "cgroup", group + 1, sizeof(group) - 1) &&
	    strcmp(group, k->group) != 0 && !is_exiting(pid)) {
		memcpy(k->group, group, sizeof(group));
		count_group(k);
	}
	return more;
}

int process_title(pid_t pid, char *title, size_t size)
{
	return read_file(pid, "cmdline", title, size);
}

bool process_is_alive(pid_t pid, uint64_t start_time)
{
	struct process_memory m;

	return !process_memory(pid, &m) && m.start_time == start_time && m.state != 'Z' &&
	       m.state != 'X';
}

pid_t process_of_thread(pid_t tid)
{
	char path[64], line[256];
	int pid = tid;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	f = fopen(path, "re");
	while (f && fgets(line, sizeof(line), f) && sscanf(line, "Tgid: %d", &pid) != 1)
		;
	if (f)
		fclose(f);
	return pid;
}

uint64_t process_signals(pid_t pid, pid_t tid, const char *name)
{
	char path[64], line[256];
	uint64_t set = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/status", (int)pid, (int)tid);
	f = fopen(path, "re");
	if (!f)
		return UINT64_MAX;
	while (fgets(line, sizeof(line), f))
		if (!strncmp(line, name, strlen(name)))
			set = strtoull(line + strlen(name), NULL, 16);
	fclose(f);
	return set;
}
