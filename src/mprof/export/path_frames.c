// SPDX-License-Identifier: LGPL-3.0-or-later
/* path_frames.c - the frames of a path. */
#include "path_frames.h"

#include "../util/alloc.h"
#include "exports.h"

bool place_next(const struct profile_path *path, size_t *at, struct place *to)
{
	size_t end = *at, first = end;

	if (!end)
		return false;
	/* An inlined line belongs to the next one outward. */
	do
		first--;
	while (first && path->line[first]->inlined && path->frame[first - 1] == path->frame[first]);
	to->frame = path->frame[first];
	to->lines = (uint32_t)(end - first);
	to->line = path->line + first;
	to->key = (uint64_t)to->frame << 32 | to->lines;
	*at = first;
	return true;
}

void place_command(FILE *out, const struct profile *p)
{
	const struct trace_fact *f;
	size_t i;

	if (!p->tree.processes || !p->tree.process[0].images)
		return;
	f = p->tree.process[0].image[0];
	if (!f->argc)
		export_name(out, f->exe, "", ' ');
	for (i = 0; i < f->argc; i++) {
		if (i)
			fputc(' ', out);
		export_name(out, f->argv[i], "", ' ');
	}
}

char *place_command_text(const struct profile *p)
{
	return WRITTEN(out, place_command(out, p));
}
