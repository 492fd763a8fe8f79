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
#include "progress.h"

static int write_page(const struct html_report *r, const char *path, struct error *err)
{
	struct export_file file;
	int ret = export_file_open(&file, strcmp(path, "-") ? path : NULL, err);

	if (ret < 0)
		return ret;
	ret = html_report(r, file.out, err);
	return export_file_done(&file, ret, err);
}

/* The page is written; that nothing shows it here is told, but is no failure. */
static void show(const char *path)
{
	pid_t pid = fork();
	int status = 0;

	if (!pid) {
		execlp("xdg-open", "xdg-open", path, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || waitpid(pid, &status, 0) < 0 || status)
		fprintf(stderr, "mprof: cannot open a browser with xdg-open; the page is %s\n",
			path);
}

static int with_profile(struct profile *p, const struct cells *cells, const struct analysis *a,
			const char *path, struct error *err)
{
	const struct html_source source = { p, cells };
	struct html_data data;
	const struct html_report page = { a, cells, &data };
	int ret = html_data_make(&data, &source, err);

	if (!ret)
		ret = write_page(&page, path, err);
	html_data_release(&data);
	return ret;
}

static int walk_again(const struct analysis *a, const struct profile_options *options,
		      const char *path, struct error *err)
{
	struct profile_options o = *options;
	struct profile *p = calloc(1, sizeof(*p));
	struct cells cells = { .point = NULL };
	const struct walk_pass pass[] = { { &cells_pass, &cells } };
	struct progress progress;
	struct trace *t = NULL;
	int ret = p ? import_open(&t, a->path, MPROF_MAGIC_TRACE, err)
		    : fail(err, -ENOMEM, "no memory to read '%s'", a->path);

	if (ret < 0) {
		free(p);
		return ret;
	}
	o.by = PROFILE_BY_STACK;
	o.library = true; /* the page folds it away */
	o.pass = pass;
	o.passes = 1;
	o.progress = progress_start(&progress);
	o.progress_context = &progress;
	ret = profile_make(p, t, &o, err);
	progress_done(&progress);
	if (!ret) {
		ret = with_profile(p, &cells, a, path, err);
		profile_release(p);
	}
	trace_close(t);
	free(p);
	return ret;
}

int report_html(const struct analysis *a, const struct profile_options *options, const char *path,
		bool open, struct error *err)
{
	int ret = walk_again(a, options, path, err);

	if (!ret && strcmp(path, "-"))
		fprintf(stderr, "mprof: wrote %s\n", path);
	if (!ret && open)
		show(path);
	return ret;
}
