/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * sys.h - raw system calls.
 *
 * The library avoids libc's wrappers: they set errno, are cancellation points, and we interpose
 * some of them.  Every function returns the kernel's value: >= 0, or -errno.
 */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#ifndef MADV_WIPEONFORK
#define MADV_WIPEONFORK 18
#endif

#if defined(__x86_64__)
static inline long mp_sys(long nr, long a, long b, long c, long d, long e, long f)
{
	register long r10 __asm__("r10") = d;
	register long r8 __asm__("r8") = e;
	register long r9 __asm__("r9") = f;
	long ret;

	__asm__ volatile("syscall"
			 : "=a"(ret)
			 : "0"(nr), "D"(a), "S"(b), "d"(c), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return ret;
}
#elif defined(__aarch64__)
static inline long mp_sys(long nr, long a, long b, long c, long d, long e, long f)
{
	register long x8 __asm__("x8") = nr;
	register long x0 __asm__("x0") = a;
	register long x1 __asm__("x1") = b;
	register long x2 __asm__("x2") = c;
	register long x3 __asm__("x3") = d;
	register long x4 __asm__("x4") = e;
	register long x5 __asm__("x5") = f;

	__asm__ volatile("svc #0"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x5)
			 : "memory");
	return x0;
}
#else
#error "port mp_sys to this CPU"
#endif

#ifdef MP_FAKE_PAGE
#include "fake_page.h"
#endif

static inline int sys_open(const char *path, int flags, int mode)
{
	return (int)mp_sys(SYS_openat, AT_FDCWD, (long)path, flags, mode, 0, 0);
}
static inline int sys_close(int fd)
{
	return (int)mp_sys(SYS_close, fd, 0, 0, 0, 0, 0);
}
static inline long sys_read(int fd, void *buf, size_t n)
{
	return mp_sys(SYS_read, fd, (long)buf, (long)n, 0, 0, 0);
}
static inline long sys_write(int fd, const void *buf, size_t n)
{
	return mp_sys(SYS_write, fd, (long)buf, (long)n, 0, 0, 0);
}
static inline long sys_pwrite(int fd, const void *buf, size_t n, uint64_t offset)
{
	return mp_sys(SYS_pwrite64, fd, (long)buf, (long)n, (long)offset, 0, 0);
}
static inline long sys_pread(int fd, void *buf, size_t n, uint64_t offset)
{
	return mp_sys(SYS_pread64, fd, (long)buf, (long)n, (long)offset, 0, 0);
}
/* Returns a pointer, or a value >= -4095ul that is -errno: test it with sys_failed(). */
static inline void *sys_mmap(void *at, size_t n, int prot, int flags, int fd, uint64_t offset)
{
#ifdef MP_FAKE_PAGE
	return fake_mmap(at, n, prot, flags, fd, offset);
#endif
	return (void *)mp_sys(SYS_mmap, (long)at, (long)n, prot, flags, fd, (long)offset);
}
static inline int sys_failed(const void *p)
{
	return (unsigned long)p >= -4095ul;
}
static inline int sys_munmap(void *at, size_t n)
{
#ifdef MP_FAKE_PAGE
	n = fake_length(n);
#endif
	return (int)mp_sys(SYS_munmap, (long)at, (long)n, 0, 0, 0, 0);
}
static inline int sys_madvise(void *at, size_t n, int advice)
{
	return (int)mp_sys(SYS_madvise, (long)at, (long)n, advice, 0, 0, 0);
}
/* Stores one byte for each page into pages[]; bit 0 = it is resident.  at: the start of a page. */
static inline int sys_mincore(uintptr_t at, size_t n, unsigned char *pages)
{
#ifdef MP_FAKE_PAGE
	return fake_mincore(at, n, pages);
#endif
	return (int)mp_sys(SYS_mincore, (long)at, (long)n, (long)pages, 0, 0, 0);
}
static inline int sys_fstat(int fd, struct stat *st)
{
	return (int)mp_sys(SYS_newfstatat, fd, (long)"", (long)st, AT_EMPTY_PATH, 0, 0);
}
/* Creates a file that its owner can read and write whatever the umask is. */
static inline int sys_create(const char *path, int flags)
{
	const int fd = sys_open(path, flags | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat st;

	if (fd >= 0 && sys_fstat(fd, &st) >= 0 && !st.st_size && (~st.st_mode & 0600))
		mp_sys(SYS_fchmod, fd, 0600, 0, 0, 0, 0);
	return fd;
}
/* flags: AT_SYMLINK_NOFOLLOW or 0 */
static inline int sys_stat(const char *path, struct stat *st, int flags)
{
	return (int)mp_sys(SYS_newfstatat, AT_FDCWD, (long)path, (long)st, flags, 0, 0);
}
static inline int sys_fallocate(int fd, int mode, uint64_t offset, uint64_t bytes)
{
	return (int)mp_sys(SYS_fallocate, fd, mode, (long)offset, (long)bytes, 0, 0);
}
static inline int sys_fcntl(int fd, int what, long arg)
{
	return (int)mp_sys(SYS_fcntl, fd, what, arg, 0, 0, 0);
}
static inline int sys_flock(int fd, int how)
{
	return (int)mp_sys(SYS_flock, fd, how, 0, 0, 0, 0);
}
static inline int sys_unlink(const char *path)
{
	return (int)mp_sys(SYS_unlinkat, AT_FDCWD, (long)path, 0, 0, 0, 0);
}
static inline int sys_link(const char *from, const char *to)
{
	return (int)mp_sys(SYS_linkat, AT_FDCWD, (long)from, AT_FDCWD, (long)to, 0, 0);
}
/* flags: 1 = never replace */
static inline int sys_rename(const char *from, const char *to, int flags)
{
	return (int)mp_sys(SYS_renameat2, AT_FDCWD, (long)from, AT_FDCWD, (long)to, flags, 0);
}
/* With the real ids.  0 or -errno. */
static inline long sys_access(const char *path, int mode)
{
	return mp_sys(SYS_faccessat, AT_FDCWD, (long)path, mode, 0, 0, 0);
}

static inline long sys_readlink(const char *path, char *buf, size_t n)
{
	return mp_sys(SYS_readlinkat, AT_FDCWD, (long)path, (long)buf, (long)n, 0, 0);
}
static inline long sys_getcwd(char *buf, size_t n)
{
	return mp_sys(SYS_getcwd, (long)buf, (long)n, 0, 0, 0, 0);
}
static inline int sys_getpid(void)
{
	return (int)mp_sys(SYS_getpid, 0, 0, 0, 0, 0, 0);
}
static inline int sys_getppid(void)
{
	return (int)mp_sys(SYS_getppid, 0, 0, 0, 0, 0, 0);
}
static inline int sys_gettid(void)
{
	return (int)mp_sys(SYS_gettid, 0, 0, 0, 0, 0, 0);
}
static inline int sys_getrusage(int who, struct rusage *ru)
{
	return (int)mp_sys(SYS_getrusage, who, (long)ru, 0, 0, 0, 0);
}
static inline int sys_getrlimit(int what, struct rlimit *lim)
{
	return (int)mp_sys(SYS_prlimit64, 0, what, 0, (long)lim, 0, 0);
}
static inline int sys_setrlimit(int what, const struct rlimit *lim)
{
	return (int)mp_sys(SYS_prlimit64, 0, what, (long)lim, 0, 0, 0);
}
static inline long sys_getrandom(void *buf, size_t n)
{
	return mp_sys(SYS_getrandom, (long)buf, (long)n, 1 /* never blocks */, 0, 0, 0);
}
static inline void sys_yield(void)
{
	mp_sys(SYS_sched_yield, 0, 0, 0, 0, 0, 0);
}

/* Can 8 bytes at p be read?  With an invalid `how` the kernel reads them and then fails. */
static inline int sys_readable(const void *p)
{
	return mp_sys(SYS_rt_sigprocmask, -1, (long)p, 0, 8, 0, 0) != -EFAULT;
}

/* Maps anonymous private memory; NULL on failure. */
static inline void *sys_memory(size_t n)
{
	void *p = sys_mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return sys_failed(p) ? NULL : p;
}
