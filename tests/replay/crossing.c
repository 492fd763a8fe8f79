// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * crossing.c - blocks that go from thread to thread, for the compiler of
 * playback files.
 *
 *   crossing ROUNDS [fork]
 *
 * Each round makes four threads and joins them.  They hand blocks to each other
 * through a row of boxes, so most are freed or resized by another thread than
 * the one that allocated them, while each also has blocks of its own; all
 * functions of the family occur.  With "fork" three children then free what
 * they have from their parent, and allocate.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define BOXES 64
#define OWN   100
#define KEPT  1000

static _Atomic(void *) box[BOXES];

static void rare(void)
{
	void *p;

	if (!posix_memalign(&p, 64, 1000))
		free(p);
	free(aligned_alloc(128, 256));
	free(NULL);
	free(malloc((size_t)400 << 20));
	free(realloc(NULL, 10));
	free(reallocarray(NULL, 3, 7));
	free(realloc(malloc(5), 0));
}

static void *work(void *seed_of)
{
	unsigned seed = (unsigned)(size_t)seed_of, r, i, n;
	void *own[OWN] = { NULL }, *p;

	for (n = 0; n < 5000; n++) {
		r = (unsigned)rand_r(&seed);
		p = atomic_exchange(&box[r % BOXES], malloc(1 + r % 3000));
		free(r & 1 ? realloc(p, 1 + r % 500) : p);
		i = r % OWN;
		own[i] = own[i] ? realloc(own[i], r % 1000 + 1) : calloc(1 + r % 7, r % 111 + 1);
		if (r % 7 == 0) {
			free(own[i]);
			own[i] = NULL;
		}
		if (r % 1000 == 0)
			rare();
	}
	for (i = 0; i < OWN; i++)
		free(own[i]);
	return NULL;
}

static void child(void **kept)
{
	unsigned i;

	for (i = 0; i < KEPT / 2; i++)
		free(kept[i]);
	for (i = 0; i < 3000; i++) {
		kept[i % (KEPT / 2)] = malloc(i);
		if (i % 3)
			free(kept[i % (KEPT / 2)]);
	}
	exit(0);
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 1, i;
	void *kept[KEPT];
	pthread_t t[4];

	for (; rounds > 0; rounds--) {
		for (i = 0; i < 4; i++)
			pthread_create(&t[i], NULL, work, (void *)(size_t)(rounds * 10 + i));
		for (i = 0; i < 4; i++)
			pthread_join(t[i], NULL);
	}
	for (i = 0; i < KEPT; i++)
		kept[i] = malloc((size_t)i);
	for (i = 0; argc > 2 && i < 3; i++)
		if (!fork())
			child(kept);
	while (wait(NULL) > 0)
		;
	return 0;
}
