// SPDX-License-Identifier: LGPL-3.0-or-later
/* movie_video.c - a movie as pictures. */
#include "movie_video.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

static bool ends(const char *path, const char *end)
{
	size_t n = strlen(path), m = strlen(end);

	return n > m && !strcasecmp(path + n - m, end);
}

bool movie_is_page(const char *path)
{
	return ends(path, ".html") || ends(path, ".htm");
}

bool movie_is_video(const char *path)
{
	return ends(path, ".apng") || ends(path, ".png") || ends(path, ".mp4") ||
	       ends(path, ".webm") || ends(path, ".y4m");
}

int movie_video_check(const char *path, struct error *err)
{
	return fail(err, -ENOTSUP, "'%s': not yet", path);
}

int movie_write_video(struct movie *m, const char *path, struct error *err)
{
	(void)m;
	return movie_video_check(path, err);
}
