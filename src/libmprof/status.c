// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * status.c - numbers from /proc/self and of the control group, by raw system calls.
 */
#include "status.h"

#include "sys.h"
#include "text.h"

long mp_status_read(const char *path, char *buffer, size_t size)
{
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	long n = fd < 0 ? 0 : sys_read(fd, buffer, size - 1);

	if (fd >= 0)
		sys_close(fd);
	buffer[n > 0 ? n : 0] = 0;
	return n > 0 ? n : 0;
}

/* The fields of /proc/self/stat that are used: constant for a process and its program. */
static const uint8_t stat_field[] = { 22, 28, 47 };
enum stat_value { STAT_START_TIME, STAT_STACK_START, STAT_BREAK_START, STAT_VALUES };

/* The fields follow the second one, which ends with the last ')'. */
static void status_read_stat(uint64_t value[STAT_VALUES])
{
	char line[1024];
	long n = mp_status_read("/proc/self/stat", line, sizeof(line)), i;
	int field = 2, next = 0;

	for (i = n - 1; i > 0 && line[i] != ')'; i--)
		;
	for (; i > 0 && i < n && next < STAT_VALUES; i++)
		if (line[i] == ' ' && ++field == stat_field[next])
			text_parse(line + i + 1, 10, &value[next++]);
}

static uint64_t known[STAT_VALUES];
static int known_of; /* the process; written last */

/* Reads the file once for each process, as the kernel takes 15 us to write it. */
static uint64_t status_stat(enum stat_value which)
{
	uint64_t value[STAT_VALUES] = { 0 };
	const int pid = sys_getpid();

	if (__atomic_load_n(&known_of, __ATOMIC_ACQUIRE) == pid)
		return __atomic_load_n(&known[which], __ATOMIC_RELAXED);
	status_read_stat(value);
	for (unsigned i = 0; i < STAT_VALUES; i++)
		__atomic_store_n(&known[i], value[i], __ATOMIC_RELAXED);
	if (value[STAT_START_TIME])
		__atomic_store_n(&known_of, pid, __ATOMIC_RELEASE);
	return value[which];
}

void mp_status_forked(void)
{
	__atomic_store_n(&known_of, 0, __ATOMIC_RELEASE);
}

uint64_t mp_start_time(void)
{
	return status_stat(STAT_START_TIME);
}

uint64_t mp_stack_start(void)
{
	return status_stat(STAT_STACK_START);
}

uint64_t mp_break_start(void)
{
	return status_stat(STAT_BREAK_START);
}

#define STATUS_LINE 128 /* bytes of a key and its number, at most */

/* Reads a number from a file of lines such as /proc/self/status; key includes the colon.  0 if
 * missing.  The groups of a user are one line there, which may be larger than text. */
static uint64_t status_number(const char *path, const char *key)
{
	char text[4096];
	uint64_t value = 0;
	const char *at = NULL;
	size_t used = 0;
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	long n = fd < 0 ? 0 : 1;

	while (n > 0 && (!at || !__builtin_strchr(at, '\n'))) {
		if (used > STATUS_LINE) {
			__builtin_memmove(text, text + used - STATUS_LINE, STATUS_LINE);
			used = STATUS_LINE;
		}
		n = sys_read(fd, text + used, sizeof(text) - 1 - used);
		used += n > 0 ? (size_t)n : 0;
		text[used] = 0;
		at = __builtin_strstr(text, key);
	}
	if (fd >= 0)
		sys_close(fd);
	if (at) {
		for (at += text_length(key); *at == ' ' || *at == '\t'; at++)
			;
		text_parse(at, 10, &value);
	}
	return value;
}

/* Returns how many seccomp filters apply to this process; since Linux 5.9. */
uint32_t mp_seccomp_filters(void)
{
	return (uint32_t)status_number("/proc/self/status", "Seccomp_filters:");
}

uint64_t mp_high_water(void)
{
	return status_number("/proc/self/status", "VmHWM:") * 1024;
}

/* Counts mapped and resident pages now.  0, or -1 without /proc. */
int mp_memory_pages(uint64_t *mapped, uint64_t *resident)
{
	char line[128];
	size_t used;

	mp_status_read("/proc/self/statm", line, sizeof(line));
	used = text_parse(line, 10, mapped);
	return used && text_parse(line + used + 1, 10, resident) ? 0 : -1;
}

/* Sets *bytes; memory that is available to programs does not count as used. */
int mp_system_used(uint64_t *bytes)
{
	uint64_t all = status_number("/proc/meminfo", "MemTotal:") * 1024;
	uint64_t available = status_number("/proc/meminfo", "MemAvailable:") * 1024;

	*bytes = all - available;
	return available && all >= available ? 0 : -1;
}

uint64_t mp_system_memory(void)
{
	return status_number("/proc/meminfo", "MemTotal:") * 1024;
}

/* ---- the control group ---- */

static const struct hierarchy {
	const char *root, *line, *limit, *used, *cached;
} hierarchies[] = {
#define GROUPS(root, line, limit, used, cached, events) { root, line, limit, used, cached },
#include <mprof/groups.def>
#undef GROUPS
};

static const struct hierarchy *grouped; /* of the group with the least limit; NULL: none */
static char group[512];			/* its directory */

/* Returns the number in a file of a group, 0 if there is none. */
static uint64_t status_group_number(const char *directory, const char *file)
{
	char path[sizeof(group) + 32], text[32];
	struct text t = text_on(path, sizeof(path));
	uint64_t value = 0;

	text_string(&t, directory);
	text_string(&t, file);
	mp_status_read(path, text, sizeof(text));
	return text_parse(text, 10, &value) ? value : 0;
}

/* Looks at a group and at those above it. */
static void status_look_at_groups(const struct hierarchy *h, const char *name, uint64_t *least)
{
	char path[sizeof(group)];
	struct text t = text_on(path, sizeof(path));
	size_t root = text_length(h->root);
	uint64_t limit;

	text_string(&t, h->root);
	while (*name && *name != '\n')
		text_char(&t, *name++);
	for (; !t.full && t.used >= root; t.at[t.used] = 0) {
		limit = status_group_number(path, h->limit);
		if (limit && limit < *least) {
			*least = limit;
			grouped = h;
			for (size_t i = 0; i <= t.used; i++)
				group[i] = path[i];
		}
		while (t.used > root && t.at[t.used - 1] != '/')
			t.used--;
		t.used--;
	}
}

uint64_t mp_group_limit(void)
{
	uint64_t least = mp_system_memory();
	char text[4096] = "\n"; /* 13 lines of version 1, with the long names of Kubernetes */
	const char *at;

	mp_status_read("/proc/self/cgroup", text + 1, sizeof(text) - 1);
	for (unsigned i = 0; i < sizeof(hierarchies) / sizeof(hierarchies[0]); i++) {
		at = __builtin_strstr(text, hierarchies[i].line);
		if (at)
			status_look_at_groups(&hierarchies[i],
					      at + text_length(hierarchies[i].line), &least);
	}
	return grouped ? least : 0;
}

int mp_group_used(uint64_t *bytes)
{
	char path[sizeof(group) + 32];
	struct text t = text_on(path, sizeof(path));
	uint64_t cached;

	text_string(&t, group);
	text_string(&t, "/memory.stat");
	*bytes = status_group_number(group, grouped->used);
	cached = status_number(path, grouped->cached);
	*bytes -= cached < *bytes ? cached : 0;
	return *bytes ? 0 : -1;
}
