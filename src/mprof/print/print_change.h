/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* print_change.h - what a change of a program's calls would save, as text and JSON. */
#pragma once

#include <stdio.h>

#include "../whatif/change.h"
#include "../whatif/change_runs.h"
#include "json.h"

struct change_answer {
	const char *path; /* as it was given */
	const struct change_rule *rule;
	size_t rules;
	const struct change_runs *runs;
	const struct change_runs_plan *plan;
};

void change_text(const struct change_answer *a, FILE *out);
/* Names and units: src/mprof/json. */
json *change_json(const struct change_answer *a);
