/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * status.h - what the kernel knows of this process, from /proc/self, using a descriptor for a
 * moment.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Reads a file of /proc into buffer, NUL-terminated.  Returns its length, 0 on errors. */
long mp_status_read(const char *path, char *buffer, size_t size);
void mp_status_forked(void);  /* in a new process, which may have its parent's pid in a namespace */
uint64_t mp_start_time(void); /* of this process, in clock ticks after boot; 0 if unknown */
uint32_t mp_seccomp_filters(void); /* filters that apply to it; since Linux 5.9 */
int mp_system_used(
    uint64_t *bytes);		 /* memory that the whole machine uses.  0, or -1 without /proc */
uint64_t mp_system_memory(void); /* of the whole machine, in bytes */
/* The least limit of the memory of the control groups that it is in, as in a container or a
 * service; 0 if none is below the memory of the machine. */
uint64_t mp_group_limit(void);
int mp_group_used(uint64_t *bytes); /* memory of that group, but files that it may drop; 0 or -1 */
int mp_memory_pages(uint64_t *mapped, uint64_t *resident); /* 0 or -1 */
uint64_t mp_break_start(void); /* the break when the program began, 0 if unknown */
uint64_t mp_stack_start(void); /* where the main thread's stack begins, 0 if unknown */
uint64_t mp_high_water(void);  /* VmHWM in bytes, 0 if unknown */
