/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* trace_text.h - all that a file says, as text, for comparing with what was expected. */
#pragma once

#include <stddef.h>
#include <stdio.h>

#include "trace/trace.h"

/* One line for an event, one for each fact, sample and counts record, and one for each damage. */
void trace_text_event(FILE *out, const struct event *e);
void trace_text(FILE *out, struct trace *t);

/*
 * Opens and walks; the error line when it is refused, with `name` in place of
 * path.  The caller frees the text.  For a counts file: "counts" as kind.
 */
char *trace_text_of(const char *path, const char *name, const char *magic);
