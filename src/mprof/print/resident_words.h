/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * resident_words.h - sentences about what was resident, which the system tells for each process.
 */
#pragma once

#include "../pass/analysis.h"
#include "paragraph.h"

/* A sentence, if much of it may be mprof's own for very many call stacks, and --depth helps. */
void resident_of_stacks(struct paragraph *words, const struct analysis *a);
/* A sentence, if much of it was in huge pages: they make it larger than what the program wrote. */
void resident_huge_pages(struct paragraph *words, const struct analysis *a);
/* A sentence, if several processes had clearly more together than the largest had. */
void resident_together(struct paragraph *words, const struct analysis *a);
