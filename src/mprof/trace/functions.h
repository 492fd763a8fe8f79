/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* functions.h - the functions of the allocation API (mprof/functions.def), by code. */
#pragma once

#include <mprof/format.h>
#include <stdint.h>

extern const uint8_t function_class[MPROF_FN_MAX]; /* enum mprof_fn_class */

/* Returns "malloc" for MPROF_FN_MALLOC; NULL if no function has this code. */
const char *function_name(unsigned fn);
