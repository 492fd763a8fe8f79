// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * changes.c - a victim of which every call is known, to be changed by a what-if:
 *
 *   list_append   one block, of 1 to 1000 times 16 bytes: 1 call, 999 reallocs
 *   vector_grow   ten blocks of 64 bytes that are doubled ten times, by new block,
 *                 copy and free: 10 * 11 mallocs, 10 * 11 frees
 *   format_line   2,000 blocks of 100 bytes, freed immediately
 *   node_new      10,000 blocks of 24 bytes, freed at the end
 *
 * 1,000 + 220 + 4,000 + 20,000 + 1 calls.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *volatile kept[10000];

__attribute__((noinline)) static void list_append(char **list, size_t n)
{
	*list = realloc(*list, 16 * n);
	(*list)[16 * n - 1] = 1;
}

__attribute__((noinline)) static char *vector_grow(char *old, size_t bytes)
{
	char *new = malloc(bytes);

	if (old)
		memcpy(new, old, bytes / 2);
	free(old);
	new[bytes - 1] = 1;
	return new;
}

__attribute__((noinline)) static void format_line(void)
{
	char *line = malloc(100);

	line[0] = 1;
	kept[0] = line;
	free(line);
}

__attribute__((noinline)) static void *node_new(void)
{
	char *node = malloc(24);

	node[0] = 1;
	return node;
}

int main(void)
{
	char *list = NULL, *vector;
	size_t i, k;

	for (i = 1; i <= 1000; i++)
		list_append(&list, i);
	free(list);
	for (i = 0; i < 10; i++) {
		vector = NULL;
		for (k = 0; k <= 10; k++)
			vector = vector_grow(vector, 64u << k);
		free(vector);
	}
	for (i = 0; i < 2000; i++)
		format_line();
	for (i = 0; i < 10000; i++)
		kept[i] = node_new();
	for (i = 0; i < 10000; i++)
		free(kept[i]);
	return 0;
}
