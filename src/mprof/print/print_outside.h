/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* print_outside.h - memory that was not allocated through malloc, in words and as a finding in
 * JSON. */
#pragma once

#include <stdio.h>

#include "../profile/outside.h"
#include "json.h"

/* Prints one sentence, or nothing without such memory. */
void outside_sentence(const struct analysis *a, const struct outside *o, FILE *out);
/* As one of the findings; NULL if there is no such memory. */
json *outside_json(const struct analysis *a, const struct outside *o);
