// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * taken.c - what groups have of a run that goes on (FORMAT.md 8.6).
 *
 * While mprof compresses a trace that is still written, groups hold the earlier events, and chunks
 * the later ones.  A TAKEN extent says how far the groups have come in each thread; it is what
 * makes them count.
 */
#include "../util/order.h"
#include "reader.h"

#include <errno.h>
#include <stdlib.h>

#include "lock.h"

#define LOCK_TRIES 1000 /* pauses of trace_wait() */

void lock_shared(int fd)
{
	struct flock lock = lock_of(F_RDLCK);

	for (int i = 0; i < LOCK_TRIES && fcntl(fd, F_OFD_SETLK, &lock) &&
			(errno == EAGAIN || errno == EACCES || errno == EINTR);
	     i++)
		trace_wait();
}

ORDER(by_thread, struct mprof_taken_entry, RISING(process) ?: RISING(thread))

const struct mprof_taken_entry *taken_of(const struct trace *t, uint32_t process, uint32_t thread)
{
	const struct mprof_taken_entry *e = t->taken;
	const size_t i = FIRST_WHERE(k, t->taken_n,
				     e[k].process > process ||
					 (e[k].process == process && e[k].thread >= thread));

	return i < t->taken_n && e[i].process == process && e[i].thread == thread ? &e[i] : NULL;
}

/* Takes the entries of an extent if its groups are more than those of earlier ones. */
static void take(struct trace *t, const struct extent *x)
{
	const struct mprof_taken *head = records_payload(t, x, sizeof(*head));
	const size_t room = (x->head.used - sizeof(*head)) / sizeof(struct mprof_taken_entry);

	if (!head || head->entries > room) {
		if (head)
			trace_note_damage(t, &t->damage.chunks_bad, 1, x->head.offset);
		return;
	}
	if (t->has_taken && head->groups <= t->taken_groups)
		return;
	t->has_taken = true;
	t->taken_groups = head->groups;
	t->taken = (const struct mprof_taken_entry *)(head + 1);
	t->taken_n = head->entries;
}

void taken_find(struct trace *t, const struct extents *x)
{
	if (t->is_rest || t->header.flags & MPROF_FILE_COMPRESSED)
		return;
	for (size_t i = 0; i < x->n; i++)
		if (x->item[i].kind == MPROF_EXTENT_TAKEN)
			take(t, &x->item[i]);
	for (size_t i = 1; i < t->taken_n; i++)
		if (by_thread(&t->taken[i - 1], &t->taken[i]) >= 0) {
			trace_note_damage(t, &t->damage.chunks_bad, 1, t->header_bytes);
			t->taken_n = i;
		}
}
