/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * baseline.c - the memory and time that the process uses, read without allocating.
 *
 * RSS is from statm; its high-water mark is VmHWM of status, which writing `5` to clear_refs resets
 * to the current RSS (Linux 4.0; Documentation/filesystems/proc.rst).  Where that is forbidden, the
 * mark still includes the preparation, as start_hwm shows.  CPU time is CLOCK_PROCESS_CPUTIME_ID,
 * which is exact; getrusage divides it by ticks, so only its system time is used.
 */
#include <fcntl.h>
#include <gnu/libc-version.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>
#include "run.h"
#include "ticks.h"

#define STACK_SPARE (12u << 10)

struct baseline baseline;
static int statm_fd = -1, status_fd = -1;

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static size_t read_text(int fd, char *to, size_t room)
{
	ssize_t n = pread(fd, to, room - 1, 0);

	to[n > 0 ? n : 0] = 0;
	return n > 0 ? (size_t)n : 0;
}

static uint64_t next_number(const char **s)
{
	uint64_t v = 0;

	while (**s && (**s < '0' || **s > '9'))
		(*s)++;
	while (**s >= '0' && **s <= '9')
		v = v * 10 + (uint64_t)(*(*s)++ - '0');
	return v;
}

/* Reads a number of KiB from /proc/self/status, which lists the user's groups first. */
static uint64_t status_now(const char *name)
{
	static char text[16384];
	const char *s;

	read_text(status_fd, text, sizeof(text));
	s = strstr(text, name);
	return s ? next_number(&s) * 1024 : 0;
}

/* Pages of hugetlbfs, such as glibc.malloc.hugetlb=2 takes, are in no figure of the kernel's. */
static uint64_t huge_now(void)
{
	return status_now("HugetlbPages:");
}

struct weight {
	uint64_t mapped, rss, shared; /* in bytes */
};

static struct weight weight_now(void)
{
	char text[256];
	const char *s = text;
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct weight w;

	read_text(statm_fd, text, sizeof(text));
	w.mapped = next_number(&s) * page;
	w.rss = next_number(&s) * page + huge_now();
	w.shared = next_number(&s) * page;
	return w;
}

uint64_t rss_now(void)
{
	return weight_now().rss;
}

uint64_t hwm_now(void)
{
	return status_now("VmHWM:") + huge_now();
}

uint64_t thp_now(void)
{
	char text[128];
	int fd = open("/sys/kernel/mm/transparent_hugepage/enabled", O_RDONLY | O_CLOEXEC);

	if (fd < 0 || !settings.thp)
		return 0;
	read_text(fd, text, sizeof(text));
	close(fd);
	return strstr(text, "[always]") ? 2 : strstr(text, "[madvise]") ? 1 : 0;
}

void usage_now(struct usage *u)
{
	struct rusage r;

	u->wall_ns = now_ns();
	getrusage(RUSAGE_SELF, &r);
	u->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	u->sys_ns =
	    (uint64_t)r.ru_stime.tv_sec * 1000000000u + (uint64_t)r.ru_stime.tv_usec * 1000u;
	u->minflt = (uint64_t)r.ru_minflt;
	u->majflt = (uint64_t)r.ru_majflt;
}

void usage_add(struct usage *sum, const struct usage *from, const struct usage *to)
{
	sum->wall_ns += to->wall_ns - from->wall_ns;
	sum->cpu_ns += to->cpu_ns - from->cpu_ns;
	sum->sys_ns += to->sys_ns - from->sys_ns;
	sum->minflt += to->minflt - from->minflt;
	sum->majflt += to->majflt - from->majflt;
}

static uint64_t above(uint64_t now, uint64_t then)
{
	return now > then ? now - then : 0;
}

void sample_now(struct mprof_run_sample *s, uint64_t op)
{
	struct weight w = weight_now();
	struct usage u;

	usage_now(&u);
	s->op = op;
	s->ns = u.wall_ns - baseline.begin_ns;
	s->rss = above(w.rss, baseline.rss);
	s->anon = above(w.rss - w.shared, baseline.anon);
	s->mapped = above(w.mapped, baseline.mapped);
	s->minflt = u.minflt - baseline.minflt;
}

/* Returns how deep the stack may become: 128 KiB from here, or less (ulimit -s).  It began at the
 * name of the program, and is not used to its end. */
static uintptr_t stack_end(void)
{
	const uintptr_t here = (uintptr_t)__builtin_frame_address(0), usual = here - (128u << 10);
	const uintptr_t top = (uintptr_t)getauxval(AT_EXECFN);
	struct rlimit limit;

	if (getrlimit(RLIMIT_STACK, &limit) || limit.rlim_cur > top - usual + STACK_SPARE)
		return usual;
	return top - limit.rlim_cur + STACK_SPARE;
}

/* Makes our stack resident up to this address, because the allocator runs on it. */
static COLD __attribute__((noinline)) void fill_stack(uintptr_t end)
{
	char part[PAGE / 4];

	*(volatile char *)part = 0;
	if ((uintptr_t)part > end)
		fill_stack(end);
	__asm__ volatile("" : : "r"(part) : "memory"); /* so that it stays a call */
}

/* Makes all code and variables of the runner resident, between symbols that the linker defines. */
static COLD __attribute__((no_sanitize_address)) void fill_program(void)
{
	extern char __executable_start, etext, edata, end;

	for (volatile char *p = &__executable_start; p < &etext; p += PAGE)
		(void)*p;
	for (volatile char *p = &edata; p < &end; p += PAGE / 4)
		*p = *p;
}

/*
 * Makes libc's and the loader's code resident: every program has it, so using more of it should not
 * count, nor should pthread_create and a first system call.  It includes glibc's own allocator,
 * whose code (some 60 KiB) is therefore not counted as its memory.
 */
__attribute__((no_sanitize_address)) static int fill_libc(struct dl_phdr_info *object, size_t size,
							  void *unused)
{
	uintptr_t known = (uintptr_t)gnu_get_libc_version, base = object->dlpi_addr;
	bool libc = false;

	(void)size, (void)unused;
	for (int i = 0; i < object->dlpi_phnum; i++)
		libc |= object->dlpi_phdr[i].p_type == PT_LOAD &&
			known - base - object->dlpi_phdr[i].p_vaddr < object->dlpi_phdr[i].p_memsz;
	if (!libc && base != getauxval(AT_BASE))
		return 0;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &object->dlpi_phdr[i];

		if (h->p_type != PT_LOAD || h->p_flags & PF_W)
			continue;
		for (size_t at = 0; at < h->p_memsz; at += PAGE)
			(void)*(volatile char *)(base + h->p_vaddr + at);
	}
	return 0;
}

void baseline_open(void)
{
	struct mprof_run_sample s;

	statm_fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
	status_fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
	if (statm_fd < 0 || status_fd < 0)
		die_errno(STATUS_RUN, "cannot read", "/proc/self/statm");
	fill_stack(stack_end());
	fill_program();
	if (settings.mode != MODE_STARTUP)
		dl_iterate_phdr(fill_libc, NULL);
	sample_now(&s, 0); /* sample once, so that nothing in it happens for the first time later */
	baseline_take();
}

void baseline_take(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY | O_CLOEXEC);
	struct weight w;
	struct usage u;

	if (fd >= 0) {
		ssize_t n = write(fd, "5", 1);

		(void)n; /* start_hwm shows whether it worked */
		close(fd);
	}
	w = weight_now();
	usage_now(&u);
	baseline = (struct baseline){ .rss = w.rss, .anon = w.rss - w.shared, .mapped = w.mapped };
	baseline.hwm = hwm_now();
	baseline.minflt = u.minflt;
	baseline.ticks = ticks();
	baseline.begin_ns = now_ns();
}
