/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * start.h - the start of the library, and the services that it passes to a MODE.
 */
#pragma once

#include <mprof/module.h>

/*
 * Initialises unless another thread does.  caller: an address in the code that called us, because
 * modules that load objects must wait while the loader itself calls.
 * Returns 1 once the library is initialised: mp_api no longer points to boot's table.
 */
int mp_boot_try(const void *caller);
/* 1 while initialisation waits for libc, because a module loads objects. */
int mp_boot_waiting(void);
extern const struct mprof_host mp_host; /* host.c */
