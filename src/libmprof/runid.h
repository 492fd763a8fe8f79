/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * runid.h - which run this process belongs to.
 */
#pragma once

#include <stdint.h>

struct mp_run {
	uint32_t is_new; /* 1 if it is not in the environment, to which it must be added */
	uint8_t id[16], earlier[16]; /* earlier: the run whose file may become PATH.old */
	char path[4096];	     /* "" until the run has a file */
};
extern struct mp_run mp_run;
int mp_run_from_env(struct mp_run *run); /* 1 if MPROF_RUN was present and well-formed */
void mp_run_random(struct mp_run *run);
/* Called by the constructor, when libc has its environ: adds MPROF_RUN, so that children join
 * the run. */
void mp_run_to_env(void);
