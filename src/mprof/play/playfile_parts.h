/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* playfile_parts.h - shared by the files of the reader only. */
#pragma once

#include <mprof/format.h>

#include "playfile.h"

struct playfile {
	char *path;
	const char *map;
	uint64_t bytes;			     /* of the file */
	struct mprof_playback_header header; /* a copy, strings ended */
};
