// SPDX-License-Identifier: LGPL-3.0-or-later
/* report_html.c - see report_html.h. */
#include "report_html.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../export/exports.h"
#include "../html/html_report.h"
#include "../import/import.h"
#include "../pass/stack_uses.h"
#include "../print/text.h"
#include "../profile/variables.h"
#include "../util/alloc.h"
#include "cmd.h"
#include "progress.h"
#include "recorded_movie.h"

#define SERVED_NODES 4000000u /* of a page that is not kept */
#define HEAP_FRAMES  100
#define HEAP_LIMIT   (4u << 20) /* bytes */

/* ---- the page ---- */

struct making {
	const struct analysis *analysis;
	struct trace *trace;
	const struct cross_frees *cross_frees;
	const struct resident_parts *resident;
	FILE *out;
	struct html_sources *sources;
	bool heap_map;
	const struct report_served *served; /* NULL: the page is a file */
};

/* The process with most calls; 0: none has any. */
static uint32_t busiest(const struct analysis *a)
{
	const struct totals_process *t = a->totals.process.item;
	size_t i, best = 0;

	for (i = 1; i < a->totals.process.count; i++)
		if (t[i].sum.calls > t[best].sum.calls)
			best = i;
	return a->totals.process.count ? t[best].number : 0;
}

/* The map of one heap.  A page without it is worth a warning, not a failure. */
static void take_heap(const struct making *m, struct profile *p, struct html_report *page,
		      struct blob *heap)
{
	const uint32_t process = busiest(m->analysis);
	const struct tree_process *of = tree_find(&m->analysis->tree, process);
	struct progress progress;
	char *text = NULL, *title = html_hide_home(text_command(of ? tree_image(of) : NULL, 200).s);
	size_t bytes = 0;
	FILE *out = must_memstream(&text, &bytes);
	const struct recorded_movie o = { .title = title,
					  .process = process,
					  .names = p,
					  .frames = HEAP_FRAMES,
					  .limit = HEAP_LIMIT };
	struct error err = { "" };
	int ret;

	progress_start(&progress);
	ret = process ? recorded_movie_write(&o, m->trace, out, &err) : -ENOENT;
	progress_done(&progress);
	must_close(out);
	if (!ret) {
		blob_add(heap, text, bytes);
		page->heap = heap;
		page->heap_process = process;
	} else if (process && ret != -ENOENT) {
		cmd_warn("the page has no map of the heap: %s", err.text);
	}
	free(text);
	free(title);
}

static void with_profile(const struct making *m, struct profile *p, const struct cells *cells)
{
	const struct report_served *s = m->served;
	struct stack_uses stacks;
	struct variables variables;
	const struct html_source_data source = { .profile = p,
						 .cells = cells,
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
				    .resident = m->resident,
				    .profile = p,
				    .stacks = &stacks,
				    .variables = &variables,
				    .sources = m->sources->embed,
				    .served = s,
				    .traces = s ? s->traces : NULL,
				    .index = s ? s->index : 0 };

	stack_uses_find(&stacks, p->trace);
	variables_find(&variables, p);
	html_data_make(&data, &source, map);
	if (m->heap_map)
		take_heap(m, p, &page, &heap);
	html_report(&page, m->out);
	html_data_release(&data);
	stack_uses_release(&stacks);
	variables_release(&variables);
	blob_release(&heap);
	html_map_release(&own);
}

int report_page(const struct analysis *a, const struct profile_options *options, FILE *out,
		struct html_sources *sources, bool heap_map, const struct report_served *served,
		struct error *err)
{
	struct profile_options o = *options;
	struct profile *p = must_calloc(1, sizeof(*p));
	struct cells cells = { .point = NULL };
	struct cross_frees cross_frees = { .pair = NULL };
	struct resident_parts resident = { .walk = NULL };
	const struct walk_pass pass[] = { { &cells_pass, &cells },
					  { &cross_free_pass, &cross_frees },
					  { &resident_parts_pass, &resident },
					  { &snapshots_pass, served ? served->snapshots : NULL } };
	struct progress progress;
	struct trace *t = NULL;
	int ret = import_open(&t, served && served->file ? served->file : a->path,
			      MPROF_MAGIC_TRACE, err);

	if (!ret && served && served->file && !trace_set_original(t, served->trace))
		ret = fail(err, -ENOMEM, "no memory to read '%s'", a->path);
	if (ret < 0) {
		trace_close(t);
		free(p);
		return ret;
	}
	o.by = PROFILE_BY_STACK;
	o.library = true; /* the page folds it away */
	o.pass = pass;
	o.passes = sizeof(pass) / sizeof(pass[0]) - !served;
	if (served)
		served->snapshots->trace = t;
	o.progress = progress_start(&progress);
	o.progress_context = &progress;
	ret = profile_make(p, t, &o, err);
	progress_done(&progress);
	if (!ret) {
		with_profile(&(struct making){ a, t, &cross_frees, &resident, out, sources,
					       heap_map, served },
			     p, &cells);
		profile_release(p);
	}
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

int report_html(const struct analysis *a, const struct profile_options *options,
		const struct report_html *html, struct error *err)
{
	struct html_sources sources = { .dir = html->source_dir, .embed = html->sources };
	bool is_file = strcmp(html->path, "-");
	struct export_file file;
	int ret = export_file_open(&file, is_file ? html->path : NULL, err);

	if (ret < 0)
		return ret;
	ret = report_page(a, options, file.out, &sources, !html->no_heap_map, NULL, err);
	html_sources_release(&sources);
	ret = export_file_done(&file, ret, err);
	if (!ret && is_file)
		fprintf(stderr, "mprof: wrote %s\n", html->path);
	/* The page is written: a missing browser is worth a warning, not a failure. */
	if (!ret && html->open && !browser_show(html->path))
		fprintf(stderr, "mprof: cannot open a browser with xdg-open; the page is %s\n",
			html->path);
	return ret;
}
