// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * file.c - the run's file: creating or joining it, taking and writing extents.
 *
 * The header is mapped; its changing fields are changed by atomic operations, because every process
 * of the run maps it.  Data is written by pwrite through a guarded descriptor, so a full disk is a
 * return value.  Disk blocks of mapped parts that are stored into (header, slots, counts) are
 * reserved first.
 *
 * A file is created under another name and linked into place (place.c) when its header is complete:
 * whoever sees the path sees a complete header, and of two processes that start a run together one
 * wins and the other joins.
 */
#include <errno.h>
#include <mprof/module.h>
#include <sys/file.h>
#include <sys/statfs.h>

#include "config.h"
#include "core.h"
#include "file.h"
#include "limits.h"
#include "local.h"
#include "place.h"
#include "runid.h"
#include "status.h"
#include "sys.h"
#include "text.h"

#ifndef FALLOC_FL_KEEP_SIZE
#define FALLOC_FL_KEEP_SIZE 1
#endif

#define CLOSE_TRIES  1000
#define LEAVES_MOST  (1ull << 30)
#define RECORD_BYTES 16u /* bytes of the file for one LOG_QTY record: a malloc and its free */

struct mp_file mp_file MP_HIDDEN = { .fd = -1 };

/* If a write went beyond RLIMIT_FSIZE, the kernel would send SIGXFSZ, which kills. */
static int file_over_limit(uint64_t end)
{
	struct rlimit lim;

	return sys_getrlimit(RLIMIT_FSIZE, &lim) == 0 && lim.rlim_cur != RLIM_INFINITY &&
	       end > lim.rlim_cur;
}

static int file_write_all(int fd, uint64_t offset, const char *data, size_t bytes)
{
	while (bytes) {
		long n = sys_pwrite(fd, data, bytes, offset);

		if (n == -EINTR)
			continue;
		if (n <= 0)
			return n ? (int)n : -EIO;
		data += n, offset += (uint64_t)n, bytes -= (size_t)n;
	}
	return 0;
}

int mp_file_write(uint64_t offset, const void *data, size_t bytes)
{
	int fd, ret;

	if (file_over_limit(offset + bytes))
		return -EFBIG;
	fd = mp_fd_hold();
	if (fd < 0)
		return fd;
	ret = file_write_all(fd, offset, data, bytes);
	mp_fd_release();
	return ret;
}

static int file_write_zeros(int fd, uint64_t offset, uint64_t bytes)
{
	static const char zeros[4096];
	int ret = 0;

	for (uint64_t n; bytes && !ret; offset += n, bytes -= n) {
		n = bytes < sizeof(zeros) ? bytes : sizeof(zeros);
		ret = file_write_all(fd, offset, zeros, n);
	}
	return ret;
}

static int file_reserve(int fd, uint64_t offset, uint64_t bytes)
{
	int ret;

	if (file_over_limit(offset + bytes))
		return -EFBIG;
	do
		ret = sys_fallocate(fd, 0, offset, bytes);
	while (ret == -EINTR);
	return ret == -EOPNOTSUPP || ret == -ENOSYS ? file_write_zeros(fd, offset, bytes) : ret;
}

int mp_file_reserve(uint64_t offset, uint64_t bytes)
{
	int fd = mp_fd_hold(), ret;

	if (fd < 0)
		return fd;
	ret = file_reserve(fd, offset, bytes);
	mp_fd_release();
	return ret;
}

/* Bytes of a block: FUSE counts in fragments, others have none. */
static uint64_t file_unit(const struct statfs *fs)
{
	return (uint64_t)(fs->f_frsize ? fs->f_frsize : fs->f_bsize);
}

/*
 * Bytes of a disk that a file leaves free: the program needs some, and so does the compressed copy
 * of the file.  A small file leaves no more than it takes, so that it can be written to any disk.
 * The user has bounded what --last and --budget write.
 */
static uint64_t file_leaves(const struct statfs *fs, uint64_t kept)
{
	uint64_t least = (uint64_t)fs->f_blocks * file_unit(fs) / 50;

	if (mp_config.last_bytes | mp_config.last_seconds | mp_config.budget)
		return 0;
	least = least < LEAVES_MOST ? least : LEAVES_MOST;
	least = least < kept ? least : kept;
	return least > kept / 8 ? least : kept / 8;
}

/*
 * Reserves disk blocks ahead, LOG_QTY records at a time, or notes that the disk is too full.  A
 * failure to reserve is harmless at this point.
 */
static void file_reserve_ahead(uint64_t tail)
{
	struct statfs fs;
	uint64_t *room = &mp_file.header->room, had = __atomic_load_n(room, __ATOMIC_RELAXED);
	uint64_t kept = tail - __atomic_load_n(&mp_file.header->dropped_to, __ATOMIC_RELAXED) -
			__atomic_load_n(&mp_file.header->replaced_bytes, __ATOMIC_RELAXED);
	uint64_t step = mp_config.log_qty * RECORD_BYTES, want, left = 0;
	int fd;

	if (tail <= had)
		return;
	fd = mp_fd_hold();
	if (fd < 0)
		return;
	/* At least an eighth of the file: reserving costs about as much as writing 64 KiB. */
	step = step > kept / 8 ? step : kept / 8;
	/* A file system without a size, such as ramfs, says 0 blocks. */
	if (mp_sys(SYS_fstatfs, fd, (long)&fs, 0, 0, 0, 0) == 0 && fs.f_blocks) {
		left = (uint64_t)fs.f_bavail * file_unit(&fs);
		if (left < file_leaves(&fs, kept))
			mp_file.crowded = 1;
		else if (step > (left - file_leaves(&fs, kept)) / 2)
			step = (left - file_leaves(&fs, kept)) / 2;
	}
	want = tail + (step < 65536 ? 65536 : step);
	/* A file system may keep blocks that it reserved before it ran out. */
	if (!mp_file.crowded && !file_over_limit(want) &&
	    __atomic_compare_exchange_n(room, &had, want, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED) &&
	    want - tail < left / 8)
		sys_fallocate(fd, FALLOC_FL_KEEP_SIZE, tail, want - tail);
	mp_fd_release();
}

void mp_extent_fill(struct mprof_extent *x, unsigned kind, uint64_t offset, uint32_t size,
		    uint32_t thread)
{
	*x = (struct mprof_extent){
		.kind = (uint16_t)kind,
		.image = (uint16_t)mp_local->image,
		.offset = offset,
		.size = size,
		.process = mp_local->process,
		.thread = thread,
		.first_ticks = mprof_ticks(),
	};
	x->last_ticks = x->first_ticks;
	__builtin_memcpy(&x->run, mp_file.header->run_id, sizeof(x->run));
	x->magic = MPROF_EXTENT_MAGIC;
}

uint64_t mp_extent_take(uint64_t bytes, uint64_t align)
{
	uint64_t *tail = &mp_file.header->tail, old, start;
	struct mprof_extent gap;

	if (mp_file.broken)
		return 0;
	old = __atomic_load_n(tail, __ATOMIC_RELAXED);
	do
		start = (old + align - 1) & -align;
	while (!__atomic_compare_exchange_n(tail, &old, start + bytes, 1, __ATOMIC_RELAXED,
					    __ATOMIC_RELAXED));
	if (old < MPROF_HEADER_SIZE) /* a header that was truncated */
		return 0;
	if (mp_local)
		__atomic_fetch_add(&mp_local->file_bytes, start + bytes - old, __ATOMIC_RELAXED);
	file_reserve_ahead(start + bytes);
	if (start > old) {
		mp_extent_fill(&gap, MPROF_EXTENT_FREE, old, (uint32_t)(start - old), 0);
		mp_file_write(old, &gap, sizeof(gap));
	}
	return start;
}

/* of: the process that the extent describes; NULL = this one. */
static void file_write_extent(const struct mprof_process_entry *of, unsigned kind, const void *a,
			      size_t an, const void *b, size_t bn)
{
	char buffer[sizeof(struct mprof_extent) + MP_EXTENT_PAYLOAD];
	struct mprof_extent *x = (struct mprof_extent *)buffer;
	size_t bytes = (sizeof(*x) + an + bn + 63) & ~(size_t)63;
	uint64_t offset;

	if (bytes > sizeof(buffer))
		return;
	offset = mp_extent_take(bytes, MPROF_EXTENT_ALIGN);
	if (!offset)
		return;
	__builtin_memset(buffer, 0, bytes);
	mp_extent_fill(x, kind, offset, (uint32_t)bytes, 0);
	if (of) {
		x->process = of->number;
		x->image = of->image;
	}
	__builtin_memcpy(x + 1, a, an);
	__builtin_memcpy((char *)(x + 1) + an, b, bn);
	x->used = (uint32_t)(an + bn);
	x->check = mprof_checksum(x + 1, x->used);
	mp_file_write(offset, buffer, bytes);
}

void mp_extent_write(unsigned kind, const void *a, size_t an, const void *b, size_t bn)
{
	file_write_extent(NULL, kind, a, an, b, bn);
}

void mp_fact_write_of(const struct mprof_process_entry *of, const struct mprof_fact *f)
{
	file_write_extent(of, MPROF_EXTENT_FACT, f, sizeof(*f), "", 0);
}

struct mprof_process_entry *mp_entry(void)
{
	uint32_t n = mp_local ? mp_local->entry : 0;

	return mp_file.header && n ? &mp_file.header->process[n - 1] : NULL;
}

void mp_lost(unsigned reason, uint64_t events)
{
	struct mprof_process_entry *e = mp_entry();

	if (e)
		__atomic_fetch_add(&e->lost[reason], (uint32_t)events, __ATOMIC_RELAXED);
	else if (mp_file.header)
		__atomic_fetch_add(&mp_file.header->lost[reason], (uint32_t)events,
				   __ATOMIC_RELAXED);
}

/*
 * No file can be mapped on some file systems of networks and virtual machines, and with FUSE's
 * direct_io.  A policy may forbid it elsewhere, although the file is open for writing.
 */
static int file_unmapped(const void *failed)
{
	const long error = (long)failed;

	if (error == -ENOMEM || error == -EAGAIN)
		return -ENOMEM;
	return error == -EACCES || error == -EPERM ? -EKEYREJECTED : -ENODEV;
}

/* Maps the header of a file that we keep.  Takes ownership of fd, also on failure. */
static int file_adopt(int fd)
{
	struct stat st;
	void *map;

	fd = mp_known.attached ? mp_fd_high(fd) : mp_fd_high_first(fd);
	if (fd < 0)
		return fd;
	map = sys_mmap(NULL, MPROF_HEADER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (sys_failed(map) || sys_fstat(fd, &st) < 0) {
		sys_close(fd);
		return sys_failed(map) ? file_unmapped(map) : -ENOMEM;
	}
	mp_file.dev = st.st_dev;
	mp_file.ino = st.st_ino;
	mp_file.header = map;
	__atomic_store_n(&mp_file.fd, fd, __ATOMIC_RELEASE);
	sys_flock(fd, LOCK_SH | LOCK_NB); /* shows other runs that the file is in use */
	mprof_core.clock = mp_file.header->clock;
	mprof_core.clock_shift = mp_file.header->clock_shift;
	mp_sigbus_guard();
	return 0;
}

/* How many seccomp filters have been added since the run began?  They may forbid our system
 * calls. */
static uint32_t file_filters_of(int fd)
{
	uint32_t filters = UINT32_MAX;

	sys_pread(fd, &filters, sizeof(filters), offsetof(struct mprof_file_header, filters));
	return filters;
}

/* Is this the first process of the run, and the file that mprof found at the path still there? */
static int file_finds_earlier(const struct mp_run *run, const char *magic)
{
	struct head h = { .version = 0 };
	int fd = mp_file_existing(run->path, O_RDONLY);
	long n;

	if (fd < 0)
		return 0;
	n = sys_pread(fd, &h, sizeof(h), 0);
	sys_close(fd);
	return n >= MPROF_MAGIC_SIZE && has_magic(&h, magic) && mp_may_make_way(&h, run);
}

/* CHILDREN=0: did this process begin the run, possibly under another program? */
static int file_is_ours(int fd)
{
	struct mprof_process_entry first = { .pid = 0 };
	uint32_t processes = 0;

	sys_pread(fd, &processes, sizeof(processes), offsetof(struct mprof_file_header, processes));
	sys_pread(fd, &first, sizeof(first), offsetof(struct mprof_file_header, process));
	return !processes || (first.pid == sys_getpid() && first.start_time == mp_start_time());
}

/*
 * Joins the run's file.  -ENOENT: no such file; -EBADE: a seccomp filter binds the process; -EXDEV:
 * a file of another kind; -ESTALE: the run's file is closed; -ECANCELED: this process is excluded
 * from recording.
 */
static int file_join(const struct mp_run *run, const char *magic)
{
	struct head h;
	int fd, ret;

	fd = mp_file_existing(run->path, O_RDWR);
	if (fd < 0)
		return fd;
	ret =
	    sys_pread(fd, &h, sizeof(h), 0) == sizeof(h) && has_magic(&h, magic) ? -ESTALE : -EXDEV;
	if (ret == -ESTALE && same_run(&h, magic, run)) {
		if (mp_seccomp_filters() > file_filters_of(fd))
			ret = -EBADE;
		else if (!mp_config.children && !file_is_ours(fd))
			ret = -ECANCELED;
		else
			return file_adopt(fd);
	}
	sys_close(fd);
	return ret;
}

static void file_header_fill(struct mprof_file_header *h, const char *magic,
			     const struct mp_run *run)
{
	__builtin_memcpy(h->magic, magic, MPROF_MAGIC_SIZE);
	h->version = MPROF_FORMAT_VERSION;
	h->header_size = MPROF_HEADER_SIZE;
	__builtin_memcpy(h->run_id, run->id, sizeof(h->run_id));
	h->page_size = mp_page();
	h->filters = mp_seccomp_filters();
	h->clock = mprof_core.clock;
	h->clock_shift = mprof_core.clock_shift;
	h->clock_hz = mp_clock_hz();
	h->start_real_ns = (int64_t)mp_clock_real_ns();
	h->start_mono_ns = (int64_t)mp_clock_monotonic_ns();
	h->start_ticks = mprof_ticks();
	h->tail = MPROF_HEADER_SIZE;
	h->paused = (uint32_t)mp_config.paused;
	h->pauses = h->paused;
	h->budget = mp_config.budget;
	h->overhead = (uint32_t)mp_config.overhead;
	if (*mp_config.only || *mp_config.ranks || !mp_config.children)
		h->flags |= MPROF_FILE_FILTERED;
}

static int file_create(struct mp_run *run, const char *magic, struct text *why)
{
	char name[4096 + 48];
	struct text temporary = text_on(name, sizeof(name));
	struct mprof_file_header *h;
	int fd, ret, joined;

	text_string(&temporary, run->path);
	text_char(&temporary, '.');
	text_number(&temporary, (uint64_t)sys_getpid());
	text_string(&temporary, ".new");
	fd = sys_create(name, O_RDWR | O_EXCL);
	if (fd == -EEXIST && sys_unlink(name) == 0)
		fd = sys_create(name, O_RDWR | O_EXCL);
	if (fd < 0)
		return fd;
	ret = file_reserve(fd, 0, MPROF_HEADER_SIZE);
	h = ret < 0 ? NULL
		    : sys_mmap(NULL, MPROF_HEADER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (!h || sys_failed(h)) {
		sys_unlink(name);
		sys_close(fd);
		return ret < 0 ? ret : file_unmapped(h);
	}
	file_header_fill(h, magic, run);
	sys_flock(fd, LOCK_SH | LOCK_NB); /* before others can see it */
	sys_munmap(h, MPROF_HEADER_SIZE);
	ret = mp_place(name, run, magic, why);
	if (ret < 0 && ret != -EEXIST) {
		sys_close(fd);
		return ret;
	}
	/*
	 * Opened by its path, as other processes do: on FUSE a link is another inode to the kernel,
	 * which does not share pages and size with the first one.
	 */
	joined = file_join(run, magic);
	if (ret == -EEXIST || joined >= 0) {
		sys_close(fd);
		return joined;
	}
	ret = file_adopt(fd);
	if (ret < 0 && joined != -EXDEV &&
	    joined != -ESTALE) /* otherwise other processes use it already */
		sys_unlink(run->path);
	return ret;
}

static int file_create_or_join(struct mp_run *run, const char *magic, const char *path,
			       struct text *why)
{
	struct text to = text_on(run->path, sizeof(run->path));
	int from_env = !mp_known.attached && mp_run_from_env(run), ret = -ENOENT;

	if (from_env)
		ret = file_join(run, magic);
	if ((ret == -ESTALE || ret == -EACCES || ret == -EXDEV) && file_finds_earlier(run, magic))
		ret = -ENOENT; /* created by the first write */
	if (ret == -ESTALE)
		text_string(why, "this process belongs to a run that has ended");
	if (ret == -EBADE)
		text_string(why, "a seccomp filter, added since the run began, may forbid it");
	if (ret == -EXDEV) /* this run needs its own file: it counts inside a run that keeps a
			      trace, or vice versa */
		from_env = 0;
	else if (ret != -ENOENT)
		return ret;
	if (!from_env) {
		mp_run_random(run);
		ret = mp_path_expand(path, &to);
		if (ret == -EINVAL)
			text_string(why,
				    "has an unknown % sequence: expected %p, %h, %e, %j, %r or %%");
		if (ret < 0)
			return ret;
	}
	return file_create(run, magic, why);
}

const char *mp_file_reason(int error)
{
	switch (-error) {
	case EACCES:
	case EPERM:
		return "permission denied";
	case EROFS:
		return "the file system is read-only";
	case ENOENT:
	case ENOTDIR:
		return "no such directory";
	case EISDIR:
		return "is a directory";
	case ENOSPC:
	case EDQUOT:
		return "no space left";
	case EFBIG:
		return "larger than the file size limit";
	case EMFILE:
	case ENFILE:
		return "too many open files";
	case ENOMEM:
		return "no memory or address space";
	case EKEYREJECTED:
		return "the system does not permit to map it (mmap): a security policy, such as "
		       "SELinux or seccomp";
	case ENODEV:
		return "its file system cannot map files (mmap); choose another directory";
	}
	return "the system denied it";
}

int mp_file_is_profile(void)
{
	return mp_file.header &&
	       !__builtin_memcmp(mp_file.header->magic, MPROF_MAGIC_PROFILE, MPROF_MAGIC_SIZE);
}

const uint32_t *mp_file_paused(void)
{
	static const uint32_t never;

	return mp_file.header ? &mp_file.header->paused : &never;
}

const uint64_t *mp_file_log_end(void)
{
	static const uint64_t never;

	return mp_file.header ? &mp_file.header->log_end : &never;
}

void mp_file_close(void)
{
	int fd;

	__atomic_store_n(&mp_file.broken, MPROF_LOST_FILE + 1, __ATOMIC_SEQ_CST);
	fd = __atomic_exchange_n(&mp_file.fd, -1, __ATOMIC_SEQ_CST);
	/* A writer that a signal keeps from its end writes to a closed descriptor: that fails. */
	for (int i = 0; i < CLOSE_TRIES && __atomic_load_n(&mp_file.users, __ATOMIC_SEQ_CST); i++)
		sys_yield();
	if (fd < 0)
		return;
	sys_flock(fd, LOCK_UN); /* mappings would keep it */
	sys_close(fd);
}

/* Checks whether a trace can keep its last events only; if not, it keeps them all. */
static void file_recent_start(void)
{
	if (!(mp_config.last_bytes | mp_config.last_seconds) || mp_recent_works() == 0)
		return;
	mp_config.last_bytes = mp_config.last_seconds = 0;
	mp_note("the file system cannot free parts of a file: all events are kept, not only the "
		"last ones");
}

static void note_unwritten(const char *path, const char *why)
{
	char buffer[512];
	struct text t = text_on(buffer, sizeof(buffer));

	text_string(&t, "cannot write '");
	format_bytes(&t, path, 256 < text_length(path) ? 256 : text_length(path));
	text_string(&t, "': ");
	text_string(&t, why);
	mp_note(t.at);
}

/* Has this process another root directory than mprof, whose notes are /proc/PID/fd/N? */
static int file_has_other_root(void)
{
	static const char notes[] = "/proc/";
	char path[64];
	struct text t = text_on(path, sizeof(path));
	const char *at = mp_known.notes + sizeof(notes) - 1;
	struct stat its, ours;

	if (__builtin_strncmp(mp_known.notes, notes, sizeof(notes) - 1))
		return 0;
	text_string(&t, notes);
	while (*at && *at != '/')
		text_char(&t, *at++);
	text_string(&t, "/root");
	return !sys_stat(path, &its, 0) && !sys_stat("/", &ours, 0) &&
	       (its.st_ino != ours.st_ino || its.st_dev != ours.st_dev);
}

static const char *file_reason_here(int error)
{
	if (error == -EROFS && text_getenv("MPROF_RUN"))
		return "the file system is read-only there, as in a sandbox; make its directory "
		       "writable there";
	if ((error == -ENOENT || error == -ENOTDIR) && file_has_other_root())
		return "no such directory there, as after chroot or in a sandbox; make it "
		       "available there at the same path, writable (mount --bind)";
	return mp_file_reason(error);
}

int mp_file_open(const char *magic, const char *path)
{
	char reason[256] = "";
	struct text why = text_on(reason, sizeof(reason));
	int ret = file_create_or_join(&mp_run, magic, path, &why);

	if (ret < 0) {
		if (ret != -ECANCELED)
			note_unwritten(ret == -EINVAL ? path : mp_run.path,
				       why.used ? reason : file_reason_here(ret));
		return ret;
	}
	struct text to = text_on(mp_file.path, sizeof(mp_file.path));
	text_string(&to, mp_run.path);
	file_recent_start();
	return 0;
}
