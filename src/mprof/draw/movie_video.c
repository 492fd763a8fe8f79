// SPDX-License-Identifier: LGPL-3.0-or-later
/*
 * movie_video.c - a movie as a video or an animated PNG.
 *
 * ffmpeg reads raw RGB from a pipe and writes to our open file. It is a separate process: if it
 * dies, writes to the pipe fail with EPIPE; it does not outlive us.
 */
#include "movie_video.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../util/alloc.h"
#include "../util/memory.h"
#include "../util/path_search.h"
#include "apng.h"
#include "picture.h"

enum kind { APNG, FFMPEG };

static const struct kinds {
	const char *end;
	enum kind kind;
	const char *const *arguments; /* of ffmpeg, between input and output */
} kinds[] = {
	{ ".apng", APNG, NULL },
	{ ".png", APNG, NULL },
	/* Plays everywhere; sharp edges need one of its higher qualities. */
	{ ".mp4", FFMPEG,
	  (const char *const[]){ "-c:v", "libx264", "-preset", "medium", "-crf", "20", "-pix_fmt",
				 "yuv420p", "-movflags", "+faststart", "-f", "mp4", NULL } },
	{ ".webm", FFMPEG,
	  (const char *const[]){ "-c:v", "libvpx-vp9", "-crf", "28", "-b:v", "0", "-pix_fmt",
				 "yuv420p", "-deadline", "good", "-cpu-used", "4", "-f", "webm",
				 NULL } },
	{ ".y4m", FFMPEG,
	  (const char *const[]){ "-pix_fmt", "yuv444p", "-f", "yuv4mpegpipe", NULL } },
};

static bool ends(const char *path, const char *end)
{
	size_t n = strlen(path), m = strlen(end);

	return n > m && !strcasecmp(path + n - m, end);
}

static const struct kinds *kind_of(const char *path)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (ends(path, kinds[i].end))
			return &kinds[i];
	return NULL;
}

bool movie_is_page(const char *path)
{
	return ends(path, ".html") || ends(path, ".htm");
}

bool movie_is_video(const char *path)
{
	return kind_of(path);
}

int movie_video_check(const char *path, struct error *err)
{
	char found[PATH_MAX];

	if (kind_of(path)->kind == FFMPEG && path_search("ffmpeg", found, sizeof(found)))
		return fail(err, -ENOENT,
			    "'%s' needs ffmpeg, which is not installed; install the package "
			    "ffmpeg, or write .html or .apng",
			    path);
	return 0;
}

/* ---- frames ---- */

struct video {
	const struct movie *movie;
	struct picture *picture;
	size_t *frame; /* by panel */
	struct error *err;
};

static int video_open(struct video *v, struct movie *m, struct error *err)
{
	const struct movie_options *mo = movie_options_of(m);
	struct picture_options o = { .layout = LAYOUT_STRIPS,
				     .theme = mo->theme,
				     .by = mo->by,
				     .title = mo->title,
				     .note = mo->note,
				     .names = mo->names,
				     .threads = mo->threads };
	struct picture_panel *panel = must_calloc(movie_films(m), sizeof(*panel));
	size_t i;
	int ret;

	*v = (struct video){ .movie = m, .err = err };
	v->frame = must_calloc(movie_films(m), sizeof(*v->frame));
	for (i = 0; i < movie_films(m); i++)
		panel[i] = (struct picture_panel){ movie_film_name(m, i), movie_film(m, i) };
	ret = picture_new(&v->picture, &o, panel, movie_films(m), NULL, err);
	free(panel);
	return ret;
}

static void video_close(struct video *v)
{
	picture_free(v->picture);
	free(v->frame);
}

/* Draws frame n of the first film, and the frames of the others at that call. */
static const struct canvas *video_draw(struct video *v, size_t n)
{
	const struct film *first = movie_film(v->movie, 0);
	size_t i;

	v->frame[0] = n;
	for (i = 1; i < movie_films(v->movie); i++)
		v->frame[i] = film_frame_at(movie_film(v->movie, i), first->frame[n].op);
	if (picture_draw(v->picture, v->frame, v->err) < 0)
		return NULL;
	return picture_canvas(v->picture);
}

/* ---- APNG ---- */

static int write_apng(struct video *v, FILE *out, double fps, struct error *err)
{
	size_t frames = movie_film(v->movie, 0)->frames, i;
	const struct canvas *c;
	struct apng *a = apng_new(out, (unsigned)frames, (unsigned)(1000 / fps + 0.5));
	int ret = 0;

	for (i = 0; i < frames && !ret; i++) {
		c = video_draw(v, i);
		ret = c ? apng_add(a, c, err) : -EIO;
	}
	if (!ret) {
		apng_hold(a, 1500);
		ret = apng_finish(a, err);
	}
	apng_free(a);
	return ret;
}

/* ---- ffmpeg ---- */

/* Writes RGB; yuv420p needs even sizes. */
static void write_rgb(FILE *to, const struct canvas *c, uint8_t *row)
{
	int width = (c->width + 1) & ~1, height = (c->height + 1) & ~1, y;

	memset(row, 0, (size_t)width * 3);
	for (y = 0; y < height; y++) {
		if (y < c->height)
			canvas_rgb(c, 0, y, c->width, row);
		fwrite(row, 3, (size_t)width, to);
	}
}

struct ffmpeg {
	const char *argv[40];
	char size[32], rate[32], output[32];
	int in; /* its end of the pipe */
	pid_t pid;
};

static void ffmpeg_arguments(struct ffmpeg *f, const struct kinds *k, const struct canvas *c,
			     double fps, FILE *out)
{
	const char *const first[] = { "ffmpeg", "-nostdin", "-hide_banner", "-loglevel", "error",
				      "-y",	"-f",	    "rawvideo",	    "-pix_fmt",	 "rgb24",
				      "-s",	f->size,    "-r",	    f->rate,	 "-i",
				      "pipe:0", "-an" };
	const char *const *more;
	size_t n = sizeof(first) / sizeof(*first);

	snprintf(f->size, sizeof(f->size), "%dx%d", (c->width + 1) & ~1, (c->height + 1) & ~1);
	snprintf(f->rate, sizeof(f->rate), "%g", fps);
	snprintf(f->output, sizeof(f->output), "/proc/self/fd/%d", fileno(out));
	memcpy(f->argv, first, sizeof(first));
	for (more = k->arguments; *more; more++)
		f->argv[n++] = *more;
	f->argv[n++] = f->output;
	f->argv[n] = NULL;
}

/* Sends its error messages to our standard error. */
static void become_ffmpeg(const struct ffmpeg *f, int out, pid_t parent)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	memory_uncap();
	if (!prctl(PR_SET_PDEATHSIG, SIGKILL) && getppid() == parent && dup2(f->in, 0) >= 0 &&
	    dup2(null, 1) >= 0 && !fcntl(out, F_SETFD, 0))
		execvp("ffmpeg", (char **)f->argv);
	_exit(127);
}

/* to: becomes its standard input. */
static int start_ffmpeg(struct ffmpeg *f, FILE **to, FILE *out, struct error *err)
{
	pid_t self = getpid();
	int fd[2];

	if (pipe2(fd, O_CLOEXEC) < 0)
		return fail(err, -errno, "no pipe to ffmpeg: %s", strerror(errno));
	f->in = fd[0];
	f->pid = fork();
	if (!f->pid)
		become_ffmpeg(f, fileno(out), self);
	close(fd[0]);
	if (f->pid < 0) {
		close(fd[1]);
		return fail(err, -errno, "ffmpeg could not be started: %m");
	}
	*to = fdopen(fd[1], "w");
	if (!*to)
		memory_out();
	return 0;
}

static int send_frames(struct video *v, FILE *to)
{
	const struct canvas *c = picture_canvas(v->picture);
	size_t frames = movie_film(v->movie, 0)->frames, i;
	uint8_t *row = must_malloc(3 * (size_t)(c->width + 1));
	int ret = 0;

	for (i = 0; i < frames && !ret; i++) {
		c = video_draw(v, i);
		if (!c)
			ret = -EIO;
		else
			write_rgb(to, c, row);
		if (!ret && ferror(to))
			ret = fail(v->err, -EPIPE, "ffmpeg ended before the movie was complete");
	}
	free(row);
	return ret;
}

static int run_ffmpeg(struct video *v, const struct kinds *k, FILE *out, double fps,
		      struct error *err)
{
	struct sigaction ignore = { .sa_handler = SIG_IGN }, before;
	struct ffmpeg ffmpeg;
	FILE *to = NULL;
	int ret, status;

	ffmpeg_arguments(&ffmpeg, k, picture_canvas(v->picture), fps, out);
	ret = start_ffmpeg(&ffmpeg, &to, out, err);
	if (ret < 0)
		return ret;
	sigaction(SIGPIPE, &ignore, &before);
	ret = send_frames(v, to);
	if (to && fclose(to) && !ret)
		ret = fail(err, -EPIPE, "ffmpeg ended before the movie was complete");
	sigaction(SIGPIPE, &before, NULL);
	while (waitpid(ffmpeg.pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFSIGNALED(status))
		return fail(err, -EIO, "ffmpeg was killed by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status))
		return fail(err, -EIO, "ffmpeg failed with status %d", WEXITSTATUS(status));
	return ret;
}

/* ---- */

int movie_write_video(struct movie *m, const char *path, FILE *out, struct error *err)
{
	const struct kinds *k = kind_of(path);
	double fps = movie_options_of(m)->fps;
	struct video v;
	size_t i;
	int ret = movie_video_check(path, err);

	for (i = 0; i < movie_films(m) && !ret; i++)
		ret = film_ready(movie_film(m, i), err);
	if (ret < 0)
		return ret;
	ret = video_open(&v, m, err);
	if (!ret)
		ret = k->kind == APNG ? write_apng(&v, out, fps, err)
				      : run_ffmpeg(&v, k, out, fps, err);
	video_close(&v);
	return ret;
}
