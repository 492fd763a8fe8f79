/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * crowd.c THREADS WAVES [idle|fork] - THREADS at once, WAVES times: each allocates
 * 1000 bytes, waits until all are there, frees, and all end at the same moment.
 * The process must have no more mappings than threads need, and LEAST to spare.
 * `idle`: they do not allocate, so that all their first events come when they end.
 * `fork`: a child is made while all are there, which allocates, too.
 */
#include "victim.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <sys/wait.h>

enum { LEAST = 500 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t all = PTHREAD_COND_INITIALIZER, changed = PTHREAD_COND_INITIALIZER;
static long threads, here, wave;
static int idle;

static void *work(void *arg)
{
	char *p = idle ? NULL : malloc(1000);

	must(idle || p);
	pthread_mutex_lock(&lock);
	if (++here == threads) /* who waits for another wave sleeps on */
		pthread_cond_signal(&all);
	while (wave == (long)arg)
		pthread_cond_wait(&changed, &lock);
	pthread_mutex_unlock(&lock);
	if (p)
		free(p);
	return NULL;
}

/* By read() alone. */
static long mappings(void)
{
	static char buffer[65536];
	int fd = open("/proc/self/maps", O_RDONLY);
	long n, lines = 0;

	must(fd >= 0);
	while ((n = read(fd, buffer, sizeof(buffer))) > 0)
		for (long i = 0; i < n; i++)
			lines += buffer[i] == '\n';
	must(n == 0);
	close(fd);
	return lines;
}

static void make_child(void)
{
	pid_t pid = fork();
	int status;

	must(pid >= 0);
	if (!pid) {
		free(malloc(2000));
		_exit(0);
	}
	must(waitpid(pid, &status, 0) == pid && status == 0);
}

int main(int argc, char **argv)
{
	long waves = argc > 2 ? atol(argv[2]) : 1;
	int forks = argc > 3 && strcmp(argv[3], "fork") == 0;
	pthread_attr_t attr;
	pthread_t *ids;
	long before;

	idle = argc > 3 && strcmp(argv[3], "idle") == 0;
	threads = argc > 1 ? atol(argv[1]) : 1000;
	ids = calloc((size_t)threads, sizeof(*ids));
	must(ids);
	before = mappings();
	mallopt(M_ARENA_MAX, 1); /* more are mappings, too */
	pthread_attr_init(&attr);
	must(pthread_attr_setstacksize(&attr, 65536) == 0);
	for (wave = 0; wave < waves;) {
		here = 0;
		for (long i = 0; i < threads; i++)
			must(pthread_create(&ids[i], &attr, work, (void *)wave) == 0);
		pthread_mutex_lock(&lock);
		while (here < threads)
			pthread_cond_wait(&all, &lock);
		must(mappings() < before + 2 * threads + LEAST); /* a stack and its guard */
		if (forks)
			make_child();
		wave++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
		for (long i = 0; i < threads; i++)
			must(pthread_join(ids[i], NULL) == 0);
	}
	say("size 1000 %ld", idle ? 0 : threads * waves);
	say("size 2000 %ld", forks ? waves : 0);
	say("expect threads %ld", 1 + threads * waves + (forks ? waves : 0));
	say("expect processes %ld", 1 + (forks ? waves : 0));
	say("ends 0");
	return 0;
}
