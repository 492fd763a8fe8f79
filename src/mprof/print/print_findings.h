/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* print_findings.h - findings of call stacks in words, each with the command that shows the
 * evidence. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "../profile/findings.h"
#include "json.h"

/* most: columns of the name of a function, 0: any. */
void findings_sentence(const struct finding *f, size_t most, FILE *out);
/*
 * A short form after "It also", for a function that was already named. False: the kind has no such
 * form.
 */
bool findings_brief(const struct finding *f, FILE *out);
/* As it can be typed in a shell, the trace's path included; a name of more than `most` letters,
 * unless that is 0, with a * in its middle. */
void findings_command(const struct finding *f, const char *trace, size_t most, FILE *out);
/*
 * Prints the command that plays the proposed change, as above. False: it proposes none that mprof
 * replay can play.
 */
bool findings_proposes(const struct finding *f);
void findings_proof(const struct finding *f, const struct analysis *a, FILE *out);
/* What that command shows: "what it would save if ...", without a full stop. */
void findings_what_if(const struct finding *f, FILE *out);
/* A new array, the caller's; empty without findings. */
json *findings_json(const struct analysis *a);

/* What run-time libraries keep (json/findings.def). */
void kept_fields(json *to, const struct kept *k);
