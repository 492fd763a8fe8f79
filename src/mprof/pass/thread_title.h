/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* thread_title.h - how an answer names a thread. */
#pragma once

#include <stdint.h>

#include "../util/format.h"

/* Returns "3 (io-worker)", or "3" for a thread without a name, "". */
struct text thread_title(const char *name, uint32_t number);
