/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * drain.c - the table of live blocks, and freeing the remaining ones.
 */
#include <stdlib.h>
#include "call.h"

uint64_t *live_table;
static size_t table_words, table_stride;

void table_make(size_t stride)
{
	table_stride = stride;
	table_words = playback.head.slots * stride;
	live_table = own_map(table_words * sizeof(*live_table));
}

void table_clear(void)
{
	memset(live_table, 0, table_words * sizeof(*live_table));
}

void drain_table(void)
{
	for (size_t i = 0; i < table_words; i += table_stride) {
		void *p = (void *)(live_table[i] & SLOT_ADDR);

		if (p && !settings.null)
			free(p);
		live_table[i] = 0;
	}
}
