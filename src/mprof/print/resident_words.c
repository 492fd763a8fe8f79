// SPDX-License-Identifier: LGPL-3.0-or-later
/* resident_words.c - see resident_words.h. */
#include "resident_words.h"

#include "../profile/findings.h"
#include "../util/format.h"

#define STACK_BYTES 64u /* that a stack takes at least: its entry, places in tables, frames */

void resident_of_stacks(struct paragraph *words, const struct analysis *a)
{
	const struct tree_process *p = tree_largest(&a->tree);
	const struct shorter_stacks *s = a->findings ? &a->findings->shorter : NULL;

	if (p && s && s->depth && s->all * STACK_BYTES >= p->peak_rss_bytes / 16)
		paragraph_add(words,
			      "mprof kept %s different call stacks, which take some of this "
			      "memory; --depth %u would leave about %s. ",
			      format_count(s->all).s, s->depth, format_count(s->left).s);
}

#define HUGE_LEAST (8u << 20)

void resident_huge_pages(struct paragraph *words, const struct analysis *a)
{
	const struct tree_process *p = tree_largest(&a->tree);
	const uint64_t huge = p ? p->huge_most * a->walk.heap.page_size : 0;

	if (huge >= HUGE_LEAST && huge >= p->peak_rss_bytes / 4)
		paragraph_add(
		    words,
		    "Up to %s of the resident memory was in transparent huge pages, each of "
		    "which is resident as a whole once a byte of it is written. ",
		    format_bytes(huge < p->peak_rss_bytes ? huge : p->peak_rss_bytes).s);
}

/* Forks that share all of it have no more. */
void resident_together(struct paragraph *words, const struct analysis *a)
{
	const struct tree_process *p = tree_largest(&a->tree);
	const uint64_t rss = p ? p->peak_rss_bytes : 0;

	if (a->tree.processes > 1 && rss && a->tree.together > rss + rss / 4)
		paragraph_add(words,
			      "All processes together had at least %s at one time, with pages "
			      "that they share counted once. ",
			      format_bytes(a->tree.together).s);
}
