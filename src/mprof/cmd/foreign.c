// SPDX-License-Identifier: LGPL-3.0-or-later
/* foreign.c - messages about a record that another tool made. */
#include "foreign.h"

#include "../util/format.h"
#include "cmd.h"

bool foreign_tell(const struct trace *t)
{
	const struct import_report *r = import_report(t);
	const char *path = trace_path(t);
	size_t i;

	for (i = 0; r && i < r->remarks; i++)
		cmd_warn("%s: %s", path, r->remark[i]);
	if (r && r->bad > r->remarks)
		cmd_warn("%s: %s left out", path,
			 format_many(r->bad - r->remarks, "more line", "more lines").s);
	if (r && r->cut)
		cmd_warn("%s ends in the middle", path);
	return r;
}

void foreign_tell_times(const struct trace *t)
{
	if (foreign_tell(t) && !trace_source(t)->timed)
		cmd_warn("%s is %s, which has no times: each call counts as %u us", trace_path(t),
			 import_title(t), TRACE_UNTIMED / 1000);
}
