/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* replay_table.h - the tables of a playback on several allocators, for text and for HTML. */
#pragma once

#include "replay.h"
#include "print_table.h"

struct replay_table {
	struct table table; /* without cells if there is nothing to show */
	char title[128];    /* above it */
	char versus[64], time_versus[64], kept[48];
};

/* Both fill *t, which must not move until table_print(). */
void replay_table_rows(struct replay_table *t, const struct replay_answer *a);
void replay_table_latency(struct replay_table *t, const struct replay_answer *a);
