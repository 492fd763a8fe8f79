/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * peak.h - when this process was largest.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

void mp_peak_begin(int forked);			/* in a new process, or in a new program of one */
int mp_peak_look(unsigned large, uint64_t now); /* module.h */
const uint64_t *mp_peak_times(void);		/* module.h */
void mp_peak_falls(size_t bytes);		/* bytes are about to be unmapped */
uint64_t mp_peak_last(void); /* called when the program is about to end; the mark, 0 if unknown */
