/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* misuse.h - services for MODE=Guard, see struct mprof_host. */
#ifndef MP_MISUSE_H
#define MP_MISUSE_H

#include <mprof/format.h>

void mp_put(unsigned kind, const void *data, size_t bytes);
void mp_misuse(const struct mprof_misuse *m);
unsigned mp_memory_place(const void *ptr, const void *allocator);

#endif
