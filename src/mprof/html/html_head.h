/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* html_head.h - HEAD: the facts of a page that are no numbers by the million (page.def). */
#ifndef MPROF_HTML_HTML_HEAD_H
#define MPROF_HTML_HTML_HEAD_H

#include "html_report.h"
#include "../util/format.h"

/* The caller's; without home directories unless the page is served. */
json *html_head(const struct html_report *r);
/* What was started first, as it would be typed. */
struct long_text html_command(const struct analysis *a);

#endif
