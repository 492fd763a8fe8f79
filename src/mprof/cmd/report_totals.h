/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* report_totals.h - `mprof report` of a profile as a whole. */
#ifndef MPROF_CMD_REPORT_TOTALS_H
#define MPROF_CMD_REPORT_TOTALS_H

#include "../print/report.h"
#include "../profile/profile.h"

/* explain: fills in what files say now; o is changed.  0, or -errno and err. */
int report_totals(struct trace *t, struct profile_options *o, const struct report_options *report,
		  bool json, void (*explain)(struct tree *tree), struct error *err);

#endif
