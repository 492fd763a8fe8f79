// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * export_dhat.c - the file of Valgrind's DHAT, version 2, which dh_view.html opens: a
 * program point for each call stack, with totals, lifetimes, and blocks at the site's own
 * peak, at the peak of the run (t-gmax) and at its end (t-end).
 *
 * Times are microseconds.  Reads and writes are unknown, so bkacc is false and the viewer does not
 * sort by them.  A block that was never freed lived until its process or the run ended, as in DHAT.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "flow.h"
#include "exports.h"
#include "../print/json.h"
#include "../util/alloc.h"
#include "path_frames.h"

#define SHORT_LIVED_US 500u /* the viewer's "short-lived"; DHAT has 500 instructions */

struct dhat {
	struct profile *profile;
	/* unsigned __int128 by group: lifetimes of blocks that were never freed. */
	struct array left_ns;
	uint64_t end_ticks; /* the end of the last process that left a block, or the last event */
	struct line_interner lines; /* frames; 0 is the root */
};

/* The profile already has the lifetimes of freed blocks. */
static void left(void *self, struct flow *f, const struct flow_block *b, enum process_gone why)
{
	struct dhat *d = self;
	unsigned __int128 *ns = array_at(&d->left_ns, b->group, sizeof(*ns));

	if (b->ticks > d->end_ticks)
		d->end_ticks = b->ticks;
	if (b->ticks > b->block->start)
		*ns += walk_duration_ns(f->walk, b->ticks - b->block->start);
}

static const struct flow_ops ops = { .left = left };

/* ---- the file ---- */

/* Writes the innermost frame first. */
static void put_frames(struct dhat *d, size_t i, FILE *out)
{
	const struct profile_path *path = profile_path_once(d->profile, d->profile->site[i].key);
	uint32_t id;
	size_t k;

	fputs(",\"fs\":[", out);
	for (k = path->count; k; k--) {
		id = line_interner_id(&d->lines, path->line[k - 1]);
		fprintf(out, "%" PRIu32 "%s", id, k > 1 ? "," : "");
	}
	if (!path->count || path->truncated) {
		id = line_interner_id(&d->lines, path->count ? &calltree_cut : &calltree_no_stack);
		fprintf(out, "%s%" PRIu32, path->count ? "," : "", id);
	}
	fputs("]}", out);
}

static void put_point(struct dhat *d, size_t i, FILE *out)
{
	const struct site *site = &d->profile->site[i];
	const struct site_values *v = &site->v;
	const struct site_local *local = &d->profile->sites.local[site->group];
	const unsigned __int128 *left_ns = array_at(&d->left_ns, site->group, sizeof(*left_ns));

	fprintf(out, "{\"tb\":%" PRIu64, v->bytes);
	json_put_n(out, "tbk", v->calls);
	json_put_n(out, "tl", (uint64_t)((v->lifetime_ns + *left_ns) / 1000));
	json_put_n(out, "mb", local->bytes);
	json_put_n(out, "mbk", local->calls);
	json_put_n(out, "gb", v->peak_bytes);
	json_put_n(out, "gbk", v->peak_calls);
	json_put_n(out, "eb", v->live_bytes);
	json_put_n(out, "ebk", v->live_calls);
	put_frames(d, i, out);
}

static void put_points(struct dhat *d, FILE *out)
{
	const char *comma = "\n";
	size_t i;

	fputs(",\"pps\":[", out);
	for (i = 0; i < d->profile->count; i++) {
		if (!d->profile->site[i].v.calls)
			continue;
		fputs(comma, out);
		comma = ",\n";
		put_point(d, i, out);
	}
	fputs("]", out);
}

static void put_table(const struct dhat *d, FILE *out)
{
	const struct sym_line *line;
	char *text;
	size_t bytes;
	FILE *name;
	uint32_t id;

	fputs(",\"ftbl\":[\"[root]\"", out);
	for (id = 1; id <= d->lines.keys.count; id++) {
		line = line_interner_line(&d->lines, id);
		name = must_memstream(&text, &bytes);
		fputs(line->function, name);
		if (*line->file)
			fprintf(name, " (%s:%u)", line->file, line->line);
		else if (*line->module)
			fprintf(name, " (in %s)", line->module);
		must_close(name, &text);
		fputs(",\n", out);
		json_put(out, text);
		free(text);
	}
	fputs("]}\n", out);
}

static uint64_t us_of(int64_t ns)
{
	return ns > 0 ? (uint64_t)ns / 1000 : 0;
}

static void put_head(const struct dhat *d, FILE *out)
{
	const struct profile *p = d->profile;
	const uint64_t end = us_of(walk_ns(&p->walk, d->end_ticks)) + 1;
	char *command = place_command_text(p);

	fputs("{\"dhatFileVersion\":2,\"mode\":\"heap\",\"verb\":\"Allocated\",\"bklt\":true,"
	      "\"bkacc\":false,\"tu\":\"\xc2\xb5s\",\"Mtu\":\"s\"",
	      out);
	json_put_n(out, "tuth", SHORT_LIVED_US);
	json_put_s(out, "cmd", command);
	json_put_n(
	    out, "pid",
	    p->tree.processes && p->tree.process[0].pid > 0 ? (uint64_t)p->tree.process[0].pid : 0);
	json_put_n(out, "tg", us_of(p->sites.peak.ns));
	json_put_n(out, "te", end);
	free(command);
}

int export_dhat(struct export *x, struct error *err)
{
	struct dhat d = { .profile = x->profile, .lines = { .same = LINE_LINE } };
	struct flow f;
	int ret;

	ret = flow_run(&f, x, &ops, &d, err);
	if (!ret) {
		if (d.end_ticks < x->profile->walk.last_ticks)
			d.end_ticks = x->profile->walk.last_ticks;
		put_head(&d, x->out);
		put_points(&d, x->out);
		put_table(&d, x->out);
	}
	line_interner_release(&d.lines);
	array_release(&d.left_ns);
	flow_release(&f);
	return ret;
}
