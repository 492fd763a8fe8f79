// SPDX-License-Identifier: LGPL-3.0-or-later
/* askers.c - see askers.h. */
#include "askers.h"

#include <stdlib.h>

#include "../util/alloc.h"
#include "../util/rank.h"

#define NAMED_SITES 1000000u /* of more, those with fewest bytes remain unnamed */

void askers_find(struct askers *t, const struct sites *s, struct profile *names)
{
	struct profile_asked a;
	size_t i;

	*t = (struct askers){ .functions.same = LINE_FUNCTION,
			      .lines.same = LINE_LINE,
			      .paths = PATH_KEYS_EMPTY,
			      .of = must_calloc(s->count + 1, sizeof(*t->of)) };
	for (i = 0; i < s->count && i < NAMED_SITES; i++) {
		a = profile_asked(names, s->site[i].key);
		if (!a.line)
			continue;
		t->of[i] = (struct asker){ .function = line_interner_id(&t->functions, a.line),
					   .line = line_interner_id(&t->lines, a.line),
					   .through = a.through,
					   .caller = a.caller };
	}
}

/* Neighbours share most of their lines, so the paths are formed by stack. */
void askers_form_paths(struct askers *t, const struct sites *s, struct profile *names,
		       uint32_t function)
{
	struct ranked *chosen = must_calloc(s->count + 1, sizeof(*chosen));
	const struct profile_path *path;
	size_t i, n = 0;

	for (i = 0; i < s->count; i++)
		if (t->of[i].function == function && !t->of[i].path)
			chosen[n++] = (struct ranked){ s->site[i].key, i };
	rank(chosen, n);
	for (i = 0; i < n; i++) {
		path = profile_path_once(names, (uint32_t)chosen[i].key);
		t->of[chosen[i].item].path = path_interner_id(&t->paths, path, path->count);
	}
	free(chosen);
}

void askers_release(struct askers *t)
{
	line_interner_release(&t->functions);
	line_interner_release(&t->lines);
	path_interner_release(&t->paths);
	free(t->of);
}
