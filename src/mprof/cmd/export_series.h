/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * export_series.h - the options of `mprof export` for formats that contain times or single blocks.
 *
 * OPTION_ROWS(option_series, of a struct export_options).
 */
#pragma once

#include "../export/exports.h"
#include "option.h"

extern const struct option_row option_series[];

#define EXPORT_DETAILED 10u /* default of --detailed, as in massif */

/* Returns an option that was given but that the format does not support, or NULL. */
const char *export_series_unknown(const struct export_options *o, unsigned flags);
