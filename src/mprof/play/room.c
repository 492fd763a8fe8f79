// SPDX-License-Identifier: LGPL-3.0-or-later
/* room.c - is there enough memory for a playback? */
#include "room.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"
#include "../util/format.h"
#include "../util/memory.h"
#include "playfile.h"

#define ROOM_UNASKED ((uint64_t)2 << 30)

/* A recording of a few kilobytes may request gigabytes. */
static uint64_t usual(uint64_t free)
{
	return free / 2 < ROOM_UNASKED ? free / 2 : ROOM_UNASKED;
}

/* Returns the most bytes touched at one time, as recorded; a block counts entirely if that is
 * unknown. */
static uint64_t recorded_most(const struct playfile *p, uint64_t *live)
{
	struct playfile_cursor c;
	struct playfile_op op;
	uint64_t now = 0, most = 0;

	playfile_start(&c, p);
	while (playfile_next(&c, &op)) {
		now -= live[op.slot];
		live[op.slot] = op.kind == MPROF_PLAY_FREE ? 0
				: op.touched < op.size	   ? op.touched
							   : op.size;
		if (__builtin_add_overflow(now, live[op.slot], &now))
			return UINT64_MAX;
		most = now > most ? now : most;
	}
	return most;
}

static int find_recorded(const char *path, uint64_t *most, struct error *err)
{
	struct playfile *p;
	uint64_t *live;
	int ret = playfile_open(&p, path, err);

	if (ret)
		return ret;
	live = must_calloc(playfile_header(p)->slots + 1, sizeof(*live));
	*most = recorded_most(p, live);
	free(live);
	playfile_close(p);
	return 0;
}

int room_check(const struct mprof_playback_header *head, const char *playback, const char *touch,
	       struct error *err)
{
	const uint64_t free = memory_free();
	const uint64_t asked = memory_cap_asked(), may = asked ? asked : usual(free);
	uint64_t most = head->sum.peak_bytes;

	if (most <= may || !strcmp(touch, "none") || !strcmp(touch, "first"))
		return 0;
	if (!strcmp(touch, "recorded") && find_recorded(playback, &most, err))
		return -EFBIG;
	if (most <= may)
		return 0;
	if (most > free)
		return fail(
		    err, -EFBIG,
		    "up to %s were live, and %s are free here; --touch first or none uses less",
		    format_bytes(most).s, format_bytes(free).s);
	return fail(err, -EFBIG,
		    "up to %s were live, and %s are free here: --memory %.0fG allows it; --touch "
		    "first or none uses less",
		    format_bytes(most).s, format_bytes(free).s, (double)most / (1 << 30) + 1);
}
