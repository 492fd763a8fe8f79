// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * export_folded.c - folded stacks: one line a site, frames outermost first with
 * a semicolon between, a blank, and the value as an integer.
 */
#include "export.h"

#include <errno.h>

/* Readers split at semicolons and lines, and take the last blank as the border of the value. */
static void put_name(const char *name, FILE *out)
{
	for (; *name; name++) {
		if (*name == ';')
			fputc(':', out);
		else
			fputc((unsigned char)*name < ' ' ? ' ' : *name, out);
	}
}

int export_folded(struct export *x, struct error *err)
{
	const struct profile_path *path;
	size_t i, k;
	uint64_t v;

	for (i = 0; i < x->profile->count; i++) {
		v = profile_value(x->profile, i, x->value);
		if (!v)
			continue;
		path = profile_path(x->profile, x->profile->site[i].key);
		if (!path)
			return fail(err, -ENOMEM, "no memory for the names of '%s'",
				    x->profile->path);
		for (k = 0; k < path->count; k++) {
			put_name(path->line[k]->function, x->out);
			fputc(k + 1 < path->count ? ';' : ' ', x->out);
		}
		if (!path->count)
			fputs("[unknown] ", x->out);
		fprintf(x->out, "%llu\n", (unsigned long long)v);
	}
	return 0;
}
