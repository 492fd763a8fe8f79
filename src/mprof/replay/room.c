// SPDX-License-Identifier: LGPL-3.0-or-later
/* room.c - how much memory there is to play in. */
#include "room.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

uint64_t room_available(void)
{
	FILE *f = fopen("/proc/meminfo", "re");
	unsigned long long kib = 0;
	char line[128];

	while (f && !kib && fgets(line, sizeof(line), f))
		sscanf(line, "MemAvailable: %llu", &kib);
	if (f)
		fclose(f);
	return kib ? kib * 1024
		   : (uint64_t)sysconf(_SC_AVPHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
}

int room_check(const struct mprof_playback_header *head, const char *touch, struct error *err)
{
	const uint64_t most = head->sum.peak_bytes, room = room_available();

	if (most <= room || (strcmp(touch, "page") && strcmp(touch, "full")))
		return 0;
	return fail(err, -EFBIG,
		    "up to %.1f GiB were alive, and %.1f GiB are free here; --touch first or none "
		    "writes to less of them",
		    (double)most / (1 << 30), (double)room / (1 << 30));
}
