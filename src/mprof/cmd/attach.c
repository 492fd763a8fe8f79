// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * attach.c - `mprof attach`: profiles a program that runs already.
 */
#include <errno.h>
#include <limits.h>
#include <mprof/scripts.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "../run/attaching.h"
#include "../run/code_names.h"
#include "../run/library.h"
#include "../run/process.h"
#include "../run/sampler.h"
#include "../util/alloc.h"
#include "../util/file_head.h"
#include "../util/format.h"
#include "../util/now.h"
#include "../util/ranges.h"
#include "cmd.h"
#include "event_count.h"
#include "profile_tell.h"
#include "run_keys.h"
#include "run_messages.h"
#include "usage.h"

#define LOOK_NS 200000000 /* between looks whether the process still runs */
#define LOOKS	10	  /* until one at its mappings, which are many */
#define ROUNDS	4	  /* at most, to find children */

struct options {
	const char *output, *sample;
	int64_t duration;
	bool limited, python;
	struct run_keys keys;
	struct arguments words;
	uint64_t pid;
};

#define OPTIONS struct options
static const struct option_row options[] = {
	OPTION_FILE('o', "output", "FILE", output,
		    "Write the profile to FILE [./mprof.profile]; an earlier one is kept as "
		    "FILE.old"),
	OPTION_TIME(0, "for", duration, "Detach after TIME, such as 30s or 10min [never]",
		    .given = OPTION_AT(limited)),
	OPTION_FLAG(0, "python", python, "Show functions and lines of Python scripts"),
	OPTION_KEY("sample", "BYTES", keys, SAMPLE_BYTES,
		   "Estimate totals from samples, one every BYTES on average [512K]",
		   .otherwise = "512K", .named = OPTION_AT(sample)),
	OPTION_KEY("depth", "FRAMES", keys, DEPTH,
		   "Keep this many innermost frames of each stack [65535]"),
	OPTION_KEY_SET("site-sizes", keys, SITE_SIZES, 1,
		       "Keep the sizes of each call stack, for mprof report hot --by size"),
	OPTION_KEY_SET("no-children", keys, CHILDREN, 0, "Do not record forked children"),
	OPTION_FLAG('q', "quiet", keys.quiet, "Print errors only"),
	OPTION_END,
};

static int check(void *options, struct error *err)
{
	struct options *o = options;
	const char *const *word = (const char *const *)o->words.item;

	if (parse_whole(word[0], 1, INT_MAX, &o->pid))
		return fail(err, -EINVAL, "invalid PID '%s': expected the number of a process",
			    word[0]);
	o->pid = (uint64_t)process_of_thread((pid_t)o->pid);
	if (o->words.count > 1)
		return fail(err, -EINVAL, "unexpected argument '%s': expected one process",
			    word[1]);
	if (o->sample && o->keys.given[CONF_SITE_SIZES])
		return fail(err, -EINVAL,
			    "invalid --site-sizes: samples do not keep sizes; leave out --%s",
			    o->sample);
	return 0;
}

static const struct usage usage = {
	.options = options,
	.args = "PID",
	.doc = "Profiles a program that runs already: adds up, for each call stack, what it "
	       "allocates from now on, and which of these blocks are still live. Detaches at "
	       "Ctrl-C; the program runs on.\vThe profile can be read at any time. Blocks from "
	       "before are unknown: their frees do not count. Next: mprof report leaks FILE.",
	.words = USAGE_FILES,
	.at = offsetof(struct options, words),
	.missing = "no process given; for example: mprof attach 4711",
	.check = check,
};

/* What ends the command detaches instead. */
static const sigset_t *ends(void)
{
	static sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGHUP);
	return &set;
}

/* The end of the process is noticed by looking, because it is nobody's child here. */
static void wait_for_end(const struct attached *a, const struct options *o, uint64_t start_time)
{
	const struct timespec look = { .tv_nsec = LOOK_NS };
	const int64_t until = now_ns(CLOCK_MONOTONIC) + o->duration;

	for (unsigned i = 1;
	     process_is_alive(a->pid, start_time) && (i % LOOKS || attach_is_on(a)) &&
	     (!o->limited || now_ns(CLOCK_MONOTONIC) < until) &&
	     sigtimedwait(ends(), NULL, &look) < 0;
	     i++)
		;
}

static void detach(struct attached *a)
{
	struct error err;
	const int ret = attach_is_on(a) ? attach_end(a, &err) : 0;

	if (ret && ret != -ESRCH)
		cmd_warn("%s; it is still recorded: mprof ctl %d pause", err.text, (int)a->pid);
}

/* Returns false when all are done. */
static bool detach_listed(struct attached *child, const struct mprof_file_header *h,
			  uint32_t done[MPROF_PROCESS_TABLE])
{
	bool found = false;

	for (uint32_t i = 0; i < h->processes && i < MPROF_PROCESS_TABLE; i++) {
		const struct mprof_process_entry *e = &h->process[i];

		if (!e->number || e->number == done[i] || e->state != MPROF_PROCESS_RUNNING)
			continue;
		done[i] = e->number;
		child->pid = e->pid;
		found = true;
		if (process_is_alive(e->pid, e->start_time))
			detach(child);
	}
	return found;
}

/* Forked children have the library where their parent has it.  They may fork meanwhile. */
static void detach_all(struct attached *a, const char *path)
{
	uint32_t done[MPROF_PROCESS_TABLE] = { 0 };
	struct attached child = *a;
	struct trace *t;
	bool found = true;

	detach(a);
	for (unsigned i = 0; found && i < ROUNDS; i++) {
		if (trace_open(&t, path, MPROF_MAGIC_PROFILE, NULL))
			return;
		found = detach_listed(&child, trace_header(t), done);
		trace_close(t);
	}
}

/* Ends the recording of an mprof that was killed; its file stays as it is. */
static int end_left(const struct run_file_of *left, bool quiet, struct error *err)
{
	static struct run_file_of still;
	static struct attached a;
	struct error ignored;
	int ret = attach_find(&a, left, err);

	if (ret)
		return ret;
	detach_all(&a, left->path);
	if (!run_file_find(&still, left->pid, NULL, &ignored))
		return fail(err, -EALREADY,
			    "process %d is already recorded, into '%s', by an mprof that was "
			    "killed, and this recording could not be ended",
			    (int)left->pid, left->path);
	if (!left->deleted)
		code_names_add(left->path);
	if (!quiet)
		fprintf(stderr,
			"mprof: ended the recording into '%s', because the mprof that began it "
			"was killed\n",
			left->path);
	return 0;
}

static int take_target(struct target *t, const struct conf *conf, pid_t pid, struct error *err)
{
	char exe[64], program[PATH_MAX];
	char *path;
	ssize_t n;
	int ret;

	snprintf(exe, sizeof(exe), "/proc/%d/exe", (int)pid);
	n = readlink(exe, program, sizeof(program) - 1);
	program[n > 0 ? n : 0] = 0;
	path = conf_expand(conf_get(conf, CONF_PROFILE_PATH), pid, program, err);
	if (!path)
		return -EINVAL;
	ret = target_take(t, path, MPROF_MAGIC_PROFILE, err);
	free(path);
	return ret;
}

/* Attaches; *start_time tells the process from later ones with its number. */
static int begin(struct attached *a, struct target *t, struct run_plan *plan,
		 const struct options *o, const char *library, uint64_t *start_time, int *claim,
		 struct error *err)
{
	static struct run_file_of left;
	struct process_memory m;
	const pid_t pid = (pid_t)o->pid;
	char *conf, *spare;
	int ret = process_memory(pid, &m);

	if (ret)
		return fail(err, ret, "cannot examine process %d: %s", (int)pid,
			    ret == -ENOENT || ret == -ESRCH ? "it is not running" : strerror(-ret));
	*start_time = m.start_time;
	ret = attach_check(pid, library, &left, claim, err);
	ret = ret > 0 ? end_left(&left, plan->quiet, err) : ret;
	ret = ret ? ret : take_target(t, &plan->conf, pid, err);
	ret = ret ? ret : conf_set(&plan->conf, CONF_PROFILE_PATH, t->path, err);
	if (ret)
		return ret;
	conf = conf_text(&plan->conf, err);
	spare = must_printf("%s.%d.so", t->path, (int)getpid());
	ret = conf ? attach_check_file(pid, t->path, err) : -EINVAL;
	ret = ret ? ret : attach_begin(a, pid, library, spare, conf, err);
	free(conf);
	free(spare);
	target_settle(t, !ret);
	return ret;
}

static void tell_begin(const struct options *o, const struct attached *a, const char *path)
{
	char title[256] = "";

	process_title((pid_t)o->pid, title, sizeof(title));
	fprintf(stderr,
		"mprof: attached to process %d (%s); Ctrl-C detaches. Meanwhile: ", (int)o->pid,
		title);
	fprintf(stderr, "mprof report %s, or mprof view %s\n", cmd_path(path), cmd_path(path));
	if (!o->python && attach_runs_python((pid_t)o->pid))
		fputs("mprof: it runs Python: --python shows functions and lines of its scripts "
		      "(CPython " MPROF_SCRIPT_ATTACHED ")\n",
		      stderr);
	if (a->without_objects)
		cmd_warn("Python has another allocator than its usual one (PYTHONMALLOC, "
			 "tracemalloc), so small objects are not recorded; start it with "
			 "PYTHONMALLOC=malloc to see them");
}

/* Its environment is its own, so programs that it runs do not load the library. */
static void tell_missing(const char *path)
{
	struct event_count_own own = { .count = 0 };
	struct trace *t;

	if (trace_open(&t, path, MPROF_MAGIC_PROFILE, NULL))
		return;
	event_count_own(&own, t);
	trace_close(t);
	if (*own.object)
		cmd_warn("calls of %s%s were not recorded: dlmopen gave %s a C library of %s own",
			 cmd_path(own.object), own.objects ? " and other objects" : "",
			 own.objects ? "them" : "it", own.objects ? "their" : "its");
	if (!own.missing)
		return;
	fprintf(stderr, "mprof: %s it ran since then %s not recorded",
		own.missing == 1 ? "a program that"
				 : format_many(own.missing, "program that", "programs that").s,
		own.missing == 1 ? "was" : "were");
	if (*own.missing_path)
		fprintf(stderr, "%s%s",
			own.missing == 1 ? ": " : "; the first: ", cmd_path(own.missing_path));
	fputs("; mprof profile -- PROGRAM records these, too\n", stderr);
}

/* What only mprof reads, as mprof profile does: huge pages, and the memory of all processes. */
static struct sampler *watch(const char *path)
{
	struct mprof_file_header header;
	struct sampler *s = NULL;
	struct error err = { "" };

	if (file_head(path, &header, sizeof(header)) == sizeof(header) &&
	    sampler_start(&s, path, header.run_id, SAMPLER_SHARES, false, NULL, &err))
		cmd_warn("%s", err.text);
	return s;
}

static void end_watch(struct sampler *s)
{
	struct append file;

	if (!s)
		return;
	sampler_stop(s, &file);
	append_close(&file);
}

static int profile(struct run_plan *plan, const struct options *o, const char *library)
{
	struct target t = { .claim = -1 };
	static struct attached a;
	struct sampler *sampler;
	uint64_t start_time = 0;
	struct error err;
	int ret, status, claim = -1;

	a.python = o->python;
	sigprocmask(SIG_BLOCK, ends(), NULL);
	ret = begin(&a, &t, plan, o, library, &start_time, &claim, &err);
	if (ret) {
		target_release(&t);
		status = cmd_failed(ret, &err);
		return status == STATUS_FOUND ? STATUS_FILE : status;
	}
	if (!plan->quiet)
		tell_begin(o, &a, t.path);
	sampler = watch(t.path);
	wait_for_end(&a, o, start_time);
	end_watch(sampler);
	detach_all(&a, t.path);
	if (claim >= 0)
		close(claim);
	code_names_add(t.path);
	if (!plan->quiet) {
		tell_missing(t.path);
		profile_tell(t.path, NULL);
	}
	target_release(&t);
	return STATUS_OK;
}

int cmd_attach(int argc, char **argv)
{
	struct options o = { .output = NULL };
	struct run_plan plan = { 0 };
	int status = STATUS_USAGE;
	struct error err;
	char *library;

	if (usage_take(&usage, argc, argv, &o))
		return STATUS_USAGE;
	library = library_find(&err);
	if (!library)
		status = cmd_failed(-ENOENT, &err);
	else if (!conf_parse(&plan.conf, NULL, &err) &&
		 run_keys_set(&plan, &o.keys, o.sample ? "Sample" : "Profile", CONF_PROFILE_PATH,
			      o.output))
		status = profile(&plan, &o, library);
	free(library);
	run_messages_release(&plan);
	run_keys_release(&o.keys);
	return status;
}
