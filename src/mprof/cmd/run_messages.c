/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * run_messages.c - messages before and after the run of a program.
 */
#include "run_messages.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "../run/elf.h"
#include "../run/library.h"
#include "../run/own_malloc.h"
#include "../run/settings.h"
#include "../run/wrap.h"
#include "../trace/lost.h"
#include "../util/alloc.h"
#include "cmd.h"

#define NOTES_SHOWN 8

void run_messages_loss(unsigned reason, uint64_t n)
{
	const char *words = lost_reason[reason].at_end;

	if (!n)
		return;
	if (lost_reason[reason].counts == LOST_PROCESSES)
		cmd_warn("recording ended early in %" PRIu64
			 " process%s: %s; later calls are not in the file",
			 n, n == 1 ? "" : "es", words);
	else
		cmd_warn("%" PRIu64 " lost: %s", n, words);
}

static bool refuse(const struct error *err)
{
	cmd_error(0, "%s", err->text);
	return false;
}

/* Before the program prints anything. */
void run_messages_starting(const struct program *program)
{
	if (*program->why_not)
		cmd_warn("%s; it runs unrecorded", program->why_not);
	if (*program->past)
		cmd_warn("%s", program->past);
}

bool run_messages_plan(struct run_plan *plan, char **argv, const char *mode, enum conf_key key,
		       const char *path)
{
	struct error err;

	plan->argv = argv;
	plan->starting = run_messages_starting;
	if (conf_parse(&plan->conf, getenv("MPROF_CONF"), &err))
		return refuse(&err);
	if (mode && conf_set(&plan->conf, CONF_MODE, mode, &err))
		return refuse(&err);
	if (path && conf_set(&plan->conf, key, path, &err))
		return refuse(&err);
	return true;
}

bool run_messages_mode(const struct conf *conf, const char *magic, const char *expected)
{
	const char *written;

	conf_file(conf, &written);
	if (!strcmp(written, magic))
		return true;
	cmd_error(0, "invalid MODE '%s': expected %s; mprof -m runs all modes",
		  conf_get(conf, CONF_MODE), expected);
	return false;
}

bool run_messages_allocator(struct run_plan *plan, const char *name)
{
	struct error err;

	if (!name)
		return true;
	plan->allocator = allocator_resolve(name, &err);
	if (!plan->allocator)
		return refuse(&err);
	/*
	 * Loaded by the library rather than preloaded: nothing that only the allocator
	 * needs (libstdc++, its own constructor) is then counted as the program's.  But
	 * another allocator that uses libstdc++, as libtcmalloc.so.4 does, may free
	 * blocks that libstdc++ got from ours when both are loaded.
	 */
	plan->preload = !allocator_name(plan->allocator) && !strpbrk(plan->allocator, ": ") &&
			elf_needs(plan->allocator, "libstdc++");
	if (plan->preload)
		return !conf_set(&plan->conf, CONF_INIT, "LD_NEXT", &err) || refuse(&err);
	if (conf_set(&plan->conf, CONF_INIT, "SO_LOAD", &err) ||
	    conf_set(&plan->conf, CONF_SO_PATH, *plan->allocator ? plan->allocator : "libc.so.6",
		     &err))
		return refuse(&err);
	return true;
}

void run_messages_release(struct run_plan *plan)
{
	conf_release(&plan->conf);
	free((char *)plan->allocator);
}

int run_messages_refused(const struct run_result *r, int code, const struct error *err)
{
	bool missing = !r->program.path[0];

	cmd_error(0, "%s", err->text);
	if (missing && code == -ENOENT)
		return STATUS_NOT_FOUND;
	return missing && code == -EACCES ? STATUS_NOT_RUNNABLE : STATUS_USAGE;
}

static void tell_notes(const char *notes)
{
	unsigned shown = 0, more = 0;
	size_t n;

	for (; notes && *notes; notes += n + (notes[n] == '\n')) {
		n = strcspn(notes, "\n");
		if (n && shown++ < NOTES_SHOWN)
			cmd_warn("process %.*s", (int)n, notes);
		else
			more += n > 0;
	}
	if (more)
		cmd_warn("and %u more lines like these", more);
}

static void tell_cut(const struct run_result *r)
{
	const char *rest =
	    r->file == RUN_CUT ? "the recording of that part is lost" : "the recording is lost";

	if (r->bytes < r->bytes_before)
		cmd_warn("'%s' was truncated during the run, from at least %" PRIu64 " to %" PRIu64
			 " bytes; %s",
			 r->target.path, r->bytes_before, r->bytes, rest);
	else
		cmd_warn("'%s' was truncated during the run; the recording up to then is lost",
			 r->target.path);
}

/* One line that says which file is at the path now: another one than before, or the same. */
static void tell_earlier(const struct run_result *r)
{
	char *old = target_old(&r->target);

	if (r->earlier == TARGET_KEPT)
		fprintf(stderr, "mprof: renamed the earlier '%s' to '%s'\n",
			cmd_path(r->target.path), cmd_path(old));
	if (r->earlier == TARGET_UNTOUCHED)
		fprintf(stderr, "mprof: nothing was recorded; '%s' is unchanged\n",
			cmd_path(r->target.path));
	if (r->earlier == TARGET_PUT_BACK)
		fprintf(stderr, "mprof: no call was recorded; restored the earlier '%s'\n",
			cmd_path(r->target.path));
	free(old);
}

/* Names the settings that left out every process.  Returns false if there are none. */
static bool tell_filters(const struct run_plan *plan)
{
	const char *only = conf_get(&plan->conf, CONF_ONLY),
		   *ranks = conf_get(&plan->conf, CONF_RANKS);

	if (!*only && !*ranks)
		return false;
	cmd_warn(
	    "nothing was recorded: no process of the run fits %s%s%s%s%s%s", *only ? "--only " : "",
	    only, *only && *ranks ? " and " : "", *ranks ? "--ranks " : "", ranks,
	    *ranks && !conf_knows_rank() ? " (neither a launcher's variable nor MPI gives the rank)"
					 : "");
	return true;
}

static void tell_file(const struct run_plan *plan, const struct run_result *r)
{
	bool unexplained;

	if (r->file == RUN_NOTHING && *r->program.why_not && r->earlier == TARGET_NONE &&
	    !plan->discards)
		fprintf(stderr, "mprof: nothing was recorded, and '%s' was not created\n",
			cmd_path(r->target.path));
	unexplained =
	    r->file == RUN_NOTHING && !tell_filters(plan) && !*r->program.why_not && !r->notes;
	if (unexplained && WIFSIGNALED(r->end.status))
		cmd_warn("nothing was recorded: '%s' was killed by signal %d (%s) before it made a "
			 "call, or did not load libmprof.so",
			 plan->argv[0], WTERMSIG(r->end.status),
			 strsignal(WTERMSIG(r->end.status)));
	else if (unexplained)
		cmd_warn("nothing was recorded: '%s' did not load libmprof.so, or lost MPROF_RUN"
			 " from its environment",
			 plan->argv[0]);
	if (r->unranked)
		cmd_warn(
		    "the rank is unknown, so the name of '%s' does not contain it: no launcher's"
		    " variable (PMI_RANK, ...) gives it, and mprof asks MPI only if the program is"
		    " linked with it, not if it loads MPI while it runs",
		    r->path);
	if (r->file == RUN_UNOPENED)
		cmd_warn("cannot open '%s' after the run: %s", r->target.path, strerror(r->why));
	if (r->file == RUN_TRUNCATED || r->file == RUN_CUT)
		tell_cut(r);
	if (r->file == RUN_RESTORED)
		cmd_warn("'%s' was deleted during the run; mprof restored it", r->target.path);
	if (r->file == RUN_MOVED)
		cmd_warn("'%s' was replaced during the run; the recording up to then is in '%s'",
			 r->target.path, r->path);
	if (r->file == RUN_ABOVE)
		cmd_warn("'%s' was deleted with its directory during the run; the recording is in "
			 "'%s'",
			 r->target.path, r->path);
	if (r->file == RUN_RENAMED)
		cmd_warn("'%s' was renamed during the run; the recording is in '%s'",
			 r->target.path, r->path);
	if (r->file == RUN_LOST)
		cmd_warn("'%s' was deleted or replaced during the run; the recording up to then "
			 "is lost",
			 r->target.path);
	if (r->alive)
		cmd_warn(
		    "%" PRIu32
		    " recorded process%s of this run %s still running, and still %s to the file",
		    r->alive, r->alive == 1 ? "" : "es", r->alive == 1 ? "is" : "are",
		    r->alive == 1 ? "writes" : "write");
	else if (r->in_use)
		cmd_warn("a process of this run is still running, and still writes to the file");
	tell_earlier(r);
}

/* A process reports calls by a file of /proc that only root's privileges open if mprof has them. */
static void tell_uncalled(const struct run_plan *plan, const struct run_result *r)
{
	char *text = NULL;
	size_t size;
	FILE *out = must_memstream(&text, &size);
	const unsigned n = wrap_print_uncalled(out, conf_get(&plan->conf, CONF_WRAP), r->called);

	must_close(out, &text);
	if (n)
		cmd_warn("--wrap %s of %s: it sees only calls that the dynamic linker binds, "
			 "to a function that a shared library exports; not to one in the program "
			 "itself, nor static, inlined or -Bsymbolic ones%s",
			 geteuid() ? "saw no call" : "has no report of a call", text,
			 geteuid()
			     ? ""
			     : ". Or the process gave up privileges of root first, as servers "
			       "do: then it cannot report here, but mprof report shows its calls");
	free(text);
}

static void tell_python(enum code_python python)
{
	if (python == CODE_NO_PYTHON)
		cmd_warn("--python saw no function of a Python script: it knows CPython 3.9 to"
			 " 3.15, but not its free-threaded build");
	if (python == CODE_PYTHON_UNNAMED)
		cmd_warn("--python found no names of the script's functions: their processes write "
			 "them to /tmp/perf-PID.map, and see another /tmp (after chroot, or in a "
			 "container) or removed the file");
}

void run_messages_tell(const struct run_plan *plan, const struct run_result *r)
{
	unsigned i;

	if (plan->quiet)
		return;
	tell_notes(r->notes);
	for (i = 0; i < MPROF_LOST_REASONS; i++)
		run_messages_loss(i, r->lost[i]);
	tell_uncalled(plan, r);
	if (plan->python && r->file == RUN_FILE && !r->alive && !r->in_use)
		tell_python(r->python);
	tell_file(plan, r);
}

/* Programs that the run started, but whose calls are not in the file. */
static void tell_missing(const struct event_count_own *own)
{
	const char *path = *own->missing_path ? own->missing_path : "a program";
	char many[96] = "", why[512] = "", words[PATH_MAX + 256];

	if (!own->missing)
		return;
	if (own->missing > 1)
		snprintf(many, sizeof(many),
			 "%" PRIu64 " programs were not recorded (mprof report); the first: ",
			 own->missing);
	if (!own->environment)
		program_why_missing(path, own->how, why, sizeof(why));
	if (own->environment)
		snprintf(words, sizeof(words),
			 "%s was not recorded: its LD_PRELOAD did not name libmprof.so (as after "
			 "env -i, sudo or su -, or in a script that sets the variable); to record "
			 "it, put mprof directly before it, or let its parent pass on LD_PRELOAD, "
			 "MPROF_CONF and MPROF_RUN",
			 cmd_path(path));
	else if (!*why)
		snprintf(words, sizeof(words), "%s was not recorded: %s", cmd_path(path),
			 own->apart
			     ? "libmprof.so or the file of this run was out of its reach, as after "
			       "chroot or in a sandbox; to record it, make the directories of both "
			       "available there at the same paths (mount --bind), that of the file "
			       "writable"
			     : "it did not load libmprof.so");
	cmd_warn("%s%s", many, *why ? why : words);
}

void run_messages_own(const struct event_count_own *own, const struct run_result *r)
{
	char words[1280];
	struct own_malloc first;
	uint64_t n = own->count -
		     (own->count && r->program.past_all); /* run_messages_starting told of one */

	if (*own->object)
		cmd_warn("calls of %s%s were not recorded: loaded with RTLD_DEEPBIND or dlmopen, "
			 "%s libc's malloc directly",
			 cmd_path(own->object), own->objects ? " and other objects" : "",
			 own->objects ? "they call" : "it calls");
	if (own->denied)
		cmd_warn(
		    "programs that ran as another user were not recorded: they may not open "
		    "'%s'; run mprof as that user, or attach while they run (mprof attach PID)",
		    r->path);
	/* A process that gave up privileges cannot write to the notes. */
	if (*own->remark && !(r->program.emulates && strstr(own->remark, PROGRAM_EMULATES)) &&
	    !(r->notes && strstr(r->notes, own->remark)))
		cmd_warn("%s", own->remark);
	tell_missing(own);
	if (!n)
		return;
	own_malloc_first(own->path, &first);
	own_malloc_words(&first, words, sizeof(words));
	cmd_warn("%" PRIu64 " %sprocess%s: %s", n, n < own->count ? "more " : "",
		 n == 1 ? "" : "es", words);
}

bool run_messages_interrupted(const struct run_result *r)
{
	int status = r->end.status;

	if (r->end.interrupted && status)
		return true; /* it handled the signal and exited, as make does */
	return r->end.handed_on ||
	       (WIFSIGNALED(status) && (WTERMSIG(status) == SIGINT || WTERMSIG(status) == SIGQUIT));
}

/* Without a core dump: the program may have left its own. */
static void die_by(int signal)
{
	const struct rlimit none = { 0, 0 };
	sigset_t only;

	setrlimit(RLIMIT_CORE, &none);
	sigemptyset(&only);
	sigaddset(&only, signal);
	sigaction(signal, &(struct sigaction){ .sa_handler = SIG_DFL }, NULL);
	kill(getpid(), signal);
	sigprocmask(SIG_UNBLOCK, &only, NULL);
}

int run_messages_status(const struct run_result *r)
{
	if (!WIFSIGNALED(r->end.status))
		return run_status(r);
	if (!cmd_flush(0))
		die_by(WTERMSIG(r->end.status));
	return run_status(r);
}

int run_messages_run(const struct run_plan *plan, bool show,
		     void (*after)(const struct run_plan *plan, struct run_result *r,
				   unsigned form),
		     unsigned form)
{
	struct run_result result;
	struct error err;
	int code, status;

	if (show) {
		settings_print(&plan->conf, stdout);
		return STATUS_OK;
	}
	code = run_program(plan, &result, &err);
	if (code)
		return run_messages_refused(&result, code, &err);
	after(plan, &result, form);
	status = run_messages_status(&result);
	run_release(&result);
	return status;
}
