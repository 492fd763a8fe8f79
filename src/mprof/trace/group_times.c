// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * group_times.c - fitting the times of a group's events (FORMAT.md 8.5).
 *
 * The clock that the unpacker will have runs here too.  Where it would be off by
 * more than the error, or move an event across one of another thread, it is put
 * right, at the price of some bytes.
 */
#include <errno.h>

#include "group_packer.h"

static void put_varint(struct group_packer *p, unsigned column, uint64_t value)
{
	column_varint(&p->column[column], value);
}

struct fit {
	struct group_packer *p;
	uint64_t base;
	size_t n, from; /* events; the first one since the clock was put right */
	int64_t now;
	int64_t cap; /* no event before `turn` may be later */
	size_t turn; /* the next event that comes behind others */
};

static int64_t true_time(const struct fit *f, size_t i)
{
	return (int64_t)(f->p->timed[i].ticks - f->base) * CLOCK_ONE;
}

/* Until the next turn times may be moved, but not to where the others' are. */
static void next_turn(struct fit *f, size_t i)
{
	int64_t last;

	for (f->turn = i + 1; f->turn < f->n && !f->p->timed[f->turn].first;)
		f->turn++;
	last = true_time(f, f->turn - 1);
	f->cap = last > true_time(f, i) ? last - 1 : last;
	if (f->turn == f->n)
		f->cap = last;
}

static void class_add(struct model_clock *c, uint16_t class)
{
	c->class[c->since++] = class;
}

static void corrected(struct fit *f, size_t next, int64_t off)
{
	struct model_clock *c = &f->p->clock;

	if (c->error && off < 4 * c->error)
		model_clock_learn(c, off);
	c->since = 0;
	f->from = next;
}

/* The clock runs ahead: it waits for the true time.  Returns the event behind. */
static size_t stall(struct fit *f, size_t i)
{
	struct model_clock *c = &f->p->clock;
	int64_t missed = 0;
	size_t n = 0;

	do {
		class_add(c, f->p->timed[i + n].class);
		missed += c->rate[f->p->timed[i + n].class];
		n++;
	} while (i + n < f->turn && true_time(f, i + n) < f->now);
	put_varint(f->p, GROUP_MOVE, MOVE_STALL);
	put_varint(f->p, GROUP_STALL, n);
	corrected(f, i + n, -missed);
	return i + n;
}

static size_t move(struct fit *f, size_t i, int64_t guessed, bool exact)
{
	struct model_clock *c = &f->p->clock;
	int64_t truth = true_time(f, i), units = (truth - f->now + c->unit / 2) / c->unit;

	if (!exact && (units < 1 || f->now + units * c->unit > f->cap)) {
		if (truth <= f->now || units < 1)
			return stall(f, i);
		exact = true;
	}
	class_add(c, f->p->timed[i].class);
	if (exact) {
		put_varint(f->p, GROUP_MOVE, MOVE_EXACT);
		put_varint(f->p, GROUP_EXACT, (uint64_t)(truth / CLOCK_ONE - f->now / CLOCK_ONE));
		f->now = truth;
	} else {
		put_varint(f->p, GROUP_MOVE, (uint64_t)units + MOVE_UNITS - 1);
		f->now += units * c->unit;
	}
	corrected(f, i + 1, f->now - guessed);
	return i + 1;
}

static size_t fit_event(struct fit *f, size_t i)
{
	struct model_clock *c = &f->p->clock;
	const struct timed *e = &f->p->timed[i];
	int64_t truth = true_time(f, i), guessed = f->now + c->rate[e->class];
	bool exact = i == f->turn || !i || !c->error;

	if (i == f->turn || !i)
		next_turn(f, i);
	if (!exact && guessed <= f->cap && guessed - truth <= c->error &&
	    truth - guessed <= c->error) {
		class_add(c, e->class);
		f->now = guessed;
		return i + 1;
	}
	put_varint(f->p, GROUP_GAP, i - f->from);
	return move(f, i, guessed, exact);
}

/* Steps between events of one class, without those that are far longer than most. */
struct steps {
	uint64_t sum, n;
	uint64_t limit;
};

#define STEPS_MIN 32 /* rarer classes have no rate of their own to begin with */

static void add_steps(const struct group_packer *p, uint64_t base, struct steps *class)
{
	uint64_t before = base, step;

	for (uint32_t i = 0; i < p->start.head.events; i++) {
		struct steps *s = &class[p->timed[i].class];

		step = p->timed[i].ticks - before;
		before = p->timed[i].ticks;
		if (step <= s->limit) {
			s->sum += step;
			s->n++;
		}
	}
}

/* The mean of the steps, first of those within the error, then of those not far beyond that. */
static int tell_rates(struct group_packer *p, uint64_t base)
{
	uint32_t classes = model_clock_classes(p->model.sorts);
	struct steps *class = calloc(classes, sizeof(*class));
	uint64_t n = 0, last = 0;

	if (!class)
		return -ENOMEM;
	for (uint32_t i = 0; i < classes; i++)
		class[i].limit = p->start.head.error;
	add_steps(p, base, class);
	for (uint32_t i = 0; i < classes; i++) {
		class[i].limit = class[i].n ? 4 * class[i].sum / class[i].n + 1 : 0;
		class[i].sum = class[i].n = 0;
	}
	add_steps(p, base, class);
	for (uint32_t i = 0; i < classes; i++)
		n += class[i].n >= STEPS_MIN;
	put_varint(p, GROUP_RATE, n);
	for (uint32_t i = 0; i < classes; i++) {
		struct model_clock *c = &p->clock;
		int64_t units;

		if (class[i].n < STEPS_MIN)
			continue;
		units =
		    ((int64_t)(class[i].sum * CLOCK_ONE / class[i].n) - c->pace) / CLOCK_RATE_UNIT;
		put_varint(p, GROUP_RATE, i - last);
		put_varint(p, GROUP_RATE, zigzag((uint64_t)units));
		c->rate[i] = model_clock_rate(c, units);
		last = i + 1;
	}
	free(class);
	return 0;
}

int group_fit_times(struct group_packer *p, uint64_t base)
{
	struct fit f = { .p = p, .base = base, .n = p->start.head.events };
	uint64_t before = 0, ticks;

	model_clock_start(&p->clock, p->model.sorts, p->start.head.pace, p->start.head.error);

	if (p->start.head.error && tell_rates(p, base))
		return -ENOMEM;
	for (size_t i = 0, next; i < f.n; i = next) {
		next = fit_event(&f, i);
		/* While the clock stands still there is nothing to tell. */
		ticks = (uint64_t)f.now / CLOCK_ONE;
		p->words += ticks - before > MPROF_DT_MAX;
		before = ticks;
	}
	put_varint(p, GROUP_GAP, f.n - f.from);
	for (size_t i = 0; i < f.n; i++)
		p->words += p->timed[i].words;
	return 0;
}
