// SPDX-License-Identifier: LGPL-3.0-or-later
/* report_html.c - see report_html.h. */
#include "report_html.h"

#include <errno.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../export/exports.h"
#include "../html/html_report.h"
#include "../import/import.h"
#include "../pass/stack_uses.h"
#include "../print/flat_view.h"
#include "../print/text.h"
#include "../profile/filters.h"
#include "../profile/variables.h"
#include "../util/alloc.h"
#include "cmd.h"
#include "overview.h"
#include "progress.h"
#include "running.h"
#include "recorded_movie.h"

#define SERVED_NODES 4000000u /* of a page that is not written to a file */
#define HEAP_FRAMES  100
#define PARTS_MOST   4096	/* threads or processes that are listed */
#define HEAP_LIMIT   (4u << 20) /* bytes */

/* ---- the page ---- */

struct making {
	const struct analysis *analysis;
	struct trace *trace;
	const struct cross_frees *cross_frees;
	const struct programs *programs;
	FILE *out;
	struct html_sources *sources;
	bool heap_map;
	const struct report_served *served; /* NULL if the page is a file */
};

/* Returns the program with most calls of the process with most calls; NULL if none has any. */
static const struct trace_program *busiest(const struct making *m)
{
	const struct totals_process *t = m->analysis->totals.process.item;
	size_t i, best = 0;

	for (i = 1; i < m->analysis->totals.process.count; i++)
		if (t[i].sum.calls > t[best].sum.calls)
			best = i;
	for (i = 0; i < m->programs->count; i++)
		if (m->programs->list[i].number == t[best].number)
			return &m->programs->list[i];
	return NULL;
}

/* Takes the map of one heap.  If that fails, the page is worth a warning, not a failure. */
static void take_heap(const struct making *m, struct profile *p, struct html_report *page,
		      struct blob *heap)
{
	const struct trace_program *of = busiest(m);
	const struct tree_process *in = of ? tree_find(&m->analysis->tree, of->number) : NULL;
	struct progress progress;
	char *text = NULL, *title = html_hide_home(text_command(in ? tree_image(in) : NULL, 200).s);
	size_t bytes = 0;
	FILE *out = must_memstream(&text, &bytes);
	const struct recorded_movie o = {
		.title = title, .of = of, .names = p, .frames = HEAP_FRAMES, .limit = HEAP_LIMIT
	};
	struct error err = { "" };
	int ret;

	progress_start(&progress);
	ret = of ? recorded_movie_write(&o, m->trace, out, &err) : -ENOENT;
	progress_done(&progress);
	must_close(out, &text);
	if (!ret) {
		blob_add(heap, text, bytes);
		page->heap = heap;
		page->heap_process = of->number;
	} else if (of && ret != -ENOENT) {
		cmd_warn("the page has no map of the heap: %s", err.text);
	}
	free(text);
	free(title);
}

static void with_profile(const struct making *m, struct profile *p, struct html_tree *figures,
			 struct cells *cells)
{
	const struct report_served *s = m->served;
	struct stack_uses stacks;
	struct variables variables;
	const struct html_source_data source = { .profile = p,
						 .figures = figures,
						 .cells = cells,
						 .shares = &m->analysis->resident_parts.shares,
						 .tree = &m->analysis->tree,
						 .stacks = &stacks,
						 .variables = &variables,
						 .most_nodes = s ? SERVED_NODES : 0,
						 .hide_home = !s,
						 .sources = m->sources };
	struct html_map own = { .node_of = NULL }, *map = s ? s->map : &own;
	struct html_data data;
	struct blob heap = { .data = NULL };
	struct html_report page = { .analysis = m->analysis,
				    .cells = cells,
				    .data = &data,
				    .cross_frees = m->cross_frees,
				    .map = map,
				    .resident = analysis_knows_live(m->analysis)
						    ? &m->analysis->resident_parts
						    : NULL,
				    .shares = &m->analysis->resident_parts.shares,
				    .profile = p,
				    .stacks = &stacks,
				    .variables = &variables,
				    .sources = m->sources->embed,
				    .served = s,
				    .traces = s ? s->traces : NULL,
				    .index = s ? s->index : 0,
				    .made = s ? s->made : 0 };

	stack_uses_find(&stacks, p->trace);
	variables_find(&variables, p);
	html_data_make(&data, &source, map);
	malloc_trim(0); /* the map of the heap takes other memory */
	if (m->heap_map)
		take_heap(m, p, &page, &heap);
	if (s)
		*s->live = html_is_live(&page);
	html_report(&page, m->out);
	html_data_release(&data);
	stack_uses_release(&stacks);
	variables_release(&variables);
	blob_release(&heap);
	html_map_release(&own);
}

#define PAGE_PASSES 3u /* of a page that is a file */

/* All passes of a page, in one walk. */
struct page_walk {
	struct analysis analysis;
	struct analysis_source source;
	struct findings findings;
	struct profile profile;
	struct html_tree figures;
	struct cells cells;
	struct cross_frees cross_frees;
	struct programs programs;
	struct analysis_page fused;
	struct walk_pass pass[PAGE_PASSES + 1 + ANALYSIS_PASSES];
	size_t own, all; /* of `pass`: the first ones are the page's own */
};

static void plan_walk(struct page_walk *w, struct trace *t, const struct profile_options *o,
		      struct snapshots *snapshots)
{
	const struct walk_pass own[] = { { &cells_pass, &w->cells },
					 { &cross_free_pass, &w->cross_frees },
					 { &programs_pass, &w->programs },
					 { &snapshots_pass, snapshots } };

	w->figures.profile = &w->profile;
	w->cells = (struct cells){ .filter = sites_are_usual(&o->sites) ? NULL : &o->sites.filter,
				   .same = html_same_stack,
				   .same_context = &w->figures };
	w->own = PAGE_PASSES + !!snapshots;
	memcpy(w->pass, own, sizeof(own));
	analysis_source_of(&w->source, t);
	w->all = w->own + analysis_begin(&w->analysis, &w->source, w->pass + w->own);
	w->analysis.resident_parts.every = true;
	w->fused = (struct analysis_page){ &w->analysis, &w->cells, &w->cross_frees, &w->programs };
}

static int run_walk(struct page_walk *w, struct trace *t, const struct profile_options *options,
		    struct error *err)
{
	struct profile_options o = *options;
	struct progress progress;
	int ret;

	o.by = PROFILE_BY_STACK;
	o.library = true; /* the page folds it away */
	o.pass = w->pass;
	o.passes = w->all;
	o.take = html_tree_take;
	o.take_context = &w->figures;
	o.counted = w->analysis.has_stacks ? &w->analysis.sites : NULL;
	o.fused = w->own == PAGE_PASSES ? analysis_fused_page : NULL;
	o.fused_self = &w->fused;
	o.progress = progress_start(&progress);
	o.progress_context = &progress;
	ret = profile_make(&w->profile, t, &o, err);
	progress_done(&progress);
	if (ret)
		return ret;
	w->profile.walk.passes -= w->all - w->own;
	analysis_end(&w->analysis, &w->source, &w->profile.walk);
	return 0;
}

/* Names in filters that the only served trace does not have.  Another trace may have them, and a
 * program that runs may get to them. */
static int check_filters(struct profile *p, const struct profile_options *options,
			 const struct report_served *s, struct error *err)
{
	return s && !s->traces && !text_running(&p->tree) ? filters_check(&p, 1, options, NULL, err)
							  : 0;
}

int report_page_check(const struct trace *t, struct error *err)
{
	return trace_is_guarded(t)
		   ? fail(err, -EINVAL, "'%s' is of MODE=Guard: expected mprof report errors %s",
			  trace_path(t), trace_path(t))
		   : 0;
}

int report_page(struct trace *t, const struct profile_options *options, FILE *out,
		struct html_sources *sources, bool heap_map, const struct report_served *served,
		struct error *err)
{
	struct page_walk *w = must_calloc(1, sizeof(*w));
	int ret;

	if (served)
		served->snapshots->trace = t;
	plan_walk(w, t, options, served ? served->snapshots : NULL);
	ret = run_walk(w, t, options, err);
	if (!ret) {
		ret = check_filters(&w->profile, options, served, err);
		if (!ret)
			ret = overview_findings(&w->findings, &w->analysis, t, options, err);
		if (!ret)
			with_profile(&(struct making){ &w->analysis, t, &w->cross_frees,
						       &w->programs, out, sources, heap_map,
						       served },
				     &w->profile, &w->figures, &w->cells);
		if (served)
			*served->events = w->analysis.walk.events;
		findings_release(&w->findings);
		analysis_release(&w->analysis);
		profile_release(&w->profile);
	}
	html_tree_release(&w->figures);
	free(w);
	return ret;
}

/* ---- of a profile ---- */

/* Uses the steps of its largest process; without any, its peak and end. */
static void course_points(struct cells *c, const struct print_totals *t)
{
	const struct course *course = t->course;
	const struct sites *s = &t->p->sites;
	const size_t n = course->count ? course->count : 2;
	uint64_t calls = 0, bytes = 0;
	size_t i;

	c->point = must_calloc(n, sizeof(*c->point));
	c->points = n;
	if (!course->count) {
		c->point[0].ns = s->peak.ns;
		c->point[0].live.bytes = s->peak.bytes;
		c->point[0].live.blocks = s->peak.calls;
		c->point[1].ns = walk_ns(&t->a->walk, t->a->tree.end_ticks);
		c->point[1].live.bytes = t->p->total.live_bytes;
		c->point[1].live.blocks = t->p->total.live_calls;
		c->point[1].calls = t->p->total.calls;
		c->point[1].bytes = t->p->total.bytes;
	}
	for (i = 0; i < course->count; i++) {
		const struct course_step *step = &course->step[i];

		calls += step->calls;
		bytes += step->bytes;
		c->point[i].ns = step->to_ns;
		c->point[i].live.bytes = step->live_bytes;
		c->point[i].live.blocks = step->live_calls;
		c->point[i].calls = calls;
		c->point[i].bytes = bytes;
	}
	for (i = 0; i < n; i++)
		c->point[i].ticks = (uint64_t)(c->point[i].ns > 0 ? c->point[i].ns : 0);
}

/* Returns what each thread or process allocated, as in the view; NULL if there are too many. */
static json *rows_by(enum profile_by by, const char *path, const struct profile_options *options)
{
	struct profile_options o = *options;
	struct profile *p = must_calloc(1, sizeof(*p));
	struct view_request r = { .profile = p, .sort = VALUE_CALLS, .json = true };
	struct error err;
	json *rows = NULL;
	struct trace *t = NULL;

	o.by = by;
	if (!running_open(&t, path, NULL, &err) && !profile_show_totals(t, &o, &err) &&
	    !profile_make(p, t, &o, &err)) {
		const size_t n = flat_view_json_rows(&r);

		profile_sort(p, r.sort);
		rows = n <= PARTS_MOST ? JSON_LIST(n, true, flat_view_json_row(&r, i)) : NULL;
		profile_release(p);
	}
	trace_close(t);
	free(p);
	return rows;
}

static void with_totals(const struct print_totals *totals, struct profile *p,
			struct html_tree *figures, FILE *out, struct html_sources *sources,
			const struct report_served *served, json *const rows[2])
{
	struct cells cells = { .point = NULL };
	struct stack_uses stacks;
	struct variables variables;
	const struct html_source_data source = { .profile = p,
						 .figures = figures,
						 .cells = &cells,
						 .course = totals->course,
						 .stacks = &stacks,
						 .variables = &variables,
						 .most_nodes = served ? SERVED_NODES : 0,
						 .hide_home = !served,
						 .sources = sources };
	struct html_data data;
	const struct html_report page = { .analysis = totals->a,
					  .totals = totals,
					  .threads = rows[0],
					  .processes = rows[1],
					  .cells = &cells,
					  .data = &data,
					  .profile = p,
					  .stacks = &stacks,
					  .variables = &variables,
					  .sources = sources->embed,
					  .served = served,
					  .traces = served ? served->traces : NULL,
					  .index = served ? served->index : 0,
					  .made = served ? served->made : 0 };

	course_points(&cells, totals);
	stack_uses_find(&stacks, p->trace);
	variables_find(&variables, p);
	html_data_make(&data, &source, served ? served->map : NULL);
	if (served)
		*served->live = html_is_live(&page);
	html_report(&page, out);
	html_data_release(&data);
	stack_uses_release(&stacks);
	variables_release(&variables);
	free(cells.point);
}

int report_page_totals(const struct print_totals *totals, const struct profile_options *options,
		       FILE *out, struct html_sources *sources, const struct report_served *served,
		       struct error *err)
{
	const char *path = totals->a->path;
	struct profile_options o = *options;
	struct profile *p = must_calloc(1, sizeof(*p));
	struct html_tree figures = { .profile = p };
	json *const rows[2] = { rows_by(PROFILE_BY_THREAD, path, options),
				rows_by(PROFILE_BY_PROCESS, path, options) };
	struct trace *t = NULL;
	int ret = running_open(&t, path, NULL, err);

	if (!ret)
		ret = profile_show_totals(t, &o, err);
	o.by = PROFILE_BY_STACK;
	o.library = true; /* the page folds it away */
	o.take = html_tree_take;
	o.take_context = &figures;
	if (!ret)
		ret = profile_make(p, t, &o, err);
	if (!ret) {
		ret = check_filters(p, options, served, err);
		if (!ret)
			with_totals(totals, p, &figures, out, sources, served, rows);
		profile_release(p);
	}
	html_tree_release(&figures);
	json_object_put(rows[0]);
	json_object_put(rows[1]);
	trace_close(t);
	free(p);
	return ret;
}

/* ---- a file ---- */

bool browser_show(const char *address)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		execlp("xdg-open", "xdg-open", address, (char *)NULL);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

struct file {
	const struct report_html *html;
	struct export_file to;
	struct html_sources sources;
};

static int file_begin(struct file *f, const struct report_html *html, struct error *err)
{
	f->html = html;
	f->sources = (struct html_sources){ .dir = html->source_dir, .embed = html->sources };
	return export_file_open(&f->to, strcmp(html->path, "-") ? html->path : NULL, err);
}

static int file_end(struct file *f, int ret, struct error *err)
{
	const char *path = f->html->path;
	const bool is_file = strcmp(path, "-");

	html_sources_release(&f->sources);
	ret = export_file_done(&f->to, ret, err);
	if (!ret && is_file)
		fprintf(stderr, "mprof: wrote %s\n", path);
	/* The page is written: a missing browser is worth a warning, not a failure. */
	if (!ret && f->html->open && !browser_show(path))
		fprintf(stderr, "mprof: cannot open a browser with xdg-open; the page is %s\n",
			path);
	return ret;
}

int report_html(struct trace *t, const struct profile_options *options,
		const struct report_html *html, struct error *err)
{
	struct file f;
	int ret = file_begin(&f, html, err);

	if (ret < 0)
		return ret;
	ret = report_page(t, options, f.to.out, &f.sources, !html->no_heap_map, NULL, err);
	return file_end(&f, ret, err);
}

int report_html_totals(const struct print_totals *totals, const struct profile_options *options,
		       const struct report_html *html, struct error *err)
{
	struct file f;
	int ret = file_begin(&f, html, err);

	if (ret < 0)
		return ret;
	ret = report_page_totals(totals, options, f.to.out, &f.sources, NULL, err);
	return file_end(&f, ret, err);
}
