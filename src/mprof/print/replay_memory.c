// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay_memory.c - where blocks were placed, as sentences and tables. */
#include "replay_memory.h"

#include <errno.h>

#include "../places/pin_names.h"
#include "figures.h"
#include "print_table.h"

#define PIN_NAMES   3u	/* functions that are named */
#define PINS_LEAST  16u /* pages: fewer are not worth a sentence */
#define SLACK_LEAST 1u	/* percent of requested bytes */

static const struct memories_row *row_at(const struct replay_memory *r, size_t i)
{
	return i ? &r->memories->row[i - 1] : &r->memories->recorded;
}

/* Row 0 is the recorded run. */
static const struct memory *memory_at(const struct replay_memory *r, size_t i)
{
	return row_at(r, i)->status ? NULL : &row_at(r, i)->memory;
}

static struct text percent(double part)
{
	struct text t;

	snprintf(t.s, sizeof(t.s), "%.0f %%", 100 * part);
	return t;
}

static struct text more(double part)
{
	struct text t;

	if (part >= 10)
		snprintf(t.s, sizeof(t.s), "%.0f times", 1 + part);
	else
		snprintf(t.s, sizeof(t.s), "%+.0f %%", 100 * part);
	return t;
}

/* ---- tables ---- */

static void use_cells(struct table *t, const struct memory *m)
{
	const struct memory_snapshot *peak = &m->moment[MEMORY_PEAK];
	enum page_grain g;

	table_cells(t, m->title,
		    format_percent(peak->at.usable - peak->at.requested, peak->at.requested).s);
	for (g = 0; g < PAGE_GRAINS; g++)
		table_cell(t, "%s", percent(m->use[g].at_peak).s);
	table_cells(t, peak->at.resident ? percent(memory_density(peak)).s : "-",
		    percent(m->use[GRAIN_4K].mean).s, percent(m->use[GRAIN_4K].min).s,
		    percent(m->use[GRAIN_2M].mean).s, percent(m->use[GRAIN_2M].min).s);
}

/*
 * Printed once: a replay is sampled at the exact times, a recorded program only from time to time.
 */
static void tell_unknown(bool unknown, bool *told, FILE *out)
{
	if (unknown && !*told)
		fputs("  recorded: '-' means that memory was not sampled close enough to that "
		      "time.\n",
		      out);
	*told |= unknown;
}

static void print_use(const struct replay_memory *r, bool *told, FILE *out)
{
	struct table t = TABLE("<Allocator", ">Slack", ">4 KiB", ">64 KiB", ">2 MiB", ">Resident",
			       ">4 KiB mean", ">Least", ">2 MiB mean", ">Least");
	const struct memory *m, *any = NULL;
	size_t i;

	for (i = 0; i <= r->memories->n; i++) {
		m = memory_at(r, i);
		if (!m)
			continue;
		any = m;
		use_cells(&t, m);
	}
	if (!any)
		return;
	fprintf(out,
		"\n"
		"Page use: requested bytes as a share of the pages with live blocks\n"
		"  First at the peak of %s in %s, then over the whole run.\n",
		format_bytes(any->moment[MEMORY_PEAK].at.requested).s,
		format_many(any->moment[MEMORY_PEAK].at.blocks, "block", "blocks").s);
	table_print(&t, out);
	m = memory_at(r, 0);
	tell_unknown(m && !m->moment[MEMORY_PEAK].at.resident, told, out);
}

static void kept_cells(struct table *t, const struct memory *m)
{
	const struct memory_snapshot *k;

	table_cell(t, "%s", m->title);
	for (k = m->moment; k < m->moment + MEMORY_SNAPSHOTS; k++) {
		table_cells(t, k->has_residency ? format_bytes(memory_retained(k)).s : "-",
			    k->known ? format_count(k->pinned[PINS_64]).s : "-");
	}
}

static bool lacks_residency(const struct memory *m)
{
	size_t i;

	for (i = 0; m && i < MEMORY_SNAPSHOTS; i++)
		if (!m->moment[i].has_residency)
			return true;
	return false;
}

static void print_kept(const struct replay_memory *r, bool *told, FILE *out)
{
	struct table t = TABLE("<Allocator", ">Retained at the peak", ">pinned", ">Most retained",
			       ">pinned", ">Retained at the end", ">pinned");
	size_t i, n = 0;

	for (i = 0; i <= r->memories->n; i++)
		if (memory_at(r, i)) {
			kept_cells(&t, memory_at(r, i));
			n++;
		}
	if (!n)
		return;
	fputs("\n"
	      "Retained and pinned pages\n"
	      "  Retained: resident, without any live byte.  Pinned: pages with fewer than 64 live "
	      "bytes.\n",
	      out);
	table_print(&t, out);
	if (memory_at(r, 0) && memory_at(r, 0)->start.earlier && memory_at(r, 0)->has_residency)
		fputs("  recorded: what is retained may be blocks from before the first call.\n",
		      out);
	tell_unknown(lacks_residency(memory_at(r, 0)), told, out);
}

static void print_fragmentation(const struct replay_memory *r, FILE *out)
{
	struct table t =
	    TABLE("<Allocator", ">Average", ">At live peak", ">At resident peak", ">Peak to peak");
	const struct johnstone *j;
	size_t i, n = 0, unknown = 0;

	for (i = 0; i <= r->memories->n; i++) {
		if (!memory_at(r, i) || !memory_at(r, i)->fragmentation.known)
			continue;
		j = &memory_at(r, i)->fragmentation;
		table_cells(&t, memory_at(r, i)->title, j->average_known ? more(j->average).s : "-",
			    j->live_known ? more(j->at_live_peak).s : "-",
			    j->realized_known ? more(j->at_memory_peak).s : "-",
			    j->live_known ? more(j->of_peaks).s : "-");
		unknown += j->average_known && !j->realized_known;
		n++;
	}
	if (!n)
		return;
	fputs("\nFragmentation: memory in use beyond what was requested (Johnstone and Wilson's"
	      " four measures)\n",
	      out);
	table_print(&t, out);
	if (unknown)
		fputs("  At resident peak: '-' means that less than 4 MiB was live then, too "
		      "little to compare.\n",
		      out);
}

/* ---- sentences ---- */

/* "58 of them by blocks of cache_insert (cache.c:40), 4 by ..." */
static void put_names(const struct pin_names *names, uint64_t all, FILE *out)
{
	size_t i;

	for (i = 0; i < names->n && i < PIN_NAMES && names->name[i].pages; i++) {
		if (names->name[i].pages == all)
			fputs(", all of them by blocks of ", out);
		else
			fprintf(out, ", %s%s by blocks of ", format_count(names->name[i].pages).s,
				i ? "" : " of them");
		if (names->name[i].line)
			figures_line(out, names->name[i].line, true);
		else
			fputs("an unknown call site", out);
	}
}

static const char *const moment_words[MEMORY_SNAPSHOTS] = {
	[MEMORY_PEAK] = "at the peak",
	[MEMORY_RETAINED] = "when the most is retained",
	[MEMORY_END] = "at the end",
};

static void print_pins_of(const struct replay_memory *r, const struct memory *m, unsigned which,
			  FILE *out)
{
	const struct memory_snapshot *k = &m->moment[which];
	struct pin_names names = { .n = 0 };

	if (r->names)
		pin_names_make(&names, &k->pins, r->names);
	fprintf(out, "  * %s: %s, %s %s pinned by fewer than 64 bytes each", m->title,
		moment_words[which], format_many(k->pins.pages, "page", "pages").s,
		k->pins.pages == 1 ? "is" : "are");
	put_names(&names, k->pins.pages, out);
	fputs(".\n", out);
	pin_names_release(&names);
}

/* Returns the time at which most pages are pinned; the last one if several are equal. */
static unsigned most_pinned(const struct memory *m)
{
	unsigned most = 0, i;

	for (i = 1; i < MEMORY_SNAPSHOTS; i++)
		if (m->moment[i].pins.pages >= m->moment[most].pins.pages)
			most = i;
	return most;
}

static void print_pins(const struct replay_memory *r, FILE *out)
{
	const struct memory *m;
	size_t i, told = 0;

	for (i = 0; i <= r->memories->n; i++) {
		m = memory_at(r, i);
		if (!m || m->moment[most_pinned(m)].pins.pages < PINS_LEAST)
			continue;
		if (!told++)
			fputs("\nWhat pins pages\n", out);
		print_pins_of(r, m, most_pinned(m), out);
	}
}

/* Returns the size class that is rounded up most at the peak. */
static const struct memory_class *slackest(const struct memory *m)
{
	const struct memory_class *c = m->class, *most = c;

	for (; c < m->class + MEMORY_CLASSES; c++)
		if (c->peak.usable - c->peak.requested > most->peak.usable - most->peak.requested)
			most = c;
	return most;
}

static void put_sizes(const struct memory *m, const struct memory_class *c, FILE *out)
{
	const unsigned class = (unsigned)(c - m->class);

	if (class)
		fprintf(out, " of %s to %s", format_bytes(memory_class_most(class - 1) + 1).s,
			format_bytes(memory_class_most(class)).s);
	else
		fputs(" of 0 bytes", out);
}

static void print_slack(const struct replay_memory *r, FILE *out)
{
	const struct memory_class *c;
	const struct memory *m;
	size_t i, told = 0;
	uint64_t slack;

	for (i = 0; i <= r->memories->n; i++) {
		m = memory_at(r, i);
		if (!m)
			continue;
		slack = m->moment[MEMORY_PEAK].at.usable - m->moment[MEMORY_PEAK].at.requested;
		if (slack * 100 < m->moment[MEMORY_PEAK].at.requested * SLACK_LEAST)
			continue;
		c = slackest(m);
		if (!told++)
			fputs("\nSlack inside blocks at the peak\n", out);
		fprintf(out, "  * %s: %s, of which %s in %s", m->title, format_bytes(slack).s,
			format_bytes(c->peak.usable - c->peak.requested).s,
			format_many(c->peak.blocks, "block", "blocks").s);
		put_sizes(m, c, out);
		fputs(".\n", out);
	}
	if (told)
		fputs("  This does not include the allocator's headers; to compare allocators, use "
		      "page use.\n",
		      out);
}

static void print_failures(const struct replay_memory *r, FILE *out)
{
	const struct memories_row *row;
	size_t i;

	for (i = 0; i <= r->memories->n; i++) {
		row = row_at(r, i);
		if (row->status && row->status != -ENOENT)
			fprintf(out, "\nNot analysed: %s\n", row->why.text);
	}
}

void replay_memory_text(const struct replay_memory *r, FILE *out)
{
	bool told = false;

	print_use(r, &told, out);
	print_kept(r, &told, out);
	print_pins(r, out);
	print_fragmentation(r, out);
	print_slack(r, out);
	print_failures(r, out);
}
