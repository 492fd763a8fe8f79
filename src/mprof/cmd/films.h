/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * films.h - the sources of pictures: the recorded run, or a recording played on one or several
 * allocators.
 *
 * A command has a struct films_cli and OPTION_ROWS(option_films, of it) among its rows.  Then
 *
 *	films_open(&f, &cli)
 *	films_each(&f, one, &w):	-- which calls films_take(&f, i, &plan, &sink, err)
 *	films_close(&f)
 *
 * films_open, films_names and films_each print what is wrong and return the exit status.
 */
#pragma once

#include "../profile/profile.h"
#include "../places/placement.h"
#include "../places/place_plan.h"
#include "../play/variant.h"
#include "playback_input.h"
#include "profile_options.h"

struct films_cli {
	const char *const *allocators; /* of --allocator, or NULL; free() it */
	uint32_t process;	       /* 0 = the one with most calls */
	const char *mode, *touch;      /* NULL = the default */
};

extern const struct option_row option_films[];

struct films {
	const struct films_cli *cli;
	size_t count;
	bool played; /* on allocators; otherwise the only film is the recorded run */
	struct playback_input input; /* if played */
	struct variants variants;
	struct trace *trace; /* the input's trace or our own; NULL if there is none */
	struct profile profile;
	bool named;
	struct thread_titles threads; /* in the recording, by index */
	char title[256];	      /* the program's command line */
	char note[96];		      /* how it was played; "" as recorded */
};

int films_open(struct films *f, const struct films_cli *cli, const char *path);
void films_close(struct films *f);

/* Writes the command line of the recorded program, or else the name of the file. */
void films_title(const struct trace *t, char *text, size_t room);
/* Writes the name of film i: "jemalloc 5.3.0-1". */
void films_name(const struct films *f, size_t i, char *text, size_t room);
/* Finds names of sites; *names is NULL if the input has none.  o: options of a struct
 * profile_cli. */
int films_names(struct films *f, const struct profile_options *o, struct profile **names);

/* Runs the source of film i, with a progress line.  0, or -errno with err filled. */
int films_take(struct films *f, size_t i, const struct place_plan *plan,
	       const struct place_sink *sink, struct error *err);
/*
 * Calls `one` for each film, which calls films_take. If one fails, the others are still shown.
 * Returns the exit status.
 */
int films_each(struct films *f, int (*one)(void *context, size_t i, struct error *err),
	       void *context);

/*
 * Counts the calls, and the calls before this time of the recorded run.  Without a trace, which
 * tells when the run ended: -ERANGE with err filled if the last call was earlier.
 */
int films_calls(struct films *f, uint64_t *ops, struct error *err);
int films_calls_at(struct films *f, uint64_t ns, uint64_t *op, struct error *err);

/* Returns LOG's name with this extension instead of .log, in the current directory. */
void films_output(const char *log, const char *extension, char *text, size_t room);
