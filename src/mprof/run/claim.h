/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* claim.h - names that one mprof has at a time, until it ends in any way. */
#pragma once

/*
 * Takes the name for the file descriptor that it returns; also a forked child has it.  -EADDRINUSE:
 * another mprof has it; another -errno: no names can be taken here.
 */
int claim_take(const char *name);
