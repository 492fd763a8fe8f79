/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * touched.c - uses known pages of large blocks.  All blocks are made before the
 * first one goes, so that none lies where another one did.
 *
 *   touched        blocks that begin with a page, under any allocator
 *   touched one    a block that does not, under glibc, which maps it
 *   touched none   nothing is to be known
 */
#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "victim.h"

#define PAGE  4096u
#define MIB   ((size_t)1 << 20)
#define PAGES 8

struct use {
	const char *name;
	size_t size;
	int page[PAGES]; /* that are written to, up to the first negative one */
};

static const struct use uses[] = {
	{ "a", 1 * MIB, { 0, 5, 255, -1 } },
	{ "b", 5 * MIB, { 3, 511, 512, 1023, 1024, -1 } }, /* asked for in more than one piece */
	{ "c", 2 * MIB, { -1 } },
	{ "d", 3 * MIB, { 767, -1 } },
};
#define USES (sizeof(uses) / sizeof(uses[0]))

static int use(char *block, const struct use *u)
{
	int n = 0;

	for (; u->page[n] >= 0; n++)
		block[u->page[n] * PAGE + 100] = 1;
	return n;
}

static int known; /* how much was touched is recorded */

static void gave(const char *event, const char *touched)
{
	say(known ? "event %s touched=%s" : "event %s", event, touched);
}

static void gave_pages(const char *function, const struct use *u, const char *more, int pages)
{
	char event[64], touched[16];

	snprintf(event, sizeof(event), "%s %s%s", function, u->name, more);
	snprintf(touched, sizeof(touched), "%u", pages * PAGE);
	gave(event, touched);
}

static void resize(char *block, const struct use *u, int pages)
{
	/* volatile: _FORTIFY_SOURCE does not know of usable bytes behind the requested ones. */
	char *volatile got = realloc(block, 8 * MIB), *grown = got;

	must(grown);
	gave_pages("realloc", u, " 8388608 e", pages);
	memset(grown, 1, malloc_usable_size(grown));
	free(grown);
	gave("free e", "all");
}

static void aligned(void)
{
	char *block[USES];
	void *p;

	for (size_t i = 0; i < USES; i++) {
		must(!posix_memalign(&p, PAGE, uses[i].size));
		say("event posix_memalign %u %zu %s", PAGE, uses[i].size, uses[i].name);
		block[i] = p;
	}
	for (size_t i = 0; i < USES; i++) {
		int pages = use(block[i], &uses[i]);

		if (i + 1 == USES) {
			resize(block[i], &uses[i], pages);
			break;
		}
		free(block[i]);
		gave_pages("free", &uses[i], "", pages);
	}
}

/* glibc's header is in the first page, and the end of the last one is the block's end. */
static void one(void)
{
	char *p = malloc(MIB);

	must(p && ((size_t)p & (PAGE - 1)) == 16);
	say("event malloc 1048576 a");
	p[5 * PAGE] = 1;
	free(p);
	gave("free a", "8176");
}

static void small(void)
{
	char *p = malloc(8000);

	must(p);
	say("event malloc 8000 s");
	memset(p, 1, 8000);
	free(p);
	say("event free s"); /* below the threshold */
	free(NULL);
	say("event free 0");
}

int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "";

	must(!prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)); /* pages are of one size */
	known = strcmp(which, "none") != 0;
	say("exact");
	if (strcmp(which, "one") == 0)
		one();
	else
		aligned();
	small();
	say("ends 0");
	_exit(0); /* without exit(), in which some versions of libstdc++ request a block */
}
