// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * sigbus.c - survives truncation of the file under our mappings.
 *
 * A store to a mapped page beyond the end of its file raises SIGBUS, which would kill the program
 * because of us.  If the program left SIGBUS at its default, our handler replaces the mapping by
 * anonymous memory and marks the file broken; the next slow path ends recording. Any other SIGBUS
 * gets the default action, with its address.
 *
 * A program that installs a handler for SIGBUS replaces ours. Our handler only makes system calls.
 * It stays after mprof detached, because threads write to our mappings until they end; the copy of
 * the library that is attached next passes on what is not its own.
 */
#include <errno.h>
#include <mprof/module.h>
#include <signal.h>

#include "config.h"
#include "core.h"
#include "file.h"
#include "scopes.h"
#include "sys.h"

/*
 * First marks the file broken: another thread that faults in the same pages may find them replaced.
 */
static int sigbus_replace_if_in(uintptr_t at, void *base, size_t bytes)
{
	if (!base || at - (uintptr_t)base >= bytes)
		return 0;
	__atomic_store_n(&mp_file.broken, MPROF_LOST_FILE + 1, __ATOMIC_RELEASE);
	return !sys_failed(sys_mmap(base, bytes, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0));
}

/* One line of /proc/self/maps, read character by character. */
struct map_line {
	uint64_t value[8]; /* start, end, -, offset, device, device, inode, - */
	unsigned field;
};

/* Adds a character; 1 when the line is complete and its mapping contains `at`. */
static int map_line_put(struct map_line *l, char c, uintptr_t at)
{
	static const char ends[] = "-   : ";
	unsigned digit = c >= 'a' ? (unsigned)(c - 'a') + 10 : (unsigned)(c - '0');

	if (c == '\n') {
		if (at >= l->value[0] && at < l->value[1])
			return 1;
		__builtin_memset(l, 0, sizeof(*l));
	} else if (l->field < 7 && c == (l->field == 6 ? ' ' : ends[l->field])) {
		l->field++;
	} else if (digit < 16) {
		l->value[l->field] = l->value[l->field] * (l->field == 6 ? 10 : 16) + digit;
	}
	return 0;
}

/*
 * Does this address lie in a mapping of our file?  A thread that takes or releases a record of
 * counts accesses others' records, too.  Once our file is broken, an anonymous mapping there has
 * just been put in its place by another thread, unless the kernel means other than truncation: an
 * address that is not aligned, or damaged memory.
 */
static int sigbus_is_of_our_file(uintptr_t at, int code)
{
	struct map_line line = { .field = 0 };
	char text[512];
	int fd = sys_open("/proc/self/maps", O_RDONLY | O_CLOEXEC, 0), found = 0;
	uintptr_t low, high;
	long n = 0;

	while (fd >= 0 && !found && (n = sys_read(fd, text, sizeof(text))) > 0)
		for (long i = 0; i < n && !found; i++)
			found = map_line_put(&line, text[i], at);
	if (fd >= 0)
		sys_close(fd);
	if (!found)
		return 0;
	if (!line.value[6])
		return mp_file.broken && code == BUS_ADRERR;
	/* Nothing beyond the mapping: with MP_FAKE_PAGE, the kernel's pages are smaller. */
	low = at & -(uintptr_t)mp_page();
	high = low + mp_page();
	low = low > line.value[0] ? low : line.value[0];
	high = high < line.value[1] ? high : line.value[1];
	return line.value[6] == mp_file.ino && sigbus_replace_if_in(at, (void *)low, high - low);
}

/*
 * Replaces the page if `at` is in our memory.  Without /proc, knows only what a thread mostly
 * accesses: the header, its own slot and its own counts.
 */
static int sigbus_is_ours(uintptr_t at, int code)
{
	struct mprof_thread *t = mprof_self;

	if (sigbus_replace_if_in(at, mp_file.header, MPROF_HEADER_SIZE) ||
	    sigbus_replace_if_in(at, t->slot, t->slot_bytes) || sigbus_is_of_our_file(at, code))
		return 1;
	return t->data && at - (uintptr_t)t->data < sizeof(struct mprof_counts) &&
	       sigbus_replace_if_in(at, (void *)(at & -(uintptr_t)mp_page()), mp_page());
}

/* The handler that the library installed when it was attached before. */
static void (*earlier)(int signal_number, siginfo_t *info, void *context);

static void on_sigbus(int signal_number, siginfo_t *info, void *context)
{
	int saved = errno;
	struct sigaction dfl = { .sa_handler = SIG_DFL };

	if (info->si_code > 0 && sigbus_is_ours((uintptr_t)info->si_addr, info->si_code)) {
		errno = saved;
		return;
	}
	if (earlier) {
		earlier(signal_number, info, context);
		return;
	}
	sigaction(signal_number, &dfl, NULL);
	if (info->si_code <= 0) /* sent, not raised by a fault: it would not recur by itself */
		mp_sys(SYS_tgkill, sys_getpid(), sys_gettid(), signal_number, 0, 0, 0);
	errno = saved;
}

static int sigbus_is_of_copy(const struct sigaction *a)
{
	const char *file = mp_known.attached && a->sa_flags & SA_SIGINFO
			       ? mp_scope_file(*(void *const *)&a->sa_sigaction)
			       : NULL;

	return file && mp_scope_ask(file, "mprof_attach") != NULL;
}

void mp_sigbus_guard(void)
{
	struct sigaction old,
	    ours = { .sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER };

	if (sigaction(SIGBUS, NULL, &old))
		return;
	if (sigbus_is_of_copy(&old))
		earlier = old.sa_sigaction;
	else if (old.sa_flags & SA_SIGINFO || old.sa_handler != SIG_DFL)
		return;
	sigaction(SIGBUS, &ours, NULL);
}
