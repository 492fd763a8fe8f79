/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * checker.c - an allocator, preloaded, that does not trust who uses it.
 *
 * Every block stands between a header and a guard and is filled with a pattern of its own.  A free
 * checks that the block is alive, that its guard is whole and that its bytes are what CHECKER_TOUCH
 * (none, first, page, full) lets a user leave in it; then it is poisoned and rests for a while, and
 * the poison must still be there when it goes.  CHECKER_FAIL=N lets every N-th request of a block
 * fail.  At _exit it tells on stderr what it counted:
 *
 *   checker: malloc=N calloc=N realloc=N aligned=N free=N null=N loader=N left=N failed=N errors=N
 *
 * loader: requests of the dynamic loader's (tables of thread variables), counted nowhere else.
 * Blocks come from glibc underneath.  Every failure is a line "checker: error: ...".
 */
#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/syscall.h>
#include <unistd.h>

void *__libc_malloc(size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);

#define LIVE  0x6c6976656c697665ull
#define DEAD  0x6465616464656164ull
#define GUARD 16
#define REST  512 /* blocks that rest before they go */
#define PAGE  4096

struct head {
	void *base; /* of the block underneath */
	size_t size;
	_Atomic uint64_t state;
	uint8_t seed;
	bool zeroed, loaders,
	    moved; /* moved: a realloc's, so more than one size has been touched */
	uint8_t pad[4];
};
_Static_assert(sizeof(struct head) % 16 == 0, "blocks are aligned");

enum count { MALLOC, CALLOC, REALLOC, ALIGNED, FREE, NONE, LOADER, LEFT, FAILED, ERRORS, COUNTS };
static const char *const names[] = { "malloc", "calloc", "realloc", "aligned", "free",
				     "null",   "loader", "left",    "failed",  "errors" };
static atomic_long counts[COUNTS];
static _Atomic(struct head *) resting[REST];
static atomic_uint rests, seeds, requests;

static void error(const char *what, const void *p, size_t at, unsigned byte)
{
	char line[200];
	int n = snprintf(line, sizeof(line), "checker: error: %s: block %p, byte %zu is %#x\n",
			 what, p, at, byte);

	if (counts[ERRORS]++ < 20)
		n = (int)write(2, line, (size_t)n);
}

static uint8_t pattern(const struct head *h, size_t i)
{
	return h->zeroed ? 0 : (uint8_t)(h->seed + i * 7);
}

static void guard(struct head *h)
{
	memset((char *)(h + 1) + h->size, 0xa5, GUARD);
}

static const char *policy(void)
{
	static const char *cached;

	if (!cached)
		cached = getenv("CHECKER_TOUCH") ?: "page";
	return cached;
}

/* May and must: byte i of a block of that size was touched. */
static bool may(size_t i, size_t size, bool moved)
{
	if (!strcmp(policy(), "none"))
		return false;
	if (!strcmp(policy(), "first"))
		return i == 0;
	return moved || i % PAGE == 0 || i == size - 1;
}

static bool must(size_t i, size_t size, bool moved)
{
	if (!strcmp(policy(), "none"))
		return false;
	if (!strcmp(policy(), "first"))
		return i == 0;
	return i % PAGE == 0 || (!moved && i == size - 1);
}

static void check_byte(const struct head *h, size_t i)
{
	uint8_t is = ((const uint8_t *)(h + 1))[i];
	bool full = !strcmp(policy(), "full");

	if (full && is != 0x55)
		error("not filled", h + 1, i, is);
	else if (!full && must(i, h->size, h->moved) && is != 1)
		error("not touched", h + 1, i, is);
	else if (!full && is != pattern(h, i) && !(is == 1 && may(i, h->size, h->moved)))
		error("written to", h + 1, i, is);
}

static void check(const struct head *h)
{
	const uint8_t *p = (const uint8_t *)(h + 1);

	for (size_t i = 0; i < h->size && !h->loaders; i++)
		check_byte(h, i);
	for (size_t i = h->size; i < h->size + GUARD; i++)
		if (p[i] != 0xa5)
			error("written behind", p, i, p[i]);
}

static void let_go(struct head *h)
{
	const uint8_t *p = (const uint8_t *)(h + 1);

	for (size_t i = 0; i < h->size; i++)
		if (p[i] != 0xdd)
			error("written to after it was freed", p, i, p[i]);
	__libc_free(h->base);
}

static void rest(struct head *h)
{
	memset(h + 1, 0xdd, h->size);
	h = atomic_exchange(&resting[rests++ % REST], h);
	if (h)
		let_go(h);
}

static bool of_the_loader(const void *caller)
{
	return (uintptr_t)caller - getauxval(AT_BASE) < 1u << 19;
}

static bool fails(void)
{
	static int every = -1;

	if (every < 0)
		every = atoi(getenv("CHECKER_FAIL") ?: "0");
	return every && ++requests % (unsigned)every == 0;
}

static struct head *make(enum count kind, size_t align, size_t size, const void *caller)
{
	bool loaders = of_the_loader(caller);
	struct head *h;
	char *base;

	counts[loaders ? LOADER : kind]++;
	if (align < 16)
		align = 16;
	if (size > SIZE_MAX / 4 || (!loaders && fails())) {
		counts[FAILED]++;
		errno = ENOMEM;
		return NULL;
	}
	base = __libc_memalign(align, align + sizeof(*h) + size + GUARD);
	if (!base)
		return NULL;
	h = (struct head *)(base + (align > sizeof(*h) ? align
						       : (sizeof(*h) + align - 1) & ~(align - 1))) -
	    1;
	*h = (struct head){ .base = base, .size = size, .seed = (uint8_t)(2 + seeds++ % 200) };
	h->loaders = loaders;
	h->zeroed = kind == CALLOC;
	for (size_t i = 0; i < size; i++)
		((uint8_t *)(h + 1))[i] = pattern(h, i);
	guard(h);
	h->state = LIVE;
	counts[LEFT] += !loaders;
	return h;
}

static void *block(struct head *h)
{
	return h ? h + 1 : NULL;
}

static void end(struct head *h)
{
	uint64_t live = LIVE;

	if (!atomic_compare_exchange_strong(&h->state, &live, DEAD)) {
		error(live == DEAD ? "freed twice" : "never allocated", h + 1, 0, 0);
		return;
	}
	check(h);
	counts[LEFT] -= !h->loaders;
	rest(h);
}

void *malloc(size_t size)
{
	return block(make(MALLOC, 16, size, __builtin_return_address(0)));
}

void *calloc(size_t n, size_t size)
{
	if (size && n > SIZE_MAX / size)
		return NULL;
	return block(make(CALLOC, 16, n * size, __builtin_return_address(0)));
}

void free(void *p)
{
	counts[p ? FREE : NONE]++;
	if (!p)
		return;
	if (((struct head *)p - 1)->loaders)
		counts[FREE]--;
	end((struct head *)p - 1);
}

void *realloc(void *p, size_t size)
{
	struct head *old = p ? (struct head *)p - 1 : NULL, *h;

	h = make(REALLOC, 16, size, __builtin_return_address(0));
	if (!h || !old)
		return block(h);
	h->seed = old->seed;
	h->zeroed = old->zeroed;
	h->moved = true;
	for (size_t i = 0; i < size; i++)
		((uint8_t *)(h + 1))[i] = i < old->size ? ((uint8_t *)p)[i] : pattern(h, i);
	end(old);
	return h + 1;
}

int posix_memalign(void **p, size_t align, size_t size)
{
	if (align % sizeof(void *))
		return EINVAL;
	*p = block(make(ALIGNED, align, size, __builtin_return_address(0)));
	return *p ? 0 : ENOMEM;
}

void *memalign(size_t align, size_t size)
{
	return block(make(ALIGNED, align, size, __builtin_return_address(0)));
}

void *aligned_alloc(size_t align, size_t size)
{
	return block(make(ALIGNED, align, size, __builtin_return_address(0)));
}

size_t malloc_usable_size(void *p)
{
	return p ? ((struct head *)p - 1)->size : 0;
}

/* valloc and pvalloc are missing on purpose: the runner has to notice. */

void _exit(int status)
{
	char line[400] = "checker:";

	for (int i = 0; i < REST; i++)
		if (resting[i])
			let_go(resting[i]);
	for (int i = 0; i < COUNTS; i++)
		snprintf(line + strlen(line), sizeof(line) - strlen(line), " %s=%ld", names[i],
			 (long)counts[i]);
	strcat(line, "\n");
	if (write(2, line, strlen(line)) < 0)
		status = 99;
	for (;;)
		syscall(SYS_exit_group, status);
}
