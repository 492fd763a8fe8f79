// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * play.c - starts the runner and reads its records.
 *
 * The first error while reading is kept in the play; play_end() reports it, together with how the
 * process ended.
 */
#include "play.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../util/alloc.h"
#include "../util/installed.h"
#include "../util/memory.h"
#include "../util/now.h"
#include "variant.h"

#define ARGS_MOST 32
#define FIRST_FD  10 /* ours are above those of the child */

/* Data for the child, prepared before it starts, because it shares our memory until exec. */
struct stage {
	char *path, **env;
	const char *argv[ARGS_MOST + 3];
	int records, said, null;
	pid_t parent;
	sigset_t mask;
	volatile int error; /* why exec failed */
};

/* ---- arguments ---- */

void play_args_put(struct play_args *a, const char *format, ...)
{
	va_list args;

	GROW(a->text, a->n + 2, a->room);
	va_start(args, format);
	a->text[a->n++] = must_vprintf(format, args);
	va_end(args);
	a->text[a->n] = NULL;
}

void play_args_free(struct play_args *a)
{
	while (a->n)
		free(a->text[--a->n]);
	free(a->text);
	*a = (struct play_args){ .n = 0 };
}

/* ---- starting ---- */

/* Moves fd to a high number, closed on exec; closes fd. */
static int move_up(int fd)
{
	int moved = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, FIRST_FD);
	int saved = errno;

	if (fd >= 0)
		close(fd);
	errno = saved;
	return moved;
}

/* Resets handlers in the child: they would run on our memory. */
static void forget_handlers(void)
{
	struct sigaction now;
	int s;

	for (s = 1; s < SIGRTMIN; s++)
		if (!sigaction(s, NULL, &now) && now.sa_handler != SIG_IGN &&
		    now.sa_handler != SIG_DFL)
			signal(s, SIG_DFL);
}

/* Runs in the child, on our memory, with all signals blocked: it only makes system calls. */
static void child(struct stage *s)
{
	forget_handlers();
	memory_uncap();
	if (!prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == s->parent && dup2(s->null, 0) >= 0 &&
	    dup2(s->said, 1) >= 0 && dup2(s->said, 2) >= 0 && dup2(s->records, PLAY_FD) >= 0 &&
	    !sigprocmask(SIG_SETMASK, &s->mask, NULL))
		execve(s->path, (char **)s->argv, s->env);
	s->error = errno ? errno : ESRCH;
	_exit(127);
}

static int spawn(struct play *p, struct stage *s, struct error *err)
{
	sigset_t all;
	pid_t pid;

	sigfillset(&all);
	s->parent = getpid();
	pthread_sigmask(SIG_SETMASK, &all, &s->mask);
	pid = vfork();
	if (!pid)
		child(s);
	pthread_sigmask(SIG_SETMASK, &s->mask, NULL);
	if (pid < 0)
		return fail(err, -errno, "cannot start '%s': %s", s->path, strerror(errno));
	p->pid = pid;
	if (!s->error)
		return 0;
	waitpid(pid, NULL, 0);
	p->pid = 0;
	return fail(err, -s->error, "cannot start '%s': %s", s->path, strerror(s->error));
}

/* Opens the descriptors of both sides. */
static int open_all(struct play *p, struct stage *s, struct error *err)
{
	int both[2] = { -1, -1 };

	s->null = move_up(open("/dev/null", O_RDONLY | O_CLOEXEC));
	p->said = s->said = move_up(memfd_create("stderr", MFD_CLOEXEC));
	if (s->null >= 0 && s->said >= 0 && !pipe2(both, O_CLOEXEC)) {
		p->fd = move_up(both[0]);
		s->records = move_up(both[1]);
	}
	if (p->fd < 0 || s->records < 0)
		return fail(err, -errno, "no descriptors for a playback: %s", strerror(errno));
	return 0;
}

static int make_argv(struct stage *s, const char *const *args, struct error *err)
{
	size_t n = 0;

	s->argv[n++] = "mprof_replay";
	s->argv[n++] = "out=3"; /* PLAY_FD */
	for (; *args; args++) {
		if (n == ARGS_MOST + 2)
			return fail(err, -E2BIG, "too many settings of a playback");
		s->argv[n++] = *args;
	}
	return 0;
}

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

int play_start(struct play *p, const struct variant *v, const char *const *args, int64_t limit_ms,
	       struct error *err)
{
	struct stage s = { .records = -1, .said = -1, .null = -1 };
	int ret;

	*p = (struct play){ .fd = -1, .said = -1, .variant = v, .limit_ms = limit_ms };
	if (limit_ms)
		p->until = now_ns(CLOCK_MONOTONIC) + limit_ms * 1000000;
	s.path = play_find(err);
	s.env = play_env(v);
	ret = s.path ? make_argv(&s, args, err) : -ENOENT;
	if (!ret)
		ret = open_all(p, &s, err);
	if (!ret)
		ret = spawn(p, &s, err);
	close_fd(&s.null);
	close_fd(&s.records);
	if (ret) {
		close_fd(&p->fd);
		close_fd(&p->said);
	}
	play_env_free(s.env);
	free(s.path);
	return ret;
}

/* Keeps the first error and returns it. */
static int broken(struct play *p, int code, const char *why, struct error *err)
{
	if (!p->failed) {
		p->failed = code;
		fail(&p->why, code, "%s", why);
	}
	return fail(err, code, "%s", why);
}

/* Data that is already there arrived in time, even if we read it late. */
static int wait_for_more(struct play *p, struct error *err)
{
	struct pollfd f = { .fd = p->fd, .events = POLLIN };
	char why[96];
	int64_t left;
	int n;

	do {
		left = (p->until - now_ns(CLOCK_MONOTONIC)) / 1000000;
		left = left < 0 ? 0 : left > 1000000 ? 1000000 : left;
		n = poll(&f, 1, (int)left);
	} while ((!n && left) || (n < 0 && errno == EINTR));
	if (n > 0)
		return 0;
	if (n < 0)
		return broken(p, -errno, strerror(errno), err);
	snprintf(why, sizeof(why), "did not end within %.3g s, and was stopped",
		 (double)p->limit_ms / 1e3);
	return broken(p, -ETIMEDOUT, why, err);
}

/* Reads up to `bytes`; returns how many came before the end of the stream, or -errno. */
static int64_t take(struct play *p, char *to, uint64_t bytes, struct error *err)
{
	uint64_t done = 0;
	ssize_t n;
	int ret;

	while (done < bytes) {
		ret = p->until ? wait_for_more(p, err) : 0;
		if (ret)
			return ret;
		n = read(p->fd, to + done, bytes - done);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return broken(p, -errno, strerror(errno), err);
		if (!n)
			break;
		done += (uint64_t)n;
	}
	return (int64_t)done;
}

int play_read(struct play *p, void *to, uint64_t bytes, struct error *err)
{
	int64_t n = take(p, to, bytes, err);

	if (n < 0)
		return (int)n;
	if ((uint64_t)n < bytes)
		return broken(p, -EPIPE, "ended before it reported its result", err);
	return 0;
}

int play_skip(struct play *p, uint64_t bytes, struct error *err)
{
	char dust[4096];
	uint64_t n;
	int ret = 0;

	for (; bytes && !ret; bytes -= n) {
		n = bytes < sizeof(dust) ? bytes : sizeof(dust);
		ret = play_read(p, dust, n, err);
	}
	return ret;
}

/* Reads the runner's error message. */
static int read_error(struct play *p, uint64_t bytes, struct error *err)
{
	char text[384] = "";
	uint64_t n = bytes < sizeof(text) - 1 ? bytes : sizeof(text) - 1;
	int ret = play_read(p, text, n, err);

	p->refused = !ret;
	return ret ? ret : broken(p, -EPROTO, text, err);
}

int play_next(struct play *p, struct mprof_run_record *r, struct error *err)
{
	int64_t n = take(p, (char *)r, sizeof(*r), err);

	if (n < 0)
		return (int)n;
	if (!n && p->complete)
		return 0;
	if ((uint64_t)n < sizeof(*r))
		return broken(p, -EPIPE, "ended before it reported its result", err);
	if (r->kind == MPROF_RUN_ERROR)
		return read_error(p, r->bytes, err);
	if (r->kind == MPROF_RUN_RESULT)
		p->complete = true;
	return 1;
}

/* ---- how it ended ---- */

#define BAD_FILE 3    /* its exit status, from runner.h */
#define ENDS_MS	 1000 /* time to end after its last word */

/* Finds the first line on stderr that contains `with`, or that is not empty. */
static void line_said(const struct play *p, const char *with, char *line, size_t size)
{
	char text[4096], *s, *rest;
	ssize_t n = pread(p->said, text, sizeof(text) - 1, 0);

	*line = '\0';
	text[n > 0 ? n : 0] = '\0';
	for (s = strtok_r(text, "\n", &rest); s; s = strtok_r(NULL, "\n", &rest))
		if (*s && strstr(s, with)) {
			snprintf(line, size, "%s", s);
			return;
		}
}

/* Is the allocator loaded?  The dynamic linker continues without an object that it cannot load:
 * then glibc would be played under another name. */
static int check_loaded(const struct play *p, struct error *err)
{
	char line[256], *why;

	line_said(p, "cannot be preloaded", line, sizeof(line));
	if (!*p->variant->so || !*line)
		return 0;
	why = strchr(strstr(line, "cannot be preloaded"), '(');
	if (why && strchr(why, ')'))
		strchr(why, ')')[0] = '\0';
	return fail(err, -ELIBACC, "'%s' cannot be loaded%s%s", p->variant->so, why ? ": " : "",
		    why ? why + 1 : "");
}

static const char *signal_name(int s)
{
	const char *name = sigabbrev_np(s);

	return name ? name : "?";
}

/* Explains an end without a result. */
static int explain(const struct play *p, int status, struct error *err)
{
	char line[256];

	line_said(p, "", line, sizeof(line));
	if (WIFSIGNALED(status))
		return fail(err, -EPIPE, "was killed by SIG%s during the playback%s%s",
			    signal_name(WTERMSIG(status)), *line ? "; it said: " : "", line);
	return fail(err, -EPIPE, "ended with status %d during the playback%s%s",
		    WEXITSTATUS(status), *line ? "; it said: " : "", line);
}

/* Waits for its end, because its exit status says more than its message. */
static bool ends(const struct play *p)
{
	struct pollfd f = { .fd = p->fd };

	return p->refused && poll(&f, 1, ENDS_MS) > 0 && f.revents & POLLHUP;
}

int play_end(struct play *p, struct error *err)
{
	const bool ours = p->failed ? p->failed != -EPIPE : !p->complete;
	int status = 0, ret = 0;

	if (p->pid > 0) {
		if (ours && !ends(p))
			kill(p->pid, SIGKILL);
		while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
			;
	}
	line_said(p, "", p->line, sizeof(p->line));
	if (p->failed || p->complete)
		ret = check_loaded(p, err);
	if (p->refused && WIFEXITED(status) && WEXITSTATUS(status) == BAD_FILE)
		p->failed = -EBADMSG;
	if (!ret && ours && p->failed)
		ret = fail(err, p->failed, "%s", p->why.text);
	else if (!ret && !ours && (p->failed || status))
		ret = explain(p, status, err);
	if (p->fd >= 0)
		close(p->fd);
	if (p->said >= 0)
		close(p->said);
	p->fd = p->said = -1;
	p->pid = 0;
	return ret;
}

int play_result(const struct variant *v, const char *const *args, int64_t limit_ms,
		struct mprof_run_result *result, struct error *err)
{
	struct mprof_run_record r;
	struct play p;
	int ret = play_start(&p, v, args, limit_ms, err), ended;

	if (ret)
		return ret;
	while ((ret = play_next(&p, &r, err)) > 0) {
		if (r.kind == MPROF_RUN_RESULT)
			ret = r.bytes == sizeof(*result)
				  ? play_read(&p, result, sizeof(*result), err)
				  : fail(err, -EPROTO, "has a different version than mprof_replay");
		else
			ret = play_skip(&p, r.bytes, err);
		if (ret < 0)
			break;
	}
	ended = play_end(&p, err);
	return ended ? ended : ret;
}

/* Looks where MPROF_LIB points: to a directory, or a file in one. */
static char *look_beside_library(void)
{
	const char *said = getenv("MPROF_LIB"), *slash = said ? strrchr(said, '/') : NULL;
	char *directory, *found;

	if (!said || !*said)
		return NULL;
	found = installed_in(said, "mprof_replay", X_OK);
	if (!found && slash) {
		directory = must_strndup(said, (size_t)(slash - said));
		found = installed_in(directory, "mprof_replay", X_OK);
		free(directory);
	}
	return found;
}

char *play_find(struct error *err)
{
	static const char *const below[] = { "", "../libexec/mprof", "../lib/mprof", NULL };
	char *found = look_beside_library();

	if (!found)
		found = installed_find(below, "mprof_replay", X_OK);
	if (!found && access("/proc/self/exe", F_OK))
		fail(err, -ENOENT,
		     "cannot find mprof_replay without /proc; mount it, or set MPROF_LIB to its "
		     "directory");
	else if (!found)
		fail(err, -ENOENT,
		     "mprof_replay is neither next to mprof nor in ../libexec/mprof; set MPROF_LIB "
		     "to its directory");
	return found;
}
