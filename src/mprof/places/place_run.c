// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * place_run.c - places of a replay: the runner's records, joined with the ORDER
 * stream of the file that it plays.
 *
 * The runner sends the addresses of the births in ORDER, in the same order; a frame or a sample
 * names the call before which it was taken. So each record advances the stream: an address to the
 * next birth, a sample to its call. A contradiction ends the run with an error.
 */
#include "place_run.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "place_sinks.h"
#include "../play/play.h"
#include "../play/playfile.h"
#include "../play/room.h"
#include "../util/alloc.h"

#define ADDRESSES      4096u	    /* read at once */
#define FRAME_MOST     (1ull << 30) /* bytes of one frame: 30 TB of small ranges */
#define ADDRESS_MOST   (1ull << 57) /* of user space, five levels of tables */
#define PROGRESS_EVERY (1u << 20)   /* ops */
#define RSS_MOST       (1ull << 56) /* bytes */

static const char *touch_of(const struct place_plan *p)
{
	return p->touch ? p->touch : "page";
}

struct run {
	const struct place_sink *to;
	const struct place_plan *plan;
	const struct variant *variant;
	struct play play;
	struct playfile *file;
	const struct mprof_playback_header *header;
	struct playfile_cursor cursor;
	struct playfile_op op; /* the next call, if there is one */
	bool more;
	struct place_block *block; /* by slot; addr 0 = free */
	size_t room;
	struct mprof_run_address *address;
	uint64_t *frame;   /* the last record of this kind */
	size_t frame_room; /* in words */
	bool finished;	   /* true after RESULT */
	uint64_t told;
};

static int lies(struct run *r, struct error *err, const char *what)
{
	return fail(err, -EPROTO,
		    "the runner's records do not fit the playback file: %s at call %" PRIu64, what,
		    r->op.op);
}

/* ---- calls ---- */

static void next_op(struct run *r)
{
	uint64_t at = r->op.op;

	r->more = playfile_next(&r->cursor, &r->op);
	if (!r->more)
		r->op.op = at + 1;
	if (r->plan->progress && r->op.op - r->told >= PROGRESS_EVERY) {
		r->told = r->op.op;
		r->plan->progress(r->plan->progress_context, r->op.op, r->header->sum.calls);
	}
}

/* The block of a slot. Slots are dense, so the array grows with use. */
static struct place_block *at_slot(struct run *r, uint32_t slot)
{
	GROW_ZEROED(r->block, slot + (size_t)1, r->room);
	return &r->block[slot];
}

static void end_block(struct run *r, struct place_block *b)
{
	if (!b->addr)
		return;
	PLACES_TELL(r->to, end, b, r->op.op, r->op.ns);
	b->addr = 0;
}

/* Applies a birth, whose result this is.  A failed realloc leaves its block unchanged. */
static int apply_birth(struct run *r, const struct mprof_run_address *a, struct error *err)
{
	const struct playfile_op *op = &r->op;
	struct place_block *b = at_slot(r, op->slot);

	if (a->addr >= ADDRESS_MOST || (a->addr && op->size >= ADDRESS_MOST - a->addr))
		return lies(r, err, "an impossible address");
	if (a->addr || !op->size || op->kind != MPROF_PLAY_REALLOC)
		end_block(r, b);
	if (a->addr) {
		*b = (struct place_block){
			.addr = a->addr,
			.size = op->size,
			.usable =
			    a->usable > op->size && a->usable < ADDRESS_MOST ? a->usable : op->size,
			.op = op->op,
			.ns = op->ns,
			.site = op->site,
			.thread = op->thread,
			.slot = op->slot,
		};
		PLACES_TELL(r->to, begin, b);
	}
	next_op(r);
	return 0;
}

static void frees_before(struct run *r, uint64_t op)
{
	while (r->more && r->op.op < op && r->op.kind == MPROF_PLAY_FREE) {
		end_block(r, at_slot(r, r->op.slot));
		next_op(r);
	}
}

/* ---- records ---- */

static int take_addresses(struct run *r, uint64_t bytes, struct error *err)
{
	uint64_t n = bytes / sizeof(*r->address), now, i;
	int ret = 0;

	for (; n && !ret; n -= now) {
		now = n < ADDRESSES ? n : ADDRESSES;
		ret = play_read(&r->play, r->address, now * sizeof(*r->address), err);
		for (i = 0; i < now && !ret; i++) {
			frees_before(r, UINT64_MAX);
			ret = r->more ? apply_birth(r, &r->address[i], err)
				      : lies(r, err, "more addresses than calls");
		}
	}
	return ret ? ret : play_skip(&r->play, bytes % sizeof(*r->address), err);
}

/* Advances to the call before which the sample was taken. */
static int go_to(struct run *r, const struct mprof_run_sample *from, struct place_sample *s,
		 struct error *err)
{
	if (from->op > r->header->sum.calls || from->op < r->op.op)
		return lies(r, err, "a sample in the wrong place");
	frees_before(r, from->op);
	*s = (struct place_sample){
		.op = from->op,
		.ns = r->more ? r->op.ns : r->header->sum.recorded_ns,
		.rss = from->rss < RSS_MOST ? from->rss : 0,
		.anon = from->anon < RSS_MOST ? from->anon : 0,
	};
	return r->op.op == from->op ? 0 : lies(r, err, "a sample without the addresses before it");
}

static int take_sample(struct run *r, uint64_t bytes, struct error *err)
{
	struct mprof_run_sample from;
	struct place_sample s;
	int ret;

	if (bytes < sizeof(from))
		return lies(r, err, "a truncated sample");
	ret = play_read(&r->play, &from, sizeof(from), err);
	if (!ret)
		ret = go_to(r, &from, &s, err);
	if (ret)
		return ret;
	PLACES_TELL(r->to, sample, &s);
	return play_skip(&r->play, bytes - sizeof(from), err);
}

static int read_frame(struct run *r, uint64_t bytes, struct error *err)
{
	if (bytes < sizeof(struct mprof_run_frame) || bytes > FRAME_MOST)
		return lies(r, err, "a frame with an impossible size");
	GROW(r->frame, bytes / sizeof(*r->frame) + 1, r->frame_room);
	return play_read(&r->play, r->frame, bytes, err);
}

/* Returns the frame's ranges; their bits stay in the frame.  NULL if it is truncated. */
static struct place_range *ranges_of(const struct run *r, uint64_t bytes, uint64_t *n)
{
	const unsigned char *at = (const unsigned char *)r->frame + sizeof(struct mprof_run_frame);
	const unsigned char *end = (const unsigned char *)r->frame + bytes;
	struct mprof_run_range from;
	struct place_range *range;
	uint64_t i, map;

	memcpy(n, &((const struct mprof_run_frame *)r->frame)->ranges, sizeof(*n));
	if (*n > bytes / sizeof(from))
		return NULL;
	range = must_calloc(*n + 1, sizeof(*range));
	for (i = 0; i < *n; i++) {
		if ((size_t)(end - at) < sizeof(from))
			break;
		memcpy(&from, at, sizeof(from));
		at += sizeof(from);
		map = (from.pages + 63) / 64 * 8;
		if (from.pages > FRAME_MOST * 8 || (uint64_t)(end - at) < map ||
		    from.addr >= ADDRESS_MOST)
			break;
		range[i] = (struct place_range){
			.addr = from.addr / 4096 * 4096,
			.pages = from.pages,
			.resident = at,
		};
		at += map;
	}
	if (i == *n)
		return range;
	free(range);
	return NULL;
}

static int take_frame(struct run *r, uint64_t bytes, struct error *err)
{
	struct mprof_run_frame head;
	struct place_range *range;
	struct place_sample s;
	uint64_t n;
	int ret;

	ret = read_frame(r, bytes, err);
	if (ret)
		return ret;
	memcpy(&head, r->frame, sizeof(head));
	ret = go_to(r, &head.sample, &s, err);
	if (ret)
		return ret;
	range = ranges_of(r, bytes, &n);
	if (!range)
		return lies(r, err, "a truncated frame");
	PLACES_TELL(r->to, frame, &s, range, n);
	free(range);
	return 0;
}

static int take_result(struct run *r, uint64_t bytes, struct error *err)
{
	int ret;

	if (bytes < sizeof(struct mprof_run_result))
		return lies(r, err, "a truncated result");
	ret = play_skip(&r->play, bytes, err);
	if (ret)
		return ret;
	r->finished = true;
	frees_before(r, UINT64_MAX);
	return r->more ? lies(r, err, "too few addresses") : 0;
}

static int take_record(struct run *r, const struct mprof_run_record *record, struct error *err)
{
	if (r->finished)
		return lies(r, err, "a record after the result");
	switch (record->kind) {
	case MPROF_RUN_ADDRESSES:
		return take_addresses(r, record->bytes, err);
	case MPROF_RUN_SAMPLE:
		return take_sample(r, record->bytes, err);
	case MPROF_RUN_FRAME:
		return take_frame(r, record->bytes, err);
	case MPROF_RUN_RESULT:
		return take_result(r, record->bytes, err);
	default: /* written by a newer runner */
		return play_skip(&r->play, record->bytes, err);
	}
}

/* ---- the whole ---- */

static void tell_start(struct run *r)
{
	const struct mprof_play_summary *sum = &r->header->sum;
	const struct place_start s = {
		.title = r->variant->name,
		.ops = sum->calls,
		.ns = sum->recorded_ns,
		.peak_op = sum->peak_bytes ? sum->peak_op : UINT64_MAX,
		.peak_bytes = sum->peak_bytes,
		.has_residency = true,
	};

	PLACES_TELL(r->to, start, &s);
}

/* Lists the frames besides the equally spaced ones, in rising order. */
static void argument_at(struct play_args *a, const struct run *r)
{
	const struct mprof_play_summary *sum = &r->header->sum;
	uint64_t peak = sum->peak_bytes ? sum->peak_op + 1 : 0;
	uint64_t at = r->plan->at < sum->calls ? r->plan->at + 1 : 0;

	if (peak && at && peak != at)
		play_args_put(a, "at=%" PRIu64 ",%" PRIu64, peak < at ? peak : at,
			      peak < at ? at : peak);
	else if (peak || at)
		play_args_put(a, "at=%" PRIu64, peak ? peak : at);
}

static void make_arguments(struct play_args *a, const struct run *r)
{
	const struct place_plan *p = r->plan;

	play_args_put(a, "in=%s", playfile_path(r->file));
	play_args_put(a, "mode=%s", p->mode ? p->mode : "serial");
	play_args_put(a, "touch=%s", touch_of(p));
	play_args_put(a, "addresses=1");
	play_args_put(a, "frames=%u", p->frames);
	play_args_put(a, "samples=%u", p->samples);
	argument_at(a, r);
	play_args_put(a, "keep=1");
	play_args_put(a, "aslr=0");
	play_args_put(a, "thp=%d", !p->no_huge);
}

static int play_start_with(struct run *r, struct error *err)
{
	struct play_args a = { .n = 0 };
	int ret;

	make_arguments(&a, r);
	ret = play_start(&r->play, r->variant, (const char *const *)a.text, r->plan->limit_ms, err);
	play_args_free(&a);
	return ret;
}

static int play(struct run *r, struct error *err)
{
	struct mprof_run_record record;
	int ret = play_start_with(r, err), ended;

	if (ret)
		return ret;
	while ((ret = play_next(&r->play, &record, err)) > 0) {
		ret = take_record(r, &record, err);
		if (ret)
			break;
	}
	/* At the end it is known why reading failed; errors in the records are known now. */
	ended = play_end(&r->play, r->play.failed || !ret ? err : NULL);
	if (r->play.failed || !ret)
		ret = ended;
	if (!ret && !r->finished)
		ret = lies(r, err, "no result");
	return ret;
}

static int run_open(struct run *r, const char *playback, struct error *err)
{
	int ret = playfile_open(&r->file, playback, err);

	if (ret)
		return ret;
	r->header = playfile_header(r->file);
	playfile_start(&r->cursor, r->file);
	r->op.op = UINT64_MAX; /* so that the first call has number 0, even if there is none */
	next_op(r);
	r->told = 0;
	r->address = must_malloc(ADDRESSES * sizeof(*r->address));
	return 0;
}

bool place_run_is_common(int status)
{
	return status == -EBADMSG || status == -EFBIG;
}

int place_run(const char *playback, const struct variant *v, const struct place_plan *plan,
	      const struct place_sink *to, struct error *err)
{
	static const struct place_plan none = { .at = PLACE_NOWHERE };
	struct run r = { .to = to, .plan = plan ? plan : &none, .variant = v };
	struct error why = { "" };
	int ret = run_open(&r, playback, err);

	if (!ret)
		ret = room_check(r.header, playback, touch_of(r.plan), err);
	if (!ret) {
		tell_start(&r);
		ret = play(&r, &why);
		if (place_run_is_common(ret))
			fail(err, ret, "%s", why.text);
		else if (ret)
			fail(err, ret, "%s: %.400s", v->name, why.text);
	}
	if (!ret)
		PLACES_TELL(r.to, finish);
	playfile_close(r.file);
	free(r.block);
	free(r.address);
	free(r.frame);
	return ret;
}
