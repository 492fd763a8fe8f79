/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * sampler.c - SAMPLE, SYSTEM and RESIDENCY extents, written from outside.
 *
 * A round reads /proc for every process that the header's table says is RUNNING, and for the
 * machine, and counts what the out-of-memory killer ended.  Rounds come every 2 ms at first and
 * every 100 ms later, and never sooner than fifty times the CPU time of the last round.  Samples
 * are buffered until there are SAMPLES_KEPT, or a second has passed.
 *
 * The thread owns everything in struct sampler; only `stop` is shared, under
 * `lock`.
 */
#include "sampler.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../util/now.h"
#include "examiner.h"
#include "follower.h"
#include "process.h"
#include "resident.h"

#define MS		1000000ll
#define ROUND_MIN	(2 * MS)
#define ROUND_MAX	(100 * MS)
#define CPU_SHARE	50	 /* a round may use this fraction of a CPU */
#define PAGES_SHARE	80	 /* reading pages, and adding up shares, use less than this ... */
#define CREDIT		(3 * MS) /* ... and this, for short programs */
#define GROUP_AGE	(1000 * MS) /* after this time, and then so often, groups are read again */
#define SHARES_MOST	(100 * MS)  /* of one reading of the shares of all processes */
#define SHARES_PAUSE	(1000 * MS) /* between looks at the processes of a profile, at most */
#define SAMPLES_KEPT	32
#define SAMPLES_AGE	(1000 * MS)
#define RESIDENCIES_MAX 64
#define STACK_BYTES	(512u << 10)

struct watched {
	uint32_t number; /* 0 if this entry of the table was never RUNNING */
	bool unreadable; /* pagemap may not be read */
	unsigned residencies;
	uint64_t residency_rss; /* rss at the last reading of pages, or only of shares */
	uint64_t huge;		/* the most pages in huge ones that were told */
	int64_t first_ns, residency_ns, oldest_ns;
	size_t kept;
	struct mprof_sample sample[SAMPLES_KEPT];
};

struct sampler {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	bool stop;
	enum sampler_what what;
	bool full; /* a write failed, so no more are written */
	char *path;
	uint8_t run_id[16];
	struct append file;
	enum resident_way way;
	struct resident resident;
	int64_t start_ns, looked_ns;
	int64_t pages_ns;	 /* CPU time of reading pages and shares */
	int64_t sums_ns;	 /* CPU time of adding up the shares of all processes */
	struct watched *watched; /* one for each entry of the table */
	struct mprof_system system[SAMPLES_KEPT];
	size_t systems;
	bool knows_system; /* has read it at least once */
	uint64_t swapped;  /* of the processes that this round has read, as are the next two */
	uint64_t rss;
	uint32_t running;
	uint64_t together_rss, together; /* rss at the last reading of shares; their largest sum */
	int64_t together_ns;		 /* ... and when that was */
	uint64_t limit;			 /* system_group_limit() */
	int64_t oldest_system_ns;
	struct oom_kills kills;
	uint64_t kills_ticks; /* when it counted them */
	int64_t group_ns;     /* when it read the program's group */
	struct examiner examiner;
	struct follower *follower; /* ours until the thread ends; may be NULL */
};

static void write_extent(struct sampler *s, enum mprof_extent_kind kind, uint32_t process,
			 const void *payload, size_t size)
{
	if (!s->full && append_extent(&s->file, kind, process, payload, size))
		s->full = true;
}

static void flush_samples(struct sampler *s, struct watched *w)
{
	if (w->kept)
		write_extent(s, MPROF_EXTENT_SAMPLE, w->number, w->sample,
			     w->kept * sizeof(w->sample[0]));
	w->kept = 0;
}

static void keep_sample(struct sampler *s, struct watched *w, const struct process_memory *m,
			int64_t now)
{
	if (!w->kept)
		w->oldest_ns = now;
	w->sample[w->kept++] = (struct mprof_sample){ .ticks = append_ticks(&s->file),
						      .rss = m->rss,
						      .rss_anon = m->rss_anon,
						      .virt = m->virt,
						      .minor_faults = m->minor_faults,
						      .peak_rss = m->peak_rss };
	if (w->kept == SAMPLES_KEPT || now - w->oldest_ns > SAMPLES_AGE)
		flush_samples(s, w);
}

static void flush_system(struct sampler *s)
{
	if (s->systems)
		write_extent(s, MPROF_EXTENT_SYSTEM, 0, s->system,
			     s->systems * sizeof(s->system[0]));
	s->systems = 0;
}

static void look_at_system(struct sampler *s, int64_t now)
{
	struct mprof_system *m = &s->system[s->systems];

	if (system_memory(m))
		return;
	m->ticks = append_ticks(&s->file);
	m->swapped = s->swapped;
	m->limit = s->limit;
	s->knows_system = true;
	if (!s->systems++)
		s->oldest_system_ns = now;
	if (s->systems == SAMPLES_KEPT || now - s->oldest_system_ns > SAMPLES_AGE)
		flush_system(s);
}

/* Has its memory grown by an eighth since the last time, or its age doubled? */
static bool is_due(const struct watched *w, uint64_t rss, int64_t now)
{
	if (w->unreadable || w->residencies >= RESIDENCIES_MAX)
		return false;
	if (!w->residencies)
		return true;
	return rss > w->residency_rss + w->residency_rss / 8 ||
	       now - w->first_ns >= 2 * (w->residency_ns - w->first_ns) + 10 * MS;
}

static int read_pages(struct sampler *s, pid_t pid)
{
	int code = resident_read(&s->resident, pid, s->way);

	if (s->way == RESIDENT_SCAN && (code == -ENOTTY || code == -EINVAL)) {
		s->way = RESIDENT_PAGEMAP;
		code = resident_read(&s->resident, pid, s->way);
	}
	return code;
}

/* By how much a figure must grow before it is told again: the size of a profile has a bound. */
static uint64_t told_again(const struct sampler *s, uint64_t told)
{
	return s->what == SAMPLER_SHARES ? told + told / 8 : told;
}

/* Is this CPU time below 1 / `share`, plus `credit`? */
static bool may_spend(const struct sampler *s, int64_t used, int64_t now, int64_t share,
		      int64_t credit)
{
	return used < (now - s->start_ns) / share + credit;
}

/* Asking for them takes as long as reading the pages, which must not become rare. */
static uint64_t huge_pages(struct sampler *s, pid_t pid, int64_t now)
{
	if (s->what == SAMPLER_ALL && s->way == RESIDENT_SCAN)
		return s->resident.huge;
	if (s->what == SAMPLER_ALL && !may_spend(s, s->pages_ns, now, 2 * PAGES_SHARE, 0))
		return 0;
	return process_shares(pid).huge / (uint64_t)sysconf(_SC_PAGESIZE);
}

/* They make a process larger than what it wrote to, so only much of them matters. */
static void take_huge_pages(struct sampler *s, struct watched *w, pid_t pid, uint64_t rss,
			    int64_t now)
{
	const uint64_t pages = huge_pages(s, pid, now), page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct mprof_fact fact = {
		.what = MPROF_FACT_HUGE,
		.pid = pid,
		.huge_pages = (uint32_t)pages,
	};

	if (pages < rss / page / 4 || pages <= told_again(s, w->huge) || pages > UINT32_MAX ||
	    s->full)
		return;
	w->huge = pages;
	s->full = append_fact(&s->file, w->number, &fact, NULL, 0) != 0;
}

static void take_residency(struct sampler *s, struct watched *w, pid_t pid, uint64_t rss,
			   int64_t now)
{
	struct mprof_residency head = { .ticks_before = append_ticks(&s->file), .rss = rss };
	size_t bytes;
	char *payload;
	int code = read_pages(s, pid);

	w->residencies++;
	w->residency_rss = rss;
	w->residency_ns = now;
	w->unreadable = code == -EACCES || code == -EPERM || code == -EFBIG;
	if (code || !s->resident.runs)
		return;
	head.ticks_after = append_ticks(&s->file);
	head.runs = s->resident.runs;
	bytes = s->resident.runs * sizeof(struct mprof_page_run);
	payload = malloc(sizeof(head) + bytes);
	if (!payload)
		return;
	memcpy(payload, &head, sizeof(head));
	memcpy(payload + sizeof(head), s->resident.run, bytes);
	write_extent(s, MPROF_EXTENT_RESIDENCY, w->number, payload, sizeof(head) + bytes);
	free(payload);
	take_huge_pages(s, w, pid, rss, now);
}

/* The same without the pages. */
static void take_shares(struct sampler *s, struct watched *w, pid_t pid, uint64_t rss, int64_t now)
{
	w->residencies = 1;
	w->residency_rss = rss;
	w->residency_ns = now;
	take_huge_pages(s, w, pid, rss, now);
}

static void look_at(struct sampler *s, const struct mprof_process_entry *e, struct watched *w,
		    int64_t now)
{
	struct process_memory m;
	int64_t begin;

	if (w->number != e->number) {
		w->number = e->number;
		w->first_ns = now;
		w->huge = 0;
	}
	if (process_memory(e->pid, &m) || m.start_time != e->start_time)
		return;
	s->swapped += m.swapped;
	s->rss += m.rss;
	s->running++;
	if (s->what == SAMPLER_ALL)
		keep_sample(s, w, &m, now);
	/* Not the thread's time: of many processes, samples alone take all of its share. */
	if (!is_due(w, m.rss, now) || !may_spend(s, s->pages_ns, now, PAGES_SHARE, CREDIT))
		return;
	begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
	if (s->what == SAMPLER_ALL)
		take_residency(s, w, e->pid, m.rss, now);
	else
		take_shares(s, w, e->pid, m.rss, now);
	s->pages_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
}

/* What the resident sizes of processes add up to counts the pages several times that forks share
 * until one of them writes there.  Due as the pages of a process are. */
static void look_at_sum(struct sampler *s, uint32_t n, int64_t now)
{
	struct mprof_fact fact = { .what = MPROF_FACT_TOGETHER, .pid = getpid() };
	const int64_t begin = now_ns(CLOCK_THREAD_CPUTIME_ID);
	struct mprof_process_entry e;

	if (s->running < 2 || !may_spend(s, s->sums_ns, now, PAGES_SHARE, CREDIT) ||
	    (s->rss <= s->together_rss + s->together_rss / 8 &&
	     now - s->start_ns < 2 * (s->together_ns - s->start_ns) + 10 * MS))
		return;
	s->together_rss = s->rss;
	s->together_ns = now;
	for (uint32_t i = 0; i < n && i < MPROF_PROCESS_TABLE; i++) {
		if (now_ns(CLOCK_THREAD_CPUTIME_ID) - begin > SHARES_MOST)
			break; /* what is left out makes the sum smaller */
		e = append_process(&s->file, i);
		if (!e.number || e.state != MPROF_PROCESS_RUNNING)
			continue;
		fact.together_bytes += process_shares(e.pid).pss;
		fact.how++;
	}
	s->sums_ns += now_ns(CLOCK_THREAD_CPUTIME_ID) - begin;
	if (fact.together_bytes <= told_again(s, s->together) || s->full)
		return;
	s->together = fact.together_bytes;
	s->full = append_fact(&s->file, 0, &fact, NULL, 0) != 0;
}

static void look_at_all(struct sampler *s)
{
	uint32_t i, n = __atomic_load_n(&s->file.header->processes, __ATOMIC_RELAXED);
	struct mprof_process_entry e;
	int64_t now = now_ns(CLOCK_MONOTONIC);

	/* A profile is for programs that run for days. */
	if (s->what == SAMPLER_SHARES && s->looked_ns && now - s->looked_ns < SHARES_PAUSE &&
	    now - s->looked_ns < (now - s->start_ns) / 8)
		return;
	s->looked_ns = now;
	look_at_sum(s, n, now); /* as the last round found it: pages would take all of the time */
	s->swapped = s->rss = s->running = 0;
	for (i = 0; i < n && i < MPROF_PROCESS_TABLE && !s->full; i++) {
		e = append_process(&s->file, i);
		if (e.number && e.state == MPROF_PROCESS_RUNNING)
			look_at(s, &e, &s->watched[i], now);
		else
			flush_samples(s, &s->watched[i]);
	}
	if (s->what == SAMPLER_ALL)
		look_at_system(s, now);
}

/* The kernel counts a kill before it sends the signal, so this tells it before anybody can have
 * waited for the process, if called after that. */
static void look_at_kills(struct sampler *s)
{
	const struct mprof_process_entry first = append_process(&s->file, 0);
	const uint64_t ticks = append_ticks(&s->file);
	const int64_t now = now_ns(CLOCK_MONOTONIC);
	pid_t pid = 0;
	struct mprof_fact fact = {
		.what = MPROF_FACT_OOM,
		.pid = getpid(),
		.since_ticks = s->kills_ticks,
	};

	if (first.state == MPROF_PROCESS_RUNNING &&
	    (now < s->start_ns + GROUP_AGE || now >= s->group_ns + GROUP_AGE)) {
		s->group_ns = now;
		pid = first.pid;
	}
	fact.how = oom_kills_more(&s->kills, pid);
	s->kills_ticks = ticks;
	if (fact.how && !s->full && append_fact(&s->file, 0, &fact, NULL, 0))
		s->full = true;
}

/* Runs a round; returns how long to wait until the next. */
static int64_t run_round(struct sampler *s)
{
	int64_t before = now_ns(CLOCK_THREAD_CPUTIME_ID), cost, pause;

	if (s->file.fd < 0)
		append_open(&s->file, s->path, s->run_id);
	if (s->file.fd >= 0 && s->what != SAMPLER_KILLS)
		look_at_all(s);
	if (s->file.fd >= 0)
		look_at_kills(s);
	if (s->file.fd >= 0 && s->follower)
		follower_look(s->follower, &s->file, s->path);
	cost = now_ns(CLOCK_THREAD_CPUTIME_ID) - before;
	pause = (now_ns(CLOCK_MONOTONIC) - s->start_ns) / 8;
	if (pause < ROUND_MIN)
		pause = ROUND_MIN;
	if (pause > ROUND_MAX)
		pause = ROUND_MAX;
	return pause > CPU_SHARE * cost ? pause : CPU_SHARE * cost;
}

static bool wait_for_stop(struct sampler *s, int64_t pause)
{
	int64_t until = now_ns(CLOCK_MONOTONIC) + pause;
	struct timespec t = { until / 1000000000, until % 1000000000 };
	bool stop;

	if (s->examiner.on && s->file.fd >= 0) {
		examiner_wait(&s->examiner, &s->file, s->path, until);
		t = (struct timespec){ 0, 0 };
	}
	pthread_mutex_lock(&s->lock);
	while (!s->stop &&
	       pthread_cond_clockwait(&s->wake, &s->lock, CLOCK_MONOTONIC, &t) != ETIMEDOUT)
		;
	stop = s->stop;
	pthread_mutex_unlock(&s->lock);
	return stop;
}

static void *run_thread(void *arg)
{
	struct sampler *s = arg;
	size_t i;

	s->limit = s->what == SAMPLER_ALL ? system_group_limit() : 0;
	while (!wait_for_stop(s, run_round(s)))
		;
	if (s->file.fd < 0)
		append_open(&s->file, s->path, s->run_id);
	examiner_end(&s->examiner, &s->file);
	for (i = 0; i < MPROF_PROCESS_TABLE && s->file.fd >= 0; i++)
		flush_samples(s, &s->watched[i]);
	/* The program may have ended before the first round. */
	if (s->file.fd >= 0 && s->what == SAMPLER_ALL && !s->knows_system)
		look_at_system(s, now_ns(CLOCK_MONOTONIC));
	if (s->file.fd >= 0) {
		flush_system(s);
		look_at_kills(s);
	}
	return NULL;
}

static void release(struct sampler *s)
{
	pthread_mutex_destroy(&s->lock);
	pthread_cond_destroy(&s->wake);
	resident_release(&s->resident);
	free(s->watched);
	free(s->path);
	free(s);
}

/*
 * Starts the thread with all signals blocked: they are for the thread that waits for the program.
 * Its stack does not depend on the limits of the program: by default it would be as large as the
 * main thread's may become, so too small, or too large to be allocated.
 */
static int start_thread(struct sampler *s)
{
	pthread_attr_t attr;
	sigset_t all, before;
	int code = pthread_attr_init(&attr);

	if (code)
		return -code;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	sigfillset(&all);
	sigdelset(&all, SIGBUS); /* raised by its own accesses to the mapped header */
	pthread_sigmask(SIG_SETMASK, &all, &before);
	code = pthread_create(&s->thread, &attr, run_thread, s);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -code;
}

int sampler_start(struct sampler **out, const char *path, const uint8_t run_id[16],
		  enum sampler_what what, bool reach, struct follower *follower, struct error *err)
{
	struct sampler *s = calloc(1, sizeof(*s));
	int code = -ENOMEM;

	*out = NULL;
	if (!s)
		return fail(err, code, "no memory to watch the program");
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->wake, NULL);
	s->path = strdup(path);
	s->watched = calloc(MPROF_PROCESS_TABLE, sizeof(*s->watched));
	s->file.fd = -1;
	s->what = what;
	s->examiner.on = reach;
	s->follower = follower;
	s->start_ns = now_ns(CLOCK_MONOTONIC);
	oom_kills_more(&s->kills, getpid());
	memcpy(s->run_id, run_id, sizeof(s->run_id));
	if (s->path && s->watched)
		code = start_thread(s);
	if (!code) {
		*out = s;
		return 0;
	}
	release(s);
	return fail(err, code, "cannot watch the program: %s", strerror(-code));
}

void sampler_stop(struct sampler *s, struct append *file)
{
	pthread_mutex_lock(&s->lock);
	s->stop = true;
	pthread_cond_signal(&s->wake);
	pthread_mutex_unlock(&s->lock);
	examiner_stop(&s->examiner);
	pthread_join(s->thread, NULL);
	*file = s->file;
	release(s);
}
