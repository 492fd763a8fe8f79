// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * run_outside.c - what mprof does to a run from outside: extents added to a live file, a file put
 * back, resident pages, what /proc says of a process, what an executable file is.
 */
#include "suites.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <mprof/encode.h>

#include "run/elf.h"
#include "run/ldcache.h"
#include "run/process.h"
#include "run/program.h"
#include "run/resident.h"
#include "trace/append.h"

static char directory[] = "/tmp/mprof-unit-XXXXXX", path[64], other[64];
static const uint8_t id[16] = { 1, 2, 3, 4, 5, 6, 7, 8 };

static void make_file(void)
{
	struct mprof_file_header h = { .version = MPROF_FORMAT_VERSION,
				       .header_size = MPROF_HEADER_SIZE,
				       .clock = MPROF_CLOCK_MONOTONIC,
				       .clock_shift = 3,
				       .tail = MPROF_HEADER_SIZE };
	int fd;

	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(path, sizeof(path), "%s/log", directory);
	snprintf(other, sizeof(other), "%s/other", directory);
	memcpy(h.magic, MPROF_MAGIC_TRACE, MPROF_MAGIC_SIZE);
	memcpy(h.run_id, id, sizeof(id));
	fd = open(path, O_CREAT | O_WRONLY, 0600);
	ck_assert_int_eq(write(fd, &h, sizeof(h)), sizeof(h));
	close(fd);
}

static void remove_file(void)
{
	unlink(path);
	unlink(other);
	rmdir(directory);
}

static struct append open_file(void)
{
	struct append a;

	ck_assert_int_eq(append_open(&a, path, id), 0);
	return a;
}

START_TEST(test_extent_is_whole)
{
	struct append a = open_file();
	struct mprof_fact fact = { .what = MPROF_FACT_OUTSIDE, .pid = 7 };
	const char *why[] = { "why=because" };
	struct {
		struct mprof_extent x;
		struct mprof_fact fact;
		char text[12];
	} got;
	uint64_t before = append_ticks(&a);

	ck_assert_int_eq(append_fact(&a, 3, &fact, why, 1), 0);
	ck_assert_int_eq(append_extent(&a, MPROF_EXTENT_SAMPLE, 3, "x", 1), 0);
	ck_assert_uint_eq(a.header->tail, MPROF_HEADER_SIZE + 256 + 128);
	ck_assert_int_eq(pread(a.fd, &got, sizeof(got), MPROF_HEADER_SIZE), sizeof(got));
	ck_assert_uint_eq(got.x.magic, MPROF_EXTENT_MAGIC);
	ck_assert_uint_eq(got.x.kind, MPROF_EXTENT_FACT);
	ck_assert_uint_eq(got.x.offset, MPROF_HEADER_SIZE);
	ck_assert_uint_eq(got.x.size, 256);
	ck_assert_uint_eq(got.x.used, sizeof(got.fact) + 12);
	ck_assert_uint_eq(got.x.process, 3);
	ck_assert_int_eq(memcmp(&got.x.run, id, 4), 0);
	ck_assert_uint_eq(got.x.check, mprof_checksum(&got.fact, got.x.used));
	ck_assert_uint_ge(got.fact.ticks, before);
	ck_assert_str_eq(got.text, "why=because");
	append_close(&a);
}
END_TEST

START_TEST(test_files_that_are_not_the_runs)
{
	static const uint8_t wrong[16] = { 9 };
	struct append a;

	ck_assert_int_eq(append_open(&a, other, id), -ENOENT);
	ck_assert_int_eq(append_open(&a, path, wrong), -EAGAIN);
	ck_assert_int_eq(append_open(&a, directory, id), -EISDIR);
	ck_assert_int_eq(symlink(path, other), 0);
	ck_assert_int_eq(append_open(&a, other, id), -ELOOP);
	ck_assert_int_eq(truncate(path, 100), 0);
	ck_assert_int_eq(append_open(&a, path, id), -EAGAIN);
	ck_assert_int_eq(a.fd, -1);
}
END_TEST

START_TEST(test_deleted_file_is_put_back)
{
	struct append a = open_file();
	struct stat st;

	ck_assert(!append_is_displaced(&a));
	ck_assert_int_eq(append_extent(&a, MPROF_EXTENT_SAMPLE, 1, "x", 1), 0);
	unlink(path);
	ck_assert(append_is_displaced(&a));
	ck_assert_int_eq(append_restore(&a, path), 0);
	ck_assert_int_eq(append_restore(&a, path), -EEXIST);
	ck_assert(append_is_displaced(&a));
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_size, MPROF_HEADER_SIZE + 128);
	ck_assert_int_eq(st.st_mode & 0777, 0600);
	append_close(&a);
}
END_TEST

START_TEST(test_truncated_under_the_mapping)
{
	struct append a = open_file();
	struct stat st;

	ck_assert_int_eq(truncate(path, 0), 0);
	ck_assert_uint_eq(append_process(&a, 800).number, 0);
	ck_assert_int_ne(append_extent(&a, MPROF_EXTENT_SAMPLE, 1, "x", 1), 0);
	ck_assert_int_eq(stat(path, &st), 0);
	ck_assert_int_eq(st.st_size, 0);
	append_close(&a);
}
END_TEST

/* Is this page in one of the runs? */
static bool has(const struct resident *r, const char *at)
{
	uint64_t page = (uint64_t)(uintptr_t)at / (uint64_t)sysconf(_SC_PAGESIZE);

	for (size_t i = 0; i < r->runs; i++)
		if (page >= r->run[i].first && page < r->run[i].first + r->run[i].count)
			return true;
	return false;
}

static void check_resident(enum resident_way way)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *map =
	    mmap(NULL, 3000 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct resident r = { 0 };
	int code;

	madvise(map, 3000 * page, MADV_NOHUGEPAGE);
	map[10 * page] = map[11 * page] = map[2999 * page] = 1;
	code = resident_read(&r, getpid(), way);
	if (way == RESIDENT_SCAN && code)
		return; /* a kernel before 6.7: mprof takes the other way */
	ck_assert_int_eq(code, 0);
	ck_assert(has(&r, map + 10 * page));
	ck_assert(has(&r, map + 11 * page));
	ck_assert(has(&r, map + 2999 * page));
	ck_assert(!has(&r, map + 9 * page));
	ck_assert(!has(&r, map + 12 * page));
	for (size_t i = 1; i < r.runs; i++)
		ck_assert_uint_gt(r.run[i].first, r.run[i - 1].first + r.run[i - 1].count);
	resident_release(&r);
	munmap(map, 3000 * page);
}

START_TEST(test_resident_pages)
{
	check_resident(RESIDENT_SCAN);
#ifndef __SANITIZE_ADDRESS__ /* its shadow is more address space than this way reads */
	check_resident(RESIDENT_PAGEMAP);
#endif
}
END_TEST

/* A mapping that grew while maps was read: its second line adds only the new end. */
START_TEST(test_resident_region_twice)
{
	uint64_t done = 0, start, end;

	ck_assert(resident_part("1000-3000 rw-p 00000000 00:00 0 [heap]\n", &done, &start, &end));
	ck_assert_uint_eq(start, 0x1000);
	ck_assert_uint_eq(end, 0x3000);
	ck_assert(!resident_part("2000-3000 rw-p 00000000 00:00 0\n", &done, &start, &end));
	ck_assert(resident_part("1000-5000 rw-p 00000000 00:00 0\n", &done, &start, &end));
	ck_assert_uint_eq(start, 0x3000);
	ck_assert_uint_eq(end, 0x5000);
	ck_assert(!resident_part("5000-6000 r--p 00000000 00:00 0\n", &done, &start, &end));
	ck_assert(!resident_part("6000-7000 rw-p 00000000 08:01 5 /f\n", &done, &start, &end));
}
END_TEST

/* What is in swap; and what MAP_HUGETLB maps, which is a file to the kernel, and in no resident
 * size. */
START_TEST(test_what_is_not_resident)
{
	static const char status[] =
	    "Name:\tprog\nVmHWM:\t    5000 kB\nVmRSS:\t    4000 kB\nRssAnon:\t    1000 kB\n"
	    "VmSwap:\t     100 kB\nHugetlbPages:\t    2048 kB\nThreads:\t1\n";
	struct process_memory m = { .rss = 1, .rss_anon = 1 };
	uint64_t done = 0, start, end;

	ck_assert(
	    resident_part("40000000-40200000 rw-p 00000000 00:10 9 /anon_hugepage (deleted)\n",
			  &done, &start, &end));
	ck_assert(
	    !resident_part("50000000-50200000 rw-s 00000000 00:10 9 /anon_hugepage (deleted)\n",
			   &done, &start, &end));
	process_add_status(&m, status);
	ck_assert_uint_eq(m.rss, 4096000 + 2097152);
	ck_assert_uint_eq(m.rss_anon, 1024000 + 2097152);
	ck_assert_uint_eq(m.peak_rss, 5120000 + 2097152);
	ck_assert_uint_eq(m.swapped, 102400);
	process_add_status(&m, "Name:\tprog\n");
	ck_assert_uint_eq(m.rss, 4096000 + 2097152);
	ck_assert_uint_eq(m.peak_rss, 0);
}
END_TEST

START_TEST(test_memory_of_a_process)
{
	struct process_memory m;
	pid_t child;

	ck_assert_int_eq(process_memory(getpid(), &m), 0);
	ck_assert_uint_gt(m.rss, 4096);
	ck_assert_uint_gt(m.rss_anon, 4096);
	ck_assert_uint_lt(m.rss_anon, m.rss);
	ck_assert_uint_gt(m.virt, m.rss);
	ck_assert(process_is_alive(getpid(), m.start_time));
	ck_assert(!process_is_alive(getpid(), m.start_time + 1));
	child = fork();
	if (!child)
		_exit(0);
	waitid(P_PID, (id_t)child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	ck_assert_int_eq(process_memory(child, &m), 0);
	ck_assert(!process_is_alive(child, m.start_time));
	waitpid(child, NULL, 0);
	ck_assert_int_ne(process_memory(child, &m), 0);
}
END_TEST

/* A user of a directory service may be in hundreds of groups, which status lists before the memory.
 */
START_TEST(test_memory_of_a_process_with_many_groups)
{
	enum { FIT = 1000, MANY = 5000 };
	gid_t group[MANY];
	struct process_memory m;
	int status;
	pid_t child = fork();

	if (!child) {
		for (size_t i = 0; i < MANY; i++)
			group[i] = 1000000000 + (gid_t)i;
		if (setgroups(FIT, group)) /* only root may */
			_exit(0);
		if (process_memory(getpid(), &m) || !m.peak_rss)
			_exit(1);
		_exit(setgroups(MANY, group) || process_memory(getpid(), &m) || !m.rss_anon);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

START_TEST(test_executable_files)
{
	struct elf_facts elf;
	struct program p;
	struct error err;

	ck_assert_int_eq(elf_read("/proc/self/exe", &elf), 0);
	ck_assert_int_ne(elf.type, ELF_NONE);
	ck_assert(elf.ours && elf.has_loader);
	ck_assert_int_eq(access(elf.loader, X_OK), 0);
	ck_assert_int_eq(elf_read(path, &elf), 0);
	ck_assert_int_eq(elf.type, ELF_NONE);
	ck_assert_int_eq(program_find("sh", &p, &err), 0);
	ck_assert_str_eq(p.why_not, "");
	ck_assert_int_eq(program_find("no-such-program-anywhere", &p, &err), -ENOENT);
	ck_assert_int_eq(program_find(path, &p, &err), -EACCES);
}
END_TEST

/* A program header table that lies outside the file, or an interpreter that does. */
START_TEST(test_broken_executable)
{
	unsigned char image[4096];
	struct elf_facts elf;
	int fd = open("/proc/self/exe", O_RDONLY);

	ck_assert_int_eq(read(fd, image, sizeof(image)), sizeof(image));
	close(fd);
	memset(image + 32, 0xff, 8); /* e_phoff */
	fd = open(other, O_CREAT | O_WRONLY, 0700);
	ck_assert_int_eq(write(fd, image, sizeof(image)), sizeof(image));
	ck_assert_int_eq(elf_read(other, &elf), 0);
	ck_assert(!elf.has_loader);
	ck_assert_int_eq(ftruncate(fd, 20), 0);
	ck_assert_int_eq(elf_read(other, &elf), 0);
	ck_assert(!elf.has_loader);
	close(fd);
}
END_TEST

/* A cache of one entry, and the same with each of its offsets wrong. */
START_TEST(test_linkers_cache)
{
	struct {
		char magic[20];
		uint32_t head[7], flags, name, path, os;
		uint64_t hardware;
		char names[12], exe[64];
	} __attribute__((packed)) c = { .magic = "glibc-ld.so.cache1.", .head = { 1 } };
	char self[4096], *found;
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);

	c.magic[19] = '1';
	ck_assert_int_gt(n, 0);
	self[n] = '\0';
	c.name = offsetof(__typeof__(c), names);
	c.path = offsetof(__typeof__(c), exe);
	memcpy(c.names, "libx.so.2", 10);
	memcpy(c.exe, "/proc/self/exe", 15);
	for (int i = 0; i < 5; i++) {
		int fd = open(other, O_CREAT | O_TRUNC | O_WRONLY, 0600);
		__typeof__(c) bad = c;

		bad.name = i == 1 ? 0xfffffff0 : c.name;
		bad.path = i == 2 ? sizeof(c) : c.path;
		bad.head[0] = i == 3 ? 0 : i == 4 ? 0xffffffff : 1;
		ck_assert_int_eq(write(fd, &bad, sizeof(bad)), sizeof(bad));
		close(fd);
		found = ldcache_find(other, "libx.so");
		if (i == 0 || i == 4)
			ck_assert_str_eq(found, self);
		else
			ck_assert_ptr_null(found);
		free(found);
		ck_assert_ptr_null(ldcache_find(other, "liby.so"));
	}
	ck_assert_ptr_null(ldcache_find(path, "libx.so"));
	ck_assert_ptr_null(ldcache_find("/no/such/cache", "libx.so"));
}
END_TEST

Suite *run_outside_suite(void)
{
	Suite *s = suite_create("run_outside");
	TCase *t = tcase_create("outside");

	tcase_add_checked_fixture(t, make_file, remove_file);
	tcase_add_test(t, test_extent_is_whole);
	tcase_add_test(t, test_files_that_are_not_the_runs);
	tcase_add_test(t, test_deleted_file_is_put_back);
	tcase_add_test(t, test_truncated_under_the_mapping);
	tcase_add_test(t, test_resident_pages);
	tcase_add_test(t, test_resident_region_twice);
	tcase_add_test(t, test_what_is_not_resident);
	tcase_add_test(t, test_memory_of_a_process);
	tcase_add_test(t, test_memory_of_a_process_with_many_groups);
	tcase_add_test(t, test_executable_files);
	tcase_add_test(t, test_broken_executable);
	tcase_add_test(t, test_linkers_cache);
	suite_add_tcase(s, t);
	return s;
}
