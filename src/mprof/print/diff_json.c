// SPDX-License-Identifier: LGPL-3.0-or-later
/* diff_json.c - a comparison of two traces as JSON: the fields are in json/diff.def. */
#include "figures.h"
#include "json_rows.h"
#include "print_diff.h"

static const enum line_same same[] = {
	[DIFF_BY_FUNCTION] = LINE_FUNCTION, [DIFF_BY_STACK] = LINE_LINE,
	[DIFF_BY_MODULE] = LINE_MODULE,	    [DIFF_BY_LINE] = LINE_LINE,
	[DIFF_BY_FILE] = LINE_FILE,
};

#include "../json/diff.def"

json *diff_json(const struct diff *d, const struct diff_print *o)
{
	return JSON_NEW(diff, d, o);
}
