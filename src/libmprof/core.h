/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * core.h - which table is in place, and what ends recording.
 *
 * The state of the library is mp_api, a pointer to a table: boot's, a MODE's, or pass (module.h).
 * Only core.c changes it, in any thread at any time; a call that came through one table finishes
 * there.  Functions return -errno up to the function that the program or a MODE called, which
 * passes the error to mp_failed().
 */
#pragma once

#include <mprof/module.h>
#include <stdint.h>

#define MP_HIDDEN __attribute__((visibility("hidden")))

extern const struct mprof_api *mp_api;
extern const struct mprof_api mp_boot_api; /* boot.c */
extern const struct mprof_api mp_pass_api; /* pass.c */
extern const struct mprof_mode_ops *mp_mode;
/*
 * Initialises unless another thread does.  caller: an address in the code that called us, because
 * modules that load objects must wait while the loader itself calls.
 * Returns 1 once the library is initialised: mp_api no longer points to boot's table.
 */
int mp_boot_try(const void *caller);
/* 1 while initialisation waits for libc, because a module loads objects. */
int mp_boot_waiting(void);
/* 1 while this process records; services may still fail if the file was lost. */
int mp_recording(void);
/*
 * Ends recording in this process for good, because of `error`, a -errno; does nothing if error >=
 * 0.  Returns error.  Any thread; may be called with signals blocked and locks held.
 */
int mp_failed(int error);
/*
 * mp_suspend() stops recording until mp_resume(); after a resume with is_end, none of our code
 * makes a system call.  Any number of threads may be suspended.
 */
void mp_suspend(const char *why);
void mp_resume(int is_end);
void mp_suspend_forked(void); /* in a child: the parent's suspensions do not count */
extern const struct mprof_host mp_host;

/* Page size, a power of two. */
extern uint32_t mp_page_bytes;
uint32_t mp_page_know(void); /* determines it on the first call */
static inline uint32_t mp_page(void)
{
	return mp_page_bytes;
}

static inline const struct mprof_api *mp_table(void)
{
	/* Pairs with the release in mp_boot_try(): a table's data is stored before the table. */
	return __atomic_load_n(&mp_api, __ATOMIC_ACQUIRE);
}

/* ---- clock.c: any thread; no errors ---- */

void mp_clock_choose(void);
uint64_t mp_clock_monotonic_ns(void);
uint64_t mp_clock_real_ns(void);
uint64_t mp_clock_hz(void); /* ticks a second; takes 50 us */

/* ---- notes.c ---- */

/* Prints one line about a failed start, through mprof or to stderr. */
void mp_note(const char *why);
void mp_note_called(const char *function); /* a function of WRAP: tells mprof */
/* Prints one line and ends the program, which cannot run without an allocator. */
void mp_give_up(const char *why) __attribute__((noreturn));
/*
 * Like write(), but without the signals that a closed pipe or a file size limit would send.
 * Returns bytes or -errno.
 */
long mp_write_quietly(int fd, const void *data, size_t bytes);

/* misuse.c: services for MODE=Guard; see struct mprof_host. */
void mp_put(unsigned kind, const void *data, size_t bytes);
void mp_misuse(const struct mprof_misuse *m);
unsigned mp_memory_place(const void *ptr, const void *allocator);
