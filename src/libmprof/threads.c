// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * threads.c - the record of each thread.
 *
 * Records come from pages that a forked child finds zeroed (MADV_WIPEONFORK), as does mp_local, the
 * state of this process.  So a child, however it was created, finds an empty record, takes the slow
 * path, finds that mp_local is not alive, and joins the run as a process of its own; the hot path
 * compares no pid.
 *
 * A thread has ended for us when the destructors of its thread-specific data have run, ours in the
 * last round.  But libc may still free memory in it.  So its record stays with it as a zombie, and
 * is reclaimed, oldest first, when a new thread needs one and the kernel no longer knows the old
 * thread.  Thread numbers are never reused.
 *
 * Thousands of threads may begin, or end, at the same time: the lists of records are lock-free
 * (lists.h), and a record keeps its memory, its small slot and its stack cache, for the next
 * thread.
 */
#include <errno.h>
#include <linux/futex.h>
#include <mprof/module.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "core.h"
#include "dl_errors.h"
#include "file.h"
#include "lists.h"
#include "local.h"
#include "pools.h"
#include "process.h"
#include "slots.h"
#include "stack_use.h"
#include "stacks.h"
#include "sys.h"
#include "thread.h"
#include "thread_names.h"

#define SELF_TOLD (192u << 10) /* bytes; FORMAT.md 7.2 */

#ifndef PTHREAD_DESTRUCTOR_ITERATIONS
#define PTHREAD_DESTRUCTOR_ITERATIONS 4 /* glibc's value, and the minimum of POSIX */
#endif
#define LINE	     64u /* bytes of a cache line: threads share none */
#define RECORD_LINES 3u

MPROF_STATIC_ASSERT(sizeof(struct mprof_thread) <= RECORD_LINES * LINE, "a record fits its place");

struct mp_local *mp_local MP_HIDDEN;
struct mprof_thread mp_nobody MP_HIDDEN;
static struct mprof_thread trial; /* always zero; a thread that has it is making a trial call */
static __thread uint32_t given_number; /* assigned by the creator before the first event */
/*
 * The stack pointer while this thread holds a lock or creates its record: a call in a signal
 * handler must do neither.
 */
static __thread uintptr_t entering;
static __thread uint32_t reached;
/* Set by mp_quiet_begin: the stack pointer there, and the record to restore. */
static __thread uintptr_t quiet;
static __thread struct mprof_thread *quiet_self;
static __thread const uintptr_t
    *quiet_words; /* each call has its own address; NULL if it has none */
static __thread uint32_t rounds;
static pthread_key_t key;
static int key_made;

EXPORT __thread struct mprof_thread *mprof_self = &mp_nobody;

/*
 * 0 free, 1 held, 2 held with waiters.  Waiting sleeps after a while: a spinning thread of a
 * realtime class would never let the holder run.
 */
void mp_lock(uint32_t *lock)
{
	/* A handler may jump away in the thread that was woken: then another thread must wake
	 * up. */
	static const struct timespec later = { 1, 0 };

	for (unsigned tries = 0; tries < 64; tries++) {
		uint32_t none = 0;

		if (__atomic_compare_exchange_n(lock, &none, 1, 0, __ATOMIC_ACQUIRE,
						__ATOMIC_RELAXED))
			return;
	}
	while (__atomic_exchange_n(lock, 2, __ATOMIC_ACQUIRE))
		mp_sys(SYS_futex, (long)lock, FUTEX_WAIT_PRIVATE, 2, (long)&later, 0, 0);
}

void mp_unlock(uint32_t *lock)
{
	if (__atomic_exchange_n(lock, 0, __ATOMIC_RELEASE) == 2)
		mp_sys(SYS_futex, (long)lock, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0);
}

/*
 * SIGBUS stays unblocked: the kernel kills a thread whose store raises it while blocked (sigbus.c).
 */
void mp_signals_block(uint64_t *before)
{
	uint64_t all = ~(1ull << (SIGBUS - 1));

	mp_sys(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, (long)&all, (long)before, 8, 0, 0);
}

void mp_signals_restore(const uint64_t *before)
{
	mp_sys(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, (long)before, 0, 8, 0, 0);
}

void mp_lock_blocking(uint32_t *lock, uint64_t *signals)
{
	mp_signals_block(signals);
	mp_lock(lock);
}

void mp_unlock_blocking(uint32_t *lock, const uint64_t *signals)
{
	mp_unlock(lock);
	mp_signals_restore(signals);
}

void *mp_wiped_memory(size_t bytes)
{
	void *p = sys_memory(bytes);

	/* Before Linux 4.14 this fails; then only fork() through libc is noticed. */
	if (p)
		sys_madvise(p, bytes, MADV_WIPEONFORK);
	return p;
}

void *mp_lines_take(uint32_t lines)
{
	static const struct mp_pool_kind kind = { LINE, 65536 / LINE, mp_pool_wiped };

	return mp_pool_memory(&mp_local->lines, &kind, lines);
}

void mp_self_bytes(int64_t bytes)
{
	struct mprof_process_entry *e = mp_entry();
	uint64_t now = __atomic_add_fetch(&mp_local->self_bytes, (uint64_t)bytes, __ATOMIC_RELAXED);

	if (e)
		__atomic_store_n(&e->self_bytes, now, __ATOMIC_RELAXED);
}

void mp_self_is_at(const void *at, size_t bytes)
{
	const uintptr_t page = mp_page();
	const struct mprof_page_run run = { (uintptr_t)at / page, (bytes + page - 1) / page };

	if (bytes >= SELF_TOLD && mp_file.header && !mp_file.broken && mp_recording())
		mp_extent_write(MPROF_EXTENT_OWN, &run, sizeof(run), "", 0);
}

void mp_self_mapped(const void *at, size_t bytes)
{
	mp_self_bytes((int64_t)bytes);
	mp_self_is_at(at, bytes);
}

static int thread_is_gone(uint32_t tid)
{
	return mp_sys(SYS_tgkill, mp_local->pid, (long)tid, 0, 0, 0, 0) == -ESRCH;
}

static struct mprof_thread *thread_record_of(void **node)
{
	return node ? (struct mprof_thread *)((char *)node - offsetof(struct mprof_thread, next))
		    : NULL;
}

/* Moves the list of ended threads, most recent first, to the list of zombies, oldest first. */
static void **thread_turn_round(struct mp_local *l)
{
	void **node = mp_list_take(&l->ended, 1), **last = node, **older = NULL, **next;

	for (; node; node = next) {
		next = *node;
		*node = older;
		older = node;
	}
	if (!older)
		return NULL;
	if (*older)
		mp_list_put_all(&l->zombies, *older, last);
	return older;
}

/* Prepares a record for another thread, keeping its memory. */
static void thread_record_reset(struct mprof_thread *t)
{
	struct mprof_thread kept = { .stack = t->stack, .home = t->home };

	kept.home_offset = t->home_offset;
	*t = kept;
	mp_stack_forget(t);
}

/*
 * Reclaims the oldest zombies that the kernel no longer knows; what they held is written to the
 * file.  Two for each new thread suffice.  A thread that still exists (its number may be another
 * thread's by now) moves to the end, so it does not delay others.
 */
static void thread_bury(struct mp_local *l)
{
	for (int i = 0; i < 2; i++) {
		void **node = mp_list_take(&l->zombies, 0);
		struct mprof_thread *t = thread_record_of(node ? node : thread_turn_round(l));

		if (!t)
			return;
		if (!thread_is_gone(t->tid)) {
			mp_list_put(&l->ended, &t->next);
			return;
		}
		if (mp_mode->thread_exit)
			mp_mode->thread_exit(t);
		thread_record_reset(t);
		mp_list_put(&l->unused, &t->next);
	}
}

static struct mprof_thread *thread_record_new(void)
{
	struct mprof_thread *t;

	thread_bury(mp_local);
	t = thread_record_of(mp_list_take(&mp_local->unused, 0));
	if (t)
		t->next = NULL;
	return t ? t : mp_lines_take(RECORD_LINES);
}

static uint32_t thread_number_new(void)
{
	static uint32_t numbers; /* assigned in modes without a file */

	return __atomic_add_fetch(mp_file.header ? &mp_file.header->threads : &numbers, 1,
				  __ATOMIC_RELAXED);
}

/* The main thread's number is valid as long as the process, so its record is not reclaimed. */
static void thread_leave_behind(struct mprof_thread *t)
{
	__atomic_fetch_sub(&mp_local->live_threads, 1, __ATOMIC_RELAXED);
	if ((int)t->tid == mp_local->pid)
		return;
	mp_list_put(&mp_local->ended, &t->next);
}

static void thread_end(void *record)
{
	struct mprof_thread *t = record;

	/* Register for the next round: other destructors may allocate after this one. */
	if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS && !pthread_setspecific(key, record))
		return;
	mp_dl_errors_release();
	if (!mp_local)
		return;
	mp_stack_use_end();
	mp_counts_renamed(1);
	/* The thread may have ended in a quiet call. */
	if (mp_is_quiet() || t != mprof_self || !t->number || !mp_recording())
		return;
	mp_table()->note_control(MPROF_CONTROL_THREAD_END, 0);
	entering = mprof_stack();
	thread_leave_behind(t);
	entering = 0;
}

/* Called by a thread's first instruction, because its end must be noticed even if it never
 * allocates. */
void mp_thread_begins(uint32_t number, const struct mp_stack_room *room)
{
	given_number = number;
	mp_stack_use_begin(number, room);
	if (key_made)
		pthread_setspecific(key, &mp_nobody);
}

int mp_thread_end_is_seen(void)
{
	if (!key_made || rounds >= PTHREAD_DESTRUCTOR_ITERATIONS)
		return 0;
	return pthread_getspecific(key) || !pthread_setspecific(key, &mp_nobody);
}

/* The values of early keys are inside the thread's own memory, so setting one never allocates. */
void mp_threads_watch(void)
{
	key_made = pthread_key_create(&key, thread_end) == 0;
}

int mp_threads_start(void)
{
	mp_local = mp_wiped_memory(sizeof(*mp_local));
	if (!mp_local)
		return -ENOMEM;
	mp_local->alive = 1;
	mp_local->pid = sys_getpid();
	mp_local->self_bytes = sizeof(*mp_local);
	mp_thread_names_start();
	return 0;
}

/* Also resets what the parent's threads left, on kernels without WIPEONFORK. */
void mp_threads_forked(void)
{
	__builtin_memset(mp_local, 0, sizeof(*mp_local));
	mp_local->alive = 1;
	mp_local->pid = sys_getpid();
	mp_local->self_bytes = sizeof(*mp_local);
	mp_file.users = 0; /* they belonged to the parent's threads */
	mprof_self = &mp_nobody;
	quiet = 0;
	given_number = 0;
	entering = 0;
	mp_stack_use_forked();
	mp_counts_forked();
}

/* Creates this thread's record.  0 or -errno. */
static int thread_new(void)
{
	struct mprof_thread *t = thread_record_new();

	if (!t)
		return -ENOMEM;
	t->tid = (uint32_t)sys_gettid();
	if ((int)t->tid != mp_local->pid)
		mp_local->threaded = 1;
	t->last_ticks = mprof_ticks();
	t->number = given_number ? given_number : thread_number_new();
	given_number = 0;
	__atomic_fetch_add(&mp_local->live_threads, 1, __ATOMIC_RELAXED);
	if (mp_mode->thread_start)
		mp_mode->thread_start(t);
	mp_stack_use_begin(t->number, NULL);
	mprof_self = t;
	if (rounds >= PTHREAD_DESTRUCTOR_ITERATIONS)
		thread_leave_behind(t); /* its first event comes after its destructors */
	else if (key_made)
		pthread_setspecific(key, t);
	return 0;
}

/*
 * Called with signals blocked: a handler that jumped away would leave a record without an owner, an
 * unused number, and one thread too many in live_threads.  SIGBUS stays unblocked, hence
 * `entering`.
 */
static MPROF_COLD int thread_first_event(void)
{
	uint64_t signals;
	int ret;

	mp_signals_block(&signals);
	ret = mp_local->alive ? 0 : mp_process_forked(0);
	if (ret == 0) {
		entering = mprof_stack();
		ret = thread_new();
		entering = 0;
	}
	mp_signals_restore(&signals);
	return ret;
}

/* The kernel's frame between the interrupted code and its handler is at least this large. */
#define SIGNAL_FRAME_LEAST 1024u

/*
 * Is the function that stored stack pointer `mark` still running below us?  A jump out of a signal
 * handler leaves marks that would silence the thread for ever.  On an alternate stack, pointers
 * cannot be compared: then assumes that it is. between: the least distance on the stack between the
 * mark and us if it is running.
 */
static int thread_is_under_way(uintptr_t mark, uintptr_t between)
{
	stack_t now;

	if (!mark || mprof_stack() <= mark - between)
		return mark != 0;
	return mp_sys(SYS_sigaltstack, 0, (long)&now, 0, 0, 0, 0) < 0 || now.ss_flags & SS_ONSTACK;
}

/*
 * Was the quiet call left by a jump or an exception?  Then sp is above its mark, or another
 * function has overwritten its words.  Reads them only on the thread's own stack, because the
 * program may unmap any other.
 */
static int quiet_was_left(void)
{
	if (!thread_is_under_way(quiet, 0))
		return 1;
	if (!quiet_words || !mp_stack_use_spans(mprof_stack(), (uintptr_t)quiet_words))
		return 0;
	for (const uintptr_t *w = quiet_words; w < quiet_words + MP_QUIET_WORDS;
	     w += MP_QUIET_APART)
		if (*w != (uintptr_t)w)
			return 1;
	return 0;
}

/* In this order: a handler that jumps out in between would leave the thread quiet for ever. */
static void quiet_leave(void)
{
	mprof_self = quiet_self;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	quiet = 0;
}

int mp_is_quiet(void)
{
	if (mprof_self == &trial && quiet && quiet_was_left())
		quiet_leave();
	return mprof_self == &trial;
}

int mp_enter(struct mprof_thread **out)
{
	struct mprof_thread *t;
	int ret = 0;

	*out = NULL;
	if (!mp_recording())
		return 0;
	if (mp_is_quiet()) {
		reached = 1;
		return 0;
	}
	t = mprof_self;
	/* A busy thread calls nothing that allocates: only a handler can be here. */
	if (thread_is_under_way(t->busy, SIGNAL_FRAME_LEAST) || thread_is_under_way(entering, 0)) {
		mp_lost(MPROF_LOST_NESTED, 1);
		return 0;
	}
	/*
	 * A handler jumped out while a record was written: the slot may contain a word whose
	 * address or time t does not reflect.  A new chunk depends on neither.
	 */
	if (!t->number)
		ret = thread_first_event();
	else if (t->busy && t->slot)
		ret = mp_slot_flush(t);
	*out = ret < 0 ? NULL : mprof_self;
	return ret;
}

/* Calls of this thread to the malloc family between the two are not recorded, only noticed. */
void mp_trial_begin(struct mprof_thread **before)
{
	*before = mprof_self;
	mprof_self = &trial;
	reached = 0;
}

int mp_trial_end(struct mprof_thread *before)
{
	mprof_self = before;
	return (int)reached;
}

void mp_quiet_begin(struct mprof_thread **before, uintptr_t *words)
{
	/* The bounds of its stack must be known, because the call may be left by a jump. */
	if (words && !mprof_self->number)
		mp_enter(before);
	*before = mprof_self;
	if (mprof_self == &trial)
		return;
	for (int i = 0; words && i < MP_QUIET_WORDS; i += MP_QUIET_APART)
		words[i] = (uintptr_t)&words[i];
	quiet_words = words;
	quiet_self = mprof_self;
	quiet = mprof_stack();
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	mprof_self = &trial;
}

/* The record may be newer than mp_quiet_begin, after mp_quiet_lift or a fork. */
void mp_quiet_end(struct mprof_thread *before)
{
	if (before != &trial && quiet)
		quiet_leave();
}

int mp_quiet_lift(void)
{
	if (!quiet || !mp_is_quiet())
		return 0;
	mprof_self = quiet_self;
	return 1;
}

void mp_quiet_drop(int lifted)
{
	if (!lifted)
		return;
	quiet_self = mprof_self;
	mprof_self = &trial;
}
