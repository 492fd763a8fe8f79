/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * report_view.h - `mprof report VIEW [ARG] LOG...`.
 */
#ifndef MPROF_CMD_REPORT_VIEW_H
#define MPROF_CMD_REPORT_VIEW_H

#include "../print/views.h"
#include "profile_options.h"

struct report_view {
	const struct view *view;
	struct view_request request;
	struct profile_cli *cli;
};

/* Reads the trace and prints the view; the exit status. */
int report_view(struct report_view *v, struct trace *t);

#endif
