// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * status.c - numbers from /proc/self, by raw system calls.
 */
#include "status.h"

#include "sys.h"
#include "text.h"

/* Reads a file of /proc into buffer, NUL-terminated.  Returns its length. */
static long status_read_proc(const char *path, char *buffer, size_t size)
{
	int fd = sys_open(path, O_RDONLY | O_CLOEXEC, 0);
	long n = fd < 0 ? 0 : sys_read(fd, buffer, size - 1);

	if (fd >= 0)
		sys_close(fd);
	buffer[n > 0 ? n : 0] = 0;
	return n > 0 ? n : 0;
}

/* Reads a field of /proc/self/stat after the second one, which ends with the last ')'. */
static uint64_t status_stat_number(int wanted)
{
	char line[1024];
	long n = status_read_proc("/proc/self/stat", line, sizeof(line)), i;
	uint64_t value = 0;
	int field = 2;

	for (i = n - 1; i > 0 && line[i] != ')'; i--)
		;
	for (; i > 0 && i < n; i++)
		if (line[i] == ' ' && ++field == wanted) {
			text_parse(line + i + 1, 10, &value);
			break;
		}
	return value;
}

uint64_t mp_start_time(void)
{
	return status_stat_number(22);
}

uint64_t mp_stack_start(void)
{
	return status_stat_number(28);
}

uint64_t mp_break_start(void)
{
	return status_stat_number(47);
}

/* Reads a number from a file of lines such as /proc/self/status; key includes the colon.  0 if
 * missing. */
static uint64_t status_number(const char *path, const char *key)
{
	char text[4096];
	uint64_t value = 0;
	const char *at;

	status_read_proc(path, text, sizeof(text));
	at = __builtin_strstr(text, key);
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

	status_read_proc("/proc/self/statm", line, sizeof(line));
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
