// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * profile.c - sites with names: the walk, filters such as --function, and suppressions.
 */
#include "profile.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "../pass/analysis.h"
#include "../pass/milestones.h"
#include "../pass/interner.h"
#include "../pass/site_totals.h"
#include "grouping.h"
#include "paths.h"
#include "reachable.h"
#include "suppressions.h"
#include "../sym/interpreters.h"
#include "../util/alloc.h"
#include "../util/rank.h"

/* ---- the walk ---- */

/* A profile has no events to walk over: its sites exist already. */
static void read_totals(struct profile *p, const struct trace *t)
{
	p->walk.first_ticks = trace_header(t)->start_ticks;
	p->walk.last_ticks = trace_totals_end(t);
	site_totals_read(&p->sites, t, &p->tree);
}

/* Does another pass count the sites? */
static bool is_counted(const struct profile *p, const struct profile_options *o)
{
	const struct sites_options *sites = &p->sites.options;

	return o->counted && sites_are_usual(sites) && !sites->until.set && !sites->only;
}

static void plan_walk(struct profile *p, const struct walk_input *input,
		      const struct profile_options *o)
{
	const bool counted = is_counted(p, o);

	p->pass = must_calloc(o->passes + 1, sizeof(*p->pass));
	p->pass[0] = (struct walk_pass){ &sites_pass, &p->sites };
	if (o->passes)
		memcpy(p->pass + !counted, o->pass, o->passes * sizeof(*p->pass));
	walk_init(&p->walk, input, p->pass, o->passes + !counted);
	p->walk.no_pages = !o->passes || o->no_pages;
	if (counted) {
		o->counted->options.group = p->sites.options.group;
		o->counted->options.group_context = p->sites.options.group_context;
		p->walk.fused = o->fused;
		p->walk.fused_self = o->fused_self;
	} else if (!o->passes) {
		p->walk.fused = analysis_fused_sites;
		p->walk.fused_self = &p->sites;
	}
}

static int run_walk(struct profile *p, struct trace *t, const struct profile_options *o,
		    struct error *err)
{
	struct milestones *milestones;
	struct walk_input input;
	int ret;

	walk_input_from_trace(&input, t);
	input.stacks = p->stacks;
	plan_walk(p, &input, o);
	p->walk.until = o->sites.until;
	p->walk.progress = o->progress;
	p->walk.progress_context = o->progress_context;
	tree_make(&p->tree, &input, 0, trace_damage(t)->lost);
	milestones = (o->passes && !o->kept) || o->sym.no_cache ? NULL : milestones_open(t);
	milestones_walk(milestones, &p->walk, &p->sites, o->own_peaks);
	ret = walk_run(&p->walk, err);
	milestones_close(milestones, !ret);
	if (!ret && is_counted(p, o))
		sites_take_moments(&p->sites, o->counted);
	if (!ret && !trace_has_events(t))
		read_totals(p, t);
	/* A program that still runs has continued. */
	if (p->walk.last_ticks > p->tree.end_ticks)
		p->tree.end_ticks = p->walk.last_ticks;
	return ret;
}

/* ---- sites that pass ---- */

/* Finds the site with the same lines as another one, by the stack's number and part. */
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
	return may == KEEP_MAYBE || profile_is_start(p, stack) || profile_is_import(p, stack);
}

/* How often did the program run that has this path?  "": any program. */
static uint64_t runs_of(const struct profile *p, const char *program)
{
	const struct trace_fact *fact;
	uint64_t runs = 0;

	for (size_t i = trace_facts(p->trace, &fact); i--;)
		runs += tree_is_image(&fact[i]) && (!*program || !strcmp(fact[i].exe, program));
	return runs;
}

/* How often did the program of this stack run? */
static uint64_t runs_with(struct profile *p, uint32_t stack)
{
	const struct profile_path *path = paths_look(p->paths, stack);
	uint64_t runs = 0;
	uint32_t object;

	for (size_t i = 0; i < path->all && !runs; i++) {
		object = p->stacks->frame[path->frame[i]].object;
		runs = object ? runs_of(p, p->stacks->object[object].path) : 0;
	}
	return runs ? runs : runs_of(p, "");
}

/* Does it suppress this stack, which it was found for? */
static bool covers(struct profile *p, const struct suppression *x, uint32_t stack, uint64_t live)
{
	return !x->most || live <= x->most || live <= x->most * runs_with(p, stack);
}

/* Returns what suppresses the leaks of a stack with this many live blocks, or NULL. */
static struct suppression *suppression_of(struct profile *p, uint32_t stack, uint64_t live)
{
	struct suppression *x;

	if (!p->suppressions->of_files && !may_keep(p, stack))
		return NULL;
	x = suppressions_find(p->suppressions, p->stacks, paths_look(p->paths, stack));
	return x && covers(p, x, stack, live) ? x : NULL;
}

/* Sites are not merged yet: the findings suppress the same blocks. */
static void find_leaks(struct profile *p, struct site *site)
{
	struct site_values *v = &site->v;
	struct suppression *x = v->live_calls ? suppression_of(p, site->key, v->live_calls) : NULL;

	if (!x) {
		v->leaked_calls = v->live_calls;
		v->leaked_bytes = v->live_bytes;
		reachable_count(p->reachable, site);
		return;
	}
	x->calls += v->live_calls;
	x->bytes += v->live_bytes;
	p->suppressed_calls += v->live_calls;
	p->suppressed_bytes += v->live_bytes;
	v->left_ticks = 0;
}

/* Does it pass?  Lines that are never shown make no difference; folded ones can be requested. */
static bool passes(struct profile *p, const struct site *site)
{
	return (!p->hide_zero_live || site->v.live_calls) && groups_passes(p, site->key);
}

static void select_sites(struct profile *p)
{
	struct merging m = { .first = must_calloc(p->sites.count + 1, sizeof(*m.first)) };
	size_t i;

	p->site = p->sites.site;
	p->site_of = must_calloc(p->stacks->nodes + 1, sizeof(*p->site_of));
	for (i = 0; i < p->sites.count; i++) {
		if (!passes(p, &p->site[i]))
			continue;
		find_leaks(p, &p->site[i]);
		take_site(p, &m, groups_path(p, p->site[i].key), i);
	}
	if (p->sites.options.only) {
		p->sites.total.leaked_calls = p->total.leaked_calls;
		p->sites.total.leaked_bytes = p->total.leaked_bytes;
		p->sites.total.examined_calls = p->total.examined_calls;
		p->sites.total.unreachable_calls = p->total.unreachable_calls;
		p->sites.total.unreachable_bytes = p->total.unreachable_bytes;
		p->sites.total.below_calls = p->total.below_calls;
		p->total = p->sites.total;
	}
	p->sites.count = p->count;
	interner_release(&m.keys);
	free(m.first);
	sort_sites(p);
}

/* Hands them out instead. */
static void hand_out(struct profile *p, const struct profile_options *o)
{
	const struct sites *from = is_counted(p, o) ? o->counted : &p->sites;
	struct site site;

	for (size_t i = 0; i < from->count; i++) {
		sites_site(from, i, &site);
		if (!passes(p, &site))
			continue;
		find_leaks(p, &site);
		site_values_add(&p->total, &site.v);
		o->take(o->take_context, &site);
	}
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

/* Returns the text that Python was told to run (-c), or NULL. */
static const char *text_of(const struct trace_fact *f)
{
	const struct sym_interpreter *of = sym_interpreter(basename(f->exe));

	for (size_t k = 1; of && k + 1 < f->argc && *f->argv[k] == '-'; k++) {
		const char *word = f->argv[k];

		if (word[1] != '-' && word[strlen(word) - 1] == 'c')
			return strcmp(of->language, "Python") ? NULL : f->argv[k + 1];
		k += !strcmp(word, "-X") || !strcmp(word, "-W");
	}
	return NULL;
}

/* Did Python run texts, and do all of them begin processes of multiprocessing? */
static bool only_runs_children(const struct trace *t)
{
	static const char begins[] = "from multiprocessing.";
	const struct trace_fact *fact;
	const size_t n = trace_facts(t, &fact);
	const char *text;
	bool runs = false;

	for (size_t i = 0; i < n; i++) {
		text = text_of(&fact[i]);
		if (text && strncmp(text, begins, sizeof(begins) - 1) != 0)
			return false;
		runs |= text != NULL;
	}
	return runs;
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
	p->reachable = reachable_read(t, o->sites.filter.process);
	ret = sym_open(&p->sym, p->stacks, &o->sym, err);
	if (ret < 0)
		return ret;
	paths_init(p->paths, p->stacks, p->sym,
		   &(struct paths_options){ .function = o->function,
					    .file = o->file,
					    .module = o->module,
					    .without = o->without,
					    .library = o->library,
					    .wrappers = o->wrappers,
					    .others_texts = only_runs_children(t) });
	return read_suppressions(p, o, err);
}

/* Returns what groups must have, as in sites_options.only. */
static size_t only(const struct profile_options *o)
{
	static const size_t figure[VALUE_COUNT] = {
		[VALUE_PEAK] = offsetof(struct site_values, peak_calls) + 1,
		[VALUE_RSS] = offsetof(struct site_values, rss_calls) + 1,
		[VALUE_LIVE] = offsetof(struct site_values, live_calls) + 1,
		[VALUE_LEAKED] = offsetof(struct site_values, live_calls) + 1,
		[VALUE_UNREACHABLE] = offsetof(struct site_values, live_calls) + 1,
		[VALUE_TEMPORARY] = offsetof(struct site_values, temporary_calls) + 1,
	};
	const bool all =
	    !o->hide_zero_live && !o->function && !o->file && !o->module && !o->without;

	return o->only && all ? figure[*o->only] : 0;
}

static int make(struct profile *p, struct trace *t, const struct profile_options *o,
		struct error *err)
{
	int ret = open_names(p, t, o, err);
	const char *lack;

	if (ret)
		return ret;
	p->sites.options = o->sites;
	trace_choose_threads(t, &o->sites.filter.thread);
	p->hide_zero_live = o->hide_zero_live;
	if (!o->take)
		groups_begin(p, o->by, &p->sites.options);
	p->sites.options.only = only(o);
	lack = trace_has_events(t) ? NULL : site_totals_lack(&p->sites.options, t);
	if (lack)
		return fail(err, -EINVAL,
			    "'%s' contains totals, not individual calls: figures %s need %sa trace "
			    "from mprof record",
			    p->path, lack,
			    p->sites.options.part != SITE_BY_SIZE ? ""
			    : trace_is_sampled(t)
				? "mprof profile --site-sizes without --sample, or "
				: "mprof profile --site-sizes or ");
	ret = run_walk(p, t, o, err);
	if (ret)
		return ret;
	if (o->take) {
		hand_out(p, o);
		return 0;
	}
	select_sites(p);
	groups_make(p);
	groups_end(p);
	p->sites.options.group = NULL;
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

bool profile_is_part(const struct trace *t)
{
	const struct mprof_file_header *h = trace_header(t);
	const struct trace_reduced *reduced;

	return trace_has_events(t) &&
	       (trace_reduced(t, &reduced) || h->dropped_ticks || h->log_end);
}

uint64_t profile_last_ns(const struct profile *p)
{
	const uint64_t from = p->header->dropped_ticks, end = p->tree.end_ticks;

	return walk_duration_ns(&p->walk, end > from ? end - from : 0);
}

bool profile_complete(struct trace *t, const struct profile_options *o)
{
	struct sites_options sites = o->sites;

	if (!profile_is_part(t))
		return true;
	sites.part = groups_part(o->by);
	if (!trace_has_totals(t) || site_totals_lack(&sites, t))
		return false;
	trace_show_totals(t);
	return true;
}

static void begin(struct profile *p, struct trace *t)
{
	*p = (struct profile){ .trace = t, .path = trace_path(t), .header = trace_header(t) };
}

int profile_names(struct profile *p, struct trace *t, const struct profile_options *o,
		  struct error *err)
{
	int ret;

	begin(p, t);
	ret = open_names(p, t, o, err);
	if (ret < 0)
		profile_release(p);
	return ret;
}

void profile_group_stacks(struct profile *p, struct sites_options *o)
{
	groups_begin(p, PROFILE_BY_STACK, o);
}

bool profile_has_function(struct profile *p, uint32_t stack, const char *function)
{
	const struct profile_path *path = stack ? profile_path_once(p, stack) : NULL;

	return path && paths_has_function(path, function);
}

bool profile_suppresses(struct profile *p, uint32_t stack, uint64_t live)
{
	return profile_kept(p, stack, live) ||
	       (p->suppressions->of_files && suppression_of(p, stack, live));
}

bool profile_is_start(struct profile *p, uint32_t stack)
{
	return p->paths->scripts && paths_called(p->paths, stack) == CALLED_AT_START;
}

bool profile_is_import(struct profile *p, uint32_t stack)
{
	return paths_is_import(p->paths, stack);
}

/* Returns the built-in suppression of the stack, or NULL. */
static const struct suppression *kept_as(struct profile *p, uint32_t stack)
{
	static const struct suppression none;
	const struct suppression *x;
	uint64_t *known;

	if (!stack || !may_keep(p, stack))
		return NULL;
	known = hash_at(&p->kept, stack);
	if (!*known) {
		x = suppressions_find(p->suppressions, NULL, paths_look(p->paths, stack));
		*known = (uintptr_t)(x ? x : &none);
	}
	x = (const struct suppression *)(uintptr_t)*known;
	return x != &none ? x : NULL;
}

const char *profile_kept(struct profile *p, uint32_t stack, uint64_t live)
{
	const struct suppression *x = kept_as(p, stack);

	return x && covers(p, x, stack, live) ? x->why : NULL;
}

bool profile_kept_by_program(struct profile *p, uint32_t stack)
{
	const struct suppression *x = kept_as(p, stack);

	return profile_is_import(p, stack) || (x && x->objects);
}

int profile_make(struct profile *p, struct trace *t, const struct profile_options *o,
		 struct error *err)
{
	int ret;

	begin(p, t);
	ret = make(p, t, o, err);
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
	groups_end(p);
	tree_release(&p->tree);
	reachable_release(p->reachable);
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
	return line->others || paths_part_in(p->paths, line) == PATHS_PACKAGE;
}

bool profile_is_loop(const struct sym_line *line)
{
	return paths_is_loop(line);
}

bool profile_is_own(const struct profile *p, const struct sym_line *line)
{
	return (p->paths->scripts ? line->script : *line->file || line->built) &&
	       paths_part_in(p->paths, line) == PATHS_PROGRAM;
}

bool profile_is_library(const struct sym_line *line)
{
	const enum paths_part part = paths_part(line);

	return part == PATHS_WRAPPER || part == PATHS_LIBRARY;
}

bool profile_is_wrapper(const struct sym_line *line)
{
	return paths_part(line) == PATHS_WRAPPER;
}
