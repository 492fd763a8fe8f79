// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * compile.c - the compiler from outside: making it, and the header at the end.
 */
#include "compile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compile_parts.h"

/* ---- making and releasing ---- */

static void keep_strings(struct compile *c)
{
	const char *given[] = { c->options.program, c->options.source, c->options.input };
	size_t i;

	for (i = 0; i < 3; i++)
		c->strings[i] = must_strdup(given[i] ? given[i] : "");
	if (c->options.run_id)
		memcpy(c->run_id, c->options.run_id, sizeof(c->run_id));
}

static int make_inner(struct compile *c, struct error *err)
{
	struct compile_options o = c->options;
	int ret;

	o.change = NULL;
	ret = compile_new(&c->inner, &o, err);
	if (!ret)
		c->inner->changed = true;
	return ret;
}

int compile_new(struct compile **out, const struct compile_options *o, struct error *err)
{
	struct compile *c = must_calloc(1, sizeof(*c));
	int ret;

	*out = NULL;
	c->options = *o;
	c->change = o->change;
	c->writes = !o->change;
	c->time_word = MPROF_PLAY_TIME;
	c->writer = (struct writer){ .fd = -1, .sites_fd = -1 };
	keep_strings(c);
	(void)compile_find_thread(c, 0); /* there always is at least one */
	ret =
	    c->change ? make_inner(c, err) : writer_open(&c->writer, o->path, o->fd, o->sites, err);
	if (ret) {
		compile_abandon(c);
		return ret;
	}
	*out = c;
	return 0;
}

void compile_abandon(struct compile *c)
{
	uint32_t i;

	if (!c)
		return;
	compile_abandon(c->inner);
	writer_release(&c->writer);
	for (i = 0; i < c->threads; i++)
		free(c->thread[i].pool);
	for (i = 0; i < 3; i++)
		free(c->strings[i]);
	large_free(c->block, c->block_bytes);
	free(c->thread);
	free(c->thread_place);
	free(c->resting);
	free(c->touch_at);
	free(c->by_index);
	free(c->gone);
	free(c->forker);
	free(c->tag);
	free(c);
}

void compile_found(struct compile *c, const struct mprof_play_summary *found, bool cut)
{
	struct mprof_play_summary *to = &c->sum;

	to->failed += found->failed;
	to->unknown_frees += found->unknown_frees;
	to->inherited_frees += found->inherited_frees;
	to->double_allocations += found->double_allocations;
	to->inversions += found->inversions;
	to->null_frees += found->null_frees;
	to->swept += found->swept;
	to->lost += found->lost;
	to->damaged += found->damaged;
	to->peak_rss_bytes += found->peak_rss_bytes;
	c->cut |= cut;
}

/* ---- the end ---- */

static void play_ends(struct compile *c)
{
	uint32_t i;

	for (i = 0; i < c->begun; i++)
		compile_thread_exits(c, &c->thread[c->by_index[i]]);
	writer_room(&c->writer);
	writer_put(&c->writer, MPROF_PLAY_END);
}

static struct mprof_play_thread *list_threads(struct compile *c)
{
	struct mprof_play_thread *list = must_calloc(c->begun + 1, sizeof(*list));
	const struct compile_thread *t;
	uint32_t i;

	for (i = 0; i < c->begun; i++) {
		t = &c->thread[c->by_index[i]];
		list[i] = (struct mprof_play_thread){
			.calls = t->calls,
			.first_ns = t->first_ns,
			.last_ns = t->last_ns,
			.recorded = t->number,
			.creator = c->thread[t->creator].index,
		};
	}
	return list;
}

static void copy_string(char *to, size_t room, const char *from)
{
	size_t n = strnlen(from, room - 1);

	memcpy(to, from, n);
	memset(to + n, 0, room - n);
}

static void make_header(const struct compile *c, struct mprof_playback_header *h)
{
	memset(h, 0, sizeof(*h));
	memcpy(h->magic, MPROF_PLAYBACK_MAGIC, sizeof(h->magic));
	h->version = MPROF_PLAYBACK_VERSION;
	h->header_bytes = MPROF_PLAY_PAGE;
	h->slots = c->slots;
	h->threads = c->begun;
	h->flags = c->options.flags | (c->last_ns > c->first_ns ? MPROF_PLAY_HAS_TIMES : 0) |
		   (c->options.sites ? MPROF_PLAY_HAS_SITES : 0) |
		   (c->sum.touched_blocks ? MPROF_PLAY_HAS_TOUCH : 0) |
		   (c->changed ? MPROF_PLAY_CHANGED : 0) | (c->cut ? MPROF_PLAY_CUT : 0);
	h->sum = c->sum;
	copy_string(h->program, sizeof(h->program), c->strings[0]);
	copy_string(h->source, sizeof(h->source), c->strings[1]);
	copy_string(h->input, sizeof(h->input), c->strings[2]);
	memcpy(h->run_id, c->run_id, sizeof(h->run_id));
}

static int finish_file(struct compile *c, struct error *err)
{
	struct mprof_playback_header h;
	struct mprof_play_thread *list;
	int ret;

	if (!c->begun)
		return fail(err, -EINVAL, "nothing to play: no calls to an allocator");
	play_ends(c);
	c->sum.left_bytes = c->live_bytes;
	c->sum.left_blocks = c->live_blocks;
	c->sum.recorded_ns = c->last_ns - c->first_ns;
	if (c->full)
		return fail(err, -EOVERFLOW, "more than 4294967294 blocks live at once");
	list = list_threads(c);
	make_header(c, &h);
	ret = writer_finish(&c->writer, &h, list, err);
	free(list);
	return ret;
}

/* Passes the findings of the outer compiler to the file of the inner one. */
static void hand_over(struct compile *c)
{
	compile_found(c->inner, &c->sum, c->cut);
	c->inner->full |= c->full;
}

int compile_finish(struct compile *c, struct mprof_play_summary *sum, struct error *err)
{
	struct compile *inner = c->inner;
	int ret;

	if (inner) {
		hand_over(c);
		c->inner = NULL;
		ret = compile_finish(inner, sum, err);
	} else {
		ret = finish_file(c, err);
		if (sum)
			*sum = c->sum;
	}
	compile_abandon(c);
	return ret;
}
