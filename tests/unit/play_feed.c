// SPDX-License-Identifier: LGPL-3.0-or-later
/* play_feed.c - playback files made by a test from calls written down. */
#include "play_feed.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "suites.h"

struct played played;

void played_start(void)
{
	played.ns = 5000000;
	played.thread = 1;
	played.process = 1;
	played.events = played.read = played.fact_count = 0;
	played.fd = memfd_create("playback", MFD_CLOEXEC);
	ck_assert_int_ge(played.fd, 0);
	played.options.fd = played.fd;
	played.options.process = COMPILE_ALL;
}

/* ---- as the events of a trace ---- */

static struct event *new_event(enum event_kind kind, const struct played_call *c, uint64_t addr)
{
	struct event *e = &played.event[played.events++];

	ck_assert(played.events <= PLAYED_EVENTS);
	*e = (struct event){
		.ticks = c->ns,
		.addr = addr,
		.size = c->size,
		.process = c->process,
		.thread = c->thread,
		.kind = kind,
		.fn = c->fn,
	};
	return e;
}

static void give(enum event_kind kind, const struct played_call *c)
{
	struct event *e = new_event(kind, c, c->old);

	e->usable = c->has_touched ? c->touched + 1 : 0;
}

static void hand_out(enum event_kind kind, const struct played_call *c)
{
	struct event *e = new_event(kind, c, c->addr);

	e->arg = c->align;
	e->usable = c->addr ? c->size : 0;
	e->stack = c->site;
}

void played_call(const struct played_call *c)
{
	if (c->fn == MPROF_FN_FREE) {
		give(EVENT_CALL, c);
	} else if (c->fn != MPROF_FN_REALLOC) {
		hand_out(EVENT_CALL, c);
	} else {
		if (c->half == PLAYED_BEGIN || (c->half == PLAYED_WHOLE && c->old))
			give(EVENT_REALLOC_BEGIN, c);
		if (c->half != PLAYED_BEGIN)
			hand_out(EVENT_REALLOC_END, c);
	}
}

static void control(uint32_t thread, uint8_t what, uint64_t value)
{
	const struct played_call c = { .ns = played.ns,
				       .thread = thread,
				       .process = played.process };
	struct event *e = new_event(EVENT_CONTROL, &c, 0);

	e->control = what;
	e->value = value;
}

void played_thread_begin(uint32_t thread, uint32_t creator)
{
	control(creator, MPROF_CONTROL_THREAD_CREATE, thread);
}

void played_thread_end(uint32_t thread)
{
	control(thread, MPROF_CONTROL_THREAD_END, 0);
}

static struct mprof_fact *new_fact(uint32_t what, uint32_t process)
{
	struct mprof_fact *m = &played.fact[played.fact_count];

	ck_assert(played.fact_count < PLAYED_FACTS);
	*m = (struct mprof_fact){ .what = what, .ticks = played.ns + 1, .pid = 100 };
	played.facts[played.fact_count++] =
	    (struct trace_fact){ .fact = m, .process = process, TRACE_FACT_TEXTS };
	return m;
}

void played_fork(uint32_t parent, uint32_t child)
{
	struct mprof_fact *m = new_fact(MPROF_FACT_START, child);

	m->parent = parent;
	m->fork_ticks = played.ns;
}

void played_exec(uint32_t process)
{
	new_fact(MPROF_FACT_EXEC, process);
	played.ns += 10; /* consecutive times */
}

static void call(struct played_call c)
{
	c.ns = played.ns += 1000;
	c.thread = played.thread;
	c.process = played.process;
	played_call(&c);
}

void played_alloc(uint8_t fn, uint64_t addr, uint64_t size, uint64_t align)
{
	call((struct played_call){ .fn = fn, .addr = addr, .size = size, .align = align });
}

void played_malloc(uint64_t addr, uint64_t size)
{
	played_alloc(MPROF_FN_MALLOC, addr, size, 0);
}

void played_free(uint64_t old)
{
	call((struct played_call){ .fn = MPROF_FN_FREE, .old = old });
}

void played_realloc(uint64_t old, uint64_t addr, uint64_t size)
{
	played_half(PLAYED_WHOLE, old, addr, size);
}

void played_half(enum played_half half, uint64_t old, uint64_t addr, uint64_t size)
{
	call((struct played_call){
	    .fn = MPROF_FN_REALLOC, .half = half, .old = old, .addr = addr, .size = size });
}

static size_t next(void *context, struct event *events, size_t n)
{
	struct played *p = context;
	size_t got = p->events - p->read < n ? p->events - p->read : n;

	memcpy(events, p->event + p->read, got * sizeof(*events));
	p->read += got;
	return got;
}

static int64_t ns(void *context, uint64_t ticks)
{
	(void)context;
	return (int64_t)ticks;
}

int played_try(struct error *err)
{
	static const struct mprof_file_header header = { .page_size = 4096 };
	const struct walk_input in = {
		.context = &played,
		.next = next,
		.ns = ns,
		.facts = played.facts,
		.fact_count = played.fact_count,
		.residencies = played.residency,
		.residency_count = played.residency_count,
		.header = &header,
	};

	return compile_feed(&in, &played.options, 0, NULL, &played.sum, err);
}

void played_finish(void)
{
	struct error err;

	ck_assert_msg(!played_try(&err), "%s", err.text);
	snprintf(played.path, sizeof(played.path), "/proc/self/fd/%d", played.fd);
	ck_assert_msg(!playfile_open(&played.file, played.path, &err), "%s", err.text);
	ck_assert_msg(!playfile_check(played.file, &err), "%s", err.text);
	ck_assert(!memcmp(&playfile_header(played.file)->sum, &played.sum, sizeof(played.sum)));
}

void played_release(void)
{
	playfile_close(played.file);
	close(played.fd);
	played.file = NULL;
}

/* ---- as text ---- */

static char text[16384];

static const char *as_text(const uint64_t *word, size_t words)
{
	static const char letter[] = "Emfcra?T+-~";
	uint64_t ext = 0;
	size_t used = 0, i;

	text[0] = '\0';
	for (i = 0; i < words && used + 100 < sizeof(text); i++) {
		const unsigned op = mprof_play_op(word[i]);
		const char *blank = used ? " " : "";

		if (op == MPROF_PLAY_EXT) {
			ext = word[i];
			continue;
		}
		if (op == MPROF_PLAY_TIME || op == MPROF_PLAY_TOUCH) {
			used += (size_t)sprintf(text + used, "%s%c%lu", blank,
						op == MPROF_PLAY_TIME ? 't' : 'b',
						(unsigned long)(word[i] >> 4));
			continue;
		}
		used += (size_t)sprintf(text + used, "%s%c", blank, letter[op]);
		if (op != MPROF_PLAY_END)
			used += (size_t)sprintf(text + used, "%u", mprof_play_slot(word[i]));
		if (mprof_play_is_call(word[i]) && op != MPROF_PLAY_FREE)
			used += (size_t)sprintf(text + used, ":%lu",
						(unsigned long)mprof_play_size(word[i], ext));
		if (mprof_play_log2align(ext))
			used += (size_t)sprintf(text + used, "/%u", mprof_play_log2align(ext));
		if (mprof_play_fn(ext))
			used += (size_t)sprintf(text + used, "=%u", mprof_play_fn(ext));
		if (mprof_play_wait(ext))
			used += (size_t)sprintf(text + used, "@%u", mprof_play_wait(ext) - 1);
		ext = 0;
	}
	return text;
}

const char *played_order(void)
{
	size_t words;
	const uint64_t *order = playfile_order(played.file, &words);

	return as_text(order, words);
}

const char *played_stream(uint32_t thread)
{
	size_t words;
	const uint64_t *stream = playfile_stream(played.file, thread, &words);

	return as_text(stream, words);
}

/* ---- playing the streams ---- */

struct player {
	const uint64_t *at;
	bool begun, ended;
};

struct accumulator {
	uint64_t size; /* of the block */
	uint32_t generation;
};

static uint32_t next_generation(uint32_t g, unsigned op)
{
	return op == MPROF_PLAY_FREE ? g & ~1u : (((g >> 1) + 1) & 0x3fff) << 1 | 1;
}

/* One word; false when the thread must wait, or, with *wrong, when it cannot be. */
static bool step(struct player *all, struct player *p, struct accumulator *accumulator, bool *wrong)
{
	uint64_t ext = 0, word = *p->at;
	size_t taken = 1;
	struct accumulator *s;

	if (mprof_play_op(word) == MPROF_PLAY_EXT) {
		ext = word;
		word = p->at[1];
		taken = 2;
	}
	if (mprof_play_is_call(word)) {
		const unsigned op = mprof_play_op(word);

		s = &accumulator[mprof_play_slot(word)];
		if (mprof_play_wait(ext) && mprof_play_wait(ext) - 1 != s->generation)
			return false;
		if (op != MPROF_PLAY_REALLOC && (s->generation & 1) != (op == MPROF_PLAY_FREE))
			*wrong = true;
		s->generation = next_generation(s->generation, op);
	} else {
		struct player *other = &all[mprof_play_slot(word)];

		switch (mprof_play_op(word)) {
		case MPROF_PLAY_CREATE:
			*wrong |= other->begun;
			other->begun = true;
			break;
		case MPROF_PLAY_GONE:
			if (!other->ended)
				return false;
			break;
		case MPROF_PLAY_EXIT:
			*wrong |= other != p || p->at[1] != MPROF_PLAY_END;
			p->ended = true;
			break;
		}
	}
	p->at += taken;
	return true;
}

bool played_plays(unsigned seed)
{
	const struct mprof_playback_header *h = playfile_header(played.file);
	struct player *all = calloc(h->threads, sizeof(*all));
	struct accumulator *accumulator = calloc(h->slots, sizeof(*accumulator));
	bool wrong = false;
	uint32_t i, ended = 0, stuck = 0;
	size_t words;

	for (i = 0; i < h->threads; i++)
		all[i].at = h->threads > 1 ? playfile_stream(played.file, i, &words)
					   : playfile_order(played.file, &words);
	all[0].begun = true;
	while (ended < h->threads && stuck < 10000 * h->threads && !wrong) {
		struct player *p = &all[(unsigned)rand_r(&seed) % h->threads];
		unsigned n = 1 + (unsigned)rand_r(&seed) % 50;

		if (!p->begun || p->ended) {
			stuck++;
			continue;
		}
		for (stuck++; n && !p->ended && step(all, p, accumulator, &wrong); n--)
			stuck = 0;
		ended += p->ended;
	}
	free(all);
	free(accumulator);
	return ended == h->threads && !wrong;
}
