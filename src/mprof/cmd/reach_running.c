// SPDX-License-Identifier: LGPL-3.0-or-later
/* reach_running.c - see reach_running.h. */
#include "reach_running.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../run/process.h"
#include "../run/run_file_of.h"
#include "../util/alloc.h"
#include "../util/file_head.h"
#include "../util/format.h"

#define READ_SPEED 150000000u /* bytes of a trace a second, about */

static struct mprof_process_entry entry_of(const struct mprof_file_header *h, pid_t pid)
{
	struct process_memory m;

	for (size_t i = 0; !process_memory(pid, &m) && i < MPROF_PROCESS_TABLE; i++)
		if (h->process[i].number && h->process[i].pid == pid &&
		    h->process[i].start_time == m.start_time)
			return h->process[i];
	return (struct mprof_process_entry){ .pid = pid };
}

/* Adds why the system refuses it, if that is a setting. */
static const char *scope(int ret)
{
	char value = '0';

	file_head("/proc/sys/kernel/yama/ptrace_scope", &value, 1);
	return ret != -EPERM || value == '0'
		   ? ""
		   : "; run mprof as root, or allow it in kernel.yama.ptrace_scope";
}

/* Says so if the process stands still for long. */
static void announce(const struct run_file_of *f)
{
	struct stat st;

	if (!stat(f->link, &st) && (uint64_t)st.st_size / READ_SPEED)
		fprintf(stderr,
			"mprof: process %d stands still for about %s while mprof reads its calls; "
			"Ctrl-C lets it run on\n",
			(int)f->pid, format_ns((uint64_t)st.st_size / READ_SPEED * 1000000000).s);
}

int reach_running_stop(struct reach_running *r, pid_t pid, struct error *err)
{
	static struct run_file_of f;
	struct error why;
	int ret = run_file_find(&f, pid, NULL, err);

	if (ret)
		return ret;
	announce(&f);
	pid = f.pid;
	r->x = (struct examine){ .of = entry_of(&f.header, pid) };
	ret = examine_stop(&r->x, &r->stopped, &why);
	return ret ? fail(err, ret, "cannot examine process %d: %s%s", (int)pid, why.text,
			  scope(ret))
		   : 0;
}

static int found(void *context, const struct examine *x, const void *payload, size_t bytes)
{
	trace_add_reach(context, x->of.number, memcpy(must_malloc(bytes), payload, bytes), bytes);
	return 0;
}

static int examine(struct reach_running *r, struct trace *t, struct error *err)
{
	const int pid = r->x.of.pid;
	struct error why;
	int ret;

	if (!trace_has_events(t) || trace_has_totals(t) || trace_header(t)->dropped_ticks)
		return fail(err, -EINVAL,
			    "cannot examine process %d: '%s' does not have all of its calls; "
			    "expected one that mprof record runs, without --last, --budget and "
			    "--overhead",
			    pid, trace_path(t));
	r->x.found = found;
	r->x.context = t;
	ret = examine_stopped(&r->x, t, &r->stopped, &why);
	return ret ? fail(err, ret, "cannot examine process %d: %s", pid, why.text) : 0;
}

int reach_running_take(struct reach_running *r, struct trace *t, struct error *err)
{
	const int ret = examine(r, t, err);

	reach_running_end(r);
	return ret;
}

void reach_running_end(struct reach_running *r)
{
	stopped_end(&r->stopped);
}
