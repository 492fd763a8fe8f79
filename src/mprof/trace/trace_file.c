/* SPDX-License-Identifier: LGPL-3.0-or-later */
/* trace_file.c - what all parts of the reader use: the file, and its damage. */
#include "reader.h"

#include <string.h>
#include <time.h>

#include "../util/whole.h"

#define REREADS_MAX 2000u /* of chunks that are not complete yet: some seconds */

size_t trace_read(const struct trace *t, void *to, size_t bytes, uint64_t offset)
{
	return read_at(t->fd, to, bytes, offset);
}

void trace_note_damage(struct trace *t, uint64_t *counter, uint64_t by, uint64_t offset)
{
	if (__builtin_add_overflow(*counter, by, counter))
		*counter = UINT64_MAX;
	if (!t->damage.first_bad_offset || offset < t->damage.first_bad_offset)
		t->damage.first_bad_offset = offset;
	trace_see_damage(t);
}

bool trace_is_damaged(const struct trace_damage *d)
{
	static const struct trace_damage none;

	return memcmp(d, &none, offsetof(struct trace_damage, lost)) != 0;
}

bool trace_lacks_events(const struct trace_damage *d)
{
	return d->chunks_missing || d->chunks_bad || d->words_bad || d->bytes_missing ||
	       d->bytes_skipped || d->bytes_cut || d->chunks_unseen || d->lines_bad || d->lines_cut;
}

void trace_see_damage(struct trace *t)
{
	enum { COUNTERS = offsetof(struct trace_damage, first_bad_offset) / sizeof(uint64_t) };
	uint64_t found[COUNTERS], seen[COUNTERS];
	const uint64_t offset = t->damage.first_bad_offset;

	memcpy(found, &t->damage, sizeof(found));
	memcpy(seen, &t->damage_seen, sizeof(seen));
	for (unsigned i = 0; i < COUNTERS; i++)
		seen[i] = found[i] > seen[i] ? found[i] : seen[i];
	memcpy(&t->damage_seen, seen, sizeof(seen));
	if (offset &&
	    (!t->damage_seen.first_bad_offset || offset < t->damage_seen.first_bad_offset))
		t->damage_seen.first_bad_offset = offset;
}

bool trace_has_events(const struct trace *t)
{
	return !memcmp(t->header.magic, MPROF_MAGIC_TRACE, MPROF_MAGIC_SIZE) && !t->only_totals;
}

bool trace_has_totals(const struct trace *t)
{
	return t->totals != 0;
}

void trace_show_totals(struct trace *t)
{
	t->only_totals = true;
}

void trace_wait(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

bool trace_has_dropped(const struct trace *t, uint64_t offset)
{
	const uint64_t at = offsetof(struct mprof_file_header, dropped_to);
	uint64_t now[2]; /* dropped_to, dropped_ticks */

	return !(t->header.flags & MPROF_FILE_COMPRESSED) &&
	       trace_read(t, now, sizeof(now), at) == sizeof(now) && now[1] && offset < now[0];
}

bool trace_reread(struct trace *t)
{
	if (!t->may_complete || t->chunk_rereads >= REREADS_MAX)
		return false;
	t->chunk_rereads++;
	trace_wait();
	return true;
}
