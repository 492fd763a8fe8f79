/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* report_json.h - parts of the JSON report that other answers have, too (json/report.def). */
#ifndef MPROF_PRINT_REPORT_JSON_H
#define MPROF_PRINT_REPORT_JSON_H

#include "json.h"
#include "report.h"

/* All of it: what report_json prints.  NULL or with nulls in it without memory. */
json *report_json_object(const struct analysis *a);

void lost_fields(json *to, const uint64_t *lost);
void process_fields(json *to, const struct analysis *a, const struct tree_process *p);

#endif
