// SPDX-License-Identifier: LGPL-3.0-or-later
/* askers.c - see askers.h. */
#include "askers.h"

#include <stdlib.h>

#include "../util/alloc.h"
#include "../util/rank.h"

#define NAMED_SITES 1000000u /* of more, those with fewest bytes remain unnamed */

/* Sets the ids of a site's line and its function: many sites have one line. */
static void name(struct askers *t, struct hash *known, struct asker *a)
{
	uint64_t *ids = hash_at(known, (uintptr_t)a->who.line);

	if (!*ids)
		*ids = (uint64_t)line_interner_id(&t->functions, a->who.line) << 32 |
		       line_interner_id(&t->lines, a->who.line);
	a->function = (uint32_t)(*ids >> 32);
	a->line = (uint32_t)*ids;
}

/* Lists the sites of each function. */
static void list_sites(struct askers *t, size_t sites)
{
	const size_t functions = t->functions.keys.count;
	uint32_t n = 0;

	t->site = must_calloc(sites + 1, sizeof(*t->site));
	t->first = must_calloc(functions + 2, sizeof(*t->first));
	/* first[id + 1] counts until it is where the function's next site belongs. */
	for (size_t i = 0; i < sites; i++)
		if (t->of[i].function)
			t->first[t->of[i].function]++;
	for (size_t id = 0; id <= functions; id++) {
		const uint32_t count = t->first[id];

		t->first[id] = n;
		n += count;
	}
	for (size_t i = 0; i < sites; i++)
		if (t->of[i].function)
			t->site[t->first[t->of[i].function]++] = (uint32_t)i;
}

/* Finds who allocates, in the order of stacks: neighbours share most of their frames. */
static void ask_all(struct askers *t, const struct sites *s, struct profile *names, size_t n)
{
	struct ranked *chosen = must_malloc((n + 1) * sizeof(*chosen));

	for (size_t i = 0; i < n; i++)
		chosen[i] = (struct ranked){ s->brief[i].key, i };
	rank(chosen, n);
	for (size_t i = 0; i < n; i++)
		t->of[chosen[i].item].who = profile_asked(names, (uint32_t)chosen[i].key);
	free(chosen);
}

void askers_find(struct askers *t, const struct sites *s, struct profile *names)
{
	const size_t n = s->count < NAMED_SITES ? s->count : NAMED_SITES;
	struct hash known = { .slot = NULL };

	*t = (struct askers){ .functions.same = LINE_FUNCTION,
			      .lines.same = LINE_LINE,
			      .of = must_calloc(s->count + 1, sizeof(*t->of)) };
	ask_all(t, s, names, n);
	for (size_t i = 0; i < n; i++)
		if (t->of[i].who.line)
			name(t, &known, &t->of[i]);
	hash_release(&known);
	list_sites(t, s->count);
}

void askers_number_paths(struct askers *t, const struct sites *s, struct profile *names,
			 uint32_t function)
{
	const uint32_t first = t->first[function - 1], end = t->first[function];
	struct ranked *chosen = must_malloc((end - first + 1) * sizeof(*chosen));
	size_t n = 0;

	for (uint32_t i = first; i < end; i++)
		if (!t->of[t->site[i]].path)
			chosen[n++] = (struct ranked){ s->brief[t->site[i]].key, t->site[i] };
	rank(chosen, n);
	for (size_t i = 0; i < n; i++)
		t->of[chosen[i].item].path = profile_path_number(names, (uint32_t)chosen[i].key);
	free(chosen);
}

bool askers_leaks(struct askers *t, const struct sites *s, struct profile *names, size_t i)
{
	struct asker *a = &t->of[i];

	if (!a->leaks)
		a->leaks =
		    profile_suppresses(names, s->brief[i].key, s->brief[i].live_calls) ? 1 : 2;
	return a->leaks == 2;
}

bool askers_kept(struct askers *t, const struct sites *s, struct profile *names, size_t i)
{
	struct asker *a = &t->of[i];

	if (!a->kept)
		a->kept = profile_kept(names, s->brief[i].key, s->brief[i].live_calls) &&
				  !profile_kept_by_program(names, s->brief[i].key)
			      ? 2
			      : 1;
	return a->kept == 2;
}

void askers_release(struct askers *t)
{
	line_interner_release(&t->functions);
	line_interner_release(&t->lines);
	free(t->of);
	free(t->site);
	free(t->first);
}
