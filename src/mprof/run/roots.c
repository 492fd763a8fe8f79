// SPDX-License-Identifier: LGPL-3.0-or-later
/* roots.c - see roots.h. */
#include "roots.h"

#include <elf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/order.h"

#define BELOW_SP 128u  /* the red zone: a function may use it without moving sp */
#define TLS_MORE 4096u /* the C library's data of a thread: */
#if defined(__x86_64__)
#define VARIABLES_BELOW 1u /* it is above the thread pointer, variables are below */
#else
#define VARIABLES_BELOW 0u
#endif
#define TLS_ALIGN  64u	      /* between the variables of two objects */
#define LARGE	   (1u << 20) /* of memory of unknown origin, only as much counts */
#define GUARD_MOST (1u << 20) /* of a thread's stack */
#define DTV_MOST   4096u      /* modules with thread-local variables */
#define EXIT_CODE  128u	      /* bytes of exit() */

/* A line of /proc/PID/maps. */
struct mapping {
	uint64_t start, end, offset;
	bool readable, writable, shared, usable; /* usable: has any access */
	bool anonymous;				 /* neither a file nor named by the kernel */
	char *path;				 /* owned */
};

struct finder {
	struct roots *r;
	const struct stopped *s;
	const struct last_blocks *b;
	struct mapping *map;
	size_t maps, room;
	uint64_t tls; /* bytes of the thread-local variables of all objects, at most */
};

static bool read_mapping(struct mapping *m, const char *line)
{
	char flags[8] = "";
	int at = 0;

	*m = (struct mapping){ .start = 0 };
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %*s %*s %n", &m->start, &m->end,
		   flags, &m->offset, &at) < 4 ||
	    m->end <= m->start)
		return false;
	m->readable = flags[0] == 'r';
	m->writable = flags[1] == 'w';
	m->shared = flags[3] == 's';
	m->usable = m->readable || m->writable || flags[2] == 'x';
	m->path = must_strndup(line + at, strcspn(line + at, "\n"));
	m->anonymous = !*m->path || !strncmp(m->path, "[anon", 5);
	return true;
}

static int read_maps(struct finder *f)
{
	char path[64], line[4352];
	FILE *in;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)f->s->memory);
	in = fopen(path, "re");
	if (!in)
		return -errno;
	while (fgets(line, sizeof(line), in)) {
		GROW(f->map, f->maps + 1, f->room);
		f->maps += read_mapping(&f->map[f->maps], line);
	}
	fclose(in);
	return f->maps ? 0 : -ESRCH;
}

static const struct mapping *mapping_at(const struct finder *f, uint64_t addr)
{
	const size_t i = FIRST_WHERE(k, f->maps, f->map[k].end > addr);

	return i < f->maps && f->map[i].start <= addr ? &f->map[i] : NULL;
}

/* ---- files ---- */

static bool is_library(const char *path)
{
	return !strncmp(basename(path), "libmprof", 8);
}

/* An allocator's variables lead to free blocks and to its own tables, which may begin where a block
 * in use ends. */
static bool is_allocator(const char *path)
{
	const char *name = basename(path);

	return !strncmp(name, "libc.so", 7) || !strncmp(name, "libc-2.", 7) ||
	       (strstr(name, "malloc") && strstr(name, ".so"));
}

/* The lists of the C library and the loader lead to nearly everything, but say little. */
static bool is_system(const char *path)
{
	return is_allocator(path) || !strncmp(basename(path), "ld-", 3);
}

/* Finds where an object is, and adds its thread-local memory.  Returns false for other files. */
static bool read_object(struct finder *f, uint64_t base, struct root_file *to)
{
	Elf64_Phdr p[64];
	Elf64_Ehdr e;
	bool found = false;
	size_t n;

	if (stopped_read(f->s, base, &e, sizeof(e)) < sizeof(e) ||
	    memcmp(e.e_ident, ELFMAG, SELFMAG) || e.e_phentsize != sizeof(*p))
		return false;
	n = e.e_phnum < 64 ? e.e_phnum : 64;
	n = stopped_read(f->s, base + e.e_phoff, p, n * sizeof(*p)) / sizeof(*p);
	for (size_t i = 0; i < n; i++) {
		if (p[i].p_type == PT_TLS)
			f->tls += p[i].p_memsz + p[i].p_align + TLS_ALIGN;
		if (p[i].p_type == PT_LOAD && !p[i].p_offset && !found) {
			to->bias = base - p[i].p_vaddr;
			found = true;
		}
		if (p[i].p_type == PT_LOAD && found)
			to->end = to->bias + p[i].p_vaddr + p[i].p_memsz;
	}
	return found;
}

/* Returns the index of the file that a mapping is of, which begins at the nearest mapping of its
 * first page. */
static uint32_t file_of(struct finder *f, size_t i)
{
	struct roots *r = f->r;
	struct root_file *to;
	size_t first = i;

	while (first && f->map[first].offset && !strcmp(f->map[first - 1].path, f->map[i].path))
		first--;
	if (r->files && !strcmp(r->file[r->files - 1].path, f->map[i].path))
		return (uint32_t)r->files - 1;
	to = GROW_ONE(r->file, r->files, r->file_room);
	to->path = must_strdup(f->map[i].path);
	to->object = !f->map[first].offset && read_object(f, f->map[first].start, to);
	return (uint32_t)r->files - 1;
}

/* ---- ranges ---- */

static void add(struct finder *f, const struct root_range *range)
{
	struct root_range x = *range;

	x.start = (x.start + 7) & -8ull;
	x.end &= -8ull;
	if (x.start < x.end)
		*GROW_ONE(f->r->range, f->r->ranges, f->r->room) = x;
}

/* Adds what is before and behind the pages in which blocks lay, if it is as large as `least`. */
static void add_around(struct finder *f, const struct root_range *range, uint64_t least)
{
	const unsigned shift = f->b->shift;
	const uint64_t start = range->start >> shift, end = ((range->end - 1) >> shift) + 1;
	const uint64_t first = last_blocks_next(f->b, start, end, true);
	const uint64_t last = last_blocks_end(f->b, first, end);
	struct root_range x = *range;

	if (first < end)
		x.end = first << shift;
	if (x.end > x.start && x.end - x.start >= least)
		add(f, &x);
	if (first == end)
		return;
	x.start = last << shift;
	x.end = range->end;
	if (x.end > x.start && x.end - x.start >= least)
		add(f, &x);
}

/* Adds what is between the pages in which blocks lay, too. */
static void add_between(struct finder *f, const struct root_range *range)
{
	const unsigned shift = f->b->shift;
	const uint64_t end = ((range->end - 1) >> shift) + 1;
	struct root_range x = *range;

	for (uint64_t page = range->start >> shift; page < end;) {
		const uint64_t from = last_blocks_next(f->b, page, end, false);

		page = last_blocks_next(f->b, from, end, true);
		x.start = from << shift > range->start ? from << shift : range->start;
		x.end = page << shift < range->end ? page << shift : range->end;
		add(f, &x);
	}
}

/* ---- kinds ---- */

/* Writable memory of objects: .data and, behind it without a path, .bss. */
static void add_variables(struct finder *f)
{
	struct root_range x;
	uint32_t file = 0;
	bool of_file = false;

	for (size_t i = 0; i < f->maps; i++) {
		const struct mapping *m = &f->map[i];
		const bool named = *m->path == '/';

		if (named)
			file = file_of(f, i);
		of_file = named || (of_file && m->anonymous && m->start == f->map[i - 1].end);
		if (!of_file || !m->writable || !m->readable || m->shared ||
		    is_library(f->r->file[file].path) || (!named && !f->r->file[file].object))
			continue;
		x = (struct root_range){
			.start = m->start,
			.end = m->end,
			.kind = f->r->file[file].object ? MPROF_REACH_VARIABLE : MPROF_REACH_MAPPED,
			.exact = is_allocator(f->r->file[file].path),
			.late = is_system(f->r->file[file].path),
			.file = file,
		};
		if (!named && f->r->file[file].end < x.end) /* other memory follows */
			x.end = f->r->file[file].end;
		add(f, &x);
	}
}

ORDER(late_last, struct root_range, RISING(late) ?: RISING(start))

/* Shared anonymous memory and that of shm_open() has such paths, too. */
static bool is_device(const char *path)
{
	return !strncmp(path, "/dev/", 5) && strncmp(path, "/dev/zero", 9) != 0 &&
	       strncmp(path, "/dev/shm/", 9) != 0;
}

static void add_mapped(struct finder *f)
{
	for (size_t i = 0; i < f->b->mappings; i++) {
		const struct map_range *g = &f->b->mapped[i];

		for (size_t k = FIRST_WHERE(j, f->maps, f->map[j].end > g->start);
		     k < f->maps && f->map[k].start < g->end; k++) {
			const struct mapping *m = &f->map[k];
			const struct root_range x = {
				.start = m->start > g->start ? m->start : g->start,
				.end = m->end < g->end ? m->end : g->end,
				.kind = MPROF_REACH_MAPPED,
			};

			if (m->readable && m->writable && !is_device(m->path))
				add_around(f, &x, 0);
		}
	}
}

/* Is it the stack of a thread: does a guard lie below it? */
static bool is_stack(const struct finder *f, size_t i)
{
	const struct mapping *below = i ? &f->map[i - 1] : NULL;

	return below && below->end == f->map[i].start && !below->usable &&
	       below->end - below->start <= GUARD_MOST;
}

/* Large memory that the program mapped by system calls of its own, such as the heap of Go.  Other
 * allocators than glibc's have tables there, in which old addresses remain. */
static void add_unknown(struct finder *f)
{
	for (size_t i = 0; i < f->maps; i++) {
		const struct mapping *m = &f->map[i];

		if (!m->anonymous || !m->readable || !m->writable || m->shared ||
		    m->end - m->start < LARGE || is_stack(f, i))
			continue;
		add_around(f,
			   &(struct root_range){
			       .start = m->start, .end = m->end, .kind = MPROF_REACH_MAPPED },
			   LARGE);
	}
}

/* The loader's list of where thread-local variables of objects are. */
static void add_dtv(struct finder *f, const struct stopped_thread *t)
{
#if defined(__x86_64__)
	const uint64_t at = t->thread_pointer + 8;
#else
	const uint64_t at = t->thread_pointer;
#endif
	uint64_t dtv, n;

	if (stopped_read(f->s, at, &dtv, 8) < 8 || stopped_read(f->s, dtv - 16, &n, 8) < 8 ||
	    n > DTV_MOST)
		return;
	add(f, &(struct root_range){ .start = dtv,
				     .end = dtv + 16 * (n + 1),
				     .kind = MPROF_REACH_THREAD,
				     .tid = t->tid });
}

/* Does the thread run on the stack that ends at its thread-local memory?  Then all between is in
 * use, though a block that was freed may have lain there before. */
static bool is_own_stack(const struct stopped_thread *t, const struct mapping *m)
{
	return t->thread_pointer > t->sp && t->thread_pointer < m->end && t->sp >= m->start;
}

/* Thread-local memory is on both sides of the pointer, in a mapping of its own, or behind the
 * thread's stack. */
static uint64_t tls_start(const struct finder *f, const struct stopped_thread *t,
			  const struct mapping *m)
{
	const uint64_t below = VARIABLES_BELOW ? f->tls : TLS_MORE;
	uint64_t start = t->thread_pointer > below ? t->thread_pointer - below : 0;

	if (t->sp > start && t->sp < t->thread_pointer)
		start = t->sp;
	return start > m->start ? start : m->start;
}

static void add_thread_local(struct finder *f, const struct stopped_thread *t)
{
	const struct mapping *m = mapping_at(f, t->thread_pointer);
	struct root_range x = { .kind = MPROF_REACH_THREAD, .tid = t->tid };

	if (!t->thread_pointer || !m)
		return;
	x.start = tls_start(f, t, m);
	x.end = t->thread_pointer + (VARIABLES_BELOW ? TLS_MORE : f->tls + TLS_ALIGN);
	x.end = x.end < m->end ? x.end : m->end;
	if (is_own_stack(t, m))
		add(f, &x);
	else
		add_between(f, &x);
	add_dtv(f, t);
}

/* The way out: exit() and what it called.  Returns the stack pointer of its caller if that is the
 * C library, after main() returned; another function may still have pointers in registers, which
 * exit() saved. */
static uint64_t skip_exit(const struct finder *f, uint64_t sp, uint64_t end, uint64_t exit_at)
{
	enum { WORDS = 8192, BEHIND = 8 };
	static uint64_t word[WORDS];
	const size_t bytes = end - sp < sizeof(word) ? end - sp : sizeof(word);
	const size_t n = stopped_read(f->s, sp, word, bytes) / 8;
	const struct mapping *libc = mapping_at(f, exit_at);

	for (size_t i = 0; libc && i < n; i++) {
		if (word[i] - exit_at >= EXIT_CODE)
			continue;
		for (size_t k = i + 1; k < n && k <= i + BEHIND; k++) {
			const struct mapping *m = mapping_at(f, word[k]);

			if (m && !m->writable && *m->path == '/')
				return m == libc ? sp + 8 * (k + 1) : sp;
		}
		return sp;
	}
	return sp;
}

/* The stack that a thread has left, for one of a coroutine or a signal handler: how much of it is
 * in use is unknown. */
static void add_left_stack(struct finder *f, const struct stopped_thread *t)
{
	struct root_range x = { .kind = MPROF_REACH_STACK, .tid = t->tid };
	const struct mapping *m = NULL;

	for (size_t i = 0; i < f->maps; i++)
		if (t->tid == f->s->pid
			? !strcmp(f->map[i].path, "[stack]")
			: f->map[i].end > t->thread_pointer &&
			      f->map[i].start <= t->thread_pointer && is_stack(f, i))
			m = &f->map[i];
	if (!m || (t->sp >= m->start && t->sp < m->end))
		return;
	x.start = m->start;
	x.end = t->tid == f->s->pid ? m->end : tls_start(f, t, m);
	add(f, &x);
}

static void add_stack(struct finder *f, const struct stopped_thread *t, pid_t waiting,
		      uint64_t exit_at)
{
	const struct mapping *m = mapping_at(f, t->sp);
	struct root_range x = { .kind = MPROF_REACH_STACK, .tid = t->tid };

	add_left_stack(f, t);
	if (!m)
		return;
	x.start = t->sp - BELOW_SP > m->start ? t->sp - BELOW_SP : m->start;
	x.end = m->end;
	if (t->thread_pointer > t->sp && t->thread_pointer < m->end)
		x.end = tls_start(f, t, m);
	if (t->tid == waiting && exit_at)
		x.start = skip_exit(f, t->sp & -8ull, x.end, exit_at);
	if (is_own_stack(t, m) || !strcmp(m->path, "[stack]"))
		add(f, &x);
	else
		add_between(f, &x);
}

int roots_find(struct roots *r, const struct stopped *s, const struct last_blocks *b, pid_t waiting,
	       uint64_t exit_at, bool glibc)
{
	struct finder f = { .r = r, .s = s, .b = b };
	int ret;

	*r = (struct roots){ .ranges = 0 };
	ret = read_maps(&f);
	if (!ret) {
		add_variables(&f);
		SORT(r->range, r->ranges, late_last);
		for (size_t i = 0; i < s->threads; i++)
			add_thread_local(&f, &s->thread[i]);
		add_mapped(&f);
		if (glibc)
			add_unknown(&f);
		for (size_t i = 0; i < s->threads; i++)
			add_stack(&f, &s->thread[i], waiting, exit_at);
	}
	for (size_t i = 0; i < f.maps; i++)
		free(f.map[i].path);
	free(f.map);
	return ret;
}

void roots_release(struct roots *r)
{
	for (size_t i = 0; i < r->files; i++)
		free(r->file[i].path);
	free(r->file);
	free(r->range);
	*r = (struct roots){ .ranges = 0 };
}
