/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * export_series.h - the options of `mprof export` for formats that tell of times
 * and of single blocks.
 *
 * A child of the command's parser; its input is the struct export_options.
 */
#ifndef MPROF_CMD_EXPORT_SERIES_H
#define MPROF_CMD_EXPORT_SERIES_H

#include <argp.h>

#include "../export/exports.h"

extern const struct argp export_series_argp;

#define EXPORT_DETAILED 10u /* default of --detailed, as massif's */

/* An option that was given and that the format does not know; NULL: there is none. */
const char *export_series_unknown(const struct export_options *o, unsigned flags);

#endif
