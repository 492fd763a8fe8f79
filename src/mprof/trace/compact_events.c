// SPDX-License-Identifier: LGPL-3.0-or-later
/* compact_events.c - the events of a trace in groups. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../util/order.h"
#include "compact_job.h"
#include "group.h"
#include "stack_map.h"

#define GROUP_OVER 4096u /* more events allowed in a group, to end between reallocs */

struct events {
	struct job *job;
	struct sorts sorts;
	struct group_writer *group;
	uint64_t *mark; /* ticks around which times are kept exactly */
	size_t marks;
	uint64_t groups;
	uint64_t ticks[2]; /* of the current group: first and last */
	uint64_t floor;	   /* no event is before the last one of the part before */
};

/* ---- writing ---- */

static int write_sorts(struct events *w)
{
	struct mprof_sorts head;
	unsigned char *to;
	size_t most;

	if (w->sorts.told == w->sorts.n && w->sorts.stacks_told == w->sorts.stacks)
		return 0;
	if (sorts_tell(&w->sorts, &head))
		return -ENOMEM;
	head.plain_bytes = (uint32_t)pieces_bytes(sorts_piece, &w->sorts, &most);
	to = job_payload(w->job, sizeof(head) + most);
	if (!to)
		return -ENOMEM;
	head.frame_bytes = (uint32_t)packer_frames(w->job->packer, sorts_piece, &w->sorts,
						   to + sizeof(head), most);
	if (!head.frame_bytes)
		return -ENOMEM;
	memcpy(to, &head, sizeof(head));
	return job_add_own(w->job, MPROF_EXTENT_SORTS, sizeof(head) + head.frame_bytes,
			   w->groups + 1, NULL);
}

static void add_to_index(struct events *w, uint64_t first_event)
{
	struct index *index = &w->job->index;
	struct mprof_index_entry *e = GROW_ONE(index->item, index->n, index->room);

	*e = (struct mprof_index_entry){ w->job->tail, w->ticks[0], w->ticks[1], first_event };
}

static int write_group(struct events *w)
{
	struct group_frame frame[MPROF_GROUP_FRAMES];
	size_t most[MPROF_GROUP_FRAMES], used = sizeof(struct mprof_group), room = used;
	struct mprof_group head;
	unsigned char *to;

	int ret = group_end(w->group, &head);

	if (!ret)
		ret = write_sorts(w);
	if (ret)
		return ret;
	head.first_event = w->job->events - head.events + 1;
	for (unsigned i = 0; i < MPROF_GROUP_FRAMES; i++) {
		frame[i] = (struct group_frame){ w->group, i };
		most[i] = pieces_most(head.plain_bytes[i], GROUP_PIECES);
		room += most[i];
	}
	to = job_payload(w->job, room);
	for (unsigned i = 0; to && i < MPROF_GROUP_FRAMES; i++) {
		head.frame_bytes[i] = (uint32_t)packer_frames(w->job->packer, group_piece,
							      &frame[i], to + used, most[i]);
		if (!head.frame_bytes[i])
			return -ENOMEM;
		used += head.frame_bytes[i];
	}
	if (!to)
		return -ENOMEM;
	if (!w->job->live)
		add_to_index(w, head.first_event);
	memcpy(to, &head, sizeof(head));
	return job_add_own(w->job, MPROF_EXTENT_GROUP, used, ++w->groups, w->ticks);
}

void events_forget(struct events *w, bool (*is_over)(const void *context, uint32_t process),
		   const void *context)
{
	group_forget_where(w->group, is_over, context);
}

/* Frees the memory of processes that have been read completely. */
static void forget_ended(struct events *w)
{
	const struct trace *t = w->job->from;
	bool over = !w->job->live;

	for (size_t i = 0; i < t->streams; i++) {
		const struct stream *s = &t->stream[i];
		uint32_t process = t->chunk[s->first].process;

		over &= s->next == s->last && s->pos == s->end;
		if (i + 1 == t->streams || t->chunk[s[1].first].process != process) {
			if (over)
				group_forget(w->group, process);
			over = !w->job->live;
		}
	}
}

/* Ends the group when it is full, or when it is the last one.  *ended: is there none now? */
static int end_group(struct events *w, bool last, bool *ended)
{
	bool settled;
	uint32_t events = group_events(w->group, &settled);
	int ret;

	*ended = !events;
	if (!events ||
	    (!last && (events < GROUP_EVENTS || (!settled && events < GROUP_EVENTS + GROUP_OVER))))
		return 0;
	ret = write_group(w);
	forget_ended(w);
	group_begin(w->group, w->job->shift, w->job->options->exact);
	*ended = true;
	return ret ? ret : job_go_on(w->job);
}

/* Adds up to n events that are short words.  *added: how many.  0 or -ENOMEM. */
static int add_words(struct events *w, size_t n, size_t *added)
{
	const struct compact_options *o = w->job->options;
	struct group_added sum = { 0 };
	uint64_t limit;
	struct stream *s = w->floor ? NULL : merge_top(w->job->from, &limit);
	int ret = s ? group_add_words(w->group, s, n, limit, &sum) : 0;

	*added = sum.events;
	if (!sum.events)
		return ret;
	w->ticks[1] = sum.last_ticks;
	w->job->events += sum.events;
	if (o->sums)
		o->sums(o->context, sum.calls, group_asked(w->group));
	return ret;
}

/*
 * A thread had the time of an event and had not stored it yet as an earlier part was read.  It had
 * not returned from the call either, so no other thread can have seen what it did.
 */
static void lift(struct events *w, struct event *e, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (e[i].ticks < w->floor)
			e[i].ticks = w->floor;
	if (e[n - 1].ticks > w->floor)
		w->floor = 0;
}

/* Adds up to n of the next events.  *added: how many, 0 at the end.  0 or -errno. */
static int add_events(struct events *w, size_t n, size_t *added)
{
	const struct compact_options *o = w->job->options;
	struct event e[GROUP_BATCH];
	bool settled;

	n = *added = trace_next(w->job->from, e, n);
	if (!n)
		return 0;
	if (w->floor)
		lift(w, e, n);
	if (!group_events(w->group, &settled))
		w->ticks[0] = e->ticks;
	w->ticks[1] = e[n - 1].ticks;
	w->job->events += n;
	if (o->events)
		o->events(o->context, e, n);
	return group_add(w->group, e, n);
}

#define RUN_LEAST 32u /* short words that follow each other, so that they are added as such */

/*
 * Adds a batch; groups end after whole ones.  *added: how many events, 0 at the end.  What is
 * between short words is mostly one event.
 */
static int add_batch(struct events *w, size_t *added)
{
	size_t words = 0, others = 1;
	bool settled;
	int ret = 0;

	*added = 0;
	if (group_events(w->group, &settled))
		ret = add_words(w, GROUP_BATCH, &words);
	while (!ret && others && (*added += words) < GROUP_BATCH) {
		ret = add_events(w, words < RUN_LEAST ? GROUP_BATCH - *added : 1, &others);
		*added += others;
		words = 0;
		if (!ret && *added < GROUP_BATCH)
			ret = add_words(w, GROUP_BATCH - *added, &words);
	}
	return ret;
}

#define PART_LEAST (40u << 20) /* bytes of words that may be too few for a group */

/* Are there enough words for another group? */
static bool have_enough(const struct trace *t)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < t->streams && bytes < PART_LEAST; i++) {
		const struct stream *s = &t->stream[i];

		bytes += (uint64_t)(s->end - s->pos) * sizeof(*s->pos);
		for (size_t k = s->next; k < s->last && bytes < PART_LEAST; k++)
			bytes += t->chunk[k].bytes;
	}
	return bytes >= PART_LEAST;
}

static int write_events(struct events *w, bool last)
{
	const struct compact_options *o = w->job->options;
	bool ended;
	size_t n;
	int ret;

	group_marks(w->group, w->mark, w->marks);
	group_begin(w->group, w->job->shift, o->exact);
	trace_keep_numbers(w->job->from, true);
	while (!(ret = add_batch(w, &n)) && n) {
		ret = end_group(w, false, &ended);
		if (!ret && o->stop && *o->stop)
			ret = -EINTR;
		if (ret || (!last && ended && !have_enough(w->job->from)))
			break;
	}
	trace_keep_numbers(w->job->from, false);
	return ret ? ret : end_group(w, true, &ended);
}

static int write_threads(const struct events *w)
{
	const struct trace *t = w->job->from;
	size_t used = sizeof(struct mprof_threads) + t->threads * sizeof(struct mprof_thread_entry);
	struct mprof_thread_entry *entry;
	struct mprof_threads *head = (struct mprof_threads *)job_payload(w->job, used);

	if (!head)
		return -ENOMEM;
	entry = (struct mprof_thread_entry *)(head + 1);
	*head = (struct mprof_threads){ .events = w->job->events,
					.groups = w->groups,
					.chunks_missing = t->damage.chunks_missing,
					.stacks_missing = t->damage.stacks_missing };
	for (size_t i = 0; i < t->threads; i++)
		entry[i] =
		    (struct mprof_thread_entry){ t->thread[i].process, t->thread[i].number,
						 t->thread[i].chunks, t->thread[i].first_ticks,
						 t->thread[i].last_ticks };
	return job_add_own(w->job, MPROF_EXTENT_THREADS, used, 0, NULL);
}

/* ---- before ---- */

ORDER(by_ticks, uint64_t, COMPARE(*x, *y))

/* Finds the times of forks, ends and samples: events before one of them stay before it. */
static int find_marks(struct events *w)
{
	const struct trace *t = w->job->from;
	size_t n = 3 * t->facts + 2 * (t->residencies + t->peaks) + t->samples + t->threads;

	free(w->mark);
	w->marks = 0;
	w->mark = calloc(n + 1, sizeof(*w->mark));
	if (!w->mark)
		return -ENOMEM;
	for (size_t i = 0; i < t->facts; i++) {
		w->mark[w->marks++] = t->fact[i].fact->ticks;
		w->mark[w->marks++] = t->fact[i].fact->ticks - 1; /* what exec comes behind */
		w->mark[w->marks++] = t->fact[i].fact->fork_ticks;
	}
	for (size_t i = 0; i < t->residencies; i++) {
		w->mark[w->marks++] = t->residency[i].head->ticks_before;
		w->mark[w->marks++] = t->residency[i].head->ticks_after;
	}
	for (size_t i = 0; i < t->samples; i++)
		w->mark[w->marks++] = t->sample[i].s.ticks;
	for (size_t i = 0; i < t->peaks; i++) {
		w->mark[w->marks++] = t->peak[i].from_ticks;
		w->mark[w->marks++] = t->peak[i].ticks;
	}
	for (size_t i = 0; i < t->threads; i++)
		w->mark[w->marks++] = t->thread[i].last_ticks;
	SORT(w->mark, w->marks, by_ticks);
	return 0;
}

/* ---- parts ---- */

struct events *events_new(struct job *j)
{
	struct events *w = calloc(1, sizeof(*w));

	if (!w)
		return NULL;
	w->job = j;
	w->group = sorts_start(&w->sorts, 0) ? NULL : group_writer_new(&w->sorts);
	if (w->group)
		return w;
	events_free(w);
	return NULL;
}

void events_free(struct events *w)
{
	if (!w)
		return;
	group_writer_free(w->group);
	sorts_free(&w->sorts);
	free(w->mark);
	free(w);
}

int events_add(struct events *w, size_t nodes, bool last)
{
	const struct stack_map *map;
	const size_t maps = stacks_maps(w->job->from, &map);
	int ret;

	sorts_name_stacks(&w->sorts, map, maps, nodes);
	w->floor = w->ticks[1];
	ret = find_marks(w);
	return ret ? ret : write_events(w, last);
}

int events_add_last(struct events *w, size_t nodes)
{
	const int ret = events_add(w, nodes, true);

	return ret ? ret : write_threads(w);
}

uint64_t events_groups(const struct events *w)
{
	return w->groups;
}

int job_add_events(struct job *j)
{
	struct events *w = events_new(j);
	const int ret = w ? events_add_last(w, trace_stacks(j->from)->nodes) : -ENOMEM;

	events_free(w);
	return ret;
}
