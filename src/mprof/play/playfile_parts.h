/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* playfile_parts.h - what the parts of the reader share; nobody else includes it. */
#ifndef MPROF_PLAY_PLAYFILE_PARTS_H
#define MPROF_PLAY_PLAYFILE_PARTS_H

#include <mprof/format.h>

#include "playfile.h"

struct playfile {
	char *path;
	const char *map;
	uint64_t bytes;			     /* of the file */
	struct mprof_playback_header header; /* a copy, strings ended */
};

#endif
