/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * report_view.h - `mprof report VIEW [ARG] LOG...`.
 */
#pragma once

#include "../print/views.h"
#include "profile_options.h"
#include "when.h"

struct report_view {
	const struct view *view;
	struct view_request request;
	struct profile_cli *cli;
	struct when at;
};

/* Returns why the view does not support --at; NULL if it does, or if --at was not given. */
const char *report_view_moment(const struct report_view *v);

/* Reads the trace and prints the view; returns the exit status. */
int report_view(struct report_view *v, struct trace *t);
