// SPDX-License-Identifier: LGPL-3.0-or-later
/* attaching.c - see attaching.h. */
#include "attaching.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <mprof/preload.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../util/alloc.h"
#include "../util/outputs.h"
#include "claim.h"
#include "elf.h"
#include "inject.h"
#include "library.h"
#include "process.h"
#include "program.h"

#define OF_LOADER 0x80000000u /* of __libc_dlopen_mode */

/* ---- what the process has mapped ---- */

struct object {
	char path[PATH_MAX];   /* as it sees it */
	char listed[PATH_MAX]; /* as we see it */
	uint64_t base;	       /* where the beginning of its file is mapped */
};

static FILE *open_of(pid_t pid, const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	return fopen(path, "re");
}

/* Takes the next object of a list of mappings: a file that is mapped from its beginning. */
static bool next_object(FILE *maps, struct object *o)
{
	char line[PATH_MAX + 128];
	uint64_t offset;
	int at;

	while (fgets(line, sizeof(line), maps)) {
		line[strcspn(line, "\n")] = 0;
		at = 0;
		if (sscanf(line, "%" SCNx64 "-%*x %*s %" SCNx64 " %*s %*s %n", &o->base, &offset,
			   &at) == 2 &&
		    at && line[at] == '/' && !offset) {
			snprintf(o->path, sizeof(o->path), "%.*s", PATH_MAX - 1, line + at);
			return true;
		}
	}
	return false;
}

/* The file, wherever the process has its root. */
static void path_of(pid_t pid, const struct object *o, char path[PATH_MAX + 32])
{
	snprintf(path, PATH_MAX + 32, "/proc/%d/root%s", (int)pid, o->path);
}

static uint64_t symbol_of(pid_t pid, const struct object *o, const char *name)
{
	char path[PATH_MAX + 32];
	uint64_t at;

	path_of(pid, o, path);
	at = elf_symbol(path, name);
	return at ? o->base + at : 0;
}

/* The kernel lists the paths that this process sees.  After chroot they begin with the root
 * directory of the other one, which sees them without. */
static void see_as(pid_t pid, struct object *o)
{
	char link[64], root[PATH_MAX];
	ssize_t n;

	strcpy(o->listed, o->path);
	snprintf(link, sizeof(link), "/proc/%d/root", (int)pid);
	n = readlink(link, root, sizeof(root));
	if (n > 1 && !strncmp(o->path, root, (size_t)n) && o->path[n] == '/')
		memmove(o->path, o->path + n, strlen(o->path + n) + 1);
}

/* Finds the first object of this process that `is` accepts; false if there is none. */
static bool find_object(pid_t pid, struct object *o,
			bool (*is)(pid_t pid, const struct object *o, const void *with),
			const void *with)
{
	FILE *maps = open_of(pid, "maps");
	bool found = false;

	while (maps && !found && next_object(maps, o)) {
		see_as(pid, o);
		found = is(pid, o, with);
	}
	if (maps)
		fclose(maps);
	return found;
}

static bool is_libc(pid_t pid, const struct object *o, const void *with)
{
	return !strncmp(basename(o->path), "libc.so.6", 9) ||
	       !strncmp(basename(o->path), "libc-2.", 7);
}

static bool is_at(pid_t pid, const struct object *o, const void *path)
{
	return !strcmp(o->path, path);
}

/* An allocator other than libc's comes before libc. */
static bool is_allocator(pid_t pid, const struct object *o, const void *with)
{
	char path[PATH_MAX + 32];

	path_of(pid, o, path);
	return !is_libc(pid, o, NULL) && strncmp(basename(o->path), "ld-", 3) &&
	       defines_malloc(path) > 0;
}

/* Is it a part that must be known, whose file was replaced since, as by an upgrade? */
static bool is_replaced(pid_t pid, const struct object *o, const void *with)
{
	char path[PATH_MAX + 32];

	path_of(pid, o, path);
	return strstr(o->path, " (deleted)") && access(path, F_OK) &&
	       (is_libc(pid, o, NULL) || strstr(basename(o->path), "alloc"));
}

static bool is_python(pid_t pid, const struct object *o, const void *with)
{
	char path[PATH_MAX + 32];

	path_of(pid, o, path);
	return strstr(basename(o->path), "python") && elf_symbol(path, "_PyEval_EvalFrameDefault");
}

bool attach_runs_python(pid_t pid)
{
	struct object o;

	return find_object(pid, &o, is_python, NULL);
}

/* ---- what prevents it ---- */

static uint64_t status_field(pid_t pid, const char *name)
{
	FILE *f = open_of(pid, "status");
	char line[256];
	uint64_t value = 0;
	const size_t n = strlen(name);

	while (f && fgets(line, sizeof(line), f))
		if (!strncmp(line, name, n) && line[n] == ':')
			value = strtoull(line + n + 1, NULL, 10);
	if (f)
		fclose(f);
	return value;
}

static bool is_stopped_now(pid_t pid)
{
	FILE *f = open_of(pid, "status");
	char line[256];
	bool found = false;

	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, "State:\tT", 8);
	if (f)
		fclose(f);
	return found;
}

/* If it stays so, a thread would wait for locks that others keep. */
static bool is_stopped(pid_t pid)
{
	for (int i = 0; i < 20; i++) {
		if (!is_stopped_now(pid))
			return false;
		usleep(10000);
	}
	return true;
}

static int check_program(pid_t pid, struct error *err)
{
	struct program program;
	char link[64], exe[PATH_MAX];
	ssize_t n;
	int ret;

	snprintf(link, sizeof(link), "/proc/%d/exe", (int)pid);
	n = readlink(link, exe, sizeof(exe) - 1);
	if (n < 0 && errno == ENOENT && !access("/proc/self/exe", F_OK))
		return fail(
		    err, -ENOENT,
		    "cannot examine process %d: it is not running, or is part of the kernel",
		    (int)pid);
	if (n < 0)
		return run_cannot_examine(pid, errno, err);
	exe[n] = 0;
	ret = program_find(link, &program, err);
	if (ret)
		return ret;
	if (program.why_not[0])
		return fail(err, -ENOTSUP, "cannot attach to process %d: %s", (int)pid,
			    program.why_not);
	if (program.past_all)
		return fail(err, -ENOTSUP, "cannot attach to process %d: %s", (int)pid,
			    program.past);
	return 0;
}

static int check_sandbox(pid_t pid, struct error *err)
{
	const pid_t tracer = inject_tracer(pid, pid);

	if (is_stopped(pid))
		return fail(err, -EAGAIN,
			    "cannot attach to process %d: it is stopped; let it go on with kill "
			    "-CONT %d",
			    (int)pid, (int)pid);
	if (tracer)
		return inject_traced(pid, tracer, err);
	if (status_field(pid, "Seccomp"))
		return fail(
		    err, -EPERM,
		    "cannot attach to process %d: it has a seccomp filter, which may end it "
		    "for system calls of the recorder",
		    (int)pid);
	return 0;
}

/* Does the environment that it was started with name the library? */
static bool is_preloaded(pid_t pid)
{
	FILE *f = open_of(pid, "environ");
	char *variable = NULL;
	bool found = false;
	size_t size = 0;

	while (f && !found && getdelim(&variable, &size, 0, f) > 0)
		found = !strncmp(variable, "LD_PRELOAD=", 11) && strstr(variable, "libmprof.so");
	free(variable);
	if (f)
		fclose(f);
	return found;
}

/* Is what this process sees at the path also what the other one sees there? */
static bool sees(pid_t pid, const char *path)
{
	char *its = must_printf("/proc/%d/root%s", (int)pid, path);
	struct stat here, there;
	const bool same = !stat(path, &here) && !stat(its, &there) && here.st_ino == there.st_ino &&
			  here.st_dev == there.st_dev;

	free(its);
	return same;
}

static int check_library(pid_t pid, const char *library, struct error *err)
{
	if (!sees(pid, library))
		return fail(err, -ENOENT,
			    "process %d does not see '%s': it has another file system, as in a "
			    "container; run mprof there",
			    (int)pid, library);
	return 0;
}

int attach_check_file(pid_t pid, const char *path, struct error *err)
{
	char *directory = must_strndup(path, (size_t)(basename(path) - path));
	const bool ok = sees(pid, directory);

	if (!ok)
		fail(err, -ENOENT,
		     "process %d does not see '%s': it has another root directory, as after "
		     "chroot, or in a container; choose a directory that both see with -o, or run "
		     "mprof there",
		     (int)pid, directory);
	free(directory);
	return ok ? 0 : -ENOENT;
}

static bool is_older(pid_t pid, const struct object *o, const void *library)
{
	char path[PATH_MAX + 32];

	path_of(pid, o, path);
	return !strncmp(basename(o->path), "ld-", 3) &&
	       elf_lacks_versions(path, MPROF_LOADER, library);
}

/* The library reads there where it may write. */
static int check_proc(pid_t pid, struct error *err)
{
	char path[64];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/root/proc/self", (int)pid);
	if (!lstat(path, &st) || errno != ENOENT)
		return 0;
	return fail(err, -ENOENT,
		    "process %d has no /proc, as after chroot; mount it in its root directory "
		    "(mount --bind /proc DIRECTORY/proc)",
		    (int)pid);
}

/* The loader of the program's file may be another one, if it has another root. */
static int check_loader(pid_t pid, const char *library, struct error *err)
{
	struct object o;

	if (!find_object(pid, &o, is_older, library))
		return 0;
	return fail(err, -ENOTSUP, "cannot attach to process %d: " PROGRAM_OLDER, (int)pid);
}

/* An mprof claims the first process of its recording. */
static int claim(pid_t pid, uint64_t start_time)
{
	char name[64];

	snprintf(name, sizeof(name), "mprof-attach-%d-%" PRIu64, (int)pid, start_time);
	return claim_take(name);
}

static int already(const struct run_file_of *f, struct error *err)
{
	const bool profile = !memcmp(f->header.magic, MPROF_MAGIC_PROFILE, MPROF_MAGIC_SIZE);

	return profile ? fail(err, -EALREADY,
			      "process %d is already recorded, into '%s'; 'mprof report %d' shows "
			      "what it has, 'mprof ctl %d clear' begins anew",
			      (int)f->pid, f->path, (int)f->pid, (int)f->pid)
		       : fail(err, -EALREADY,
			      "process %d is already recorded, into '%s'; 'mprof report %d' shows "
			      "what it has",
			      (int)f->pid, f->path, (int)f->pid);
}

/* The recording goes on if the mprof that attached was killed: then nobody claims it. */
static int check_left(const struct run_file_of *left, struct error *err)
{
	const struct mprof_process_entry *first = &left->header.process[0];
	int fd = left->header.detach ? claim(first->pid, first->start_time) : -EADDRINUSE;

	if (fd < 0)
		return already(left, err);
	close(fd);
	return 1;
}

/* The library may be there from earlier: attached and detached again, or preloaded. */
static int check_recorded(pid_t pid, struct run_file_of *left, struct error *err)
{
	struct error ignored;

	if (!run_file_find(left, pid, NULL, &ignored))
		return check_left(left, err);
	if (is_preloaded(pid))
		return fail(err, -EALREADY,
			    "process %d was started with libmprof.so preloaded: mprof cannot "
			    "attach to it, too",
			    (int)pid);
	return 0;
}

/* Claims the process, so that no other mprof takes it for one whose mprof was killed. */
static int check_claims(pid_t pid, struct run_file_of *left, int *fd, struct error *err)
{
	struct process_memory m;
	const int ret = check_recorded(pid, left, err);

	if (ret < 0 || process_memory(pid, &m))
		return ret;
	*fd = claim(pid, m.start_time);
	if (*fd == -EADDRINUSE)
		return fail(err, -EAGAIN, "another mprof is attaching to process %d; try again",
			    (int)pid);
	return ret;
}

static int check_replaced(pid_t pid, struct error *err)
{
	struct object o;

	if (!find_object(pid, &o, is_replaced, NULL))
		return 0;
	return fail(err, -ENOTSUP,
		    "cannot attach to process %d: '%.*s' was replaced since the program started, "
		    "as by an upgrade",
		    (int)pid, (int)(strstr(o.path, " (deleted)") - o.path), o.path);
}

int attach_check(pid_t pid, const char *library, struct run_file_of *left, int *claim,
		 struct error *err)
{
	char directory[64], link;
	int ret = check_program(pid, err);

	*claim = -1;
	ret = ret ? ret : check_replaced(pid, err);
	ret = ret ? ret : check_sandbox(pid, err);
	ret = ret ? ret : check_loader(pid, library, err);
	ret = ret ? ret : check_library(pid, library, err);
	ret = ret ? ret : check_proc(pid, err);
	ret = ret ? ret : check_claims(pid, left, claim, err);
	/* What a process that ends does not have any more is not why. */
	snprintf(directory, sizeof(directory), "/proc/%d/root", (int)pid);
	if (ret < 0 && readlink(directory, &link, 1) < 0 && (errno == ENOENT || errno == ESRCH))
		ret = fail(err, -ESRCH, "process %d has ended", (int)pid);
	return ret;
}

/* ---- calls in the process ---- */

/* Finds out what calls need, and which libc the process has. */
static int know(struct attached *a, struct object *libc, struct error *err)
{
	struct object allocator = { .base = 0 };

	if (!find_object(a->pid, libc, is_libc, NULL))
		return fail(err, -ENOTSUP,
			    "cannot attach to process %d: it does not use the GNU C library",
			    (int)a->pid);
	if (find_object(a->pid, &allocator, is_allocator, NULL))
		snprintf(a->allocator, sizeof(a->allocator), "%s", allocator.listed);
	a->system_call = symbol_of(a->pid, libc, "syscall");
	return 0;
}

static int begin(struct inject **in, const struct attached *a, struct error *err)
{
	const struct inject_place place = { a->allocator, a->system_call };

	return inject_begin(in, a->pid, &place, err);
}

static int load(struct inject *in, pid_t pid, const struct object *libc, const char *library,
		struct error *err)
{
	const uint64_t usual = symbol_of(pid, libc, "dlopen");
	const uint64_t at = usual ? usual : symbol_of(pid, libc, "__libc_dlopen_mode");
	const uint64_t message = symbol_of(pid, libc, "dlerror");
	char why[512] = "";
	uint64_t handle = 0, text = 0;
	int ret = inject_call(in, at, inject_string(in, library),
			      RTLD_NOW | (usual ? 0 : OF_LOADER), &handle, err);

	if (ret || handle)
		return ret;
	if (message && !inject_call(in, message, 0, 0, &text, err) && text)
		inject_read(pid, text, why, sizeof(why));
	if (strstr(why, "static TLS"))
		return fail(
		    err, -ENOTSUP,
		    "cannot attach to process %d: no thread-local memory is left for the "
		    "library, of which each attach takes some; start the program with mprof "
		    "profile",
		    (int)pid);
	return fail(err, -ENOTSUP, "process %d could not load '%s'%s%s", (int)pid, library,
		    *why ? ": " : "", why);
}

/* Why the process cannot create the file that mprof could, and what helps; "" if it is of the same
 * user. */
static void explain_user(pid_t pid, char *to, size_t size)
{
	const struct passwd *known;
	char path[64], number[16];
	struct stat st;

	*to = '\0';
	snprintf(path, sizeof(path), "/proc/%d", (int)pid);
	if (stat(path, &st) || st.st_uid == geteuid())
		return;
	known = getpwuid(st.st_uid);
	snprintf(number, sizeof(number), "%u", st.st_uid);
	snprintf(to, size,
		 "; it runs as user %.64s, who must be able to create the file: choose another "
		 "directory, for example -o /tmp/mprof.profile",
		 known ? known->pw_name : number);
}

static int start_python(struct inject *in, struct attached *a, uint64_t at, struct error *err)
{
	char why[256] = "";
	uint64_t text = 0;
	int ret = inject_call(in, at, 0, 0, &text, err);

	if (ret)
		return ret;
	inject_read(a->pid, text, why, sizeof(why));
	a->without_objects = !strcmp(why, "+");
	return !*why || a->without_objects
		   ? 0
		   : fail(err, -ENOTSUP, "cannot show functions of Python in process %d: %s",
			  (int)a->pid, why);
}

/* Calls mprof_attach() there, and finds the function that detaches. */
static int start(struct inject *in, struct attached *a, const char *conf, struct error *err)
{
	struct object ours;
	uint64_t at = 0, python = 0, text = 0;
	char why[512] = "", user[256] = "";
	int ret;

	if (find_object(a->pid, &ours, is_at, a->library)) {
		at = symbol_of(a->pid, &ours, "mprof_attach");
		python = symbol_of(a->pid, &ours, "mprof_attach_python");
		a->detach = symbol_of(a->pid, &ours, "mprof_detach");
	}
	if (!at || !python || !a->detach)
		return fail(err, -ENOTSUP, "'%s' is not the libmprof.so of this mprof", a->library);
	ret = a->python ? start_python(in, a, python, err) : 0;
	if (ret)
		return ret;
	ret = inject_call(in, at, inject_string(in, conf), 0, &text, err);
	if (ret)
		return ret;
	inject_read(a->pid, text, why, sizeof(why));
	if (!*why)
		return 0;
	if (strstr(why, "permission denied"))
		explain_user(a->pid, user, sizeof(user));
	return fail(err, -ENOTSUP, "cannot record process %d: %s%s", (int)a->pid, why, user);
}

/*
 * The library cannot begin twice: if the process has it from an earlier time, it gets a copy, whose
 * name is not needed any more once it is loaded.
 */
static int choose_library(struct attached *a, const char *library, const char *spare,
			  struct error *err)
{
	struct object o;
	int ret;

	snprintf(a->library, sizeof(a->library), "%s", library);
	a->copied = find_object(a->pid, &o, is_at, library);
	if (!a->copied)
		return 0;
	snprintf(a->library, sizeof(a->library), "%s", spare);
	ret = file_copy(library, spare);
	return ret ? fail(err, ret, "cannot write '%s': %s", spare, strerror(-ret)) : 0;
}

struct task {
	struct attached a;
	const char *conf;
	struct error err;
};

static int task_run(int (*work)(void *task), struct attached *a, const char *conf,
		    struct error *err)
{
	struct task *t = must_calloc(1, sizeof(*t));
	int ret;

	t->a = *a;
	t->conf = conf;
	fail(&t->err, 0, "cannot attach to process %d: no process for it", (int)a->pid);
	ret = inject_session(work, t, sizeof(*t));
	*a = t->a;
	if (ret)
		*err = t->err;
	free(t);
	return ret;
}

static int begin_in_session(void *task)
{
	struct task *t = task;
	struct object libc;
	struct inject *in;
	int ret = know(&t->a, &libc, &t->err);

	ret = ret ? ret : begin(&in, &t->a, &t->err);
	if (ret)
		return ret;
	ret = load(in, t->a.pid, &libc, t->a.library, &t->err);
	ret = ret ? ret : start(in, &t->a, t->conf, &t->err);
	inject_end(in);
	return ret;
}

int attach_begin(struct attached *a, pid_t pid, const char *library, const char *spare,
		 const char *conf, struct error *err)
{
	int ret;

	a->pid = pid;
	ret = choose_library(a, library, spare, err);
	if (ret)
		return ret;
	ret = task_run(begin_in_session, a, conf, err);
	if (a->copied)
		unlink(a->library);
	return ret;
}

int attach_find(struct attached *a, const struct run_file_of *left, struct error *err)
{
	struct object libc;

	*a = (struct attached){ .pid = left->pid, .detach = left->header.detach };
	return know(a, &libc, err);
}

bool attach_is_on(const struct attached *a)
{
	FILE *maps = open_of(a->pid, "maps");
	char line[PATH_MAX + 128], mode[5];
	uint64_t from, to;
	bool found = false;

	/* The path of a copy ends with " (deleted)".  The address may be from a damaged file. */
	while (maps && !found && fgets(line, sizeof(line), maps))
		found = sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s", &from, &to, mode) == 3 &&
			a->detach >= from && a->detach < to && strchr(mode, 'x') &&
			strstr(line, a->library);
	if (maps)
		fclose(maps);
	return found;
}

static int end_in_session(void *task)
{
	struct task *t = task;
	struct inject *in;
	uint64_t nothing;
	int ret = begin(&in, &t->a, &t->err);

	if (ret)
		return ret;
	ret = inject_call(in, t->a.detach, 0, 0, &nothing, &t->err);
	inject_end(in);
	return ret;
}

int attach_end(struct attached *a, struct error *err)
{
	return task_run(end_in_session, a, NULL, err);
}
