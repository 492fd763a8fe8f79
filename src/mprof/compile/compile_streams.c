// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * compile_streams.c - the THREAD streams: ORDER by thread.
 *
 * ORDER is walked twice: first to find the length of each stream, then to write them, each to its
 * place through a small buffer. Both walks produce the same words.
 */
#include <stdlib.h>

#include "../util/alloc.h"
#include "../util/inline.h"
#include "compile_write.h"

#define BUFFER 1024u /* words of one thread */
#define NOBODY UINT32_MAX

struct slot_state {
	uint32_t thread; /* the thread that used the slot last */
	uint32_t generation;
};

struct lane {
	uint64_t *word; /* BUFFER words; NULL while it is empty */
	uint32_t words;
	uint64_t total;	 /* words so far */
	uint64_t offset; /* offset of the buffer in the file */
	uint64_t time;	 /* of the last TIME word */
};

struct dealer {
	struct writer *w;
	struct slot_state *slot;
	struct lane *lane;
	uint32_t thread;
	uint64_t ext, time; /* pending: an EXT word or 0; the last TIME word */
};

static __attribute__((noinline)) void lane_flush(struct dealer *d, struct lane *l)
{
	if (!l->words)
		return;
	writer_pwrite(d->w, l->word, l->words * sizeof(*l->word), l->offset);
	l->offset += l->words * sizeof(*l->word);
	l->words = 0;
}

ALWAYS_INLINE void deal(struct dealer *d, uint64_t word, bool writing)
{
	struct lane *l = &d->lane[d->thread];

	l->total++;
	if (!writing)
		return;
	if (!l->word)
		l->word = must_malloc(BUFFER * sizeof(*l->word));
	if (l->words == BUFFER)
		lane_flush(d, l);
	l->word[l->words++] = word;
}

/* Returns the generation of the slot after the call. */
static uint32_t generation_after(uint32_t g, unsigned op)
{
	if (op == MPROF_PLAY_FREE)
		return g & ~1u;
	return ((((g >> 1) + 1) & 0x3fff) << 1) | 1;
}

ALWAYS_INLINE void deal_call(struct dealer *d, uint64_t word, bool writing)
{
	struct slot_state *s = &d->slot[mprof_play_slot(word)];
	struct lane *l = &d->lane[d->thread];
	uint64_t ext = d->ext;

	if (d->time != l->time) {
		deal(d, d->time, writing);
		l->time = d->time;
	}
	if (s->thread != d->thread && s->thread != NOBODY)
		ext = (ext ? ext : mprof_play_ext(0, 0, 0, 0)) | (uint64_t)(s->generation + 1)
								     << 16;
	if (ext)
		deal(d, ext, writing);
	deal(d, word, writing);
	d->ext = 0;
	s->thread = d->thread;
	s->generation = generation_after(s->generation, mprof_play_op(word));
}

static void deal_exit(struct dealer *d, uint64_t word, bool writing)
{
	struct lane *l = &d->lane[d->thread];

	deal(d, word, writing);
	deal(d, MPROF_PLAY_END, writing);
	if (writing)
		lane_flush(d, l);
	free(l->word);
	l->word = NULL;
}

ALWAYS_INLINE void deal_word(struct dealer *d, uint64_t word, bool writing)
{
	switch (mprof_play_op(word)) {
	case MPROF_PLAY_END:
		break;
	case MPROF_PLAY_EXT:
		d->ext = word;
		break;
	case MPROF_PLAY_SWITCH:
		d->thread = mprof_play_slot(word);
		break;
	case MPROF_PLAY_TIME:
		d->time = word;
		break;
	case MPROF_PLAY_EXIT:
		deal_exit(d, word, writing);
		break;
	case MPROF_PLAY_CREATE:
	case MPROF_PLAY_GONE:
	case MPROF_PLAY_TOUCH:
		deal(d, word, writing);
		break;
	default:
		deal_call(d, word, writing);
	}
}

ALWAYS_INLINE void walk(struct dealer *d, uint64_t slots, uint64_t words, bool writing)
{
	uint64_t done, i, n;

	for (i = 0; i < slots; i++)
		d->slot[i] = (struct slot_state){ .thread = NOBODY };
	d->thread = 0;
	d->ext = 0;
	d->time = MPROF_PLAY_TIME;
	for (done = 0; done < words && !d->w->error; done += n) {
		n = words - done < WRITER_WORDS ? words - done : WRITER_WORDS;
		if (writer_pread(d->w, d->w->fd, d->w->word, n * sizeof(*d->w->word),
				 MPROF_PLAY_PAGE + done * sizeof(*d->w->word)))
			return;
		for (i = 0; i < n; i++)
			deal_word(d, d->w->word[i], writing);
	}
}

static void place(struct dealer *d, const struct mprof_playback_header *h,
		  struct mprof_play_thread *thread)
{
	uint64_t offset = d->w->end;
	uint32_t i;

	for (i = 0; i < h->threads; i++) {
		thread[i].words = d->lane[i].total;
		thread[i].offset = offset;
		d->lane[i] = (struct lane){ .offset = offset, .time = MPROF_PLAY_TIME };
		offset += thread[i].words * sizeof(uint64_t);
	}
}

int streams_write(struct writer *w, struct mprof_playback_header *h,
		  struct mprof_play_thread *thread)
{
	struct dealer d = { .w = w };
	uint64_t words = h->order.bytes / sizeof(uint64_t);
	uint32_t i;

	d.slot = must_malloc((h->slots + 1) * sizeof(*d.slot));
	d.lane = must_calloc(h->threads, sizeof(*d.lane));
	for (i = 0; i < h->threads; i++)
		d.lane[i].time = MPROF_PLAY_TIME;
	walk(&d, h->slots, words, false);
	place(&d, h, thread);
	walk(&d, h->slots, words, true);
	for (i = 0; i < h->threads; i++)
		free(d.lane[i].word);
	free(d.slot);
	free(d.lane);
	return w->error;
}
