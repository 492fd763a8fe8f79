/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* foreign.h - messages about a record that another tool made. */
#pragma once

#include <stdbool.h>

#include "../import/import.h"

/* After a record was read, prints on stderr what was left out.  False if t is a trace of mprof. */
bool foreign_tell(const struct trace *t);
/* The same for commands that print times: also warns if the record has none. */
void foreign_tell_times(const struct trace *t);
