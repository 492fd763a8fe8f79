// SPDX-License-Identifier: LGPL-3.0-or-later
/* flat_json.c - views that are a list, as JSON: the fields are in json/flat.def. */
#include "flat_view.h"
#include "json_rows.h"

#include "../json/flat.def"

json *flat_view_json_row(struct view_request *r, size_t i)
{
	return JSON_NEW(row, r, &r->profile->group[i]);
}

size_t flat_view_json_rows(const struct view_request *r)
{
	return flat_view_rows(r, NULL);
}

void flat_view_json(struct view_request *r, json *o)
{
	size_t more;

	flat_view_rows(r, &more);
	flat_view_fields(o, r, more);
}
