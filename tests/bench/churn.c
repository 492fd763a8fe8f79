// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * churn.c - the worst case for a recorder: nothing but malloc and free.
 *
 *   churn [-t THREADS] [-n PAIRS] [-l LIVE] [-d DEPTH] [-b BRANCHES] [-s SEED] [-x] [-r FD]
 *
 * Each thread does PAIRS pairs: malloc of 16 to 1039 bytes at random, and free of a random slot of
 * its ring of LIVE blocks, a power of two (256).  There is one allocation site, at the bottom of
 * DEPTH extra calls.  With BRANCHES each pair is made at the end of that many more calls, each from
 * one of two places at random: 2^BRANCHES stacks, of which the inner frames change and the outer
 * ones stay, as programs do.  The same seed makes the same calls.  With -x all threads share one
 * ring, so that most blocks are freed by another thread than the one that allocated them.
 *
 * Prints nothing, except with -r one line "churn KEY=VALUE ..." on descriptor
 * FD: what the pairs cost this process by its own getrusage, taken after every
 * ring was filled and again when the last thread is done, and what memory it
 * then had.
 *
 * Calls made: THREADS * (PAIRS + LIVE) of malloc and of free, with -x THREADS * PAIRS + LIVE, and
 * what libc itself calls to make threads.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#define LIVE_MAX    (1u << 24)
#define SIZE_MIN    16u
#define SIZE_SPAN   1024u /* a power of two */
#define THREADS_MAX 100000u

static const char usage_text[] = "usage: churn [-t THREADS] [-n PAIRS] [-l LIVE] [-d DEPTH] [-b "
				 "BRANCHES] [-s SEED] [-x] [-r FD]\n";

struct options {
	unsigned threads, live, depth, branches;
	uint64_t pairs, seed;
	int report; /* descriptor, or -1 */
	int shared; /* -x */
};

struct worker {
	pthread_t id;
	int fills;	/* 1 if it fills the ring */
	uint64_t state; /* of the generator; never 0 */
	void **ring;	/* not from malloc; with -x that of the first worker */
};

static struct options options = {
	.threads = 1, .live = 256, .pairs = 1000000, .seed = 1, .report = -1
};
static pthread_barrier_t filled, started;

/* xorshift64: one nanosecond, and no state that threads share. */
static inline uint64_t next(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return *state = x;
}

static void *allocate(size_t size)
{
	void *p = malloc(size);

	if (!p) {
		perror("churn: malloc");
		_exit(1);
	}
	return p;
}

static __attribute__((noinline)) void churn(struct worker *w, uint64_t pairs)
{
	uint64_t state = w->state, i, random;
	void **slot;

	for (i = 0; i < pairs; i++) {
		random = next(&state);
		slot = &w->ring[random >> 32 & (options.live - 1)];
		free(*slot);
		*slot = allocate(SIZE_MIN + (random & (SIZE_SPAN - 1)));
	}
	w->state = state;
}

static __attribute__((noinline)) void churn_shared(struct worker *w, uint64_t pairs)
{
	for (uint64_t i = 0; i < pairs; i++) {
		uint64_t random = next(&w->state);
		void **slot = &w->ring[random >> 32 & (options.live - 1)];
		void *p = allocate(SIZE_MIN + (random & (SIZE_SPAN - 1)));

		free(__atomic_exchange_n(slot, p, __ATOMIC_ACQ_REL));
	}
}

/* The empty asm after a call keeps it from becoming a jump, and two from becoming one. */
static __attribute__((noinline)) void branch(void **slot, uint64_t random, unsigned more)
{
	if (!more) {
		free(*slot);
		*slot = allocate(SIZE_MIN + (random & (SIZE_SPAN - 1)));
	} else if (random >> (63 - more) & 1) {
		branch(slot, random, more - 1);
		__asm__ volatile("" ::: "memory");
	} else {
		branch(slot, random, more - 1);
		__asm__ volatile("nop" ::: "memory");
	}
}

static __attribute__((noinline)) void churn_branching(struct worker *w, uint64_t pairs)
{
	for (uint64_t i = 0; i < pairs; i++) {
		uint64_t random = next(&w->state);

		branch(&w->ring[random >> 32 & (options.live - 1)], random, options.branches);
	}
}

static __attribute__((noinline)) void descend(struct worker *w, unsigned depth)
{
	if (depth)
		descend(w, depth - 1);
	else if (options.shared)
		churn_shared(w, options.pairs);
	else if (options.branches)
		churn_branching(w, options.pairs);
	else
		churn(w, options.pairs);
	__asm__ volatile("" ::: "memory");
}

static void **ring_new(void)
{
	void **ring = mmap(NULL, options.live * sizeof(*ring), PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (ring == MAP_FAILED) {
		perror("churn: mmap");
		_exit(1);
	}
	return ring;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	unsigned i;

	for (i = 0; w->fills && i < options.live; i++)
		w->ring[i] = allocate(SIZE_MIN + (next(&w->state) & (SIZE_SPAN - 1)));
	pthread_barrier_wait(&filled);
	pthread_barrier_wait(&started);
	descend(w, options.depth);
	return NULL;
}

static uint64_t nanoseconds(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

/* A field of /proc/self/status in KiB; 0 if it is not there. */
static unsigned long status_kib(const char *field)
{
	char line[256];
	unsigned long value = 0;
	size_t n = strlen(field);
	FILE *f = fopen("/proc/self/status", "r");

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, field, n) && line[n] == ':')
			value = strtoul(line + n + 1, NULL, 10);
	if (f)
		fclose(f);
	return value;
}

static void report(const struct rusage *before, const struct rusage *after)
{
	uint64_t user = nanoseconds(after->ru_utime) - nanoseconds(before->ru_utime);
	uint64_t system = nanoseconds(after->ru_stime) - nanoseconds(before->ru_stime);
	uint64_t all = options.pairs * options.threads;

	dprintf(options.report,
		"churn threads=%u pairs=%llu depth=%u user_ns=%llu system_ns=%llu ns_per_pair=%.3f "
		"switches=%ld faults=%ld rss_kib=%lu anon_kib=%lu\n",
		options.threads, (unsigned long long)all, options.depth, (unsigned long long)user,
		(unsigned long long)system, all ? (double)(user + system) / (double)all : 0.0,
		after->ru_nvcsw + after->ru_nivcsw - before->ru_nvcsw - before->ru_nivcsw,
		after->ru_minflt - before->ru_minflt, status_kib("VmRSS"), status_kib("RssAnon"));
}

static void usage(const char *wrong)
{
	fprintf(stderr, "churn: %s\n%s", wrong, usage_text);
	exit(2);
}

static uint64_t number(const char *text)
{
	char *end;
	uint64_t value = strtoull(text, &end, 10);

	if (end == text || *end)
		usage("an option needs a number");
	return value;
}

static void parse(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "t:n:l:d:b:s:xr:")) != -1) {
		if (c == 't')
			options.threads = (unsigned)number(optarg);
		else if (c == 'n')
			options.pairs = number(optarg);
		else if (c == 'l')
			options.live = (unsigned)number(optarg);
		else if (c == 'd')
			options.depth = (unsigned)number(optarg);
		else if (c == 'b')
			options.branches = (unsigned)number(optarg);
		else if (c == 's')
			options.seed = number(optarg);
		else if (c == 'x')
			options.shared = 1;
		else if (c == 'r')
			options.report = (int)number(optarg);
		else
			usage("unknown option");
	}
	if (optind < argc)
		usage("no arguments, only options");
	if (options.threads < 1 || options.threads > THREADS_MAX)
		usage("THREADS is from 1 to 100000");
	if (!options.live || options.live & (options.live - 1) || options.live > LIVE_MAX)
		usage("LIVE is a power of two up to 16777216");
	if (options.branches > 20)
		usage("BRANCHES is at most 20");
}

int main(int argc, char **argv)
{
	struct rusage before, after;
	struct worker *workers;
	unsigned i, j;

	parse(argc, argv);
	workers = calloc(options.threads, sizeof(*workers));
	pthread_barrier_init(&filled, NULL, options.threads + 1);
	pthread_barrier_init(&started, NULL, options.threads + 1);
	for (i = 0; workers && i < options.threads; i++) {
		/* Odd multiples of an odd constant: different for each thread, never 0. */
		workers[i].state = (options.seed * 2 + 1) * 0x9e3779b97f4a7c15ull + 2 * i;
		workers[i].fills = !options.shared || i == 0;
		workers[i].ring = workers[i].fills ? ring_new() : workers[0].ring;
		if (pthread_create(&workers[i].id, NULL, work, &workers[i])) {
			perror("churn: pthread_create");
			return 1;
		}
	}
	if (!workers)
		return 1;
	pthread_barrier_wait(&filled);
	getrusage(RUSAGE_SELF, &before);
	pthread_barrier_wait(&started);
	for (i = 0; i < options.threads; i++)
		pthread_join(workers[i].id, NULL);
	getrusage(RUSAGE_SELF, &after);
	if (options.report >= 0)
		report(&before, &after);
	for (i = 0; i < options.threads; i++)
		for (j = 0; workers[i].fills && j < options.live; j++)
			free(workers[i].ring[j]);
	free(workers);
	return 0;
}
