// SPDX-License-Identifier: LGPL-3.0-or-later
/* room.c - how much memory there is to play in. */
#include "room.h"

#include <errno.h>
#include <string.h>

#include "../util/memory.h"

#define ROOM_UNASKED ((uint64_t)2 << 30)

/* A recording of some kilobytes may ask for gigabytes. */
static uint64_t usual(uint64_t free)
{
	return free / 2 < ROOM_UNASKED ? free / 2 : ROOM_UNASKED;
}

int room_check(const struct mprof_playback_header *head, const char *touch, struct error *err)
{
	const uint64_t most = head->sum.peak_bytes, free = memory_free();
	const uint64_t asked = memory_cap_asked(), may = asked ? asked : usual(free);

	if (most <= may || (strcmp(touch, "page") && strcmp(touch, "full")))
		return 0;
	if (most > free)
		return fail(err, -EFBIG,
			    "up to %.1f GiB were alive, and %.1f GiB are free here; --touch first "
			    "or none writes to less of them",
			    (double)most / (1 << 30), (double)free / (1 << 30));
	return fail(err, -EFBIG,
		    "up to %.1f GiB were alive, of %.1f GiB that are free here: --memory %.0fG "
		    "allows it; --touch first or none writes to less of them",
		    (double)most / (1 << 30), (double)free / (1 << 30),
		    (double)most / (1 << 30) + 1);
}
