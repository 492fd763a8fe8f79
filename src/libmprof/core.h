/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * core.h - which table is in place, page size, clock and notes: what everything else of the
 * library may use.  It includes no other header of ours.
 *
 * The state of the library is mp_api, a pointer to a table: boot's, a MODE's, or pass (module.h).
 * Only core.c changes it, in any thread at any time; a call that came through one table finishes
 * there.  start.c decides on the first change, stop.c on all others.
 */
#pragma once

#include <mprof/module.h>
#include <stdint.h>

#define MP_HIDDEN __attribute__((visibility("hidden")))
#define EXPORT	  __attribute__((visibility("default")))

extern const struct mprof_api *mp_api;
extern const struct mprof_api mp_boot_api; /* boot.c */
extern const struct mprof_api mp_pass_api; /* pass.c */
extern const struct mprof_mode_ops *mp_mode;
/* 1 while this process records; services may still fail if the file was lost. */
int mp_recording(void);
/* Begins it; mp_publish_mode() puts the table in place. */
void mp_recording_begin(const struct mprof_api *api);
void mp_publish_mode(void);
void mp_publish_pass(void);
/* Ends recording for good and puts pass in place.  Returns 0 if it had ended already. */
int mp_recording_end(void);
/* Puts the table in place after mp_publish_pass(), unless another thread ends recording. */
void mp_recording_continue(void);

/* Page size, a power of two. */
extern uint32_t mp_page_bytes;
uint32_t mp_page_know(void); /* determines it on the first call */
static inline uint32_t mp_page(void)
{
	return mp_page_bytes;
}

static inline const struct mprof_api *mp_table(void)
{
	/* Pairs with the release in core_publish(): a table's data is stored before the table. */
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
/* From now on puts the lines there, until it is called with NULL. */
struct text;
void mp_notes_into(struct text *to);
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
