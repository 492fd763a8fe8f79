/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* process.h - reads what /proc says about another process. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <mprof/format.h>

struct process_memory {
	uint64_t start_time;	      /* field 22 of stat: distinguishes reused pids */
	uint64_t rss, rss_anon, virt; /* bytes, with pages of hugetlbfs, as is the next */
	uint64_t swapped;
	uint64_t peak_rss; /* the largest so far of its current program; 0 if unknown */
	uint64_t minor_faults;
	char state; /* as in stat; Z = has ended */
};

/* 0, or -errno: -ENOENT or -ESRCH if the process is gone. */
int process_memory(pid_t pid, struct process_memory *m);

/* Takes from the text of /proc/PID/status what is resident, its high-water mark, what is in swap,
 * and what the kernel counts as resident nowhere: pages of hugetlbfs (MAP_HUGETLB), private or not.
 */
void process_add_status(struct process_memory *m, const char *text);

/* Bytes: what is in transparent huge pages, and its share of all that is resident (a page that n
 * processes have is an n-th of each).  0 if unknown. */
struct process_shares {
	uint64_t huge, pss;
};
struct process_shares process_shares(pid_t pid);

/* Reads the first argument as the process has it now.  0 or -errno. */
int process_title(pid_t pid, char *title, size_t size);

/* Memory of the machine as /proc/meminfo shows it; the other members stay 0.  0 or -errno. */
int system_memory(struct mprof_system *m);

/* The least limit of memory of the control groups that mprof is in, as in a container or a service,
 * in bytes; 0 if none is below the memory of the machine. */
uint64_t system_group_limit(void);

/* Counts what the kernel's out-of-memory killer ends in the control group of a process, for lack of
 * memory there or in the machine; in the whole machine if no group tells it.  Zeroed at first. */
struct oom_kills {
	char group[8192]; /* /proc/PID/cgroup, after a line end */
	char path[PATH_MAX];
	uint64_t count;
};

/* Returns how many more it ended since the last call, and follows pid to another group.  0 in the
 * first call; pid 0, or one that is gone: its last group. */
uint32_t oom_kills_more(struct oom_kills *k, pid_t pid);

/* Returns the PID of the process that thread tid belongs to, because top -H shows threads; returns
 * tid itself for an unknown thread. */
pid_t process_of_thread(pid_t tid);

/* Returns a set of signals in the thread's status, as of "SigPnd:"; all if it is unknown. */
uint64_t process_signals(pid_t pid, pid_t tid, const char *name);

/* Is the process that began at start_time still there, and not a zombie? */
bool process_is_alive(pid_t pid, uint64_t start_time);
