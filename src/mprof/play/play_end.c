// SPDX-License-Identifier: LGPL-3.0-or-later
/* play_end.c - how a playback ended, and where its runner is. */
#include "play.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BAD_FILE 3    /* its exit status: runner.h */
#define ENDS_MS	 1000 /* after its last word */

/* The first line of what was said on stderr that has `with` in it, or is not empty. */
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

/* The dynamic linker goes on without what it cannot load: that would be glibc under another name.
 */
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

/* It ended by itself and told no result. */
static int explain(const struct play *p, int status, struct error *err)
{
	char line[256];

	line_said(p, "", line, sizeof(line));
	if (WIFSIGNALED(status))
		return fail(err, -EPIPE, "died of SIG%s during the playback%s%s",
			    signal_name(WTERMSIG(status)), *line ? "; it said: " : "", line);
	return fail(err, -EPIPE, "ended with status %d during the playback%s%s",
		    WEXITSTATUS(status), *line ? "; it said: " : "", line);
}

/* Its status says more than its words; it has nothing to do but to end. */
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
				  : fail(err, -EPROTO, "is of another version than mprof_replay");
		else
			ret = play_skip(&p, r.bytes, err);
		if (ret < 0)
			break;
	}
	ended = play_end(&p, err);
	return ended ? ended : ret;
}

/* directory/mprof_replay, if it can be run. */
static char *look_in(const char *directory, const char *below)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s%smprof_replay", directory, below) >=
		sizeof(path) ||
	    access(path, X_OK))
		return NULL;
	return realpath(path, NULL);
}

/* Where MPROF_LIB points: a directory, or a file in one. */
static char *look_beside_library(void)
{
	const char *said = getenv("MPROF_LIB");
	char path[PATH_MAX], *found, *slash;

	if (!said || !*said || strlen(said) >= sizeof(path))
		return NULL;
	found = look_in(said, "/");
	strcpy(path, said);
	slash = strrchr(path, '/');
	if (!found && slash) {
		*slash = '\0';
		found = look_in(path, "/");
	}
	return found;
}

char *play_find(struct error *err)
{
	static const char *const below[] = { "/", "/../libexec/mprof/", "/../lib/mprof/", NULL };
	char self[PATH_MAX], *slash, *found = look_beside_library();
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t i;

	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	for (i = 0; below[i] && slash && !found; i++)
		found = look_in(self, below[i]);
	if (!found && n <= 0)
		fail(
		    err, -ENOENT,
		    "mprof_replay is not found without /proc, which says where mprof is; mount it, "
		    "or set MPROF_LIB to its directory");
	else if (!found)
		fail(err, -ENOENT,
		     "mprof_replay is neither next to mprof nor in ../libexec/mprof; set MPROF_LIB "
		     "to its directory");
	return found;
}
