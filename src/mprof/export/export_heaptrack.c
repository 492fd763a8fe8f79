// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * export_heaptrack.c - the interpreted text of heaptrack (version 3 of its file
 * format, that of 1.3 to 1.5), for heaptrack_print and its GUI.
 *
 *   s BYTES TEXT          a string, numbered from 1; 0 if none
 *   i ADDRESS MODULE [FUNCTION FILE LINE]...   an address with its lines, innermost first
 *   t ADDRESS CALLER      a stack: an `i` and the `t` of its caller
 *   a SIZE STACK          a request: its size and stack; numbered from 0
 *   + A      - A          a block of that `a` is allocated, freed
 *   c MS     R PAGES      the time; pages in memory
 *
 * Numbers are hexadecimal.  A realloc is a `-` of the old and a `+` of the new block, as in
 * heaptrack.
 *
 * heaptrack takes a block for temporary when the `-` after a `+` names the same `a`, even if it is
 * another block of that size and stack, or a realloc. In such a case, a `-` of `a` 0, which has no
 * bytes, is written between the two.
 *
 * Its files describe one process. So blocks that are live when one of several processes ends are
 * removed at that time, unless nothing is allocated afterwards, and return after the last event: a
 * `-` of an `a` of negative size changes what is leaked, but neither the peak nor the number of
 * allocations. Blocks that are live at an exec are not leaks; they are freed.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "flow.h"
#include "../util/utf8.h"
#include "exports.h"
#include "../print/line.h"
#include "path_frames.h"
#include "compressed.h"
#include "../util/alloc.h"
#include "../util/hash.h"

#define VERSION 0x10400u /* of heaptrack, and of its format */
#define FORMAT	3u
#define TICK_MS 10u   /* between `c` lines, as in heaptrack */
#define NEAR	4096u /* slots of the table of recent infos */
/* At least this many `a` are kept before unused ones are dropped. */
#define KNOWN (1u << 20)

/* One `a`: how many of its blocks are live, and how many were live at the end of their process. */
struct info {
	uint64_t size;
	uint32_t trace;
	uint32_t number;    /* in the file */
	uint32_t same_hash; /* index + 1 of an earlier one; 0 = none */
	uint32_t live, left;
};

/* The memory samples of a process, and the next one. */
struct memory {
	const struct mprof_sample *sample;
	size_t count, next;
	uint64_t rss;
};

struct heaptrack {
	struct line *line;
	FILE *out;
	struct profile *profile;
	struct interner strings, ips, traces; /* ids are numbers in the file */
	struct array trace_of;		      /* uint32_t by group: number of its `t` */
	struct info *info;
	size_t used, room, forget_at;
	struct hash known;     /* of size and trace -> index + 1 of the last info */
	uint32_t near[NEAR];   /* the same for recent infos */
	uint32_t infos;	       /* numbers given */
	uint32_t last_info;    /* `a` of the last `+`; 0 after a `-` */
	uint32_t last_thread;  /* the thread that allocated this block, */
	uint64_t last_block;   /* its address, */
	uint64_t since;	       /* and the calls of that thread since then */
	uint64_t left;	       /* blocks of ended processes that are still to be removed */
	struct array gone;     /* uint64_t by trace: bytes that were removed */
	uint64_t ms;	       /* of the last `c` */
	uint64_t quiet;	       /* in ticks: no `c` is due before */
	struct memory *memory; /* by process of the tree */
	size_t samples;
	uint64_t rss; /* of all processes */
};

static void put_pair(struct heaptrack *h, char mode, uint64_t a, uint64_t b)
{
	line_room(h->line);
	line_char(h->line, mode);
	line_char(h->line, ' ');
	line_hex(h->line, a);
	line_char(h->line, ' ');
	line_hex(h->line, b);
	line_char(h->line, '\n');
}

static void put_one(struct heaptrack *h, char mode, uint64_t a)
{
	line_room(h->line);
	line_char(h->line, mode);
	line_char(h->line, ' ');
	line_hex(h->line, a);
	line_char(h->line, '\n');
}

/* ---- strings, addresses, stacks: each is written before its first use ---- */

/* The number of bytes stays the same: control characters become blanks, invalid UTF-8 becomes ?. */
static void put_string(struct heaptrack *h, const unsigned char *s)
{
	int n;

	for (; *s; s += n ? n : 1) {
		n = utf8_at(s);
		if (n == 1 || !n)
			fputc(!n ? '?' : *s < ' ' || *s == 0x7f ? ' ' : *s, h->out);
		else if (utf8_is_control(s))
			fputs("  ", h->out);
		else
			fwrite(s, 1, (size_t)n, h->out);
	}
	fputc('\n', h->out);
}

static uint32_t string_of(struct heaptrack *h, const char *text)
{
	size_t known = h->strings.count, n = strlen(text);
	uint32_t id;

	if (!n)
		return 0;
	id = interner_id(&h->strings, text, n);
	if (h->strings.count > known) {
		line_flush(h->line);
		fprintf(h->out, "s %zx ", n);
		put_string(h, (const unsigned char *)text);
	}
	return id;
}

static uint32_t ip_of(struct heaptrack *h, const struct place *place)
{
	const struct stacks *s = h->profile->stacks;
	const struct stack_frame *f = &s->frame[place->frame];
	const struct stack_object *o = &s->object[f->object];
	size_t known = h->ips.count;
	uint32_t id = interner_id(&h->ips, &place->key, sizeof(place->key)), module, k;
	const struct sym_line *l;

	if (h->ips.count == known)
		return id;
	module = string_of(h, o->path);
	for (k = 0; k < place->lines; k++) {
		string_of(h, place->line[k]->function);
		string_of(h, place->line[k]->file);
	}
	line_flush(h->line);
	fprintf(h->out, "i %" PRIx64 " %x", place_address(f) + (f->object ? o->bias : 0), module);
	for (k = place->lines; k--;) {
		l = place->line[k];
		fprintf(h->out, " %x %x %x", string_of(h, l->function), string_of(h, l->file),
			l->line);
	}
	fputc('\n', h->out);
	return id;
}

/* Adds a place without an address. */
static uint32_t ip_named(struct heaptrack *h, const char *name)
{
	size_t known = h->ips.count;
	uint32_t id = interner_id(&h->ips, name, strlen(name)), string;

	if (h->ips.count > known) {
		string = string_of(h, name);
		line_flush(h->line);
		fprintf(h->out, "i 0 0 %x 0 0\n", string);
	}
	return id;
}

static uint32_t trace_of(struct heaptrack *h, uint32_t ip, uint32_t caller)
{
	uint32_t key[2] = { ip, caller }, id;
	size_t known = h->traces.count;

	if (!ip)
		return 0;
	id = interner_id(&h->traces, key, sizeof(key));
	if (h->traces.count > known)
		put_pair(h, 't', ip, caller);
	return id;
}

/* Adds a trace, from the outermost frame inward. */
static uint32_t trace_of_stack(struct heaptrack *h, uint32_t stack)
{
	const struct profile_path *path = profile_path_once(h->profile, stack);
	struct place *place = must_calloc(path->count + 1, sizeof(*place));
	size_t at = path->count, n = 0;
	uint32_t trace = 0;

	while (place_next(path, &at, &place[n]))
		n++;
	if (path->truncated)
		trace = trace_of(h, ip_named(h, calltree_cut.function), 0);
	if (!path->count)
		trace = trace_of(h, ip_named(h, calltree_no_stack.function), 0);
	while (n)
		trace = trace_of(h, ip_of(h, &place[--n]), trace);
	free(place);
	return trace;
}

/* ---- requests ---- */

static uint64_t key_of(uint64_t size, uint32_t trace)
{
	const uint64_t both[2] = { size, trace };

	return hash_of(both, sizeof(both));
}

/*
 * Drops infos without live blocks; if they are needed again, they get another number.
 */
static void forget(struct heaptrack *h)
{
	size_t i, kept = 0;
	uint64_t *last;

	for (i = 0; i < h->used; i++)
		if (h->info[i].live || h->info[i].left)
			h->info[kept++] = h->info[i];
	h->used = kept;
	h->forget_at = 2 * kept > KNOWN ? 2 * kept : KNOWN;
	hash_release(&h->known);
	memset(h->near, 0, sizeof(h->near));
	for (i = 0; i < kept; i++) {
		last = hash_at(&h->known, key_of(h->info[i].size, h->info[i].trace));
		h->info[i].same_hash = (uint32_t)*last;
		*last = i + 1;
	}
}

static struct info *info_of(struct heaptrack *h, const struct flow_block *b)
{
	const uint64_t size = b->block->size;
	uint32_t *trace_of = array_at(&h->trace_of, b->group, sizeof(*trace_of)), *near, trace, i;
	uint64_t *last;

	if (!*trace_of)
		*trace_of = trace_of_stack(h, b->block->stack);
	trace = *trace_of;
	near = &h->near[((size ^ (uint64_t)trace << 32) * 0x9e3779b97f4a7c15ull >> 32) % NEAR];
	if (*near && h->info[*near - 1].size == size && h->info[*near - 1].trace == trace)
		return &h->info[*near - 1];
	if (h->used >= KNOWN && h->used >= h->forget_at)
		forget(h);
	last = hash_at(&h->known, key_of(size, trace));
	for (i = (uint32_t)*last; i; i = h->info[i - 1].same_hash)
		if (h->info[i - 1].size == size && h->info[i - 1].trace == trace) {
			*near = i;
			return &h->info[i - 1];
		}
	GROW(h->info, h->used + 1, h->room);
	h->info[h->used] = (struct info){
		.size = size, .trace = trace, .number = ++h->infos, .same_hash = (uint32_t)*last
	};
	*near = (uint32_t)h->used + 1;
	*last = *near;
	put_pair(h, 'a', size, trace);
	return &h->info[h->used++];
}

/* ---- time ---- */

/* Returns the process with the earliest sample up to this time, or NULL. */
static struct memory *first_sample(const struct heaptrack *h, uint64_t ticks)
{
	struct memory *s, *first = NULL;

	for (s = h->memory; s < h->memory + h->samples; s++)
		if (s->next < s->count && s->sample[s->next].ticks <= ticks) {
			ticks = s->sample[s->next].ticks;
			first = s;
		}
	return first;
}

/* Takes the samples up to this time and writes their sum. */
static void take_samples(struct heaptrack *h, uint64_t ticks)
{
	struct memory *s;
	uint64_t rss;

	while ((s = first_sample(h, ticks))) {
		rss = s->sample[s->next++].rss;
		if (rss == s->rss)
			continue;
		h->rss += rss - s->rss;
		s->rss = rss;
		put_one(h, 'R', h->rss / h->profile->header->page_size);
	}
}

static void at_time(void *self, struct flow *f, uint64_t ticks, uint64_t number)
{
	struct heaptrack *h = self;
	uint64_t ms;

	if (ticks <= h->quiet)
		return;
	ms = walk_since_ns(f->walk, ticks) / 1000000;
	h->ms = ms - ms % TICK_MS;
	h->quiet = trace_ticks(f->profile->trace, (h->ms + TICK_MS) * 1000000 - 1);
	put_one(h, 'c', h->ms);
	take_samples(h, ticks);
}

static void find_samples(struct heaptrack *h)
{
	const struct profile *p = h->profile;
	struct memory *s;

	h->memory = must_calloc(p->tree.processes + 1, sizeof(*h->memory));
	h->samples = p->tree.processes;
	for (s = h->memory; s < h->memory + h->samples; s++)
		s->count =
		    trace_samples(p->trace, p->tree.process[s - h->memory].number, &s->sample);
}

/* ---- blocks ---- */

/* Removes the blocks that ended processes left. */
static void drop_left(struct heaptrack *h)
{
	struct info *i;
	uint64_t *bytes;

	if (h->last_info) /* not after another `-`, or `a` 0 would be temporary itself */
		put_one(h, '-', 0);
	h->last_info = 0;
	for (i = h->info; i < h->info + h->used; i++) {
		if (!i->left)
			continue;
		bytes = array_at(&h->gone, i->trace, sizeof(*bytes));
		*bytes += i->size * i->left;
		for (; i->left; i->left--)
			put_one(h, '-', i->number);
	}
	h->left = 0;
}

/* Adds the removed blocks again. */
static void return_left(struct heaptrack *h)
{
	const uint64_t *bytes = h->gone.item;
	size_t i;

	for (i = 0; i < h->gone.count; i++) {
		if (!bytes[i])
			continue;
		put_pair(h, 'a', 0 - bytes[i], i);
		put_one(h, '-', ++h->infos);
	}
}

static void called(void *self, struct flow *f, const struct event *e, uint64_t number)
{
	struct heaptrack *h = self;

	h->since += e->thread == h->last_thread &&
		    (e->kind == EVENT_CALL || e->kind == EVENT_REALLOC_END) &&
		    !mprof_fn_maps(e->fn);
}

static void began(void *self, struct flow *f, const struct flow_block *b)
{
	struct heaptrack *h = self;
	struct info *i = info_of(h, b);

	if (h->left)
		drop_left(h);
	put_one(h, '+', i->number);
	i->live++;
	h->last_info = i->number;
	h->last_block = b->block->addr;
	h->last_thread = b->thread;
	h->since = 0;
}

/* distinct: heaptrack must not take it for a temporary block. */
static void give_back(struct heaptrack *h, const struct flow_block *b, bool distinct)
{
	struct info *i = info_of(h, b);

	distinct |= h->last_block != b->block->addr || h->last_thread != b->thread || h->since != 1;
	if (h->last_info == i->number && distinct)
		put_one(h, '-', 0);
	put_one(h, '-', i->number);
	i->live -= i->live > 0;
	h->last_info = 0;
}

static void ended(void *self, struct flow *f, const struct flow_block *b)
{
	give_back(self, b, b->resized);
}

static void left(void *self, struct flow *f, const struct flow_block *b, enum process_gone why)
{
	struct heaptrack *h = self;
	struct info *i;

	if (why == GONE_EXEC) {
		give_back(h, b, true);
		return;
	}
	i = info_of(h, b);
	i->live -= i->live > 0;
	i->left++;
	h->left++;
}

static void gone(void *self, struct flow *f, uint32_t process, enum process_gone why,
		 uint64_t ticks)
{
	struct heaptrack *h = self;
	const struct tree_process *p = tree_find(&h->profile->tree, process);
	struct memory *s = p ? &h->memory[p - h->profile->tree.process] : NULL;

	if (why == GONE_EXEC || !s)
		return;
	take_samples(h, ticks);
	h->rss -= s->rss;
	s->rss = 0;
	/* The largest size may lie between samples; then its time is unknown. */
	if (p->peak_rss_bytes)
		put_one(h, 'R', (h->rss + p->peak_rss_bytes) / h->profile->header->page_size);
	s->next = s->count;
}

/* ---- the file ---- */

static void put_head(struct heaptrack *h)
{
	const struct mprof_file_header *header = h->profile->header;

	fprintf(h->out, "v %x %x\nX ", VERSION, FORMAT);
	place_command(h->out, h->profile);
	/* The number of pages of the machine is unknown; heaptrack only prints it. */
	fprintf(h->out, "\nI %x %x\na 0 0\n", header->page_size, 0);
}

static void start(void *self, struct flow *f)
{
	struct heaptrack *h = self;

	put_head(h);
	find_samples(h);
	h->quiet = trace_ticks(f->profile->trace, TICK_MS * 1000000 - 1);
}

static const struct flow_ops ops = {
	.start = start,
	.event = called,
	.time = at_time,
	.began = began,
	.ended = ended,
	.left = left,
	.gone = gone,
};

static void put_tail(struct heaptrack *h)
{
	const struct walk *w = &h->profile->walk;
	const uint64_t ms = walk_since_ns(w, w->last_ticks) / 1000000;

	put_one(h, 'c', ms > h->ms ? ms : h->ms);
	return_left(h);
	line_flush(h->line);
	fprintf(h->out, "# strings: %zu\n# ips: %zu\n", h->strings.count, h->ips.count);
}

static void release(struct heaptrack *h)
{
	interner_release(&h->strings);
	interner_release(&h->ips);
	interner_release(&h->traces);
	array_release(&h->gone);
	array_release(&h->trace_of);
	free(h->info);
	hash_release(&h->known);
	free(h->memory);
	free(h->line);
}

int export_heaptrack(struct export *x, struct error *err)
{
	struct heaptrack h = { .profile = x->profile };
	struct flow f;
	int ret;

	h.out = compressed_open(x->out, compressed_of(x->target));
	h.line = must_malloc(sizeof(*h.line));
	line_init(h.line, h.out);
	ret = flow_run(&f, x, &ops, &h, err);
	if (!ret)
		put_tail(&h);
	if (compressed_close(h.out, x->out) < 0 && !ret)
		ret = fail(err, -EIO, "cannot write '%s' completely",
			   x->target ? x->target : "the standard output");
	flow_release(&f);
	release(&h);
	return ret;
}
