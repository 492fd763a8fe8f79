// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * facts.c - writes facts about this process to the run's file: its identity, the programs that it
 * runs, its children, its end, its memory use. All on slow paths; each is one small extent and one
 * pwrite.
 */
#include <mprof/module.h>
#include <sys/resource.h>

#include "config.h"
#include "core.h"
#include "facts.h"
#include "file.h"
#include "foreign.h"
#include "local.h"
#include "peak.h"
#include "status.h"
#include "sys.h"
#include "text.h"

#define SAMPLE_EVERY_NS 10000000u

static void fact_stamp(struct mprof_fact *f, unsigned what)
{
	*f = (struct mprof_fact){
		.what = what,
		.pid = mp_local->pid,
		.parent_pid = sys_getppid(),
		.real_ns = (int64_t)mp_clock_real_ns(),
		.self_bytes = mp_local->self_bytes,
	};
	f->mono_ns = (int64_t)mp_clock_monotonic_ns();
	f->ticks = mprof_ticks();
}

/* strings: KEY=VALUE, each with its NUL; at most 1 KiB with the fact. */
static void fact_write(const struct mprof_fact *fact, const char *strings, size_t bytes)
{
	if (mp_file.header && !mp_file.broken)
		mp_extent_write(MPROF_EXTENT_FACT, fact, sizeof(*fact), strings, bytes);
}

static void fact_put(struct text *t, const char *key, const char *value)
{
	text_string(t, key);
	text_char(t, '=');
	text_string(t, value);
	t->used += !t->full; /* keep the NUL between strings */
	if (t->used < t->size)
		t->at[t->used] = 0;
}

/* Puts a path; with ANONYMOUS, without its directory. */
static void fact_put_path(struct text *t, const char *key, const char *path)
{
	fact_put(t, key, mp_config.anonymous ? text_base(path) : path);
}

/* The first argument, as START has it; of a forked child only, else 0. */
static uint64_t fact_title;

/* Puts the command line, one arg= for each argument, as far as they fit. */
static void fact_put_arguments(struct text *t, size_t leave, int forked)
{
	char buffer[512];
	long n = mp_status_read("/proc/self/cmdline", buffer, sizeof(buffer));

	fact_title = forked && n ? mprof_checksum(buffer, text_length(buffer)) : 0;
	for (long i = 0; i < n && t->used + leave < t->size;) {
		fact_put(t, "arg", buffer + i);
		i += (long)text_length(buffer + i) + 1;
	}
}

/* Puts the title that a forked child has written over its first argument.  Other threads may rely
 * on the numbers of new descriptors. */
static void fact_put_title(struct text *t)
{
	char buffer[512];
	size_t n;

	if (!fact_title || mp_local->live_threads > 1 ||
	    !mp_status_read("/proc/self/cmdline", buffer, sizeof(buffer)))
		return;
	n = text_length(buffer);
	if (mprof_checksum(buffer, n) == fact_title)
		return;
	while (n && buffer[n - 1] == ' ')
		n--;
	buffer[n] = 0;
	fact_put(t, "arg", buffer);
}

static void fact_put_host(struct text *t)
{
	char name[6][65], kernel[200];
	struct text k = text_on(kernel, sizeof(kernel));

	if (mp_sys(SYS_uname, (long)name, 0, 0, 0, 0, 0) != 0)
		return;
	text_string(&k, name[0]);
	text_char(&k, ' ');
	text_string(&k, name[2]);
	text_char(&k, ' ');
	text_string(&k, name[4]);
	fact_put(t, "host", name[1]);
	fact_put(t, "kernel", kernel);
}

/* Puts the number of processors on which the process may run. */
static void fact_put_cpus(struct text *t)
{
	char buffer[24];
	struct text number = text_on(buffer, sizeof(buffer));
	unsigned long mask[64]; /* 4,096 processors; with more, the call fails */
	long bytes = mp_sys(SYS_sched_getaffinity, 0, sizeof(mask), (long)mask, 0, 0, 0);
	unsigned n = 0;

	for (long i = 0; i < bytes / (long)sizeof(*mask); i++)
		n += (unsigned)__builtin_popcountl(mask[i]);
	if (!n)
		return;
	text_number(&number, n);
	fact_put(t, "cpus", buffer);
}

void mp_fact_start(unsigned what, uint64_t fork_ticks, uint32_t parent, int parent_pid,
		   const struct mp_inherited *stacks)
{
	struct mprof_fact f;
	char buffer[MP_EXTENT_PAYLOAD - sizeof(f)];
	struct text t = text_on(buffer, sizeof(buffer));

	fact_stamp(&f, what);
	f.parent = parent;
	f.parent_pid = parent_pid;
	f.fork_ticks = fork_ticks;
	f.how = mp_local->how;
	f.start_time = mp_start_time();
	if (stacks) {
		f.stacks = stacks->count;
		f.stacks_image = stacks->image;
	}
	fact_put_path(&t, "exe", mp_known.exe);
	fact_put(&t, "mode", mp_config.mode);
	fact_put(&t, "init", mp_config.init);
	fact_put(&t, "allocator", mp_known.allocator);
	if (mp_known.first[0])
		fact_put(&t, "malloc", mp_known.first);
	if (mp_known.rank[0])
		fact_put(&t, "rank", mp_known.rank);
	if (!mp_config.anonymous) {
		fact_put_host(&t);
		fact_put_cpus(&t);
		if (mp_known.conf[0])
			fact_put(&t, "conf", mp_known.conf);
		if (mp_known.job[0])
			fact_put(&t, "job", mp_known.job);
		fact_put_arguments(&t, 96, fork_ticks != 0);
	}
	fact_write(&f, buffer, t.used);
}

static uint64_t fact_ns(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * 1000000000u + (uint64_t)tv.tv_usec * 1000u;
}

static void fact_put_usage(struct mprof_fact *f, const struct rusage *ru)
{
	f->peak_rss_bytes = (uint64_t)ru->ru_maxrss * 1024;
	f->user_ns = fact_ns(ru->ru_utime);
	f->system_ns = fact_ns(ru->ru_stime);
	f->minor_faults = (uint64_t)ru->ru_minflt;
	f->major_faults = (uint64_t)ru->ru_majflt;
}

void mp_fact_end(int status)
{
	char buffer[600];
	struct text t = text_on(buffer, sizeof(buffer));
	struct mprof_fact f;
	struct rusage ru;

	fact_stamp(&f, MPROF_FACT_END);
	f.status = status;
	if (sys_getrusage(RUSAGE_SELF, &ru) == 0)
		fact_put_usage(&f, &ru);
	f.peak_rss_bytes = mp_peak_last();
	fact_put_title(&t);
	fact_write(&f, buffer, t.used);
}

void mp_fact_waited(const struct mprof_process_entry *child, int signal, int status,
		    const struct rusage *usage)
{
	struct mprof_fact f;

	fact_stamp(&f, MPROF_FACT_WAITED);
	f.pid = child->pid;
	f.parent_pid = mp_local->pid;
	f.parent = mp_local->process;
	f.signal = signal;
	f.status = status;
	f.self_bytes = 0;
	if (usage)
		fact_put_usage(&f, usage);
	mp_fact_write_of(child, &f);
}

static void fact_with_path(struct mprof_fact *f, const char *path)
{
	char buffer[800];
	struct text t = text_on(buffer, sizeof(buffer));

	fact_put_path(&t, "path", path ? path : "");
	fact_write(f, buffer, t.used);
}

/* It will run as the user that this process is now, and in the same root directory. */
static uint32_t fact_exec_how(char *const envp[])
{
	const long error = sys_access(mp_file.path, R_OK | W_OK);

	if (error == -EACCES)
		return MPROF_EXEC_DENIED;
	return error || mp_lacks_us(envp) ? MPROF_EXEC_OUT_OF_REACH : 0;
}

void mp_fact_exec(int child_pid, const char *path, char *const envp[], int foreign)
{
	struct mprof_fact f;

	fact_stamp(&f, MPROF_FACT_EXECING);
	f.child_pid = child_pid;
	f.env_kept = (uint32_t)mp_preloads_us(envp);
	f.how = foreign > MPROF_EXEC_OUT_OF_REACH ? (uint32_t)foreign : fact_exec_how(envp);
	fact_with_path(&f, path);
}

void mp_fact_returned(int child_pid)
{
	struct mprof_fact f;

	fact_stamp(&f, MPROF_FACT_RETURNED);
	f.child_pid = child_pid;
	fact_write(&f, "", 0);
}

void mp_fact_bypass(const char *path, enum mprof_bypass how)
{
	struct mprof_fact f;

	fact_stamp(&f, MPROF_FACT_DEEPBIND);
	f.how = how;
	fact_with_path(&f, path);
}

void mp_fact_spawned(int pid, const char *path, int env_kept)
{
	struct mprof_fact f;

	fact_stamp(&f, MPROF_FACT_CHILD);
	f.child_pid = pid;
	f.how = MPROF_CHILD_SPAWN;
	f.env_kept = (uint32_t)env_kept;
	fact_with_path(&f, path);
}

void mp_fact_mark(unsigned what)
{
	struct mprof_fact f;

	fact_stamp(&f, what);
	fact_write(&f, "", 0);
}

void mp_fact_attached(uint64_t held, uint64_t freed)
{
	char buffer[64];
	struct text t = text_on(buffer, sizeof(buffer));
	struct mprof_fact f;

	fact_stamp(&f, MPROF_FACT_ATTACHED);
	text_string(&t, "held=");
	text_number(&t, held);
	t.used++;
	text_string(&t, "freed=");
	text_number(&t, freed);
	t.used++;
	fact_write(&f, buffer, t.used);
}

/* A fact that has one text. */
static void fact_of(unsigned what, const char *key, const char *value)
{
	char buffer[600];
	struct text t = text_on(buffer, sizeof(buffer));
	struct mprof_fact f;

	fact_stamp(&f, what);
	fact_put(&t, key, value);
	fact_write(&f, buffer, t.used);
}

void mp_fact_rank(void)
{
	fact_of(MPROF_FACT_RANK, "rank", mp_known.rank);
}

/* Not a part of a setting. */
void mp_fact_set(const char *setting)
{
	char buffer[512];
	struct text t = text_on(buffer, sizeof(buffer));
	struct mprof_fact f;

	fact_stamp(&f, MPROF_FACT_SET);
	fact_put(&t, "set", setting);
	if (!t.full)
		fact_write(&f, buffer, t.used);
}

void mp_fact_code(const char *name)
{
	fact_of(MPROF_FACT_CODE, "arg", name);
}

void mp_fact_remark(const char *why)
{
	fact_of(MPROF_FACT_OUTSIDE, "why", why);
}

void mp_fact_stopped(const char *why)
{
	fact_of(MPROF_FACT_STOPPED, "why", why);
}

/*
 * Samples the size of the process when a slot is full.  Does nothing under mprof, which samples
 * from outside, nor with several threads: one of them may rely on getting the lowest free
 * descriptor, which this uses for a moment.
 */
void mp_sample_maybe(void)
{
	struct mprof_sample s = { 0 };
	uint64_t now = mp_clock_monotonic_ns(), mapped, resident;

	if (mp_local->live_threads > 1 || mp_known.notes[0] ||
	    now - mp_local->last_sample_ns < SAMPLE_EVERY_NS)
		return;
	mp_local->last_sample_ns = now;
	if (mp_memory_pages(&mapped, &resident) < 0)
		return;
	s.ticks = mprof_ticks();
	s.virt = mapped * mp_page();
	s.rss = resident * mp_page();
	mp_extent_write(MPROF_EXTENT_SAMPLE, &s, sizeof(s), "", 0);
}
