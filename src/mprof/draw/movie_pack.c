// SPDX-License-Identifier: LGPL-3.0-or-later
/* movie_pack.c - streams of a film. */
#include "movie_pack.h"

#include <stdlib.h>
#include <string.h>

#include "../util/alloc.h"

const char *const movie_stream_name[MOVIE_STREAMS] = {
	[MOVIE_FRAME] = "frame", [MOVIE_POINT] = "point", [MOVIE_CHANGES] = "changes",
	[MOVIE_STATE] = "state", [MOVIE_LIVE] = "live",	  [MOVIE_BLOCKS] = "blocks",
	[MOVIE_OWNER] = "owner", [MOVIE_SIZE] = "size",	  [MOVIE_THREAD] = "thread",
	[MOVIE_SITE] = "site",
};

/* The same values as in the player's State. */
enum { ABSENT, MAPPED, RESIDENT, UNKNOWN };
/* Codes of the owner stream; FRESH + age = a new block, described in the later streams. */
enum { NONE, KEPT, AS_BEFORE, FRESH };

/* ---- pages ---- */

/* The block with the most bytes in a page. */
struct owner {
	uint64_t born, size;
	uint32_t site, thread;
};

struct packing {
	struct movie_packed *to;
	const struct film *film;
	struct film_cursor *cursor;
	struct owner *owner;  /* by cell, in the frame before */
	uint64_t *is_changed; /* by cell, since the last kept frame: a bit */
	size_t words;	      /* of is_changed */
	uint32_t *changed;    /* the same in a list, made for each frame */
	unsigned every;
	movie_site_fn *site;
	void *context;
};

static bool same(const struct owner *a, const struct owner *b)
{
	return a->born == b->born && a->size == b->size && a->site == b->site &&
	       a->thread == b->thread;
}

static unsigned char state_of(const struct packing *p, const struct film_cell *c)
{
	if (!p->to->residency)
		return c->live ? UNKNOWN : ABSENT;
	if (c->flags & FILM_RESIDENT)
		return RESIDENT;
	return c->flags & FILM_MAPPED ? MAPPED : ABSENT;
}

static void pack_fresh(struct packing *p, const struct owner *o, uint64_t op)
{
	struct blob *stream = p->to->stream;

	blob_number(&stream[MOVIE_OWNER], FRESH + (op > o->born ? op - o->born : 0));
	blob_number(&stream[MOVIE_SIZE], o->size);
	blob_number(&stream[MOVIE_THREAD], o->thread);
	blob_number(&stream[MOVIE_SITE], p->site(p->context, o->site));
}

/* before: owner of the previous page in this frame. */
static void pack_cell(struct packing *p, uint32_t cell, struct owner *before)
{
	const struct film_cell *c = &p->cursor->cell[cell];
	struct blob *stream = p->to->stream;
	unsigned char state = state_of(p, c);
	struct owner now = { .born = UINT64_MAX };

	if (c->live)
		now = (struct owner){ c->born, c->size, c->site, c->thread };
	blob_add(&stream[MOVIE_STATE], &state, 1);
	blob_number(&stream[MOVIE_LIVE], c->live);
	blob_number(&stream[MOVIE_BLOCKS], c->blocks);
	if (!c->live)
		blob_number(&stream[MOVIE_OWNER], NONE);
	else if (same(&now, &p->owner[cell]))
		blob_number(&stream[MOVIE_OWNER], KEPT);
	else if (same(&now, before))
		blob_number(&stream[MOVIE_OWNER], AS_BEFORE);
	else
		pack_fresh(p, &now, p->film->frame[p->cursor->frame].op);
	*before = p->owner[cell] = now;
}

/* Packs the number of runs; then for each run, the pages since the previous one, and its pages. */
static void pack_runs(struct blob *to, const uint32_t *cell, size_t n)
{
	size_t i, runs = 0, first;
	uint32_t end = 0;

	for (i = 0; i < n; i++)
		runs += !i || cell[i] != cell[i - 1] + 1;
	blob_number(to, runs);
	for (first = 0; first < n; first = i) {
		for (i = first + 1; i < n && cell[i] == cell[i - 1] + 1;)
			i++;
		blob_number(to, cell[first] - end);
		blob_number(to, i - first);
		end = cell[i - 1] + 1;
	}
}

static bool is_kept(const struct packing *p, size_t frame)
{
	return p->film->frame[frame].number % p->every == 0 || frame == p->film->peak ||
	       frame + 1 == p->film->frames;
}

/* Lists the cells that changed, in rising order, and forgets them.  Returns how many there are. */
static size_t take_changed(struct packing *p)
{
	size_t n = 0, i;

	for (i = 0; i < p->words; i++)
		for (; p->is_changed[i]; p->is_changed[i] &= p->is_changed[i] - 1)
			p->changed[n++] =
			    (uint32_t)(64 * i) + (uint32_t)__builtin_ctzll(p->is_changed[i]);
	return n;
}

/* Packs a frame; the changes of a frame that is left out belong to the next one. */
static void pack_frame(struct packing *p)
{
	const struct film_cursor *c = p->cursor;
	struct owner before = { .born = UINT64_MAX };
	size_t changes, i;

	for (i = 0; i < c->changes; i++)
		p->is_changed[c->changed[i] / 64] |= UINT64_C(1) << c->changed[i] % 64;
	if (!is_kept(p, c->frame))
		return;
	changes = take_changed(p);
	pack_runs(&p->to->stream[MOVIE_CHANGES], p->changed, changes);
	for (i = 0; i < changes; i++)
		pack_cell(p, p->changed[i], &before);
	p->to->changed += changes;
	p->to->frames++;
}

static int pack_pages(struct packing *p, struct error *err)
{
	size_t cells = p->film->units * FILM_UNIT_PAGES, i;
	int ret = 0;

	p->owner = must_malloc((cells + 1) * sizeof(*p->owner));
	p->changed = must_malloc((cells + 1) * sizeof(*p->changed));
	p->words = cells / 64 + 1;
	p->is_changed = must_calloc(p->words, sizeof(*p->is_changed));
	for (i = 0; i < cells; i++)
		p->owner[i] = (struct owner){ .born = UINT64_MAX };
	p->cursor = film_cursor_new(p->film);
	while (film_next(p->cursor))
		pack_frame(p);
	if (p->cursor->failed)
		ret = fail(err, p->cursor->failed, "a film could not be read back");
	film_cursor_free(p->cursor);
	return ret;
}

/* ---- figures ---- */

static void add_double(struct blob *to, uint64_t n)
{
	double d = (double)n;

	blob_add(to, &d, sizeof(d));
}

static void pack_figures(const struct packing *p)
{
	const struct film *f = p->film;
	struct blob *to = p->to->stream;
	static const size_t frame[] = {
		offsetof(struct film_frame, op),
		offsetof(struct film_frame, ns),
		offsetof(struct film_frame, requested),
		offsetof(struct film_frame, usable),
		offsetof(struct film_frame, blocks),
		offsetof(struct film_frame, live_pages),
		offsetof(struct film_frame, pinned_pages),
		offsetof(struct film_frame, retained_pages),
		offsetof(struct film_frame, rss),
	};
	static const size_t point[] = {
		offsetof(struct film_point, op),
		offsetof(struct film_point, requested),
		offsetof(struct film_point, usable),
		offsetof(struct film_point, rss),
	};
	size_t c, i;

	for (c = 0; c < sizeof(frame) / sizeof(*frame); c++)
		for (i = 0; i < f->frames; i++)
			if (is_kept(p, i))
				add_double(
				    &to[MOVIE_FRAME],
				    *(const uint64_t *)((const char *)&f->frame[i] + frame[c]));
	for (c = 0; c < sizeof(point) / sizeof(*point); c++)
		for (i = 0; i < f->points; i++)
			add_double(&to[MOVIE_POINT],
				   *(const uint64_t *)((const char *)&f->point[i] + point[c]));
}

/* ---- */

int movie_pack(struct movie_packed *to, const struct film *f, unsigned every, movie_site_fn *site,
	       void *context, struct error *err)
{
	struct packing p = {
		.to = to, .film = f, .every = every, .site = site, .context = context
	};
	size_t i;
	int ret;

	memset(to, 0, sizeof(*to));
	to->residency = f->frames > 0;
	for (i = 0; i < f->frames; i++)
		to->residency = to->residency && f->frame[i].residency;
	ret = pack_pages(&p, err);
	free(p.owner);
	free(p.changed);
	free(p.is_changed);
	pack_figures(&p);
	for (i = 0; i < MOVIE_STREAMS && !ret; i++)
		blob_deflate(&to->stream[i]);
	return ret;
}

void movie_packed_release(struct movie_packed *p)
{
	size_t i;

	for (i = 0; i < MOVIE_STREAMS; i++)
		blob_release(&p->stream[i]);
}
