/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* print_retained.h - freed memory that stays resident, in words and as a finding in JSON. */
#pragma once

#include <stdio.h>

#include "../profile/retained.h"
#include "json.h"

/* Prints two sentences, or nothing without a finding. */
void retained_sentence(const struct analysis *a, const struct retained *f, FILE *out);
/* The command that shows which allocators keep less. */
void retained_command(const struct analysis *a, const struct retained *f, FILE *out);
/* The finding as JSON; NULL without one. */
json *retained_json(const struct analysis *a, const struct retained *f);
