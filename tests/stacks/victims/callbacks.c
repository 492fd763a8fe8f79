/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* callbacks.c - called back by libc, called by libc itself, before main and after it. */
#include "stack.h"

#include <search.h>
#include <stdio.h>

static int left;

FRAME static int compare(const void *a, const void *b)
{
	if (left-- == 0)
		TAG(2001);
	STAY();
	return *(const int *)a - *(const int *)b;
}

FRAME static int find(const void *a, const void *b)
{
	if (left-- == 0)
		TAG(2002);
	STAY();
	return *(const int *)a - *(const int *)b;
}

FRAME static void visit(const void *node, VISIT which, int depth)
{
	(void)node;
	if (which == leaf && depth)
		TAG(2003);
	STAY();
}

FRAME static void sorts(int *array, size_t n)
{
	qsort(array, n, sizeof(int), compare);
	STAY();
}

FRAME static void searches(int *array, size_t n)
{
	int wanted = 77;

	must(bsearch(&wanted, array, n, sizeof(int), find) != NULL);
	STAY();
}

FRAME static void walks(int *array, size_t n)
{
	void *root = NULL;

	left = -1;
	for (size_t i = 0; i < n; i++)
		must(tsearch(&array[i * 37 % n], &root, compare) != NULL);
	twalk(root, visit);
	STAY();
}

FRAME static void libc_asks(void)
{
	char *text = strdup("x");
	char long_text[2201];

	memset(long_text, 'y', sizeof(long_text));
	long_text[2200] = 0;
	free(text);
	text = strdup(long_text);
	must(text && strlen(text) == 2200);
	kept = text;
	STAY();
}

FRAME __attribute__((constructor)) static void before(void)
{
	TAG(2011);
	STAY();
}

FRAME __attribute__((destructor)) static void after(void)
{
	TAG(2012);
	STAY();
}

FRAME static void at_exit(void)
{
	TAG(2013);
	STAY();
}

int main(void)
{
	int array[100];

	for (int i = 0; i < 100; i++)
		array[i] = i * 37 % 100;
	left = 50;
	sorts(array, 100);
	left = 3;
	searches(array, 100);
	walks(array, 100);
	libc_asks();
	must(atexit(at_exit) == 0);
	say("chain 2001 compare @libc+ sorts " MAIN);
	say("chain 2002 find @libc~ searches " MAIN);
	say("chain 2003 visit @libc+ walks " MAIN);
	say("chain 2201 @libc libc_asks " MAIN);
	say("chain 2011 before @libc+ _start");
	say("chain 2012 after @ld-linux+ @libc+ _start");
	say("chain 2013 at_exit @libc+ _start");
	return 0;
}
