// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * export_jsonl.c - JSON lines: one object for the run, one for each site, and
 * with --events one for each block that begins, ends or is left behind.
 *
 * The "type" of a line is run, site, began, ended or left. Sites have their stack, innermost line
 * first, and all their figures. Events name a site by its number, so they are written when sites
 * are numbered (flow.h).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "flow.h"
#include "../trace/functions.h"
#include "exports.h"
#include "../print/json.h"
#include "compressed.h"

static void put_type(FILE *out, const char *type)
{
	fprintf(out, "{\"type\":\"%s\"", type);
}

static void put_run(FILE *out, const struct profile *p)
{
	const struct trace_fact *f =
	    p->tree.processes && p->tree.process[0].images ? p->tree.process[0].image[0] : NULL;
	size_t i;

	put_type(out, "run");
	json_put_s(out, "recorded_by", "mprof " MPROF_VERSION);
	json_put_s(out, "trace", p->path);
	fputs(",\"argv\":[", out);
	for (i = 0; f && i < f->argc; i++) {
		if (i)
			fputc(',', out);
		json_put(out, f->argv[i]);
	}
	fprintf(out, "],\"started_ns\":%" PRId64, p->header->start_real_ns);
	json_put_n(out, "events", p->walk.events);
	json_put_n(out, "calls", p->total.calls);
	json_put_n(out, "bytes", p->total.bytes);
	json_put_n(out, "peak_ns", p->sites.peak.ns > 0 ? (uint64_t)p->sites.peak.ns : 0);
	json_put_n(out, "peak_bytes", p->total.peak_bytes);
	json_put_n(out, "live_bytes", p->total.live_bytes);
	json_put_n(out, "leaked_bytes", p->total.leaked_bytes);
	fputs("}\n", out);
}

static void put_line(FILE *out, const struct sym_line *l)
{
	fputs("{\"function\":", out);
	json_put(out, l->function);
	if (*l->file)
		json_put_s(out, "file", l->file);
	if (l->line)
		json_put_n(out, "line", l->line);
	json_put_s(out, "module", l->module);
	if (l->inlined)
		fputs(",\"inlined\":true", out);
	fputc('}', out);
}

static void put_site(FILE *out, struct profile *p, size_t i)
{
	const struct profile_path *path = profile_path_once(p, p->site[i].key);
	const struct export_column *c;
	size_t k;

	put_type(out, "site");
	json_put_n(out, "site", i + 1);
	for (c = export_columns; c->name; c++)
		if (export_knows(p, c->offset))
			json_put_n(out, c->name, export_figure(c, &p->site[i].v));
		else
			fprintf(out, ",\"%s\":null", c->name);
	json_put_n(out, "asked", path->count - path->asked);
	fputs(",\"stack\":[", out);
	for (k = path->count; k; k--) {
		put_line(out, path->line[k - 1]);
		if (k > 1)
			fputc(',', out);
	}
	fprintf(out, "]%s}\n", path->truncated ? ",\"truncated\":true" : "");
}

/* ---- events ---- */

struct jsonl {
	FILE *out;
	uint32_t *site; /* by group */
};

static void put_profile(FILE *out, struct profile *p)
{
	size_t i;

	put_run(out, p);
	for (i = 0; i < p->count; i++)
		put_site(out, p, i);
}

static void start(void *self, struct flow *f)
{
	struct jsonl *j = self;

	put_profile(j->out, f->profile);
	j->site = flow_sites(f->profile);
}

static void put_event(const struct jsonl *j, const char *type, const struct flow *f,
		      const struct flow_block *b)
{
	FILE *out = j->out;

	put_type(out, type);
	if (b->number)
		json_put_n(out, "event", b->number);
	json_put_n(out, "ns", walk_since_ns(f->walk, b->ticks));
	json_put_n(out, "process", b->process);
	json_put_n(out, "thread", b->thread);
	json_put_n(out, "site", j->site[b->group] + 1);
	if (b->number)
		json_put_s(out, "function", function_name(b->fn) ?: "?");
	fprintf(out, ",\"address\":\"%" PRIx64 "\"", b->block->addr);
	json_put_n(out, "size", b->block->size);
	json_put_n(out, "slack", b->block->slack);
}

static void began(void *self, struct flow *f, const struct flow_block *b)
{
	const struct jsonl *j = self;

	put_event(j, "began", f, b);
	fputs("}\n", j->out);
}

static void ended(void *self, struct flow *f, const struct flow_block *b)
{
	const struct jsonl *j = self;
	uint64_t ticks = b->ticks > b->block->start ? b->ticks - b->block->start : 0;

	put_event(j, "ended", f, b);
	json_put_n(j->out, "lifetime_ns", walk_duration_ns(f->walk, ticks));
	fputs("}\n", j->out);
}

static void left(void *self, struct flow *f, const struct flow_block *b, enum process_gone why)
{
	const struct jsonl *j = self;

	put_event(j, "left", f, b);
	json_put_s(j->out, "by", why == GONE_EXEC ? "exec" : "end");
	fputs("}\n", j->out);
}

static const struct flow_ops ops = {
	.later = true, .start = start, .began = began, .ended = ended, .left = left
};

static int put_events(struct export *x, FILE *out, struct error *err)
{
	struct jsonl j = { .out = out };
	struct flow f;
	int ret = flow_run(&f, x, &ops, &j, err);

	flow_release(&f);
	free(j.site);
	return ret;
}

int export_jsonl(struct export *x, struct error *err)
{
	FILE *out = compressed_open(x->out, compressed_of(x->target));
	int ret;

	if (x->options->events) {
		ret = put_events(x, out, err);
	} else {
		ret = profile_make(x->profile, x->trace, x->options->profile, err);
		if (!ret)
			put_profile(out, x->profile);
	}
	if (compressed_close(out, x->out) < 0 && !ret)
		ret = fail(err, -EIO, "cannot write '%s' completely",
			   x->target ? x->target : "the standard output");
	return ret;
}
