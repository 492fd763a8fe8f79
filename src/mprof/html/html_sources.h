/* SPDX-License-Identifier: LGPL-3.0-or-later */
/*
 * html_sources.h - the source files of a page: only those that the debug information of the trace's
 * programs names.
 *
 * A page contains their text only if `embed` is set; `mprof view` reads a file, by its number in
 * this list, when the page requests it.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../profile/profile.h"

#define HTML_SOURCES_MOST (8u << 20) /* bytes of text in one page */

struct html_source_file {
	char *path;	  /* as in the debug information */
	int64_t built_ns; /* last change of the program or library that names it, since 1970; 0 if
			     unknown */
};

struct html_sources {
	/* ---- set by the caller, all else zero ---- */
	const char *const *dir; /* searched first, ends with NULL; may be NULL */
	bool embed;
	/* ---- the list ---- */
	int64_t start_ns; /* of the run, since 1970; 0 if unknown */
	struct html_source_file *file;
	size_t files, room;
};

/* Appends a file that the object called `module` refers to. */
void html_sources_add(struct html_sources *s, const struct profile *p, const char *path,
		      const char *module);
void html_sources_release(struct html_sources *s);

enum html_source_change {
	SOURCE_UNCHANGED,
	SOURCE_NEWER_THAN_RUN,
	SOURCE_NEWER_THAN_BINARY,
};

struct html_source {
	char *text;	 /* NULL if it cannot be shown */
	const char *why; /* one clause, if text is NULL */
	enum html_source_change change;
};

/* The caller frees the text. */
void html_source_read(struct html_source *to, const struct html_sources *s, size_t file);

/* Returns a copy of text with "~" for home directories: $HOME, /home/NAME and /root.  The caller
 * frees it. */
char *html_hide_home(const char *text);
