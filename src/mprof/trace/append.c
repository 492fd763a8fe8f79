/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * append.c - adding extents to a live file from outside.
 *
 * An extent is written whole by one pwrite, header and payload together, so that a reader either
 * sees all of it, or sees by its checksum that it is missing.
 */
#include "append.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mprof/encode.h>

#include "clock.h"

/*
 * Someone may truncate the file under our mapping.  The page of the header then becomes zeros,
 * which every reader treats as empty: the program continues, and so do we.
 */
static char *guarded;
static struct sigaction before_guard;

static void patch_hole(int signal, siginfo_t *info, void *context)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *at = (char *)((uintptr_t)info->si_addr & -page);

	if (guarded && at >= guarded && at < guarded + MPROF_HEADER_SIZE &&
	    mmap(at, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0) == at)
		return;
	/* The fault is not ours: the repeated access kills us, as it should. */
	(void)!sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
}

static void guard(void *map)
{
	struct sigaction act = { .sa_sigaction = patch_hole, .sa_flags = SA_SIGINFO };

	guarded = map;
	sigaction(SIGBUS, &act, &before_guard);
}

static void unguard(void)
{
	if (guarded)
		sigaction(SIGBUS, &before_guard, NULL);
	guarded = NULL;
}

static bool is_ours(const struct mprof_file_header *h, const uint8_t run_id[16])
{
	return mprof_is_magic(h->magic) && h->version == MPROF_FORMAT_VERSION &&
	       h->header_size == MPROF_HEADER_SIZE && !memcmp(h->run_id, run_id, sizeof(h->run_id));
}

static int take(struct append *a, int fd, const char *path, const uint8_t run_id[16])
{
	struct stat st;
	int code = -EAGAIN;
	void *map = MAP_FAILED;

	a->header = NULL;
	a->path = NULL;
	a->most = a->cut_to = 0;
	a->fd = fd;
	if (a->fd < 0)
		return -errno;
	if (fstat(a->fd, &st) || !S_ISREG(st.st_mode) || st.st_size < (off_t)MPROF_HEADER_SIZE)
		goto refuse;
	map = mmap(NULL, MPROF_HEADER_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, a->fd, 0);
	if (map == MAP_FAILED)
		goto refuse;
	guard(map);
	if (!is_ours(map, run_id))
		goto refuse;
	a->path = strdup(path);
	if (!a->path) {
		code = -ENOMEM;
		goto refuse;
	}
	a->header = map;
	return 0;
refuse:
	unguard();
	if (map != MAP_FAILED)
		munmap(map, MPROF_HEADER_SIZE);
	close(a->fd);
	a->fd = -1;
	return code;
}

#define HOW (O_RDWR | O_CLOEXEC | O_NONBLOCK)

int append_open(struct append *a, const char *path, const uint8_t run_id[16])
{
	return take(a, open(path, HOW | O_NOFOLLOW), path, run_id);
}

int append_open_link(struct append *a, const char *link, const uint8_t run_id[16])
{
	return take(a, open(link, HOW), link, run_id);
}

void append_close(struct append *a)
{
	if (a->fd < 0)
		return;
	unguard();
	munmap(a->header, MPROF_HEADER_SIZE);
	close(a->fd);
	free(a->path);
	a->fd = -1;
	a->header = NULL;
	a->path = NULL;
}

uint64_t append_ticks(const struct append *a)
{
	return clock_ticks(a->header);
}

static size_t round_up(size_t n)
{
	return (n + MPROF_EXTENT_ALIGN - 1) & ~(size_t)(MPROF_EXTENT_ALIGN - 1);
}

/* May we write there?  Not if the tail was truncated; writing beyond RLIMIT_FSIZE would kill us. */
static bool may_write(uint64_t offset, size_t size)
{
	struct rlimit limit;

	return offset >= MPROF_HEADER_SIZE &&
	       (getrlimit(RLIMIT_FSIZE, &limit) || limit.rlim_cur == RLIM_INFINITY ||
		offset + size <= limit.rlim_cur);
}

bool append_is_cut(struct append *a)
{
	struct stat st;
	uint64_t now;

	if (a->most > a->cut_to || fstat(a->fd, &st))
		return true;
	now = (uint64_t)st.st_size;
	a->cut_to = now;
	if (now >= a->most)
		a->most = now;
	/* The file may have grown again since. */
	return now < a->most || mprof_header_is_cut(a->header);
}

int append_extent(struct append *a, enum mprof_extent_kind kind, uint32_t process,
		  const void *payload, size_t size)
{
	size_t whole = round_up(sizeof(struct mprof_extent) + size);
	struct mprof_extent *e;
	ssize_t n;

	if (whole > MPROF_EXTENT_MAX)
		return -EFBIG;
	if (append_is_cut(a))
		return -ENODATA;
	e = calloc(1, whole);
	if (!e)
		return -ENOMEM;
	e->magic = MPROF_EXTENT_MAGIC;
	e->kind = (uint16_t)kind;
	e->size = (uint32_t)whole;
	e->used = (uint32_t)size;
	e->process = process;
	memcpy(&e->run, a->header->run_id, sizeof(e->run));
	e->check = mprof_checksum(payload, size);
	e->first_ticks = e->last_ticks = append_ticks(a);
	memcpy(e + 1, payload, size);
	/* Only takes space; the extent itself says what it is. */
	e->offset = __atomic_fetch_add(&a->header->tail, whole, __ATOMIC_RELAXED);
	n = may_write(e->offset, whole) ? pwrite(a->fd, e, whole, (off_t)e->offset) : 0;
	free(e);
	if (n < 0)
		return -errno;
	return (size_t)n == whole ? 0 : -ENOSPC;
}

int append_fact(struct append *a, uint32_t process, struct mprof_fact *fact,
		const char *const *text, size_t n)
{
	size_t size = sizeof(*fact), i;
	char *payload, *at;
	int code;

	for (i = 0; i < n; i++)
		size += strlen(text[i]) + 1;
	payload = malloc(size);
	if (!payload)
		return -ENOMEM;
	clock_stamp(a->header, fact);
	memcpy(payload, fact, sizeof(*fact));
	for (at = payload + sizeof(*fact), i = 0; i < n; i++)
		at = stpcpy(at, text[i]) + 1;
	code = append_extent(a, MPROF_EXTENT_FACT, process, payload, size);
	free(payload);
	return code;
}

struct mprof_process_entry append_process(const struct append *a, size_t i)
{
	const volatile struct mprof_process_entry *live = &a->header->process[i];
	struct mprof_process_entry e = { 0 };

	/* Pairs with the library's release store: numbered entries are filled in. */
	e.number = __atomic_load_n(&live->number, __ATOMIC_ACQUIRE);
	if (!e.number)
		return e;
	e.pid = live->pid;
	e.start_time = live->start_time;
	e.state = live->state;
	e.image = live->image;
	e.status = live->status;
	memcpy(e.lost, (const void *)live->lost, sizeof(e.lost));
	e.self_bytes = live->self_bytes;
	return e;
}

bool append_is_displaced(const struct append *a)
{
	struct stat ours, there;

	return fstat(a->fd, &ours) || lstat(a->path, &there) || ours.st_dev != there.st_dev ||
	       ours.st_ino != there.st_ino;
}

/* Holes stay holes: a run that drops its oldest calls is nearly all holes after some time. */
static int copy_all(int from, int to)
{
	size_t chunk = 1 << 20;
	char *buffer = malloc(chunk);
	struct stat st;
	off_t at = 0, data, hole;
	ssize_t n;
	int code = !buffer ? -ENOMEM : fstat(from, &st) || ftruncate(to, st.st_size) ? -errno : 0;

	while (!code) {
		data = lseek(from, at, SEEK_DATA);
		if (data < 0 && errno == ENXIO)
			break;
		at = data < 0 ? at : data; /* not every file system knows its holes */
		hole = lseek(from, at, SEEK_HOLE);
		n = pread(from, buffer,
			  hole > at && hole - at < (off_t)chunk ? (size_t)(hole - at) : chunk, at);
		if (n < 0 || pwrite(to, buffer, (size_t)n, at) != n)
			code = n < 0 ? -errno : -ENOSPC;
		if (n <= 0)
			break;
		at += n;
	}
	free(buffer);
	return code;
}

int append_restore(const struct append *a, const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	int code;

	if (fd < 0)
		return -errno;
	code = copy_all(a->fd, fd);
	if (close(fd) && !code)
		code = -errno;
	if (code)
		unlink(path);
	return code;
}
