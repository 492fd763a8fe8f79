// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * misuse.c - reports an error of the program that a MODE found: writes an extent of the file at
 * once, so that it survives whatever the error leads to; prints a line to stderr if no mprof will
 * print it; and, with GUARD=abort, ends the process.
 *
 * Slow paths.  May run in any thread and in signal handlers.
 */
#include <mprof/module.h>
#include <signal.h>

#include "config.h"
#include "core.h"
#include "file.h"
#include "scopes.h"
#include "stack_parts.h"
#include "sys.h"
#include "text.h"

#define STACK_REACH (64u << 20) /* bytes above sp: nothing beyond is searched */
#define LINES_MOST  100u	/* on stderr */

unsigned mp_memory_place(const void *ptr, const void *allocator)
{
	uintptr_t at = (uintptr_t)ptr, sp = mprof_stack();
	struct dl_find_object found, its;
	struct area area;

	if (!sys_readable(ptr))
		return MPROF_PLACE_UNMAPPED;
	if (_dl_find_object && !_dl_find_object((void *)at, &found))
		return !_dl_find_object((void *)(uintptr_t)allocator, &its) &&
			       found.dlfo_link_map == its.dlfo_link_map
			   ? MPROF_PLACE_HEAP
			   : MPROF_PLACE_OBJECT;
	if (at - sp < STACK_REACH && mp_area(sp, &area) == 0 && at >= area.low && at < area.high)
		return MPROF_PLACE_STACK;
	return MPROF_PLACE_HEAP;
}

static void misuse_put_what(struct text *t, const struct mprof_misuse *m)
{
	static const char *const words[MPROF_MISUSE_BEHIND] = {
		[MPROF_MISUSE_OVERRUN] = "heap overrun: bytes were written after",
		[MPROF_MISUSE_UNDERRUN] = "heap underrun: bytes were written before",
		[MPROF_MISUSE_DOUBLE_FREE] = "double free of",
		[MPROF_MISUSE_FREED_WRITE] = "write after free into",
		[MPROF_MISUSE_INTERIOR] = "free of an address that is not the beginning of",
		[MPROF_MISUSE_FOREIGN] = "free of an address that was not allocated",
		[MPROF_MISUSE_MISMATCH] = "free by a function that does not match, of",
	};

	text_string(t, "mprof: ");
	text_string(t, words[m->what]);
	if (m->what != MPROF_MISUSE_FOREIGN) {
		text_string(t, " the ");
		text_number(t, m->size);
		text_string(t, "-byte block");
	}
	text_string(t, " at 0x");
	text_hex(t, m->address, 12);
}

/* Prints an error of the program.  Only the mprof program finds names; if it started this
 * process, it prints the report itself. */
static void misuse_tell(const struct mprof_misuse *m)
{
	static uint32_t lines;
	char buffer[640];
	struct text t = text_on(buffer, sizeof(buffer) - 1);
	uint32_t n = __atomic_add_fetch(&lines, 1, __ATOMIC_RELAXED);

	if (mp_known.notes[0] || n > LINES_MOST)
		return;
	misuse_put_what(&t, m);
	text_string(&t, "; mprof report errors ");
	text_string(&t, mp_config.guard_path);
	buffer[t.used++] = '\n';
	mp_write_quietly(2, buffer, t.used);
}

/* Ends the process like abort(), but without abort's lock. */
static void misuse_abort(void)
{
	const struct sigaction standard = { .sa_handler = SIG_DFL };
	uint64_t abort_only = 1ull << (SIGABRT - 1);

	mp_sys(SYS_rt_sigprocmask, SIG_UNBLOCK, (long)&abort_only, 0, 8, 0, 0);
	mp_sys(SYS_tgkill, sys_getpid(), sys_gettid(), SIGABRT, 0, 0, 0);
	sigaction(SIGABRT, &standard, NULL);
	mp_sys(SYS_tgkill, sys_getpid(), sys_gettid(), SIGABRT, 0, 0, 0);
}

void mp_put(unsigned kind, const void *data, size_t bytes)
{
	if (mp_file.header && !mp_file.broken)
		mp_extent_write(kind, data, bytes, "", 0);
}

void mp_misuse(const struct mprof_misuse *m)
{
	mp_put(MPROF_EXTENT_MISUSE, m, sizeof(*m));
	misuse_tell(m);
	if (mp_config.guard[0] == 'a')
		misuse_abort();
}
