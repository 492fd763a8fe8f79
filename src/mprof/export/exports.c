// SPDX-License-Identifier: LGPL-3.0-or-later
/* exports.c - the table of formats. */
#include "exports.h"

#include <string.h>

const struct exporter export_table[] = {
#define EXPORT(name, function, extension, flags, help) { name, function, extension, flags, help },
#include "exports.def"
#undef EXPORT
	{ NULL, NULL, NULL, 0, NULL },
};

const char *const export_names[] = {
#define EXPORT(name, function, extension, flags, help) name,
#include "exports.def"
#undef EXPORT
	NULL,
};

const struct exporter *export_find(const char *name)
{
	const struct exporter *e = export_table;

	while (e->name && strcmp(e->name, name))
		e++;
	return e->name ? e : NULL;
}
