/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* html_realloc.h - blocks that grew step by step, for the page Realloc. */
#ifndef MPROF_HTML_HTML_REALLOC_H
#define MPROF_HTML_HTML_REALLOC_H

#include "../pass/growth.h"
#include "html_data.h"

/* An object with sums and a row for each node of the page, largest saving first. */
json *html_realloc_json(const struct growth *g, const struct html_map *map);

#endif
