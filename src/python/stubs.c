// SPDX-License-Identifier: LGPL-3.0-or-later
/* stubs.c - see stubs.h, and <mprof/scripts.h> for what the unwinder and mprof know of them. */
#include "stubs.h"

#include <errno.h>
#include <fcntl.h>
#include <mprof/scripts.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* Weak, as in frames.c. */
extern __typeof__(mprof_script_memory) mprof_script_memory __attribute__((weak));
extern __typeof__(mprof_script_code) mprof_script_code __attribute__((weak));

#define STUBS	    (MPROF_SCRIPT_CHUNK / MPROF_SCRIPT_STUB) /* of a chunk */
#define CHUNKS_MOST (MPROF_SCRIPT_OF_PROCESS / 2 / MPROF_SCRIPT_CHUNK)
#define STUBS_MOST  (CHUNKS_MOST * STUBS) /* functions that are named; others have no frame */
#define LINES_MOST  65535u		  /* of a function, with a frame for each */

/*
 * Calls its fourth argument with the first three, from a frame with a frame pointer.  The frame
 * keeps the fifth argument and the mark, where src/libmprof/scripts.c finds them.
 */
#if defined(__x86_64__)
static const unsigned char stub_code[MPROF_SCRIPT_STUB] = {
	0xf3, 0x0f, 0x1e, 0xfa,	      /* endbr64 */
	0x55,			      /* push rbp */
	0x48, 0x89, 0xe5,	      /* mov rbp, rsp */
	0x41, 0x50,		      /* push r8 */
	0x68, 0x66, 0x72, 0x70, 0x6d, /* push MPROF_SCRIPT_MARK */
	0xff, 0xd1,		      /* call rcx */
	0xc9,			      /* leave */
	0xc3,			      /* ret */
	0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0xcc,
};
#elif defined(__aarch64__)
static const uint32_t stub_code[MPROF_SCRIPT_STUB / 4] = {
	0xa9be7bfd, /* stp x29, x30, [sp, #-32]! */
	0x910003fd, /* mov x29, sp */
	0x528e4cc9, /* mov w9, #0x7266 */
	0x72adae09, /* movk w9, #0x6d70, lsl #16 */
	0xa90127e4, /* stp x4, x9, [sp, #16] */
	0xd63f0060, /* blr x3 */
	0xa8c27bfd, /* ldp x29, x30, [sp], #32 */
	0xd65f03c0, /* ret */
};
#else
#error "no stub for this processor"
#endif

/*
 * By the hash of the name and the lines, so that code that is compiled again gets the same one, but
 * not another lambda of the line, or another text that exec() runs.
 */
static struct named {
	uint64_t hash; /* 0: unused */
	stub *stub;
} * names;
static size_t names_room, names_count; /* room: a power of two */

static struct {
	unsigned char *chunk;
	unsigned used;	 /* stubs of the chunk */
	unsigned chunks; /* of this process */
	uint64_t lines;	 /* addresses of this process that stand for lines */
	unsigned all;
	pid_t process; /* which made the chunk */
} stubs;

static bool new_chunk(pid_t process)
{
	unsigned char *chunk;
	uint64_t place;

	if (process != stubs.process)
		stubs.chunks = stubs.lines = 0;
	place = MPROF_SCRIPT_STUBS + (uint64_t)process * MPROF_SCRIPT_OF_PROCESS +
		stubs.chunks * 2ul * MPROF_SCRIPT_CHUNK;
	if (stubs.chunks == CHUNKS_MOST || place >= MPROF_SCRIPT_LINES)
		return false;
	chunk = mprof_script_memory((void *)place, 2ul * MPROF_SCRIPT_CHUNK);
	if (!chunk)
		return false;
	for (unsigned i = 0; i < STUBS; i++)
		memcpy(chunk + i * MPROF_SCRIPT_STUB, stub_code, sizeof(stub_code));
	if (mprof_script_code(chunk, MPROF_SCRIPT_CHUNK))
		return false;
	__builtin___clear_cache((char *)chunk, (char *)chunk + MPROF_SCRIPT_CHUNK);
	stubs.chunk = chunk;
	stubs.used = 0;
	stubs.chunks++;
	stubs.process = process;
	return true;
}

/* Opens the process's map for its current user; -1 on failure.  *first: this user had none. */
static int open_map(bool *first)
{
	static struct {
		pid_t process;
		unsigned users;
		uid_t user[MPROF_MAPS];
	} maps;
	const uid_t user = geteuid();
	struct stat st;
	char path[64];
	unsigned i = 0;
	int fd;

	if (maps.process != stubs.process)
		maps.users = 0;
	maps.process = stubs.process;
	while (i < maps.users && maps.user[i] != user)
		i++;
	if (i == MPROF_MAPS)
		return -1;
	*first = i == maps.users;
	snprintf(path, sizeof(path), mprof_map_name(i), (int)stubs.process, i);
	if (*first && unlink(path) && errno != ENOENT)
		return -1;
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && *first && !fstat(fd, &st) && (~st.st_mode & 0600))
		fchmod(fd, 0600); /* the umask hid it even from its owner */
	if (fd >= 0 && *first)
		maps.user[maps.users++] = user;
	return fd;
}

/* May the file grow by this much?  A write beyond RLIMIT_FSIZE would send SIGXFSZ, which kills. */
static bool may_grow(int fd, int bytes)
{
	struct rlimit limit;
	struct stat st;

	return !fstat(fd, &st) && !getrlimit(RLIMIT_FSIZE, &limit) &&
	       (limit.rlim_cur == RLIM_INFINITY ||
		(rlim_t)st.st_size + (rlim_t)bytes <= limit.rlim_cur);
}

/*
 * Appends the names of a stub and of its lines to the map.  The file is not kept open: a program
 * that closes all descriptors and opens files of its own must not find our lines in them.
 */
static bool write_name(const unsigned char *at, const struct mprof_script *script, uint64_t lines,
		       const struct function *f)
{
	char text[2 * STUB_NAME_MOST + 256];
	bool first;
	const int fd = open_map(&first);
	int n;

	if (fd < 0)
		return false;
	n = snprintf(text, sizeof(text), "%s%lx %x py::%s:%u\n%lx %lx py::%s:%u+\n",
		     first ? MPROF_MAP_BEGINS : "", (unsigned long)(uintptr_t)at, MPROF_SCRIPT_STUB,
		     f->name, f->first, (unsigned long)script->lines, (unsigned long)lines, f->name,
		     f->first);
	if (!may_grow(fd, n) || write(fd, text, (size_t)n) != n)
		n = -1;
	close(fd);
	return n > 0;
}

/* Returns memory that stays, or NULL. */
static uint16_t *keep(size_t entries)
{
	enum { ENTRIES = 1 << 16 };
	static uint16_t *at, *end;
	uint16_t *kept = at;

	if (entries > ENTRIES)
		return NULL;
	if ((size_t)(end - at) < entries) {
		kept = mprof_script_memory(NULL, ENTRIES * sizeof(*at));
		if (!kept)
			return NULL;
		end = kept + ENTRIES;
	}
	at = kept + entries;
	return kept;
}

struct lines {
	size_t instructions;
	uint64_t most; /* the greatest line, from the first */
	uint64_t hash;
};

static uint64_t hash_add(uint64_t hash, uint64_t value)
{
	return (hash ^ value) * 0x100000001b3; /* FNV-1a */
}

/* Finds the line of each instruction. */
static struct lines find_lines(const struct function *f, uint16_t *line)
{
	struct mprof_script_table table = { f->table, f->table + f->bytes, 0 };
	struct lines all = { 0 };
	unsigned n;

	while ((n = mprof_script_next(&table))) {
		const int64_t now = table.line;

		for (unsigned i = 0; i < n && line; i++)
			line[all.instructions + i] =
			    (uint16_t)(now < 0		  ? 0
				       : now < LINES_MOST ? now
							  : LINES_MOST - 1);
		all.instructions += n;
		all.hash = hash_add(hash_add(all.hash, n), (uint64_t)now);
		if (now < LINES_MOST && now > (int64_t)all.most)
			all.most = (uint64_t)now;
	}
	return all;
}

static stub *new_stub(const struct function *f, const struct lines *lines)
{
	const pid_t process = getpid();
	struct mprof_script *script;
	uint16_t *line = NULL;
	unsigned char *at;

	if (stubs.all == STUBS_MOST)
		return NULL;
	if ((process != stubs.process || stubs.used == STUBS) && !new_chunk(process))
		return NULL;
	if (stubs.lines + lines->most + 1 > MPROF_SCRIPT_OF_PROCESS)
		return NULL;
	at = stubs.chunk + stubs.used * MPROF_SCRIPT_STUB;
	script = (struct mprof_script *)(void *)(at + MPROF_SCRIPT_CHUNK);
	*script = (struct mprof_script){ .lines = MPROF_SCRIPT_LINES +
						  (uint64_t)process * MPROF_SCRIPT_OF_PROCESS +
						  stubs.lines };
	if (!write_name(at, script, lines->most + 1, f))
		return NULL;
	if (f->table)
		line = keep(lines->instructions);
	if (line) {
		find_lines(f, line);
		script->line = line;
		script->instructions = lines->instructions;
	}
	stubs.lines += lines->most + 1;
	stubs.used++;
	stubs.all++;
	return (stub *)(uintptr_t)at;
}

static struct named *name_at(struct named *in, size_t room, uint64_t hash)
{
	size_t i = hash & (room - 1);

	while (in[i].hash && in[i].hash != hash)
		i = (i + 1) & (room - 1);
	return &in[i];
}

/* Makes room for one more.  Returns false without memory; the old table stays, because there are
 * few of them and it is small. */
static bool grow_names(void)
{
	enum { FIRST = 1 << 11 };
	const size_t room = names_room ? 2 * names_room : FIRST;
	struct named *more;

	if (2 * names_count < names_room)
		return true;
	more = mprof_script_memory(NULL, room * sizeof(*more));
	if (!more)
		return false;
	for (size_t i = 0; i < names_room; i++)
		if (names[i].hash)
			*name_at(more, room, names[i].hash) = names[i];
	names = more;
	names_room = room;
	return true;
}

stub *stub_named(const struct function *f)
{
	const struct lines lines = find_lines(f, NULL);
	uint64_t hash = hash_add(lines.hash, f->first);
	struct named *named;

	for (const char *c = f->name; *c; c++)
		hash = hash_add(hash, (unsigned char)*c);
	hash += !hash;
	if (!grow_names())
		return NULL;
	named = name_at(names, names_room, hash);
	if (!named->hash) {
		named->stub = new_stub(f, &lines);
		if (!named->stub)
			return NULL;
		named->hash = hash;
		names_count++;
	}
	return named->stub;
}
