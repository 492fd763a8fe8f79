// SPDX-License-Identifier: LGPL-3.0-or-later
/* milestones.c - see milestones.h. */
#include "milestones.h"

#include <stdlib.h>
#include <string.h>

#include "milestone_file.h"
#include "sites_state.h"

#define LEVEL (-4) /* of zstd: most files are read seldom, so writing must be fast */

struct milestones {
	struct milestone_file f;
	/* For the walk: */
	struct sites *sites;
	const struct milestone *from; /* NULL = the start; may be the end */
	uint8_t *groups_plain;	      /* groups, if the walk begins at the end and needs them */
	uint8_t *plain;		      /* plain bytes of `from` */
	struct packer *packer;	      /* NULL if it leaves none */
	struct byte_column column;
	uint64_t most_ticks;
	unsigned apart;
	bool failed, added;
};

/* ---- where a walk begins ---- */

static bool is_before(const struct milestone_row *r, const struct walk_until *until)
{
	return until->event ? r->before < until->event : r->most_ticks <= until->ticks;
}

/* A milestone for a requested time must be earlier by more than events in a batch may be out of
 * order. */
#define TIMES_BEHIND 1u

static size_t last_before(const struct milestones *m, const struct sites *s)
{
	const struct sites_options *o = &s->options;
	const uint64_t from = o->filter.from_ns > 0 ? (uint64_t)o->filter.from_ns : 0;
	const struct walk_until begin = { .ticks = trace_ticks(m->f.trace, from) };
	const bool window = !o->until.set;
	size_t n = m->f.n;

	while (n && !is_before(&m->f.item[n - 1].row, window ? &begin : &o->until))
		n--;
	return window && n ? n - TIMES_BEHIND : n;
}

/* Can these sites continue from a milestone? */
static bool can_go_on(const struct milestones *m, const struct sites_options *o)
{
	if (o->until.set)
		return sites_are_usual(o);
	return m->f.known.whole && o->filter.from_ns > 0 &&
	       o->temporary_events <= SITE_TEMPORARY_EVENTS;
}

static void find_start(struct milestones *m)
{
	size_t n = can_go_on(m, &m->sites->options) ? last_before(m, m->sites) : 0;

	if (!n)
		return;
	m->plain = milestone_unpack(&m->f, &m->f.item[n - 1]);
	if (m->plain)
		m->from = &m->f.item[n - 1];
	else
		milestone_drop_all(&m->f); /* this walk leaves new ones */
}

static uint32_t name_of(const struct walk_pass *p)
{
	return mprof_checksum(p->ops->name, strlen(p->ops->name));
}

/* Returns what is known of a pass at the end; NULL if that is not enough for this walk. */
static struct milestone *known_pass(struct milestones *m, const struct walk *w,
				    const struct walk_pass *p)
{
	const uint32_t name = name_of(p);

	for (size_t i = 0; i < m->f.known.passes; i++)
		if (m->f.pass[i].row.pass == name && m->f.pass[i].row.no_pages <= w->no_pages)
			return &m->f.pass[i];
	return NULL;
}

static bool is_of_end(const struct walk_pass *p)
{
	return p->ops == &sites_pass;
}

/* Unpacks the passes of this walk. */
static bool unpack_passes(struct milestones *m, const struct walk *w)
{
	struct milestone *x;

	for (size_t i = 0; i < w->passes; i++) {
		if (is_of_end(&w->pass[i]))
			continue;
		x = known_pass(m, w, &w->pass[i]);
		if (!x)
			return false;
		x->unpacked = milestone_unpack(&m->f, x);
		if (!x->unpacked && x->row.bytes)
			x->row.pass = 0; /* this walk leaves another one */
		if (!x->unpacked)
			return false;
	}
	return true;
}

static struct cursor plain_of(const struct milestone *x, const uint8_t *plain)
{
	return (struct cursor){ plain, plain + x->frame.plain };
}

static bool are_groups_known(struct milestones *m)
{
	m->groups_plain = milestone_unpack(&m->f, &m->f.groups);
	return m->groups_plain &&
	       sites_groups_match(m->sites, plain_of(&m->f.groups, m->groups_plain));
}

/* own_peaks: groups, if the sites have any, need their maxima. */
static void find_end(struct milestones *m, const struct walk *w, bool own_peaks)
{
	const struct sites_options *o = &m->sites->options;

	if (o->until.set || !sites_are_usual(o) || !m->f.known.end || !unpack_passes(m, w) ||
	    (own_peaks && o->group && !are_groups_known(m)))
		return;
	m->plain = milestone_unpack(&m->f, &m->f.end);
	if (m->plain)
		m->from = &m->f.end;
	else if (m->f.end.row.bytes)
		m->f.known.end = 0; /* this walk leaves another end */
}

static size_t resume(void *self, struct walk *w)
{
	struct milestones *m = self;
	const bool over = m->from == &m->f.end;
	struct cursor from = plain_of(m->from, m->plain);
	const size_t here = walk_state_get(w, m->f.trace, over ? NULL : &m->from->row.place, &from);

	if (over)
		sites_end_get(m->sites, &from, m->plain);
	else
		sites_state_get(m->sites, &from);
	for (size_t i = 0; over && i < w->passes; i++) {
		const struct milestone *x =
		    is_of_end(&w->pass[i]) ? NULL : known_pass(m, w, &w->pass[i]);

		if (x)
			pass_state_get(
			    &w->pass[i],
			    &(struct cursor){ x->unpacked, x->unpacked + x->frame.plain });
	}
	if (over && m->groups_plain)
		sites_groups_get(m->sites, plain_of(&m->f.groups, m->groups_plain));
	m->most_ticks = m->from->row.most_ticks;
	if (!over)
		free(m->plain);
	m->plain = NULL;
	return here;
}

/* ---- what a walk leaves ---- */

static struct milestone *next_item(struct milestones *m)
{
	const size_t room = m->f.room ? 2 * m->f.room : 16;
	struct milestone *more;

	if (m->f.n < m->f.room)
		return &m->f.item[m->f.n];
	more = reallocarray(m->f.item, room, sizeof(*more));
	if (!more)
		return NULL;
	m->f.item = more;
	m->f.room = room;
	return &m->f.item[m->f.n];
}

/* Drops every second milestone. */
static void thin(struct milestones *m)
{
	size_t n = 0;

	for (size_t i = 0; i < m->f.n; i++)
		if (i & 1)
			m->f.item[n++] = m->f.item[i];
		else
			milestone_drop(&m->f, &m->f.item[i]);
	m->f.n = n;
	m->apart *= 2;
}

static void leave(struct milestones *m, const struct walk *w, size_t here,
		  const struct trace_place *place)
{
	struct milestone *x = next_item(m);

	m->failed |= !x;
	if (m->failed)
		return;
	*x = (struct milestone){
		.row = { .place = *place, .before = w->events, .most_ticks = m->most_ticks }
	};
	walk_state_put(w, m->f.trace, here, &m->column);
	sites_state_put(m->sites, &m->column);
	if (!state_frame_put(m->packer, &m->column, &x->frame)) {
		m->failed = true;
		return;
	}
	m->added = true;
	x->row.bytes = x->frame.count;
	x->row.plain = x->frame.plain;
	m->f.kept += x->row.bytes;
	m->f.n++;
	while ((m->f.kept > MILESTONE_MOST || m->f.n == MILESTONE_ROWS) && m->f.n)
		thin(m);
}

/* Called at the beginning of a group, so that nothing has to be decoded to get there. */
static void between(void *self, struct walk *w, size_t here)
{
	struct milestones *m = self;
	const uint64_t last = m->f.n ? m->f.item[m->f.n - 1].row.before : 0;
	struct trace_place place;

	if (w->events && w->last_ticks > m->most_ticks)
		m->most_ticks = w->last_ticks;
	if (!m->packer || m->failed || w->events <= last ||
	    w->events - last <
		(uint64_t)m->apart * (w->heap.all.blocks + sites_state_rows(m->sites)) ||
	    !trace_place(m->f.trace, &place) || place.events > WINDOW_BATCH)
		return;
	m->failed |= !place.whole;
	if (!m->failed && w->events > place.events)
		leave(m, w, here, &place);
}

static void pack_begin(struct milestone *x)
{
	free(x->frame.bytes);
	*x = (struct milestone){ .row = { .at = 0 } };
}

/* Packs the bytes of the column behind those that *x has. */
static void pack(struct milestones *m, struct milestone *x)
{
	m->failed |= !state_frame_put(m->packer, &m->column, &x->frame);
}

static void pack_end(struct milestones *m, struct milestone *x)
{
	if (x->frame.count > MILESTONE_MOST) {
		free(x->frame.bytes);
		x->frame = (struct state_frame){ .bytes = NULL };
	}
	x->row.bytes = x->frame.count;
	x->row.plain = x->frame.plain;
	m->added = true;
}

/* Packs the largest part from where it is. */
static void pack_the_end(struct milestones *m, const struct walk *w)
{
	struct milestone *x = &m->f.end;
	const struct byte_column *sites;

	pack_begin(x);
	walk_state_put(w, NULL, 0, &m->column);
	sites = sites_end_put(m->sites, &m->column);
	pack(m, x);
	m->failed |= sites->failed || !state_frame_add(m->packer, sites->byte, sites->n, &x->frame);
	pack_end(m, x);
	m->f.known.end = 1;
}

static void pack_pass(struct milestones *m, const struct walk *w, const struct walk_pass *p)
{
	const uint32_t name = name_of(p);
	struct milestone *x = m->f.pass;

	while (x < m->f.pass + m->f.known.passes && x->row.pass && x->row.pass != name)
		x++;
	if (x == m->f.pass + MILESTONE_PASSES)
		return;
	m->f.known.passes += x == m->f.pass + m->f.known.passes;
	pack_begin(x);
	pass_state_put(p, &m->column);
	pack(m, x);
	pack_end(m, x);
	x->row.pass = name;
	x->row.no_pages = w->no_pages;
}

/* Called when all events were delivered. */
static void ended(void *self, struct walk *w)
{
	struct milestones *m = self;

	if (!m->packer)
		return;
	if (m->sites->options.group) {
		sites_groups_put(m->sites, &m->column);
		pack_begin(&m->f.groups);
		pack(m, &m->f.groups);
		pack_end(m, &m->f.groups);
	}
	if (!m->f.known.end)
		pack_the_end(m, w);
	for (size_t i = 0; i < w->passes; i++)
		if (!is_of_end(&w->pass[i]) && !known_pass(m, w, &w->pass[i]))
			pack_pass(m, w, &w->pass[i]);
}

void milestones_walk(struct milestones *m, struct walk *w, struct sites *s, bool own_peaks)
{
	const struct sites_options *o = &s->options;

	if (!m)
		return;
	m->sites = s;
	find_end(m, w, own_peaks);
	if (!m->from && !own_peaks && w->passes == 1)
		find_start(m);
	if (m->from) {
		w->resume = resume;
		w->resume_context = m;
	}
	if (m->from == &m->f.end || !sites_are_usual(o) || (o->until.set && m->f.known.whole))
		return;
	m->packer = packer_new(LEVEL);
	w->between_context = m;
	if (!m->f.known.whole)
		w->between = between;
	if (o->until.set)
		return;
	w->ended = ended;
	if (!m->f.known.whole)
		milestone_drop_all(&m->f);
}

/* ---- the whole ---- */

struct milestones *milestones_open(struct trace *t)
{
	struct milestones *m;

	if (trace_source(t) || trace_is_copy(t) ||
	    !(trace_header(t)->flags & MPROF_FILE_COMPRESSED) || !trace_has_events(t) ||
	    trace_bytes(t) < MILESTONES_TRACE || trace_is_damaged(trace_damage(t)))
		return NULL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	m->apart = MILESTONES_APART;
	if (milestone_file_open(&m->f, t))
		return m;
	milestones_close(m, false);
	return NULL;
}

void milestones_close(struct milestones *m, bool done)
{
	if (!m)
		return;
	if (done && m->added && !m->failed && !trace_is_damaged(trace_damage(m->f.trace))) {
		m->f.known.whole |= !m->sites->options.until.set;
		milestone_file_write(&m->f);
	}
	milestone_file_close(&m->f);
	packer_free(m->packer);
	columns_free(&m->column, 1);
	free(m->plain);
	free(m->groups_plain);
	free(m);
}
