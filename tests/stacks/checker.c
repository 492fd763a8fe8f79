// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * checker.c - every Nth captured stack compared with libunwind's, in the same process.
 *
 * Linked with the objects of libmprof.so into libmprof-check.so (tests/stacks/check), with the
 * linker's --wrap for the two functions below: the product has no hook for this.
 *
 *   MPROF_CHECK=FILE        results are appended there, one line each
 *   MPROF_CHECK_EVERY=N     one capture in N (default 1)
 *   MPROF_CHECK_MOST=N      and at most N in a process (default no limit)
 *
 * libunwind is given the registers of here; its frames up to the first one that was captured
 * are this library's own.  From there on the addresses must be the same.  FILE is made by the
 * caller with a page of zeros, which becomes struct sums; then come lines, for what is not equal:
 *
 *   case PID KIND flags F at DEPTH of FRAMES: OURS | LIBUNWIND'S       from two before that depth
 *
 * longer: ours continues where libunwind's ends. shorter: ours ends earlier, and says so by its
 * flags. differs: anything else. absent: libunwind never comes to the first frame.
 */
#define UNW_LOCAL_ONLY
#include <libunwind.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "../../src/libmprof/stack_parts.h"
#include "../../src/libmprof/stacks.h"
#include "../../src/libmprof/sys.h"

enum { FRAMES = 8192, CASES = 40, PAGE = 4096 };
enum kind { EQUAL, LONGER, SHORTER, DIFFERS, ABSENT, KINDS };
static const char *const names[KINDS] = { "equal", "longer", "shorter", "differs", "absent" };

/* The first page of MPROF_CHECK, shared by all processes of the run. */
struct sums {
	uint64_t captures, checked, kind[KINDS];
};

struct seen {
	uint32_t n, flags, fresh;
	uintptr_t pc[FRAMES]; /* innermost first */
};

static struct sums *sums;
static int file = -2;
static uint64_t every = 1, most = UINT64_MAX, checked;
static __thread struct seen *seen __attribute__((tls_model("initial-exec")));
static __thread int busy __attribute__((tls_model("initial-exec")));
static __thread uint64_t turn __attribute__((tls_model("initial-exec")));

uint32_t __real_mp_capture(struct mprof_thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp);
uint32_t __wrap_mp_capture(struct mprof_thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp);
uint32_t __real_mp_stacks_id(struct stack_cache *c, uint32_t kept);
uint32_t __wrap_mp_stacks_id(struct stack_cache *c, uint32_t kept);

static uint64_t number(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 10) : otherwise;
}

static void open_file(void)
{
	const char *path;
	void *page;

	if (!environ) /* libc has not begun */
		return;
	path = getenv("MPROF_CHECK");
	file = path ? (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_APPEND | O_CLOEXEC) : -1;
	if (file < 0)
		return;
	page = (void *)syscall(SYS_mmap, NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
	if (page == MAP_FAILED)
		_exit(97);
	every = number("MPROF_CHECK_EVERY", 1);
	most = number("MPROF_CHECK_MOST", UINT64_MAX);
	sums = page;
}

static void count(uint64_t *what)
{
	__atomic_fetch_add(what, 1, __ATOMIC_RELAXED);
}

static void copy(const struct stack_cache *c)
{
	seen->n = c->n < FRAMES ? c->n : FRAMES;
	seen->flags = c->flags | (c->n > FRAMES ? MPROF_STACK_TRUNCATED : 0);
	for (uint32_t i = 0; i < seen->n; i++)
		seen->pc[i] = c->frame[c->n - 1 - i].pc & ~MPROF_FRAME_EXACT;
}

static int print_frames(char *to, size_t room, const uintptr_t *pc, uint32_t n)
{
	int used = 0;

	for (uint32_t i = 0; i < n && (size_t)used + 200 < room; i++) {
		const char *name;
		Dl_info info;

		if (!dladdr((void *)(pc[i] - 1), &info)) {
			used += snprintf(to + used, room - (size_t)used, " %#zx", (size_t)pc[i]);
			continue;
		}
		name = strrchr(info.dli_fname, '/');
		used += snprintf(to + used, room - (size_t)used, " %.60s+%#zx(%.60s)",
				 name ? name + 1 : info.dli_fname,
				 (size_t)(pc[i] - (uintptr_t)info.dli_fbase),
				 info.dli_sname ? info.dli_sname : "?");
	}
	return used;
}

static void tell(enum kind kind, const uintptr_t *theirs, uint32_t n, uint32_t at)
{
	char line[4096];
	int used;
	uint32_t from = at > 2 ? at - 2 : 0;

	if (sums->kind[kind] > CASES)
		return;
	used = snprintf(line, sizeof(line), "case %d %s flags %u at %u of %u:", (int)getpid(),
			names[kind], seen->flags, at, seen->n);
	used += print_frames(line + used, 1800, seen->pc + from,
			     seen->n - from < 6 ? seen->n - from : 6);
	used += snprintf(line + used, 10, " |");
	used += print_frames(line + used, 1800, theirs + from, n - from < 6 ? n - from : 6);
	line[used++] = '\n';
	if (syscall(SYS_write, file, line, used) != used)
		_exit(97);
}

/* libunwind's stack from here on, beginning where ours begins.  0: it does not come there. */
static uint32_t theirs_from(uintptr_t first, uintptr_t *pc)
{
	unw_context_t context;
	unw_cursor_t cursor;
	unw_word_t ip;
	uint32_t n = 0;

	unw_getcontext(&context);
	unw_init_local(&cursor, &context);
	while (n < FRAMES && unw_step(&cursor) > 0) {
		if (unw_get_reg(&cursor, UNW_REG_IP, &ip) < 0 || !ip)
			break;
		if (n || ip == first)
			pc[n++] = ip;
	}
	return n;
}

static void compare(void)
{
	static __thread uintptr_t *theirs __attribute__((tls_model("initial-exec")));
	uint32_t n, i = 0;
	enum kind kind;

	if (!theirs)
		theirs = sys_memory(FRAMES * sizeof(*theirs));
	n = theirs_from(seen->pc[0], theirs);
	while (i < n && i < seen->n && theirs[i] == seen->pc[i])
		i++;
	if (!n)
		kind = ABSENT;
	else if (i == n && i == seen->n)
		kind = EQUAL;
	else if (i == n)
		kind = LONGER;
	else if (i == seen->n && seen->flags)
		kind = SHORTER;
	else
		kind = DIFFERS;
	count(&sums->checked);
	count(&sums->kind[kind]);
	if (kind != EQUAL)
		tell(kind, theirs, n, i);
}

/* What is in the cache when a number is made for it: broken ones are emptied afterwards. */
uint32_t __wrap_mp_stacks_id(struct stack_cache *c, uint32_t kept)
{
	if (busy && seen) {
		copy(c);
		seen->fresh = 1;
	}
	return __real_mp_stacks_id(c, kept);
}

uint32_t __wrap_mp_capture(struct mprof_thread *t, uintptr_t pc, uintptr_t sp, uintptr_t fp)
{
	uint32_t id;

	if (file == -2)
		open_file();
	if (!sums || busy)
		return __real_mp_capture(t, pc, sp, fp);
	count(&sums->captures);
	if (++turn % every || checked >= most)
		return __real_mp_capture(t, pc, sp, fp);
	if (!seen)
		seen = sys_memory(sizeof(*seen));
	if (!seen)
		return __real_mp_capture(t, pc, sp, fp);
	busy = 1;
	seen->fresh = seen->n = 0;
	id = __real_mp_capture(t, pc, sp, fp);
	if (id && !seen->fresh && t->stack)
		copy(t->stack);
	if (seen->n) {
		__atomic_fetch_add(&checked, 1, __ATOMIC_RELAXED);
		compare();
	}
	busy = 0;
	return id;
}
