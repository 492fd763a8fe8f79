// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * profile.c - sites with names: the walk, filters such as --function,
 * suppressions, and groups.
 *
 * Groups are found during the walk, when a stack first occurs, because the peak of a group cannot
 * be computed from its sites' peaks. Group 0 has stacks without lines and those that do not pass.
 */
#include "profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../pass/analysis.h"
#include "../pass/milestones.h"
#include "../pass/interner.h"
#include "../pass/site_totals.h"
#include "path_numbers.h"
#include "suppressions.h"
#include "../sym/interpreters.h"
#include "../util/alloc.h"
#include "../util/rank.h"

/* Used while the walk runs. */
struct grouping {
	struct profile *p;
	enum profile_by by;
	struct line_interner lines;
	struct interner parts;
	struct path_numbers paths;
	struct hash ranks; /* by process: its rank + 1 */
};

static bool passes(struct profile *p, uint32_t stack)
{
	const struct paths_options *o = &p->paths->options;

	return (!o->function && !o->file && !o->module && !o->without) ||
	       paths_match(p->paths, paths_look(p->paths, stack));
}

static void find_ranks(struct grouping *g, const struct trace *t)
{
	const struct trace_fact *fact;
	const size_t n = trace_facts(t, &fact);

	for (size_t i = 0; i < n; i++)
		if (*fact[i].rank)
			*hash_at(&g->ranks, fact[i].process) = strtoul(fact[i].rank, NULL, 10) + 1;
}

static uint64_t rank_of(const struct grouping *g, uint64_t process)
{
	const uint64_t rank = hash_get(&g->ranks, process);

	return rank ? rank - 1 : PROFILE_NO_RANK;
}

bool profile_by_part(enum profile_by by)
{
	return by >= PROFILE_BY_THREAD;
}

static uint32_t group_of(void *context, uint32_t stack, uint64_t part)
{
	struct grouping *g = context;
	const struct profile_path *path;

	if (!passes(g->p, stack))
		return 0;
	if (g->by == PROFILE_BY_STACK)
		return path_number(&g->paths, g->p->paths, stack, false);
	if (g->by == PROFILE_BY_RANK)
		part = rank_of(g, part);
	if (profile_by_part(g->by))
		return interner_id(&g->parts, &part, sizeof(part));
	path = paths_look(g->p->paths, stack);
	return path->count ? line_interner_id(&g->lines, path->line[path->asked - 1]) : 0;
}

static enum site_part part_of(enum profile_by by)
{
	return by == PROFILE_BY_THREAD ? SITE_BY_THREAD
	       : by == PROFILE_BY_SIZE ? SITE_BY_SIZE
	       : profile_by_part(by)   ? SITE_BY_PROCESS
				       : SITE_WHOLE;
}

static void set_grouping(struct profile *p, struct grouping *g, enum profile_by by)
{
	static const enum line_same same[PROFILE_BY_COUNT] = {
		[PROFILE_BY_FUNCTION] = LINE_FUNCTION,
		[PROFILE_BY_LINE] = LINE_LINE,
		[PROFILE_BY_FILE] = LINE_FILE,
		[PROFILE_BY_MODULE] = LINE_MODULE,
	};
	struct sites_options *o = &p->sites.options;

	*g = (struct grouping){
		.p = p, .by = by, .lines = { .same = same[by] }, .paths = PATH_NUMBERS_EMPTY
	};
	p->by = by;
	o->part = part_of(by);
	/* A command may have its own groups. */
	if (by == PROFILE_BY_STACK && o->group)
		return;
	o->group = group_of;
	o->group_context = g;
	if (by == PROFILE_BY_RANK)
		find_ranks(g, p->trace);
}

/* ---- the walk ---- */

/* A profile has no events to walk over: its sites exist already. */
static void read_totals(struct profile *p, const struct trace *t)
{
	p->walk.first_ticks = trace_header(t)->start_ticks;
	p->walk.last_ticks = site_totals_end(t);
	site_totals_read(&p->sites, t);
}

static int run_walk(struct profile *p, struct trace *t, const struct profile_options *o,
		    struct error *err)
{
	struct milestones *milestones;
	struct walk_input input;
	int ret;

	p->pass = must_calloc(o->passes + 1, sizeof(*p->pass));
	p->pass[0] = (struct walk_pass){ &sites_pass, &p->sites };
	if (o->passes)
		memcpy(p->pass + 1, o->pass, o->passes * sizeof(*p->pass));
	walk_input_from_trace(&input, t);
	input.stacks = p->stacks;
	walk_init(&p->walk, &input, p->pass, o->passes + 1);
	p->walk.no_pages = !o->passes || o->no_pages;
	p->walk.until = o->sites.until;
	if (!o->passes) {
		p->walk.fused = analysis_fused_sites;
		p->walk.fused_self = &p->sites;
	}
	p->walk.progress = o->progress;
	p->walk.progress_context = o->progress_context;
	tree_make(&p->tree, &input, 0, trace_damage(t)->lost);
	milestones = o->passes || o->sym.no_cache ? NULL : milestones_open(t);
	milestones_walk(milestones, &p->walk, &p->sites, o->own_peaks);
	ret = walk_run(&p->walk, err);
	milestones_close(milestones, !ret);
	if (!ret && !trace_has_events(t))
		read_totals(p, t);
	/* A program that still runs has continued. */
	if (p->walk.last_ticks > p->tree.end_ticks)
		p->tree.end_ticks = p->walk.last_ticks;
	return ret;
}

/* ---- sites that pass ---- */

/* Finds the site with the same lines as this one, by the stack's number and part. */
struct merging {
	struct interner keys;
	size_t *first; /* by id - 1: index of p->site */
};

/* Adds the site at `from` to those that pass. */
static void take_site(struct profile *p, struct merging *m, uint32_t stack, size_t from)
{
	const struct site site = p->site[from];
	const struct {
		uint64_t stack, part;
	} key = { stack, site.part };
	const size_t known = m->keys.count;
	const uint32_t id = interner_id(&m->keys, &key, sizeof(key));
	size_t to;

	if (m->keys.count > known) {
		m->first[id - 1] = to = p->count++;
		p->site[to] = site;
	} else {
		to = m->first[id - 1];
		site_values_add(&p->site[to].v, &site.v);
	}
	p->site_of[site.key] = (uint32_t)to + 1;
	site_values_add(&p->total, &site.v);
}

/* Sorts again if sums are larger than their neighbours: in place, as sites are long. */
static void sort_sites(struct profile *p)
{
	struct ranked *r = must_malloc((p->count + 1) * sizeof(*r));
	uint32_t *place = must_calloc(p->count + 1, sizeof(*place));
	bool sorted = true;
	size_t i;

	for (i = 0; i < p->count; i++) {
		r[i] = (struct ranked){ ~p->site[i].v.bytes, i };
		sorted &= !i || r[i - 1].key <= r[i].key;
	}
	if (!sorted) {
		rank(r, p->count);
		for (i = 0; i < p->count; i++)
			place[r[i].item] = (uint32_t)i + 1;
		ranked_move(r, p->count, p->site, sizeof(*p->site));
		for (i = 0; i <= p->stacks->nodes; i++)
			if (p->site_of[i])
				p->site_of[i] = place[p->site_of[i] - 1];
	}
	free(r);
	free(place);
}

static void select_sites(struct profile *p, struct grouping *by)
{
	struct merging m = { .first = must_calloc(p->sites.count + 1, sizeof(*m.first)) };
	size_t i;

	p->site = p->sites.site;
	p->site_of = must_calloc(p->stacks->nodes + 1, sizeof(*p->site_of));
	for (i = 0; i < p->sites.count; i++) {
		const uint32_t stack = p->site[i].key;

		if (p->hide_zero_live && !p->site[i].v.live_calls)
			continue;
		/* Lines that are never shown make no difference; folded ones can be requested. */
		if (passes(p, stack))
			take_site(
			    p, &m,
			    path_number(&by->paths, p->paths, stack, !p->paths->options.library),
			    i);
	}
	p->sites.count = p->count;
	interner_release(&m.keys);
	free(m.first);
	sort_sites(p);
}

/* Can a library keep blocks of a frame, or of a stack? */
enum may_keep { KEEP_UNKNOWN, KEEP_NOT, KEEP_MAYBE };

static enum may_keep frame_may_keep(struct profile *p, uint32_t frame)
{
	const struct sym_lines *lines = sym_frame(p->sym, frame);
	uint8_t *may = &p->frame_may_keep[frame];

	for (size_t i = 0; i < lines->count && *may != KEEP_MAYBE; i++)
		*may =
		    suppressions_may_keep(p->suppressions, &lines->line[i]) ? KEEP_MAYBE : KEEP_NOT;
	return (enum may_keep) * may;
}

/* Decides most stacks: only a few have a line of a library that keeps blocks. */
static bool may_keep(struct profile *p, uint32_t stack)
{
	const struct stack_node *of = p->stacks->node;
	enum may_keep may = KEEP_UNKNOWN;
	uint32_t node = stack, end;

	if (stack >= p->stacks->nodes)
		return false;
	if (!p->may_keep) {
		p->may_keep = must_calloc(p->stacks->nodes, 1);
		p->frame_may_keep = must_calloc(p->stacks->frames + 1, 1);
	}
	for (; node && !p->may_keep[node]; node = of[node].parent) {
		may = (enum may_keep)p->frame_may_keep[of[node].frame];
		if (!may)
			may = frame_may_keep(p, of[node].frame);
		if (may == KEEP_MAYBE)
			break;
	}
	end = may == KEEP_MAYBE ? of[node].parent : node;
	may = may == KEEP_MAYBE ? KEEP_MAYBE : node ? (enum may_keep)p->may_keep[node] : KEEP_NOT;
	for (node = stack; node != end; node = of[node].parent)
		p->may_keep[node] = (uint8_t)may;
	return may == KEEP_MAYBE || paths_called(p->paths, stack) == CALLED_AT_START;
}

/* Returns what suppresses the leaks of a stack, or NULL. */
static struct suppression *suppression_of(struct profile *p, uint32_t stack)
{
	if (!p->suppressions->of_files && !may_keep(p, stack))
		return NULL;
	return suppressions_find(p->suppressions, p->stacks, paths_look(p->paths, stack));
}

static void suppress(struct profile *p)
{
	struct suppression *x;
	size_t i;

	for (i = 0; i < p->count; i++) {
		struct site_values *v = &p->site[i].v;

		if (!v->live_calls)
			continue;
		x = suppression_of(p, p->site[i].key);
		if (x) {
			x->calls += v->live_calls;
			x->bytes += v->live_bytes;
			p->suppressed_calls += v->live_calls;
			p->suppressed_bytes += v->live_bytes;
			continue;
		}
		v->leaked_calls = v->live_calls;
		v->leaked_bytes = v->live_bytes;
		p->total.leaked_calls += v->live_calls;
		p->total.leaked_bytes += v->live_bytes;
	}
}

/* ---- groups ---- */

static const uint64_t no_leaks[SITE_EPOCHS];

/* Returns the figures of a group, which no site shares from now on. */
static struct profile_sum *own_sum(struct profile *p, struct profile_group *g)
{
	struct profile_sum *sum;

	if (!g->sum) {
		sum = GROW_ONE(p->sum, p->sums, p->sum_room);
		sum->v = *g->v;
		memcpy(sum->leaked_epochs, g->leaked_epochs, sizeof(sum->leaked_epochs));
		g->sum = p->sums;
	}
	return &p->sum[g->sum - 1];
}

static void add_leak(struct profile_group *g, struct profile_sum *sum, const struct site_values *v)
{
	if (!v->leaked_calls)
		return;
	if (!sum->v.leaked_calls || v->first_ticks < g->leaked_first_ticks)
		g->leaked_first_ticks = v->first_ticks;
	for (size_t k = 0; k < SITE_EPOCHS; k++)
		sum->leaked_epochs[k] += v->epoch_bytes[k];
}

static const struct sym_line *through(struct profile *p, uint32_t stack)
{
	return profile_path_through(p, paths_look(p->paths, stack));
}

const struct sym_line *profile_group_through(struct profile *p, const struct profile_group *g)
{
	return g->throughs ? NULL : through(p, g->stack);
}

static bool differ(const struct sym_line *a, const struct sym_line *b)
{
	return a != b && (!a || !b || strcmp(a->function, b->function));
}

static void add_to_group(struct profile *p, struct profile_group *g, size_t i)
{
	const struct site *site = &p->site[i];
	struct profile_sum *sum;

	if (!g->sites++) {
		g->stack = site->key;
		g->part = site->part;
		g->v = &site->v;
		g->leaked_epochs = site->v.leaked_calls ? site->v.epoch_bytes : no_leaks;
		g->leaked_first_ticks = site->v.leaked_calls ? site->v.first_ticks : 0;
		return;
	}
	if (p->by == PROFILE_BY_STACK && !g->throughs)
		g->throughs = differ(through(p, g->stack), through(p, site->key));
	sum = own_sum(p, g);
	add_leak(g, sum, &site->v);
	site_values_add(&sum->v, &site->v);
}

static void set_own_peak(struct profile *p, struct profile_group *g, struct site_local peak)
{
	struct site_values *v;

	if (!g->sum && g->v->local_bytes == peak.bytes && g->v->local_calls == peak.calls)
		return;
	v = &own_sum(p, g)->v;
	v->local_calls = peak.calls;
	v->local_bytes = peak.bytes;
}

static void make_groups(struct profile *p, struct grouping *by)
{
	/* A command with its own groups does not use these. */
	const bool ours = p->sites.options.group == group_of;
	const size_t room = p->sites.groups > 1 ? p->sites.groups : 1;
	size_t i, n = 0;

	p->group = must_calloc(room + 1, sizeof(*p->group));
	for (i = 0; i < p->count; i++)
		add_to_group(p, &p->group[ours ? p->site[i].group : 0], i);
	for (i = 0; i < room; i++) {
		struct profile_group *g = &p->group[i];

		if (!g->sites)
			continue;
		if (i < p->sites.groups)
			set_own_peak(p, g, p->sites.local[i]);
		if (p->by == PROFILE_BY_RANK)
			g->part = rank_of(by, g->part);
		if (i && by->lines.keys.count)
			g->line = line_interner_line(&by->lines, (uint32_t)i);
		p->group[n++] = *g;
	}
	p->groups = n;
	for (i = 0; i < n; i++) /* they do not move any more */
		if (p->group[i].sum) {
			p->group[i].v = &p->sum[p->group[i].sum - 1].v;
			p->group[i].leaked_epochs = p->sum[p->group[i].sum - 1].leaked_epochs;
		}
	profile_sort(p, VALUE_TOTAL);
}

/* ---- the whole ---- */

static int read_suppressions(struct profile *p, const struct profile_options *o, struct error *err)
{
	int ret = 0;
	size_t i;

	p->suppressions = must_calloc(1, sizeof(*p->suppressions));
	for (i = 0; o->suppressions && o->suppressions[i] && !ret; i++)
		ret = suppressions_read(p->suppressions, o->suppressions[i], err);
	if (!ret && !o->no_builtin_suppressions)
		suppressions_add_builtin(p->suppressions);
	return ret;
}

static int open_names(struct profile *p, struct trace *t, const struct profile_options *o,
		      struct error *err)
{
	int ret;

	p->stacks = trace_stacks(t);
	p->paths = must_calloc(1, sizeof(*p->paths));
	if (!p->stacks)
		return fail(err, -ENOMEM, "no memory for the call stacks of '%s'", p->path);
	p->has_stacks = p->stacks->definitions > 0;
	ret = sym_open(&p->sym, p->stacks, &o->sym, err);
	if (ret < 0)
		return ret;
	paths_init(p->paths, p->stacks, p->sym,
		   &(struct paths_options){ .function = o->function,
					    .file = o->file,
					    .module = o->module,
					    .without = o->without,
					    .library = o->library,
					    .wrappers = o->wrappers });
	return 0;
}

static int make(struct profile *p, struct trace *t, const struct profile_options *o,
		struct grouping *by, struct error *err)
{
	int ret = open_names(p, t, o, err);
	const char *lack;

	if (!ret)
		ret = read_suppressions(p, o, err);
	if (ret)
		return ret;
	p->sites.options = o->sites;
	p->hide_zero_live = o->hide_zero_live;
	set_grouping(p, by, o->by);
	lack = trace_has_events(t) ? NULL : site_totals_lack(&p->sites.options, t);
	if (lack)
		return fail(
		    err, -EINVAL,
		    "'%s' contains totals, not events: figures %s need %sa trace from mprof record",
		    p->path, lack,
		    p->sites.options.part == SITE_BY_SIZE ? "mprof profile --site-sizes or " : "");
	ret = run_walk(p, t, o, err);
	if (ret)
		return ret;
	select_sites(p, by);
	suppress(p);
	make_groups(p, by);
	return 0;
}

int profile_show_totals(struct trace *t, const struct profile_options *o, struct error *err)
{
	if (!o->totals || !trace_has_events(t))
		return 0;
	if (!trace_has_totals(t))
		return fail(err, -EINVAL,
			    "'%s' has no totals beside its calls: leave out --totals, or record "
			    "with --last, --budget or --overhead",
			    trace_path(t));
	trace_show_totals(t);
	return 0;
}

bool profile_complete(struct trace *t, const struct profile_options *o)
{
	const struct trace_reduced *reduced;
	struct sites_options sites = o->sites;

	if (!trace_has_events(t) || !trace_reduced(t, &reduced))
		return true;
	sites.part = part_of(o->by);
	if (site_totals_lack(&sites, t))
		return false;
	trace_show_totals(t);
	return true;
}

int profile_names(struct profile *p, struct trace *t, const struct profile_options *o,
		  struct error *err)
{
	int ret;

	memset(p, 0, sizeof(*p));
	p->trace = t;
	p->path = trace_path(t);
	p->header = trace_header(t);
	ret = open_names(p, t, o, err);
	if (!ret)
		ret = read_suppressions(p, o, err);
	if (ret < 0)
		profile_release(p);
	return ret;
}

bool profile_has_function(struct profile *p, uint32_t stack, const char *function)
{
	const struct profile_path *path = stack ? profile_path_once(p, stack) : NULL;

	return path && paths_has_function(path, function);
}

bool profile_suppresses(struct profile *p, uint32_t stack)
{
	return profile_kept(p, stack) ||
	       (p->suppressions->of_files &&
		suppressions_find(p->suppressions, p->stacks, paths_look(p->paths, stack)));
}

const char *profile_kept(struct profile *p, uint32_t stack)
{
	static const char not_kept[] = "";
	const char *found;
	uint64_t *why;

	if (!stack || !may_keep(p, stack))
		return NULL;
	why = hash_at(&p->kept, stack);
	if (!*why) {
		found = suppressions_kept(p->suppressions, paths_look(p->paths, stack));
		*why = (uintptr_t)(found ? found : not_kept);
	}
	found = (const char *)(uintptr_t)*why;
	return found == not_kept ? NULL : found;
}

int profile_make(struct profile *p, struct trace *t, const struct profile_options *o,
		 struct error *err)
{
	struct grouping by = { .p = p };
	int ret;

	memset(p, 0, sizeof(*p));
	p->trace = t;
	p->path = trace_path(t);
	p->header = trace_header(t);
	ret = make(p, t, o, &by, err);
	line_interner_release(&by.lines);
	interner_release(&by.parts);
	path_numbers_release(&by.paths);
	p->sites.options.group = NULL;
	if (ret < 0)
		profile_release(p);
	return ret < 0 ? ret : 0;
}

int profile_with(struct profile *p, struct trace *t, const struct profile_options *o,
		 const struct walk_pass *pass, struct error *err)
{
	struct profile_options with = *o;
	int ret;

	with.pass = pass;
	with.passes = 1;
	with.no_pages = true;
	ret = profile_make(p, t, &with, err);
	if (!ret)
		p->walk.passes--;
	return ret;
}

void profile_release(struct profile *p)
{
	if (p->pass)
		walk_release(&p->walk);
	tree_release(&p->tree);
	hash_release(&p->kept);
	if (p->paths)
		paths_release(p->paths);
	if (p->suppressions)
		suppressions_release(p->suppressions);
	if (p->sym)
		sym_close(p->sym);
	free(p->paths);
	free(p->suppressions);
	free(p->asked);
	free(p->may_keep);
	free(p->frame_may_keep);
	free(p->pass);
	free(p->group);
	free(p->sum);
	free(p->site_of);
	memset(p, 0, sizeof(*p));
}

const struct profile_path *profile_path(struct profile *p, uint32_t stack)
{
	return paths_keep(p->paths, stack);
}

const struct profile_path *profile_path_once(struct profile *p, uint32_t stack)
{
	return paths_look(p->paths, stack);
}

bool profile_is_package(const struct profile *p, const struct sym_line *line)
{
	return paths_part_in(p->paths, line) == PATHS_PACKAGE;
}

bool profile_is_script(const struct profile *p, const struct sym_line *line)
{
	return line->script && paths_part_in(p->paths, line) == PATHS_PROGRAM;
}

bool profile_is_library(const struct sym_line *line)
{
	const enum paths_part part = paths_part(line);

	return part == PATHS_WRAPPER || part == PATHS_LIBRARY;
}
