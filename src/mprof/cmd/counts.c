/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * counts.c - `mprof counts`, which is also `mprof` without a command: shows
 * counts files.
 */
#include "counts.h"

#include <glob.h>
#include <string.h>

#include "../print/json_rows.h"
#include "../util/styled.h"
#include "run_messages.h"
#include "../util/pager.h"
#include "cmd.h"
#include "running.h"
#include "usage.h"

struct options {
	struct arguments files;
	bool json;
};

#define OPTIONS struct options
static const struct option_row options[] = {
	OPTION_JSON(json),
	OPTION_ROWS_ALONE(option_memory),
	OPTION_ROWS_ALONE(option_colour),
	OPTION_ROWS_ALONE(option_pager),
	OPTION_END,
};

static const struct usage usage = {
	.options = options,
	.args = "[COUNTS...]",
	.doc = "Shows counts files, by function, process and thread. Without COUNTS: all files "
	       "mprof.counts* in this directory." RUNNING_HELP,
	.words = USAGE_FILES,
	.at = offsetof(struct options, files),
};

static int show(const char *path, bool as_json)
{
	struct counts c;
	struct error err;
	unsigned i;

	if (counts_read(&c, path, &err))
		return cmd_error(STATUS_FILE, "%s", err.text);
	if (as_json) {
		json_print(stdout, JSON_NEW(counts, path, &c));
	} else {
		pager_start();
		terminal_fit();
		printf("%s\n", path);
		counts_functions(stdout, &c);
		counts_print(stdout, &c, 0);
		fflush(stdout);
		for (i = 0; i < MPROF_LOST_REASONS; i++)
			run_messages_loss(i, c.lost[i]);
	}
	counts_release(&c);
	return STATUS_OK;
}

/* Files kept from earlier runs are shown only if they are named. */
static bool is_old(const char *path)
{
	size_t n = strlen(path);

	return n > 4 && !strcmp(path + n - 4, ".old");
}

bool counts_here(void)
{
	glob_t found = { .gl_pathc = 0 };
	bool here = false;
	size_t i;

	glob("mprof.counts*", 0, NULL, &found);
	for (i = 0; i < found.gl_pathc; i++)
		here |= !is_old(found.gl_pathv[i]);
	globfree(&found);
	return here;
}

/* Other files with such a name (a JSON answer, say) are skipped. */
static int show_all(bool json)
{
	int status = STATUS_OK, one;
	glob_t found = { .gl_pathc = 0 };
	size_t i, shown = 0;

	glob("mprof.counts*", 0, NULL, &found);
	for (i = 0; i < found.gl_pathc; i++) {
		if (is_old(found.gl_pathv[i]))
			continue;
		if (shown++ && !json)
			putchar('\n');
		one = show(found.gl_pathv[i], json);
		status = one ? one : status;
	}
	globfree(&found);
	if (!shown)
		return cmd_error(STATUS_FILE,
				 "no counts file mprof.counts* in this directory; make one"
				 " with: mprof -m Count PROGRAM; mprof --help lists all"
				 " commands");
	return status;
}

int cmd_counts(int argc, char **argv)
{
	struct options o = { 0 };
	int status = STATUS_OK, one;
	size_t i;

	if (usage_take(&usage, argc, argv, &o))
		return STATUS_USAGE;
	if (!o.files.count)
		return show_all(o.json);
	if (running_find(o.files.item, o.files.count))
		return STATUS_FILE;
	for (i = 0; i < o.files.count; i++) {
		if (i && !o.json)
			putchar('\n');
		one = show(o.files.item[i], o.json);
		status = one ? one : status;
	}
	return status;
}
