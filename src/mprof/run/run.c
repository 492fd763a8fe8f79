/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * run.c - a program under libmprof.so, from the checks to the last fact.
 *
 * Order: all checks, which may refuse the run; fork; the path of the file (it may contain the
 * child's pid); the sampler; then the child runs.  After its end mprof writes facts that only the
 * parent knows: status, resources, and notes about what was not recorded.
 */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <mprof/filters.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "code_names.h"
#include "elf.h"
#include "library.h"
#include "own_malloc.h"
#include "process.h"
#include "sampler.h"
#include "wrap.h"
#include "../util/memory.h"
#include "../util/now.h"
#include "../util/alloc.h"

#define VARIABLES 7
#define EXEC_NS	  200000000 /* from exec until the new program is recorded */
#define LAST_NS	  100000000 /* until the last process has ended, if it does */

struct session {
	const struct run_plan *plan;
	struct run_result *result;
	uint8_t id[16];
	int notes; /* memfd */
	char *library;
	bool asks_mpi;	 /* no variable says which rank the program is: MPI will */
	bool knows_rank; /* a variable has it */
	uint64_t copied; /* of our memory, by the fork */
	char *path;	 /* of the file, for the result: there may be no memory later */
	char *variable[VARIABLES];
	struct launch launch;
	struct sampler *sampler;
	struct append file;
};

/* Returns ":LIBRARY", which gets the rank from MPI, or "".  The caller frees it. */
static char *preload_mpi(struct session *s)
{
	const char *program = s->result->program.path;
	char *mpi = NULL, *text;

	/* Open MPI's and MPICH's, of Fortran and C++, too. */
	s->knows_rank = conf_knows_rank();
	if (!s->knows_rank && (elf_needs(program, "libmpi") || elf_needs(program, "libfmpich")))
		mpi = library_beside(s->library, "libmprof_mpi.so");
	s->asks_mpi = mpi;
	text = must_printf("%s%s", mpi ? ":" : "", mpi ? mpi : "");
	free(mpi);
	return text;
}

/* Makes Python enter functions by stubs, and allocate by malloc unless the user chose otherwise. */
static int preload_python(struct session *s, struct error *err)
{
	char *library, *all;

	if (!s->plan->python)
		return 0;
	library = library_beside(s->library, "libmprof_python.so");
	if (!library)
		return fail(err, -ENOENT, "--python needs libmprof_python.so beside %s",
			    s->library);
	all = must_printf("%s:%s", s->variable[0], library);
	free(s->variable[0]);
	free(library);
	s->variable[0] = all;
	if (!getenv("PYTHONMALLOC"))
		s->variable[5] = must_strdup("PYTHONMALLOC=malloc");
	return 0;
}

/* Returns the objects that the user preloads, without copies of the library: ours records. */
static char *others_preloaded(void)
{
	const char *at = getenv("LD_PRELOAD"), *name;
	char *list = must_strdup(""), *longer;
	size_t n;

	for (; at && *at; at += n + !!at[n]) {
		n = strcspn(at, ": ");
		name = memrchr(at, '/', n);
		name = name ? name + 1 : at;
		if (!n || !strncmp(name, "libmprof.so", strlen("libmprof.so")))
			continue;
		longer = must_printf("%s:%.*s", list, (int)n, at);
		free(list);
		list = longer;
	}
	return list;
}

static int make_preload(struct session *s, struct error *err)
{
	const char *wrap = conf_get(&s->plan->conf, CONF_WRAP);
	char *mpi, *others, *wrapper = NULL;

	s->library = library_find(err);
	if (!s->library)
		return -ENOENT;
	if (s->result->program.alone)
		return 0;
	if (*wrap) {
		wrapper = wrap_object(wrap, err);
		if (!wrapper)
			return -EINVAL;
	}
	mpi = preload_mpi(s);
	others = others_preloaded();
	s->variable[0] = must_printf(
	    "LD_PRELOAD=%s%s%s%s%s%s%s", wrapper ? wrapper : "", wrapper ? ":" : "", s->library,
	    mpi, s->plan->preload ? ":" : "", s->plan->preload ? s->plan->allocator : "", others);
	free(others);
	free(mpi);
	free(wrapper);
	return preload_python(s, err);
}

/*
 * An allocator that an INIT module loads late may need more static TLS than the loader keeps
 * (jemalloc).  Requests only what is needed, because every thread's stack shrinks by it, and the
 * smallest possible stack grows.
 */
static void make_tunables(struct session *s)
{
	enum { LOADER_KEEPS = 512, OTHERS_MAY_TAKE = 256 };
	const char *before = getenv("GLIBC_TUNABLES");
	bool more = before && *before;
	struct elf_facts elf;
	char *path;
	int unknown;

	if (!*conf_get(&s->plan->conf, CONF_SO_PATH) ||
	    !strcmp(conf_get(&s->plan->conf, CONF_INIT), "LD_NEXT"))
		return;
	path = library_path(conf_get(&s->plan->conf, CONF_SO_PATH));
	unknown = !path || elf_read(path, &elf);
	free(path);
	if (unknown || elf.tls <= OTHERS_MAY_TAKE)
		return;
	s->variable[4] = must_printf("GLIBC_TUNABLES=%s%sglibc.rtld.optional_static_tls=%" PRIu64,
				     more ? before : "", more ? ":" : "",
				     LOADER_KEEPS + OTHERS_MAY_TAKE + elf.tls);
}

/* The loader of another machine would complain of our library. */
static void make_emulated(struct session *s)
{
	const char *before = getenv("QEMU_UNSET_ENV");
	bool more = before && *before;

	if (s->result->program.emulates)
		s->variable[6] = must_printf("QEMU_UNSET_ENV=%s%sLD_PRELOAD", more ? before : "",
					     more ? "," : "");
}

static int make_notes(struct session *s, struct error *err)
{
	s->notes = memfd_create("mprof notes", MFD_CLOEXEC);
	if (s->notes < 0)
		return fail(err, -errno, "no memory for the library's notes: %s", strerror(errno));
	s->variable[1] = must_printf("MPROF_NOTES=/proc/%d/fd/%d", (int)getpid(), s->notes);
	return 0;
}

static int prepare(struct session *s, struct error *err)
{
	char *conf = conf_text(&s->plan->conf, err);
	int code;

	if (!conf)
		return -EINVAL;
	s->variable[2] = must_printf("MPROF_CONF=%s", conf);
	free(conf);
	s->variable[3] = must_strdup("MPROF_RUN");
	if (getrandom(s->id, sizeof(s->id), 0) != (ssize_t)sizeof(s->id))
		return fail(err, -errno, "cannot number the run: %s", strerror(errno));
	code = make_preload(s, err);
	if (code)
		return code;
	make_tunables(s);
	make_emulated(s);
	return make_notes(s, err);
}

int run_check(const struct run_plan *plan, struct error *err)
{
	const char *magic;
	enum conf_key key = conf_file(&plan->conf, &magic);
	struct target t;
	char *path;
	int code;

	if (key == CONF_NONE)
		return 0;
	path = conf_expand(conf_get(&plan->conf, key), getpid(), plan->argv[0], err);
	if (!path)
		return -EINVAL;
	code = target_take(&t, path, magic, err);
	if (!code)
		target_release(&t);
	free(path);
	return code;
}

static void print_id(char text[33], const uint8_t id[16])
{
	int i;

	for (i = 0; i < 16; i++)
		snprintf(text + 2 * i, 3, "%02x", id[i]);
}

static enum sampler_what watches(const struct session *s, const char *magic)
{
	if (!s->plan->with_samples || !strcmp(magic, MPROF_MAGIC_COUNTS))
		return SAMPLER_KILLS;
	return strcmp(magic, MPROF_MAGIC_TRACE) ? SAMPLER_SHARES : SAMPLER_ALL;
}

/* A trace that has a bound, or drops calls, stays as it is until the end. */
static bool may_follow(const struct session *s)
{
	static const enum conf_key bounds[] = { CONF_LAST_BYTES, CONF_LAST_SECONDS, CONF_BUDGET };
	bool may = true;

	for (size_t i = 0; i < sizeof(bounds) / sizeof(bounds[0]); i++)
		may &= !strtoull(conf_get(&s->plan->conf, bounds[i]), NULL, 10);
	return may;
}

/* Returns MPROF_RUN for the child, which the caller frees; makes sure the path is free. */
static char *make_file(struct session *s, struct error *err)
{
	const char *magic;
	enum conf_key key = conf_file(&s->plan->conf, &magic);
	char *path, id[33], earlier[33] = "", *variable = NULL, exe[PATH_MAX];
	const struct target *t = &s->result->target;
	int code;

	if (key == CONF_NONE)
		return strdup("");
	/* %e is the program's name for the kernel, so links are followed. */
	if (!realpath(s->result->program.image, exe))
		snprintf(exe, sizeof(exe), "%s", s->result->program.image);
	/* Until the rank is known: ranks that begin at the same time must not use one path. */
	if (s->asks_mpi) {
		char number[16];

		snprintf(number, sizeof(number), "%d", (int)s->launch.pid);
		conf_set_rank(number);
	}
	path = conf_expand(conf_get(&s->plan->conf, key), s->launch.pid, exe, err);
	if (!path)
		return NULL;
	code = target_take(&s->result->target, path, magic, err);
	free(path);
	if (code)
		return NULL;
	s->path = must_strdup(t->path);
	if (key == CONF_LOG_PATH && may_follow(s))
		s->result->follower =
		    (struct follower){ .at = s->plan->compress_at, .how = s->plan->compress_how };
	print_id(id, s->id);
	if (t->earlier)
		print_id(earlier, t->run_id);
	if (asprintf(&variable, "MPROF_RUN=%s%s%s:%s", id, *earlier ? "-" : "", earlier, t->path) >=
		0 &&
	    !sampler_start(&s->sampler, t->path, s->id, watches(s, magic),
			   *conf_get(&s->plan->conf, CONF_REACH) == '1', &s->result->follower, err))
		return variable;
	free(variable);
	return NULL;
}

static int start(struct session *s, struct error *err)
{
	struct process_memory own = { .rss_anon = 0 };
	char *variable;
	int code;

	process_memory(getpid(), &own);
	s->copied = own.rss_anon;
	code = launch_fork(&s->launch, s->plan->argv, (const char *const *)s->variable, VARIABLES,
			   err);
	if (code)
		return code;
	s->result->pid = s->launch.pid;
	variable = make_file(s, err);
	if (!variable) {
		launch_cancel(&s->launch);
		return -EINVAL;
	}
	if (s->plan->starting)
		s->plan->starting(&s->result->program);
	code = launch_go(&s->launch, *variable ? variable : NULL, err);
	free(variable);
	return code;
}

/* Returns the number that the run gave to a process, 0 if it was not recorded. */
static uint32_t number_of(const struct append *file, pid_t pid)
{
	struct mprof_process_entry e;
	size_t i;

	for (i = 0; i < MPROF_PROCESS_TABLE; i++) {
		e = append_process(file, i);
		if (e.number && e.pid == pid)
			return e.number;
	}
	return 0;
}

static uint64_t ns_of(struct timeval t)
{
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

/*
 * The greatest resident set of the program, 0 if unknown: wait4 includes the child before exec, a
 * copy of mprof, which may be larger than the program.
 */
static uint64_t peak_of_program(const struct session *s)
{
	enum { OF_FILES = 2 << 20 }; /* the most of mprof and libc that is in memory before exec */
	const uint64_t peak = (uint64_t)s->result->end.usage.ru_maxrss * 1024;

	return peak > s->copied + OF_FILES ? peak : 0;
}

/* Writes how the process ended, which only its parent can know. */
static void write_waited(struct session *s)
{
	const struct launch_end *end = &s->result->end;
	uint32_t n = number_of(&s->file, s->launch.pid);
	struct mprof_fact fact = {
		.what = MPROF_FACT_WAITED,
		.pid = s->launch.pid,
		.parent_pid = getpid(),
		.status = WIFEXITED(end->status) ? WEXITSTATUS(end->status) : 0,
		.signal = WIFSIGNALED(end->status) ? WTERMSIG(end->status) : 0,
		.peak_rss_bytes = peak_of_program(s),
		.user_ns = ns_of(end->usage.ru_utime),
		.system_ns = ns_of(end->usage.ru_stime),
		.minor_faults = (uint64_t)end->usage.ru_minflt,
		.major_faults = (uint64_t)end->usage.ru_majflt,
	};

	append_fact(&s->file, n, &fact, NULL, 0);
	if (!n)
		return;
	s->file.header->process[n - 1].status = fact.signal ? fact.signal : fact.status;
	__atomic_store_n(&s->file.header->process[n - 1].state,
			 fact.signal ? MPROF_PROCESS_KILLED : MPROF_PROCESS_EXITED,
			 __ATOMIC_RELEASE);
}

static void write_remark(struct session *s, const char *text)
{
	struct mprof_fact fact = { .what = MPROF_FACT_OUTSIDE, .pid = getpid() };
	const char *why[1];
	char *line = NULL;

	if (asprintf(&line, "why=%s", text) < 0)
		return;
	why[0] = line;
	append_fact(&s->file, 0, &fact, why, 1);
	free(line);
}

/* Moves lines that name a called function of WRAP from the notes to `called`. */
static void take_called(struct run_result *r)
{
	char *from = r->notes, *to = from, *called = malloc(strlen(from) + 1), *name = called;
	size_t n;

	for (; called && *from; from += n) {
		n = strcspn(from, "\n");
		n += from[n] == '\n';
		if (*from == '+')
			name = mempcpy(name, from + 1, n - 1);
		else
			memmove(to, from, n), to += n;
	}
	if (!called)
		return;
	*to = *name = '\0';
	r->called = called;
}

static void read_notes(struct session *s)
{
	struct stat st;
	ssize_t n;

	if (s->notes < 0 || fstat(s->notes, &st) || !st.st_size)
		return;
	s->result->notes = malloc((size_t)st.st_size + 1);
	if (!s->result->notes)
		return;
	n = pread(s->notes, s->result->notes, (size_t)st.st_size, 0);
	s->result->notes[n > 0 ? n : 0] = '\0';
	take_called(s->result);
}

static void write_notes(struct session *s)
{
	const char *at = s->result->notes;
	char line[1024];
	size_t n;

	if (*s->result->program.why_not)
		write_remark(s, s->result->program.why_not);
	if (*s->result->program.past && !s->result->program.past_all) /* otherwise a fact says it */
		write_remark(s, s->result->program.past);
	for (; at && *at; at += n + (at[n] == '\n')) {
		n = strcspn(at, "\n");
		snprintf(line, sizeof(line), "%.*s", (int)n, at);
		if (n)
			write_remark(s, line);
	}
}

/* Is the process still recorded?  One that called exec soon says so, unless its new program is not
 * recorded: waits for that, but not beyond *until, which it sets if it is 0. */
static bool is_still_recorded(const struct session *s, size_t i, int64_t *until)
{
	const struct timespec pause = { .tv_nsec = 10000000 };
	struct mprof_process_entry e = append_process(&s->file, i);

	while (e.state == MPROF_PROCESS_EXECING && process_is_alive(e.pid, e.start_time)) {
		*until = *until ?: now_ns(CLOCK_MONOTONIC) + EXEC_NS;
		if (now_ns(CLOCK_MONOTONIC) > *until)
			return false;
		nanosleep(&pause, NULL);
		e = append_process(&s->file, i);
	}
	return e.state == MPROF_PROCESS_RUNNING && process_is_alive(e.pid, e.start_time);
}

static void count_processes(struct session *s)
{
	const struct mprof_file_header *h = s->file.header;
	struct mprof_process_entry e;
	int64_t until = 0;
	size_t i, k;

	for (k = 0; k < MPROF_LOST_REASONS; k++)
		s->result->lost[k] = h->lost[k];
	for (i = 0; i < MPROF_PROCESS_TABLE; i++) {
		e = append_process(&s->file, i);
		if (!e.number)
			continue;
		for (k = 0; k < MPROF_LOST_REASONS; k++)
			s->result->lost[k] += e.lost[k];
		if (!is_still_recorded(s, i, &until))
			continue;
		s->result->alive++;
		append_fact(&s->file, e.number,
			    &(struct mprof_fact){ .what = MPROF_FACT_OUTLIVED, .pid = e.pid }, NULL,
			    0);
	}
}

/* Is the file in use?  Every process of the run holds the lock, even before its first call. */
bool run_uses(const char *path)
{
	int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	bool busy;

	if (fd < 0)
		return false;
	busy = flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK;
	close(fd);
	return busy;
}

/* Where is a file that was renamed, or whose directory was?  NULL: it was deleted. */
static char *new_path(const struct append *a)
{
	char link[64], path[PATH_MAX];
	struct stat ours, there;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", a->fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n < 0)
		return NULL;
	path[n] = '\0';
	return fstat(a->fd, &ours) || lstat(path, &there) || ours.st_dev != there.st_dev ||
		       ours.st_ino != there.st_ino
		   ? NULL
		   : strdup(path);
}

/* Restores the file as "PATH.PID", as the library does. */
static bool restore_beside(struct session *s, const char *path)
{
	char *beside = NULL;

	if (asprintf(&beside, "%s.%d", path, (int)s->result->pid) < 0)
		return false;
	if (append_restore(&s->file, beside)) {
		free(beside);
		return false;
	}
	s->result->path = beside;
	return true;
}

/* Restores the file in the nearest directory above its own one, which was deleted. */
static bool restore_above(struct session *s)
{
	const char *base = strrchr(s->result->target.path, '/');
	char *path = strdup(s->result->target.path), *end = path;
	bool done;

	if (!path)
		return false;
	do {
		end = strrchr(path, '/');
		*end = '\0';
	} while (end > path && access(path, F_OK));
	strcpy(end, base); /* the path becomes shorter */
	done = restore_beside(s, path);
	free(path);
	return done;
}

/* Finds a file that was renamed, or restores a deleted one: beside another file that is at the path
 * now. */
static void put_back(struct session *s)
{
	struct run_result *r = s->result;
	char *path = new_path(&s->file);
	int code = path ? 0 : append_restore(&s->file, r->target.path);

	r->file = path ? RUN_RENAMED : RUN_RESTORED;
	if (!path && !code)
		return;
	free(r->path);
	r->path = path;
	if (path)
		return;
	if (code == -ENOENT || code == -ENOTDIR)
		r->file = restore_above(s) ? RUN_ABOVE : RUN_LOST;
	else
		r->file = restore_beside(s, r->target.path) ? RUN_MOVED : RUN_LOST;
}

static void find_file(struct session *s)
{
	struct run_result *r = s->result;
	struct stat st;

	if (!fstat(s->file.fd, &st))
		r->bytes = (uint64_t)st.st_size;
	r->file = append_is_cut(&s->file) ? RUN_CUT : RUN_FILE;
	r->bytes_before = s->file.most;
	if (r->bytes < MPROF_HEADER_SIZE) {
		r->file = RUN_TRUNCATED;
		return;
	}
	r->path = s->path;
	s->path = NULL;
	r->in_use = r->alive || run_uses(r->path);
	if (!r->in_use)
		__atomic_fetch_or(&s->file.header->flags, MPROF_FILE_CLOSED, __ATOMIC_RELAXED);
	if (append_is_displaced(&s->file))
		put_back(s);
}

/* Is the file empty?  Not if another process holds the lock, because it may still write. */
static bool is_empty(const struct session *s)
{
	const char *magic;

	conf_file(&s->plan->conf, &magic);
	return !s->result->in_use && !recorded_anything(s->result->path, magic);
}

/* Decides about the earlier file at the path. */
static void settle(struct session *s)
{
	struct run_result *r = s->result;
	bool recorded =
	    r->file != RUN_NOTHING && (r->file != RUN_FILE || !r->target.earlier || !is_empty(s));

	r->earlier = target_settle(&r->target, recorded);
	if (r->earlier != TARGET_PUT_BACK || r->file != RUN_FILE)
		return;
	r->file = RUN_EMPTY;
	free(r->path);
	r->path = NULL;
}

/* Finds out why the file could not be opened. */
static enum run_file find_nothing(struct run_result *r)
{
	const struct target *t = &r->target;
	struct stat st;
	int fd;

	if (lstat(t->path, &st) || (t->earlier && st.st_dev == t->dev && st.st_ino == t->ino))
		return RUN_NOTHING;
	fd = open(t->path, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0) {
		r->why = errno;
		return RUN_UNOPENED;
	}
	close(fd);
	return RUN_TRUNCATED;
}

/* RANKS is set, and no process in the file has one of these ranks: MPI told the rank too late. */
static bool is_unwanted(const struct session *s)
{
	const char *magic, *ranks = conf_get(&s->plan->conf, CONF_RANKS);
	char rank[16];

	conf_file(&s->plan->conf, &magic);
	if (!s->asks_mpi || !*ranks || s->result->file != RUN_FILE)
		return false;
	recorded_rank(s->result->path, magic, rank, sizeof(rank));
	return !*rank || mprof_ranges_have(ranks, strtoul(rank, NULL, 10)) <= 0;
}

/* Gives the file the name with the rank, if that name is free.  Processes that still write have
 * it open. */
static void name_by_rank(struct session *s)
{
	struct run_result *r = s->result;
	const char *magic;
	const enum conf_key key = conf_file(&s->plan->conf, &magic);
	const char *pattern = conf_get(&s->plan->conf, key);
	char rank[16] = "", exe[PATH_MAX], *path;

	if (s->knows_rank || r->file != RUN_FILE || !strstr(pattern, "%r"))
		return;
	if (s->asks_mpi)
		recorded_rank(r->path, magic, rank, sizeof(rank));
	r->unranked = !*rank;
	if (r->unranked)
		return;
	conf_set_rank(rank);
	if (!realpath(r->program.image, exe))
		snprintf(exe, sizeof(exe), "%s", r->program.image);
	path = conf_expand(pattern, s->launch.pid, exe, NULL);
	if (path && !renameat2(AT_FDCWD, r->path, AT_FDCWD, path, RENAME_NOREPLACE)) {
		free(r->path);
		r->path = realpath(path, NULL);
	}
	free(path);
}

/* A sandbox with its own PID namespace has an init process that ends just after its program. */
static void wait_for_last(const struct session *s)
{
	const struct timespec pause = { .tv_nsec = 1000000 };
	const int64_t until = now_ns(CLOCK_MONOTONIC) + LAST_NS;

	while (run_uses(s->path) && now_ns(CLOCK_MONOTONIC) < until)
		nanosleep(&pause, NULL);
}

static void finish_file(struct session *s)
{
	read_notes(s);
	if (!s->sampler)
		return; /* the mode has no file */
	sampler_stop(s->sampler, &s->file);
	s->sampler = NULL;
	if (s->file.fd < 0) {
		s->result->file = find_nothing(s->result);
	} else {
		write_waited(s);
		wait_for_last(s);
		write_notes(s);
		s->result->python = code_names_take(&s->file, s->plan->python);
		count_processes(s);
		find_file(s);
	}
	settle(s);
	if (is_unwanted(s)) {
		/* A child that still runs, such as Open MPI's daemon, is not wanted either. */
		s->result->alive = 0;
		s->result->in_use = false;
		run_undo(s->result);
		s->result->file = RUN_NOTHING;
	}
	name_by_rank(s);
}

static void finish(struct session *s)
{
	launch_wait(&s->launch, &s->result->end);
	memory_out_status(run_status(s->result));
	finish_file(s);
	launch_done(&s->launch);
}

static void end_session(struct session *s)
{
	size_t i;

	if (s->sampler)
		sampler_stop(s->sampler, &s->file);
	append_close(&s->file);
	if (s->notes >= 0)
		close(s->notes);
	for (i = 0; i < VARIABLES; i++)
		free(s->variable[i]);
	free(s->library);
	free(s->path);
}

int run_program(const struct run_plan *plan, struct run_result *result, struct error *err)
{
	struct session s = { .plan = plan, .result = result, .notes = -1, .file = { .fd = -1 } };
	int code;

	memset(result, 0, sizeof(*result));
	result->target.claim = -1;
	code = program_find(plan->argv[0], &result->program, err);
	if (code) {
		result->program.path[0] = '\0';
		return code;
	}
	if (own_malloc_is_wrapped(result->program.past_called, conf_get(&plan->conf, CONF_WRAP)))
		result->program.past[0] = '\0';
	code = prepare(&s, err);
	if (!code)
		code = start(&s, err);
	if (!code)
		finish(&s);
	end_session(&s);
	if (code)
		run_release(result);
	return code;
}

void run_release(struct run_result *result)
{
	follower_leave(&result->follower);
	target_release(&result->target);
	free(result->path);
	free(result->notes);
	free(result->called);
	result->path = result->notes = result->called = NULL;
}

void run_undo(struct run_result *result)
{
	if (!result->path || result->in_use)
		return;
	follower_leave(&result->follower);
	if (result->earlier == TARGET_KEPT)
		result->earlier = target_settle(&result->target, false);
	else
		unlink(result->path);
	free(result->path);
	result->path = NULL;
}

int run_status(const struct run_result *result)
{
	int status = result->end.status;

	return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}
