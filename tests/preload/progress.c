/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * progress.c FILE THREADS PAIRS [slow [GO]] - malloc(487) and free; after each pair a
 * thread writes its number into its own 64 bytes of FILE, which is mapped: after
 * a kill, FILE shows how many pairs were complete.  PAIRS 0: for ever.
 * `slow`: about a second, regardless of PAIRS.  GO: does not end before there is this file.
 */
#include "victim.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/mman.h>

enum { LINE = 64 };

static volatile uint64_t *map;
static uint64_t pairs;
static unsigned pause_us;
static const char *go;

static void *work(void *arg)
{
	volatile uint64_t *at = map + (uintptr_t)arg * (LINE / sizeof(*map));
	uint64_t n = 0;

	while (!pairs || n < pairs) {
		char *p = malloc(487);

		if (!p)
			_exit(97);
		*p = 1;
		free(p);
		*at = ++n;
		if (pause_us && n % (pairs / 200 + 1) == 0)
			usleep(pause_us);
		while (go && n == pairs - pairs / 8 && access(go, F_OK) != 0)
			usleep(pause_us);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int fd = argc > 3 ? open(argv[1], O_RDWR | O_CREAT, 0666) : -1;
	long threads = argc > 3 ? atol(argv[2]) : 0;
	pthread_t id[256];

	must(fd >= 0 && threads > 0 && threads <= 256);
	must(ftruncate(fd, threads * LINE) == 0);
	map = mmap(NULL, (size_t)threads * LINE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	must(map != MAP_FAILED);
	close(fd);
	pairs = strtoull(argv[3], NULL, 10);
	pause_us = argc > 4 ? 5000 : 0;
	go = argc > 5 ? argv[5] : NULL;
	for (long i = 1; i < threads; i++)
		must(pthread_create(&id[i], NULL, work, (void *)i) == 0);
	work(NULL);
	for (long i = 1; i < threads; i++)
		must(pthread_join(id[i], NULL) == 0);
	say("all pairs done");
	return 7;
}
