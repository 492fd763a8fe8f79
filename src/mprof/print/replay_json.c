// SPDX-License-Identifier: LGPL-3.0-or-later
/* replay_json.c - a playback on several allocators as JSON: the fields are in json/replay.def. */
#include "replay.h"

#include <errno.h>

#include "json_rows.h"

static const char *const thp[] = { "never", "madvise", "always" };

static json *sentences_json(const struct replay_answer *a,
			    void (*say)(const struct replay_answer *a, struct sentences *w))
{
	struct sentences w = { .n = 0 };
	json *list;

	say(a, &w);
	list = JSON_LIST(w.n, true, json_string(w.line[i]));
	sentences_free(&w);
	return list;
}

#include "../json/replay.def"

json *replay_json(const struct replay_answer *a)
{
	return JSON_NEW(replay, a);
}
