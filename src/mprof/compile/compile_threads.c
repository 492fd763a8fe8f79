// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * compile_threads.c - threads and processes of the feed, and where threads
 * begin and end in ORDER.
 *
 * A thread begins with its first call and ends after its last one. When its end is reported, the C
 * library may still free memory: so EXIT is written, and if another call comes, it is overwritten
 * (as are GONEs for it) by a TIME word without effect, and written again after that call.
 */
#include <string.h>

#include "compile_parts.h"

/* ---- numbers ---- */

static uint32_t tame(uint32_t number)
{
	return number < COMPILE_NUMBERS ? number : 0;
}

static struct compile_thread *new_thread(struct compile *c, uint32_t number)
{
	GROW(c->thread, c->threads + 1, c->thread_room);
	GROW_ZEROED(c->thread_place, number + (size_t)1, c->thread_numbers);
	c->thread[c->threads] = (struct compile_thread){
		.place = c->threads,
		.number = number,
		.creator = COMPILE_NONE,
		.index = COMPILE_NONE,
		.gone_at = COMPILE_NOWHERE,
	};
	c->thread_place[number] = ++c->threads;
	return &c->thread[c->threads - 1];
}

struct compile_thread *compile_known_thread(struct compile *c, uint32_t number)
{
	number = tame(number);
	if (number >= c->thread_numbers || !c->thread_place[number])
		return NULL;
	return &c->thread[c->thread_place[number] - 1];
}

struct compile_thread *compile_find_thread(struct compile *c, uint32_t number)
{
	struct compile_thread *t = compile_known_thread(c, number);

	if (!t)
		t = new_thread(c, tame(number));
	c->last_thread = t->place;
	return t;
}

/* Returns where the forking thread of a process is kept. */
static uint32_t *forker_of(struct compile *c, uint32_t process)
{
	process = tame(process);
	GROW_ZEROED(c->forker, process + (size_t)1, c->process_room);
	return &c->forker[process];
}

/* ---- ends ---- */

static void put_exit(struct compile *c, struct compile_thread *t)
{
	writer_room(&c->writer);
	t->exit_at = writer_position(&c->writer);
	t->exit_time = c->time_word;
	t->gone_at = COMPILE_NOWHERE;
	writer_put(&c->writer, mprof_play_other(MPROF_PLAY_EXIT, t->index));
	GROW(c->gone, c->gone_n + 1, c->gone_room);
	c->gone[c->gone_n++] = t->place;
}

static void take_exit_back(struct compile *c, struct compile_thread *t)
{
	const uint32_t place = t->place;
	uint32_t i, kept = 0;

	writer_patch(&c->writer, t->exit_at, t->exit_time);
	if (t->gone_at != COMPILE_NOWHERE) {
		writer_patch(&c->writer, t->gone_at, t->gone_time);
		return;
	}
	for (i = 0; i < c->gone_n; i++)
		if (c->gone[i] != place)
			c->gone[kept++] = c->gone[i];
	c->gone_n = kept;
}

/* ---- words of a thread ---- */

static void go_on_with(struct compile *c, struct compile_thread *t)
{
	writer_room(&c->writer);
	if (c->playing != t->index)
		writer_put(&c->writer, mprof_play_other(MPROF_PLAY_SWITCH, t->index));
	c->playing = t->index;
}

static bool can_create(const struct compile *c, uint32_t place)
{
	return place < c->threads && c->thread[place].begun && !c->thread[place].ended;
}

/* Finds the creator of t: the recorded one, else the thread that ran last, else any. */
static struct compile_thread *creator_of(struct compile *c, const struct compile_thread *t)
{
	const uint32_t forker = *forker_of(c, t->process);
	struct compile_thread *known;
	uint32_t i;

	if (t->creator != COMPILE_NONE && can_create(c, t->creator))
		return &c->thread[t->creator];
	known = forker ? compile_known_thread(c, forker - 1) : NULL;
	if (known && can_create(c, known->place))
		return known;
	if (can_create(c, c->by_index[c->playing]))
		return &c->thread[c->by_index[c->playing]];
	for (i = 0; i < c->begun; i++)
		if (can_create(c, c->by_index[i]))
			return &c->thread[c->by_index[i]];
	return &c->thread[c->by_index[0]];
}

static void put_gone(struct compile *c)
{
	struct compile_thread *t;
	uint32_t i;

	for (i = 0; i < c->gone_n; i++) {
		t = &c->thread[c->gone[i]];
		writer_room(&c->writer);
		t->gone_at = writer_position(&c->writer);
		t->gone_time = c->time_word;
		writer_put(&c->writer, mprof_play_other(MPROF_PLAY_GONE, t->index));
	}
	c->gone_n = 0;
}

static void starts(struct compile *c, struct compile_thread *t)
{
	struct compile_thread *creator;

	GROW(c->by_index, c->begun + 1, c->by_index_room);
	if (c->begun) {
		creator = creator_of(c, t);
		t->creator = creator->place;
		t->index = c->begun;
		compile_words_begin(c, creator);
		put_gone(c);
		writer_room(&c->writer);
		writer_put(&c->writer, mprof_play_other(MPROF_PLAY_CREATE, t->index));
		compile_words_end(c, creator);
	} else {
		t->index = 0;
		t->creator = t->place;
	}
	t->begun = true;
	c->by_index[c->begun++] = t->place;
}

void compile_words_begin(struct compile *c, struct compile_thread *t)
{
	if (!t->begun)
		starts(c, t);
	if (t->ended)
		take_exit_back(c, t);
	go_on_with(c, t);
}

void compile_words_end(struct compile *c, struct compile_thread *t)
{
	if (!t->ended)
		return;
	if (++t->late > COMPILE_LATE)
		t->ended = false;
	else
		put_exit(c, t);
}

void compile_thread_exits(struct compile *c, struct compile_thread *t)
{
	if (t->ended || !t->begun)
		return;
	go_on_with(c, t);
	t->ended = true;
	t->late = 0;
	put_exit(c, t);
}

void compile_threads_exit(struct compile *c, uint32_t process)
{
	uint32_t i;

	for (i = 0; i < c->threads; i++)
		if (c->thread[i].process == process)
			compile_thread_end(c, c->thread[i].number);
}

/* ---- what the feed says ---- */

void compile_thread_begin(struct compile *c, uint32_t thread, uint32_t creator)
{
	uint32_t last = c->last_thread, by;
	struct compile_thread *t;

	if (c->inner)
		compile_thread_begin(c->inner, thread, creator);
	by = compile_find_thread(c, creator)->place;
	t = compile_find_thread(c, thread);
	if (!t->begun)
		t->creator = by;
	c->last_thread = last;
}

void compile_thread_end(struct compile *c, uint32_t thread)
{
	struct compile_thread *t = compile_known_thread(c, thread);

	if (c->inner)
		compile_thread_end(c->inner, thread);
	else if (t) {
		compile_thread_exits(c, t);
		compile_pool_rests(c, t);
	}
}

void compile_process_forked(struct compile *c, uint32_t process, uint32_t creator_thread)
{
	if (c->inner)
		compile_process_forked(c->inner, process, creator_thread);
	*forker_of(c, process) = creator_thread < COMPILE_NUMBERS ? creator_thread + 1 : 0;
}
