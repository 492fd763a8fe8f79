/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* playfile_parts.h - private to the files of the reader. */
#pragma once

#include <mprof/format.h>

#include "playfile.h"

struct playfile {
	char *path;
	const char *map;
	uint64_t bytes;			     /* size of the file */
	struct mprof_playback_header header; /* a copy whose strings end with NUL */
};
