// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * descriptors.c - keeps our descriptor out of the program's way.
 *
 * Programs close descriptors that they did not open.  close, close_range, closefrom, dup2 and dup3
 * spare ours; if a raw system call closed it, the next write notices, because device and inode are
 * compared, so our data never goes into a file of the program.
 *
 * Where possible it lies above the program's limit, so a program that tries all numbers up to the
 * limit does not find it.  /proc/self/fd lists it nevertheless, so close() on it reports success,
 * as a program expects that closes what is listed there.  Opening the file for each write instead
 * would hide the descriptor, but the new one would take the number that another thread expects to
 * get, and after chroot(), setuid() or a rename the file could not be opened.
 *
 * Before dup2 reuses our number, the descriptor moves away, and waits for writers that checked the
 * old number (mp_file.users).
 */
#include <errno.h>
#include <mprof/module.h>

#include "core.h"
#include "file.h"
#include "local.h"
#include "place.h"
#include "real_libc.h"
#include "stop.h"
#include "sys.h"

#define HIGH_FD 1000 /* not higher: the kernel's table grows with the greatest number */

/* Moves fd above the soft limit, unless another thread may be changing the limit now.  Returns
 * the new number or -errno. */
static int fd_above_limit(int fd)
{
	struct rlimit lim, raised;
	int high;

	if (sys_getrlimit(RLIMIT_NOFILE, &lim) < 0 || lim.rlim_cur > HIGH_FD + 24 ||
	    lim.rlim_max <= lim.rlim_cur)
		return -EMFILE;
	raised = (struct rlimit){ lim.rlim_cur + 1, lim.rlim_max };
	if (sys_setrlimit(RLIMIT_NOFILE, &raised) < 0)
		return -EMFILE;
	high = sys_fcntl(fd, F_DUPFD_CLOEXEC, (long)lim.rlim_cur);
	sys_setrlimit(RLIMIT_NOFILE, &lim);
	return high;
}

int mp_fd_high_first(int fd)
{
	int high = fd_above_limit(fd);

	if (high < 0)
		return mp_fd_high(fd);
	sys_close(fd);
	return high;
}

int mp_fd_high(int fd)
{
	struct rlimit lim;
	int floor = HIGH_FD, high = -1;

	if (sys_getrlimit(RLIMIT_NOFILE, &lim) == 0 && lim.rlim_cur <= HIGH_FD + 8)
		floor = lim.rlim_cur > 16 ? (int)lim.rlim_cur - 8 : (int)lim.rlim_cur - 1;
	for (; high < 0 && floor > 2; floor = floor * 3 / 4)
		high = sys_fcntl(fd, F_DUPFD_CLOEXEC, floor);
	sys_close(fd);
	return high < 0 ? -EMFILE : high;
}

/* Also stores its size then. */
static int fd_is_our_file(int fd, off_t *size)
{
	struct stat st;

	if (fd < 0 || sys_fstat(fd, &st) < 0 || st.st_ino != mp_file.ino ||
	    st.st_dev != mp_file.dev)
		return 0;
	*size = st.st_size;
	return 1;
}

/*
 * The program closed `closed` by a raw system call.  If the path still leads to the file, opens it
 * again; otherwise recording ends.  If several threads notice, all use the first one's descriptor.
 */
static int fd_reopen(int closed, off_t *size)
{
	int fd = mp_file_existing(mp_file.path, O_RDWR);

	if (fd < 0)
		return fd;
	if (!fd_is_our_file(fd, size)) {
		sys_close(fd);
		return -ESTALE;
	}
	fd = mp_fd_high(fd);
	if (fd < 0 || __atomic_compare_exchange_n(&mp_file.fd, &closed, fd, 0, __ATOMIC_SEQ_CST,
						  __ATOMIC_SEQ_CST))
		return fd;
	sys_close(fd);
	return fd_is_our_file(closed, size) ? closed : -ESTALE;
}

int mp_fd_hold(void)
{
	off_t size = 0;
	int fd;

	__atomic_fetch_add(&mp_file.users, 1, __ATOMIC_SEQ_CST);
	/*
	 * Pairs with the store and the load in fd_move_away(): either that thread sees us, or we
	 * see the new number.
	 */
	fd = __atomic_load_n(&mp_file.fd, __ATOMIC_SEQ_CST);
	if (mp_file.broken)
		fd = -EIO;
	else if (!fd_is_our_file(fd, &size))
		fd = fd_reopen(fd, &size);
	if (fd >= 0 && (size < (off_t)MPROF_HEADER_SIZE || (mp_entry() && !mp_entry()->number))) {
		mp_file.broken = MPROF_LOST_FILE + 1; /* truncated, even if it grew again */
		fd = -EIO;
	}
	if (fd < 0)
		mp_fd_release();
	return fd;
}

void mp_fd_release(void)
{
	__atomic_fetch_sub(&mp_file.users, 1, __ATOMIC_SEQ_CST);
}

#define TURNS_MOST 100000 /* turns; a writer whose signal handler jumped away never finishes */

/*
 * The program is about to put `wanted` at our number.  Moves nothing if that call will fail, or in
 * a vfork child, which has its own table of descriptors but its parent's memory. 0, or -ETIMEDOUT
 * if another thread may still write to that number.
 */
static int fd_move_away(int wanted, int from)
{
	int to;

	if (sys_fcntl(wanted, F_GETFD, 0) < 0 || !mp_local || mp_local->pid != sys_getpid())
		return 0;
	to = sys_fcntl(from, F_DUPFD_CLOEXEC, from > 512 ? from / 2 : from + 1);
	__atomic_store_n(&mp_file.fd, to, __ATOMIC_SEQ_CST);
	for (int i = 0; __atomic_load_n(&mp_file.users, __ATOMIC_SEQ_CST); i++) {
		if (i == TURNS_MOST)
			return -ETIMEDOUT;
		sys_yield();
	}
	return 0;
}

static int fd_is_ours(int fd)
{
	return fd >= 0 && fd == __atomic_load_n(&mp_file.fd, __ATOMIC_RELAXED);
}

static int bad_number(void)
{
	errno = EBADF;
	return -1;
}

EXPORT int close(int fd)
{
	return fd_is_ours(fd) ? 0 : mp_next()->close(fd);
}

EXPORT int dup2(int from, int to)
{
	if (fd_is_ours(from))
		return bad_number();
	if (fd_is_ours(to))
		mp_failed(fd_move_away(from, to));
	return mp_next()->dup2(from, to);
}

EXPORT int dup3(int from, int to, int flags)
{
	if (fd_is_ours(from))
		return bad_number();
	if (fd_is_ours(to))
		mp_failed(fd_move_away(from, to));
	return mp_next()->dup3(from, to, flags);
}

static int close_range_sys(unsigned first, unsigned last, int flags)
{
	long ret = first > last ? 0 : mp_sys(SYS_close_range, first, last, flags, 0, 0, 0);

	if (ret < 0)
		errno = (int)-ret;
	return ret < 0 ? -1 : 0;
}

EXPORT int close_range(unsigned first, unsigned last, int flags)
{
	int fd = __atomic_load_n(&mp_file.fd, __ATOMIC_RELAXED);

	if (fd < 0 || (unsigned)fd < first || (unsigned)fd > last || first > last || flags & 4)
		return first > last ? (errno = EINVAL, -1) : close_range_sys(first, last, flags);
	if (fd > 0 && close_range_sys(first, (unsigned)fd - 1, flags) < 0)
		return -1;
	return close_range_sys((unsigned)fd + 1, last, flags);
}

EXPORT void closefrom(int first)
{
	int fd = __atomic_load_n(&mp_file.fd, __ATOMIC_RELAXED);

	if (first < 0)
		first = 0;
	if (fd < first) {
		mp_next()->closefrom(first);
		return;
	}
	for (int i = first; i < fd; i++)
		sys_close(i);
	mp_next()->closefrom(fd + 1);
}

/* Descriptors of the program that we write to, and the files that they referred to when a MODE
 * began. */
static struct {
	int fd;
	int may_signal; /* a pipe or socket, or a file with a size limit
			 */
	uint64_t dev, ino;
} watched;

int mp_fd_open(int fd)
{
	struct rlimit lim;
	struct stat st;
	int ret = sys_fstat(fd, &st);

	if (ret < 0)
		return ret;
	watched.fd = fd;
	watched.dev = st.st_dev;
	watched.ino = st.st_ino;
	watched.may_signal =
	    S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) ||
	    (sys_getrlimit(RLIMIT_FSIZE, &lim) == 0 && lim.rlim_cur != RLIM_INFINITY);
	return 0;
}

/* If a non-blocking pipe is full, its reader gets this long; then the line is dropped. */
#define WAIT_MS 1000

int mp_fd_write(int fd, const void *data, size_t bytes)
{
	struct {
		int fd;
		short events, revents;
	} poll = { fd, 4 /* POLLOUT */, 0 };
	struct timespec budget = { WAIT_MS / 1000, 0 };
	struct stat st;
	long n;

	if (fd != watched.fd || sys_fstat(fd, &st) < 0 || st.st_ino != watched.ino ||
	    st.st_dev != watched.dev)
		return -EBADF;
	n = watched.may_signal ? mp_write_quietly(fd, data, bytes) : sys_write(fd, data, bytes);
	if (n == -EAGAIN && mp_sys(SYS_ppoll, (long)&poll, 1, (long)&budget, 0, 8, 0) > 0)
		n = mp_write_quietly(fd, data, bytes);
	return n < 0 ? (int)n : n == (long)bytes ? 0 : -EIO;
}
