/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* careless.c - does one thing wrong that checker.c must notice: which one is its argument. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	volatile char *p = malloc(5000);
	volatile char *second = malloc(5000);

	p[0] = p[4096] = p[4999] = 1;
	second[0] = second[4096] = second[4999] = 1;
	if (!strcmp(what, "untouched"))
		second = calloc(1, 5000);
	if (!strcmp(what, "behind"))
		p[5000] = 1;
	if (!strcmp(what, "scribbled"))
		p[77] = 99;
	free((void *)p);
	if (!strcmp(what, "twice"))
		free((void *)p);
	if (!strcmp(what, "late"))
		p[10] = 1;
	free((void *)second);
	_exit(0);
}
