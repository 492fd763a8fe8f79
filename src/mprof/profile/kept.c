// SPDX-License-Identifier: LGPL-3.0-or-later
/* kept.c - memory that run-time libraries keep until the process ends. */
#include "kept.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/order.h"
#include "../util/rank.h"

static void add(struct kept_of *to, const struct site_brief *v, bool by_program)
{
	to->peak_bytes += by_program ? 0 : v->peak_bytes;
	to->peak_blocks += by_program ? 0 : v->peak_calls;
	to->live_bytes += v->live_bytes;
	to->live_blocks += v->live_calls;
}

/* Several rows of suppressions.def have one reason. */
static struct kept_of *row_of(struct kept *k, const char *why)
{
	size_t i;

	for (i = 0; i < k->rows; i++)
		if (!strcmp(k->row[i].why, why))
			return &k->row[i];
	if (k->rows == KEPT_ROWS)
		return &k->row[KEPT_ROWS - 1];
	k->row[k->rows].why = why;
	return &k->row[k->rows++];
}

static uint64_t most_of(const struct kept_of *k)
{
	return k->live_bytes > k->peak_bytes ? k->live_bytes : k->peak_bytes;
}

ORDER(by_bytes, struct kept_of, COMPARE(most_of(y), most_of(x)))

void kept_find(struct kept *k, const struct sites *sites, struct profile *names)
{
	struct ranked *chosen = must_malloc((sites->count + 1) * sizeof(*chosen));
	size_t i, n = 0, examined[2] = { 0, 0 };
	const struct site_brief *s;
	const char *why;
	bool by_program;

	*k = (struct kept){ .rows = 0 };
	for (i = 0; i < sites->count; i++) {
		s = &sites->brief[i];
		if (!s->peak_calls && !s->live_calls)
			continue;
		if (examined[s->live_calls > 0]++ < KEPT_SITES)
			chosen[n++] = (struct ranked){ s->key, i };
		else
			k->at_least = true;
	}
	rank(chosen, n); /* because neighbours share most of their frames */
	for (i = 0; i < n; i++) {
		s = &sites->brief[chosen[i].item];
		why = profile_kept(names, s->key, s->live_calls);
		if (!why)
			continue;
		by_program = profile_kept_by_program(names, s->key);
		k->imports |= s->live_calls && by_program && profile_is_import(names, s->key);
		add(&k->all, s, by_program);
		add(row_of(k, why), s, by_program);
	}
	free(chosen);
	SORT(k->row, k->rows, by_bytes);
}

const char *kept_by(const struct kept *k)
{
	return k->imports ? "imports and run-time libraries" : "run-time libraries";
}

const char *kept_least(const struct kept *k)
{
	return k->at_least ? "at least " : "";
}
